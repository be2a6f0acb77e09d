//! Decides whether a user may view, modify, kill or move an application, or read its logs.
//!
//! `YuniKorn` enforces nothing of this. Each dialect decides by its own rules, clause by clause in the order
//! of its source, and the trace names each clause. Sources: `ApplicationACLsManager.checkAccess`
//! (hadoop-yarn-common 3.4.1), `ClientRMService` lines 367-374 and 1216-1284 and `QueueACLsManager`
//! (resourcemanager 3.4.1), `ContainerLogsUtils` and `LogAggregationHtmlBlock` for logs, which do not check
//! the queue; Cloudera's "Managing YARN ACLs"; Spark 3.5's `SecurityManager` and `HttpSecurityFilter`.
//!
//! Queues are those of a [`Tree`], whose ACLs `YuniKorn` reads and walks: both of a queue, then those of the
//! queue above. YARN walks up with the one and then with the other
//! (`ConfiguredYarnAuthorizer.checkPermissionInternal`), with the same result. YARN's capacity scheduler
//! gives everybody access to an application whose queue has been removed; here a queue that does not exist
//! gives access to nobody. A missing queue below an existing one may have been made for the application, so
//! those who administer the existing one administer it.

mod clauses;
mod remedies;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use remedies::{Remedy, RemedyKind, remedies};

use super::decide;
use super::subject::Subject;
use super::tree::Tree;
use go_compat::diag::quoted;
use yunikorn::application::{ApplicationAcl, Dialect};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Action on an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema, strum::IntoStaticStr)]
#[schemars(rename = "Action")]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Verb {
    /// View it.
    // That it exists, its state and its progress.
    View,
    /// Modify it.
    // Priority, timeouts, signals.
    Modify,
    /// Kill it.
    Kill,
    /// Read its logs.
    Logs,
    /// Move it to another queue.
    Move,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 5] = [Self::View, Self::Modify, Self::Kill, Self::Logs, Self::Move];

    /// Returns the name in reviews, on the command line and in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A question: may this user perform this action on an application in a queue?
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The queues.
    pub tree: &'a Tree,
    /// The user.
    pub identity: &'a Identity,
    /// The action.
    pub verb: Verb,
    /// The queue to move it to; empty for other verbs.
    pub target: &'a str,
    /// The application.
    pub application: &'a ApplicationAcl,
    /// The full path of the queue it is in.
    pub queue: &'a str,
}

/// The answer to one question, with its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The dialect whose rules decided.
    pub dialect: Dialect,
    /// The user whose access was decided.
    pub identity: Identity,
    /// The owner of the application.
    pub owner: String,
    /// The requirements, in the order of their evaluation: a yes needs all of them. Those after the first
    /// that is not met were not evaluated.
    pub requirements: Vec<Requirement>,
}

/// A requirement; any of its clauses is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequirementAnswer")]
pub struct Requirement {
    /// The kind of requirement.
    pub need: Need,
    /// True if a clause grants it.
    pub met: bool,
    /// The clauses that were evaluated, in order; if one grants, it is the last.
    #[serde(rename = "clauses")]
    pub steps: Vec<Step>,
}

/// Kind of requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "NeedKind")]
pub enum Need {
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
    /// The dialect has no such action.
    // Spark moves no application.
    Impossible,
}

/// A clause that was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ClauseAnswer")]
pub struct Step {
    /// The kind of clause.
    pub clause: ClauseKind,
    /// True if the clause grants access.
    pub granted: bool,
    /// The setting that it reads; null when there is none.
    pub setting: Option<&'static str>,
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
    #[serde(rename = "trace", serialize_with = "trace")]
    #[schemars(with = "Vec<decide::Step>")]
    pub decision: Option<decide::Decision>,
}

#[expect(clippy::ref_option, reason = "serde hands a reference over")]
fn trace<S: Serializer>(decision: &Option<decide::Decision>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(decision.iter().flat_map(|decision| &decision.steps))
}

/// Kind of clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ClauseKind {
    /// The switch of all ACLs; if it is off, everybody has access.
    Switch,
    /// The list of cluster administrators.
    ClusterAdministrators,
    /// The owner of the application.
    Owner,
    /// A list that came with the application.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that is required and does not exist.
    NoQueue,
}

/// Decides a question, with the trace.
pub fn decide(request: Request<'_>) -> Decision {
    let ApplicationAcl { owner, .. } = request.application;
    let dialect = request.application.dialect();
    let mut requirements = Vec::new();
    for need in needs(dialect, request.verb) {
        let steps = request.steps(*need);
        let met = steps.last().is_some_and(|step| step.granted);
        requirements.push(Requirement { need: *need, met, steps });
        if !met {
            break;
        }
    }
    Decision { dialect, identity: request.identity.clone(), owner: owner.clone(), requirements }
}

