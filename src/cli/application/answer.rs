//! What programs get: an application's decision with every clause, under the schema `docs/schema/application.json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Action;
use queuewarden_api::answer::Answers;
use queuewarden_api::answer::{About, Named, TraceStep, Verb};
use yunikorn_access::application::{Clause, Decision, List, Need, Remedy, Requirement, Step};

/// The answer to `can-i` and `explain` about an application.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationAnswer {
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// What was asked for.
    pub verb: Action,
    /// The application's name; null when none was given.
    pub application: Option<String>,
    /// Whom it runs as.
    pub owner: String,
    /// The queue it is in.
    pub queue: String,
    /// The queue to move it to; null for other verbs.
    pub target: Option<String>,
    /// Whose rules: `yunikorn`, `yarn-hadoop`, `yarn-cloudera` or `spark`.
    pub dialect: String,
    /// The user.
    pub user: String,
    /// The groups that the user was taken to be in.
    pub groups: Vec<String>,
    /// The answer.
    pub allowed: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// What was needed, in the order asked: all of it for a yes. What comes behind the first that is not met was not asked.
    pub requirements: Vec<RequirementAnswer>,
    /// What would make it a yes, the smallest change first; empty for a yes, and where nothing would help.
    pub remedies: Vec<RemedyAnswer>,
}

/// Something that was needed; any of its clauses is enough.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequirementAnswer {
    /// What.
    pub need: NeedKind,
    /// Whether a clause lets in.
    pub met: bool,
    /// The clauses that were asked, in order; the last one lets in if any does.
    pub clauses: Vec<ClauseAnswer>,
}

/// What a verb needs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum NeedKind {
    /// To view the application.
    View,
    /// To read its logs.
    Logs,
    /// To modify it.
    Modify,
    /// To submit to the queue it is in.
    Source,
    /// To submit to the queue it is to be moved to.
    Target,
    /// The dialect has no such thing.
    Impossible,
}

/// A clause that was asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClauseAnswer {
    /// Which.
    pub clause: ClauseKind,
    /// Whether it lets in.
    pub granted: bool,
    /// The setting that it looks at; null when there is none.
    pub setting: Option<String>,
    /// What the setting says, or its default, and of a switch what is read of it; null when there is none.
    pub text: Option<String>,
    /// Whether the list is set; null when there is none.
    pub set: Option<bool>,
    /// The entry that lets in; null when none does, and where it is not an entry that does.
    pub entry: Option<Named>,
    /// The right in a queue that is asked for; null for other clauses.
    pub right: Option<Verb>,
    /// The queue; null for other clauses.
    pub queue: Option<String>,
    /// Each of the queues' ACLs that was looked at; empty for other clauses.
    pub trace: Vec<TraceStep>,
}

/// Which clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ClauseKind {
    /// The switch of all ACLs lets everybody in where it is off.
    Switch,
    /// Those who administer the cluster.
    ClusterAdministrators,
    /// The owner.
    Owner,
    /// A list that came with the application.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that there must be, and is not.
    NoQueue,
}

/// Something that would make it a yes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RemedyAnswer {
    /// What.
    pub kind: RemedyKind,
    /// The setting that an entry is missing in; null for other kinds.
    pub setting: Option<String>,
    /// The same for people.
    pub words: String,
}

/// What would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An entry in a list that comes with the application when it is submitted.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that there is not.
    CreateQueue,
    /// An entry in the list of those who administer the cluster.
    ClusterAdministrators,
}

/// A decision and what is known about its question.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The configuration.
    pub answers: Answers<'a>,
    /// What was asked for.
    pub action: Action,
    /// The application's name.
    pub name: Option<&'a str>,
    /// The queue it is in.
    pub queue: &'a str,
    /// Where to move it.
    pub to: Option<&'a str>,
    /// Whom it runs as.
    pub owner: &'a str,
    /// The decision.
    pub decision: &'a Decision,
}

impl Context<'_> {
    /// The whole answer.
    pub fn answer(&self) -> ApplicationAnswer {
        let Decision { dialect, identity, requirements } = self.decision;
        ApplicationAnswer {
            about: self.answers.about(),
            verb: self.action,
            application: self.name.map(str::to_owned),
            owner: self.owner.to_owned(),
            queue: self.queue.to_owned(),
            target: self.to.map(str::to_owned),
            dialect: dialect.name().to_owned(),
            user: identity.user.clone(),
            groups: identity.groups.clone(),
            allowed: self.decision.allowed(),
            reason: super::text::reason(self),
            requirements: requirements.iter().map(|requirement| self.requirement(requirement)).collect(),
            remedies: self.decision.remedies(self.answers.tree).iter().map(RemedyAnswer::from).collect(),
        }
    }

    fn requirement(&self, requirement: &Requirement) -> RequirementAnswer {
        RequirementAnswer {
            need: requirement.need.into(),
            met: requirement.met(),
            clauses: requirement.steps.iter().map(|step| self.clause(step)).collect(),
        }
    }

    fn clause(&self, step: &Step) -> ClauseAnswer {
        let plain = ClauseAnswer {
            clause: ClauseKind::Owner,
            granted: step.granted,
            setting: None,
            text: None,
            set: None,
            entry: None,
            right: None,
            queue: None,
            trace: Vec::new(),
        };
        match &step.clause {
            Clause::Switch { key } => ClauseAnswer {
                clause: ClauseKind::Switch,
                setting: Some((*key).to_owned()),
                text: Some((!step.granted).to_string()),
                ..plain
            },
            Clause::Owner { .. } => plain,
            Clause::ClusterAdministrators(list) => listed(ClauseKind::ClusterAdministrators, list, plain),
            Clause::ApplicationAcl(list) => listed(ClauseKind::ApplicationAcl, list, plain),
            Clause::NoQueue { queue } => {
                ClauseAnswer { clause: ClauseKind::NoQueue, queue: Some(queue.clone()), ..plain }
            }
            Clause::Queue(decision) => ClauseAnswer {
                clause: ClauseKind::Queue,
                right: Some(decision.right.into()),
                queue: Some(decision.asked.clone()),
                trace: decision
                    .steps
                    .iter()
                    .map(|step| self.answers.step(step, &decision.identity))
                    .collect(),
                ..plain
            },
        }
    }
}

fn listed(clause: ClauseKind, list: &List, plain: ClauseAnswer) -> ClauseAnswer {
    ClauseAnswer {
        clause,
        setting: Some(list.key.to_owned()),
        text: Some(list.text.clone()),
        set: Some(list.set),
        entry: list.entry.as_ref().map(Named::from),
        ..plain
    }
}

impl From<&Remedy> for RemedyAnswer {
    fn from(remedy: &Remedy) -> Self {
        let (kind, setting) = match remedy {
            Remedy::ApplicationAcl { key } => (RemedyKind::ApplicationAcl, Some(*key)),
            Remedy::Queue(_) => (RemedyKind::Queue, None),
            Remedy::CreateQueue { .. } => (RemedyKind::CreateQueue, None),
            Remedy::ClusterAdministrators { key } => (RemedyKind::ClusterAdministrators, Some(*key)),
        };
        Self { kind, setting: setting.map(str::to_owned), words: remedy.to_string() }
    }
}

impl From<Need> for NeedKind {
    fn from(need: Need) -> Self {
        match need {
            Need::View => Self::View,
            Need::Logs => Self::Logs,
            Need::Modify => Self::Modify,
            Need::Source => Self::Source,
            Need::Target => Self::Target,
            Need::Impossible => Self::Impossible,
        }
    }
}
