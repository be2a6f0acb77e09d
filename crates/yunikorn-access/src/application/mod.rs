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
mod sentence;

use schemars::JsonSchema;
use serde::Serialize;

use clauses::Context;
pub use remedies::remedies;
pub use sentence::sentence;

use super::change::Change;
use super::decide;
use super::subject::Subject;
use super::tree::Tree;
use yunikorn::application::{ApplicationAcl, Dialect};
use yunikorn::identity::Identity;

/// Action on an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Action")]
#[serde(rename_all = "lowercase")]
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
        match self {
            Self::View => "view",
            Self::Modify => "modify",
            Self::Kill => "kill",
            Self::Logs => "logs",
            Self::Move => "move",
        }
    }
}

/// An application in a queue, and an action on it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
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
    /// The requirements, in the order of their evaluation: a yes needs all of them. Those after the first
    /// that is not met were not evaluated.
    pub requirements: Vec<Requirement>,
}

/// A requirement of a verb; any of its clauses is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The need that the clauses can meet.
    pub need: Need,
    /// The clauses that were evaluated, in order; the last one grants access if any does.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The clause with its findings.
    pub clause: Clause,
    /// True if it grants access.
    pub granted: bool,
}

/// A clause of a dialect, with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clause {
    /// The setting with this key, the switch of all ACLs: grants everybody access where it is off.
    Switch(&'static str),
    /// A list of those who administer the cluster.
    ClusterAdministrators(List),
    /// The application's owner, by name.
    Owner(String),
    /// A list that came with the application.
    ApplicationAcl(List),
    /// A right in a queue.
    Queue(decide::Decision),
    /// A required queue that does not exist, as written in the question.
    NoQueue(String),
}

/// A setting that names users or groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The key of the setting.
    pub key: &'static str,
    /// The text as written, or the default.
    pub text: String,
    /// True if it is written.
    pub set: bool,
    /// The entry that grants access; `None` when none does.
    pub entry: Option<Subject>,
}

/// Changes that together would allow the action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RemedyAnswer")]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// The setting that an entry is missing in; null for other kinds.
    pub setting: Option<&'static str>,
    /// The changes in one sentence.
    pub words: String,
    /// The changes.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// Kind of change.
// In the order of their size: one application, one queue, everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An entry in a list that comes with the application when it is submitted.
    ApplicationAcl,
    /// A right in a queue.
    Queue,
    /// A queue that does not exist.
    CreateQueue,
    /// An entry in the list of cluster administrators.
    ClusterAdministrators,
}

/// Decides a question, with the trace.
pub fn decide(tree: &Tree, question: Request<'_>, identity: &Identity) -> Decision {
    let dialect = question.application.dialect();
    let context = Context { tree, request: question, identity };
    let mut requirements = Vec::new();
    for need in needs(dialect, question.verb) {
        let requirement = Requirement { need: *need, steps: context.steps(*need) };
        let met = requirement.met();
        requirements.push(requirement);
        if !met {
            break;
        }
    }
    Decision { dialect, identity: identity.clone(), requirements }
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
        self.requirements.iter().all(Requirement::met)
    }

    /// The requirement that is not met; those after it were not evaluated.
    pub fn unmet(&self) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.met())
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

impl Requirement {
    /// Returns whether a clause grants access.
    pub fn met(&self) -> bool {
        self.granted_by().is_some()
    }

    /// The clause that grants access.
    pub fn granted_by(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.granted)
    }
}

impl Step {
    /// The metrics label of the clause. Lists that do not name the user all have the same one.
    fn label(&self) -> &'static str {
        match &self.clause {
            Clause::Queue(decision) => decision.clause(),
            Clause::NoQueue(_) => "no_queue",
            _ if !self.granted => "acl",
            Clause::Switch(_) => "switch",
            Clause::ClusterAdministrators(_) => "cluster_administrators",
            Clause::Owner(_) => "owner",
            Clause::ApplicationAcl(_) => "application_acl",
        }
    }
}

#[cfg(test)]
mod tests;