/// The needs of a verb in a dialect. In Spark a kill happens on a page that must be viewed; by the handbook,
/// a user who may submit to both queues may move.
fn needs(dialect: Dialect, verb: Verb) -> &'static [Need] {
    match (dialect, verb) {
        (Dialect::Spark, Verb::Move) => &[Need::Impossible],
        (Dialect::YarnCloudera, Verb::Move) => &[Need::Source, Need::Target],
        (_, Verb::Move) => &[Need::Modify, Need::Target],
        (Dialect::Spark, Verb::Kill) => &[Need::View, Need::Modify],
        (_, Verb::Modify | Verb::Kill) => &[Need::Modify],
        (Dialect::YarnHadoop, Verb::Logs) => &[Need::Logs],
        (_, Verb::View | Verb::Logs) => &[Need::View],
    }
}

impl Decision {
    /// Returns whether access is granted.
    pub fn allowed(&self) -> bool {
        self.unmet().is_none()
    }

    /// The requirement that is not met; those after it were not evaluated.
    pub fn unmet(&self) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.met)
    }

    /// The clause that decided, in one word of a few: the one that grants access, or the reason why none
    /// does. A label of metrics.
    pub fn clause(&self) -> &'static str {
        match self.requirements.last() {
            Some(Requirement { need: Need::Impossible, .. }) => "impossible",
            last => last.and_then(|requirement| requirement.steps.last()).map_or("acl", Step::label),
        }
    }
}

impl Step {
    /// The metrics label of the clause. Lists that do not name the user all have the same one.
    fn label(&self) -> &'static str {
        match self.clause {
            ClauseKind::Queue => self.decision.as_ref().map_or("acl", decide::Decision::clause),
            kind if self.granted || kind == ClauseKind::NoQueue => kind.into(),
            _ => "acl",
        }
    }

    /// The setting that it reads, if that is a list of users and groups.
    fn list(&self) -> Option<&'static str> {
        self.setting.filter(|_| self.clause != ClauseKind::Switch)
    }
}

/// Returns the decision in one sentence: the clauses that grant access, or all those that do not; the
/// application is `it`. The tree must be the one of the decision.
pub fn sentence(tree: &Tree, decision: &Decision) -> String {
    let clause = |step: &Step| clause(tree, decision, step);
    match decision.unmet() {
        None => {
            let by = decision.requirements.iter().filter_map(|requirement| requirement.steps.last());
            joined(by.filter_map(clause))
        }
        Some(unmet) if unmet.need == Need::Impossible => {
            format!("{} moves no application from queue to queue", decision.dialect)
        }
        Some(unmet) => {
            let others = unmet.steps.iter().filter(|step| step.list().is_none());
            let why = joined(others.filter_map(clause).chain(unnamed(&unmet.steps)));
            format!("user {} may not {}: {why}", decision.identity.user, unmet.need.words())
        }
    }
}

impl Need {
    fn words(self) -> &'static str {
        match self {
            Self::View => "view it",
            Self::Logs => "read its logs",
            Self::Modify => "modify it",
            Self::Source => "take it from its queue",
            Self::Target => "put it into the other queue",
            Self::Impossible => "move it",
        }
    }
}

/// Describes a clause. ACLs that are switched on are no reason for anything, so they are left out.
fn clause(tree: &Tree, decision: &Decision, step: &Step) -> Option<String> {
    match step.clause {
        ClauseKind::Switch => {
            let key = step.setting.filter(|_| step.granted)?;
            Some(format!("{key} is off, so that everybody may do everything"))
        }
        ClauseKind::Owner => Some(format!("{} owns it", decision.owner)),
        ClauseKind::ClusterAdministrators | ClauseKind::ApplicationAcl => {
            Some(format!("{} names {}", step.setting?, step.entry.as_ref()?))
        }
        ClauseKind::Queue => step.decision.as_ref().map(|decision| crate::sentence(tree, decision)),
        ClauseKind::NoQueue => Some(format!("there is no queue {}", quoted(step.queue.as_ref()?))),
    }
}

/// The settings that do not name the user, in one phrase.
fn unnamed(steps: &[Step]) -> Option<String> {
    let keys: Vec<&str> = steps.iter().filter_map(Step::list).collect();
    match keys.as_slice() {
        [] => None,
        [one] => Some(format!("{one} names neither the user nor a group")),
        [one, two] => Some(format!("neither {one} nor {two} names the user or a group")),
        more => Some(format!("none of {} names the user or a group", more.join(", "))),
    }
}

/// Joins the parts and drops repeated ones.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join("; ")
}

#[cfg(test)]
mod tests;
