//! Output for programs: an application's decision with every clause, under the schema
//! `docs/schema/application.json`.

use schemars::JsonSchema;
use serde::Serialize;

use queuewarden_api::answer::About;
use yunikorn::right::Right;
use yunikorn_access::application::{Clause, List, Need, Remedy, Requirement, Step, Verb};
use yunikorn_access::decide;
use yunikorn_access::subject::Subject;

/// The answer to `can-i` and `explain` about an application.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationAnswer {
    /// The configuration that was read.
    #[serde(flatten)]
    pub about: About,
    /// The requested action.
    pub verb: Verb,
    /// The application's name; null when none was given.
    pub application: Option<String>,
    /// The user that it runs as.
    pub owner: String,
    /// The queue it is in.
    pub queue: String,
    /// The queue to move it to; null for other verbs.
    pub target: Option<String>,
    /// The dialect of the rules: `yunikorn`, `yarn-hadoop`, `yarn-cloudera` or `spark`.
    pub dialect: String,
    /// The user.
    pub user: String,
    /// The groups that were assumed for the user.
    pub groups: Vec<String>,
    /// True if access is allowed.
    pub allowed: bool,
    /// The reason, in one sentence.
    pub reason: String,
    /// The requirements in the order they were evaluated; all of them must be met. Those after the first that
    /// is not met were not evaluated.
    pub requirements: Vec<EvaluatedRequirement>,
    /// Changes that would allow it, the smallest first; empty if it is allowed, and if nothing would help.
    pub remedies: Vec<Remedy>,
}

/// A requirement; any of its clauses is enough.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RequirementAnswer")]
pub struct EvaluatedRequirement {
    /// The kind of requirement.
    pub need: Need,
    /// True if a clause grants it.
    pub met: bool,
    /// The clauses that were evaluated, in order; if one grants, it is the last.
    pub clauses: Vec<EvaluatedClause>,
}

/// A clause that was evaluated.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "ClauseAnswer")]
pub struct EvaluatedClause {
    /// The kind of clause.
    pub clause: ClauseKind,
    /// True if the clause grants access.
    pub granted: bool,
    /// The setting that it reads; null when there is none.
    pub setting: Option<String>,
    /// The setting's value or default, and for a switch the value as it is read; null when there is none.
    pub text: Option<String>,
    /// True if the list is set; null when there is none.
    pub set: Option<bool>,
    /// The entry that grants access; null when none does, and when something else than an entry does.
    pub entry: Option<Subject>,
    /// The right in a queue that is needed; null for other clauses.
    pub right: Option<Right>,
    /// The queue; null for other clauses.
    pub queue: Option<String>,
    /// Each of the queues' ACLs that was evaluated; empty for other clauses.
    pub trace: Vec<decide::Step>,
}

/// Kind of clause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ClauseKind {
    /// The switch of all ACLs; if it is off, everybody has access.
    Switch,
    /// The list of cluster administrators.
    ClusterAdministrators,
    /// The owner of the application.
    #[default]
    Owner,
    /// A list that came with the application.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that is required and does not exist.
    NoQueue,
}

impl EvaluatedRequirement {
    /// Converts a requirement with its clauses.
    pub(super) fn new(requirement: &Requirement) -> Self {
        Self {
            need: requirement.need,
            met: requirement.met(),
            clauses: requirement.steps.iter().map(EvaluatedClause::new).collect(),
        }
    }
}

impl EvaluatedClause {
    fn new(step: &Step) -> Self {
        let plain = Self { granted: step.granted, ..Self::default() };
        match &step.clause {
            Clause::Switch(key) => Self {
                clause: ClauseKind::Switch,
                setting: Some((*key).to_owned()),
                text: Some((!step.granted).to_string()),
                ..plain
            },
            Clause::Owner(_) => plain,
            Clause::ClusterAdministrators(list) => plain.list(ClauseKind::ClusterAdministrators, list),
            Clause::ApplicationAcl(list) => plain.list(ClauseKind::ApplicationAcl, list),
            Clause::NoQueue(queue) => {
                Self { clause: ClauseKind::NoQueue, queue: Some(queue.clone()), ..plain }
            }
            Clause::Queue(decision) => Self {
                clause: ClauseKind::Queue,
                right: Some(decision.right),
                queue: Some(decision.path.clone()),
                trace: decision.steps.clone(),
                ..plain
            },
        }
    }

    fn list(self, clause: ClauseKind, list: &List) -> Self {
        Self {
            clause,
            setting: Some(list.key.to_owned()),
            text: Some(list.text.clone()),
            set: Some(list.set),
            entry: list.entry.clone(),
            ..self
        }
    }
}
