//! Decides whether a user may view, modify, kill or move an application, or read its logs.
//!
//! `YuniKorn` itself enforces no such rules. Each dialect evaluates its own rules, clause by clause in the
//! order of its source, and the trace lists each clause. Sources: `ApplicationACLsManager.checkAccess`
//! (hadoop-yarn-common 3.4.1), `ClientRMService` lines 367-374 and 1216-1284 and `QueueACLsManager`
//! (resourcemanager 3.4.1), `ContainerLogsUtils` and `LogAggregationHtmlBlock` for logs, which do not check
//! the queue; Cloudera's "Managing YARN ACLs"; Spark 3.5's `SecurityManager` and `HttpSecurityFilter`.
//!
//! The queues are in a [`Tree`], whose ACLs are parsed and walked like in `YuniKorn`: both ACLs of a queue,
//! then both of its parent. YARN walks up once per ACL (`ConfiguredYarnAuthorizer.checkPermissionInternal`),
//! with the same result. YARN's capacity scheduler gives everyone access to an application whose queue has
//! been removed; here, a queue that does not exist gives access to nobody. A missing queue below an existing
//! one may have been created for the application, so the administrators of the existing queue administer it.

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
    // Its existence, state and progress.
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

    /// Returns the name used in reviews, on the command line and in JSON.
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
    /// The target queue of a move; empty for other verbs.
    pub target: &'a str,
    /// The application.
    pub application: &'a ApplicationAcl,
    /// The full path of the application's queue.
    pub queue: &'a str,
}

/// The decision about a question, with its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The dialect whose rules decided.
    pub dialect: Dialect,
    /// The user whose access was decided.
    pub identity: Identity,
    /// The owner of the application.
    pub owner: String,
    /// The requirements in the order of their evaluation. All must be met. Requirements after the first unmet
    /// one were not evaluated.
    pub requirements: Vec<Requirement>,
}

/// A requirement, which is met if one of its clauses grants access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequirementAnswer")]
pub struct Requirement {
    /// The kind of requirement.
    pub need: Need,
    /// True if a clause grants it.
    pub met: bool,
    /// The evaluated clauses in order; if one grants access, it is the last.
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
    /// To submit to the current queue.
    Source,
    /// To submit to the target queue.
    Target,
    /// The dialect has no such action.
    // Spark cannot move applications.
    Impossible,
}

/// An evaluated clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ClauseAnswer")]
pub struct Step {
    /// The kind of clause.
    pub clause: ClauseKind,
    /// True if the clause grants access.
    pub granted: bool,
    /// The setting that the clause reads, or null.
    pub setting: Option<&'static str>,
    /// The value or default of the setting, or the parsed value of a switch; otherwise null.
    pub text: Option<String>,
    /// True if the list is set; null if the clause has no list.
    pub set: Option<bool>,
    /// The entry that grants access; null if no entry does.
    pub entry: Option<Subject>,
    /// The required right on a queue; null for other clauses.
    pub right: Option<Right>,
    /// The queue; null for other clauses.
    pub queue: Option<String>,
    /// The evaluated ACLs of queues; empty for other clauses.
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
    /// The switch of all ACLs; if it is off, everyone has access.
    Switch,
    /// The list of cluster administrators.
    ClusterAdministrators,
    /// The owner of the application.
    Owner,
    /// A list attached to the application.
    ApplicationAcl,
    /// A right on a queue.
    Queue,
    /// A required queue that does not exist.
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

/// Returns the requirements of a verb in a dialect. In Spark, killing needs a page that the user may view. In
/// the handbook, a user who may submit to both queues may move an application.
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

    /// Returns the unmet requirement; later ones were not evaluated.
    pub fn unmet(&self) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.met)
    }

    /// Returns a short label for metrics: the clause that grants access, or the reason for the denial.
    pub fn clause(&self) -> &'static str {
        match self.requirements.last() {
            Some(Requirement { need: Need::Impossible, .. }) => "impossible",
            last => last.and_then(|requirement| requirement.steps.last()).map_or("acl", Step::label),
        }
    }
}

impl Step {
    /// Returns the metrics label of the clause. Lists that do not name the user share one label.
    fn label(&self) -> &'static str {
        match self.clause {
            ClauseKind::Queue => self.decision.as_ref().map_or("acl", decide::Decision::clause),
            kind if self.granted || kind == ClauseKind::NoQueue => kind.into(),
            _ => "acl",
        }
    }

    /// Returns the setting of the clause if it is a list of users and groups.
    fn list(&self) -> Option<&'static str> {
        self.setting.filter(|_| self.clause != ClauseKind::Switch)
    }
}

/// Returns the decision in one sentence: the clauses that grant access, or all clauses that do not. The
/// sentence calls the application "it". `tree` must be the tree of the decision.
pub fn sentence(tree: &Tree, decision: &Decision) -> String {
    let clause = |step: &Step| clause(tree, decision, step);
    match decision.unmet() {
        None => {
            let by = decision.requirements.iter().filter_map(|requirement| requirement.steps.last());
            joined(by.filter_map(clause))
        }
        Some(unmet) if unmet.need == Need::Impossible => {
            format!("{} cannot move applications between queues", decision.dialect)
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
            Self::Source => "move it out of its queue",
            Self::Target => "move it into the other queue",
            Self::Impossible => "move it",
        }
    }
}

/// Describes a clause. Switches that enable ACLs are omitted, because they explain nothing.
fn clause(tree: &Tree, decision: &Decision, step: &Step) -> Option<String> {
    match step.clause {
        ClauseKind::Switch => {
            let key = step.setting.filter(|_| step.granted)?;
            Some(format!("{key} is off, so everyone can do everything"))
        }
        ClauseKind::Owner => Some(format!("{} owns it", decision.owner)),
        ClauseKind::ClusterAdministrators | ClauseKind::ApplicationAcl => {
            Some(format!("{} names {}", step.setting?, step.entry.as_ref()?))
        }
        ClauseKind::Queue => step.decision.as_ref().map(|decision| crate::sentence(tree, decision)),
        ClauseKind::NoQueue => Some(format!("there is no queue {}", quoted(step.queue.as_ref()?))),
    }
}

/// Describes the settings that do not name the user.
fn unnamed(steps: &[Step]) -> Option<String> {
    let keys: Vec<&str> = steps.iter().filter_map(Step::list).collect();
    match keys.as_slice() {
        [] => None,
        [one] => Some(format!("{one} does not name the user or a group")),
        [one, two] => Some(format!("{one} and {two} do not name the user or a group")),
        more => Some(format!("none of {} names the user or a group", more.join(", "))),
    }
}

/// Joins the parts, without repetitions.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join("; ")
}

#[cfg(test)]
mod tests;
