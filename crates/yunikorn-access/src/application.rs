//! May this user view, modify, kill or move this application, or read its logs?
//!
//! `YuniKorn` enforces nothing of this: it has no such question. Each dialect answers by its own rules, clause by clause in the
//! order in which its source asks them, and the trace names each clause. Sources: `ApplicationACLsManager.checkAccess`
//! (hadoop-yarn-common 3.4.1), `ClientRMService` lines 367-374 and 1216-1284 and `QueueACLsManager` (resourcemanager 3.4.1),
//! `ContainerLogsUtils` and `LogAggregationHtmlBlock` for logs, which do not ask the queue; Cloudera's "Managing YARN ACLs"; Spark
//! 3.5's `SecurityManager` and `HttpSecurityFilter`.
//!
//! Queues are those of a [`Tree`], whose ACLs `YuniKorn` reads and walks: both of a queue, then those of the queue above. YARN walks
//! up with the one and then with the other (`ConfiguredYarnAuthorizer.checkPermissionInternal`), to the same answer. Where
//! YARN's capacity scheduler lets everybody in to an application whose queue has been removed, nobody is let in here by a queue
//! that there is not; a queue below one that there is may have been made for the application, and those who administer the one
//! above administer it.

mod clauses;
mod sentence;

use std::fmt;

use clauses::Asked;
pub use sentence::sentence;

use super::check::{self, Subject};
use super::remedy;
use super::tree::Tree;
use yunikorn::application::{ApplicationAcl, Dialect};
use yunikorn::identity::Identity;

/// What to do with an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb<'a> {
    /// See that it exists, its state and its progress.
    View,
    /// Change it: priority, timeouts, signals.
    Modify,
    /// End it.
    Kill,
    /// Read its logs.
    Logs,
    /// Move it to this queue.
    Move(&'a str),
}

impl<'a> Verb<'a> {
    /// All of them; `to` is the queue to move to.
    pub fn all(to: &'a str) -> [Self; 5] {
        [Self::View, Self::Modify, Self::Kill, Self::Logs, Self::Move(to)]
    }

    /// As reviews and the command line spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Modify => "modify",
            Self::Kill => "kill",
            Self::Logs => "logs",
            Self::Move(_) => "move",
        }
    }
}

/// An application somewhere, and what to do with it.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What.
    pub verb: Verb<'a>,
    /// With which application.
    pub application: &'a ApplicationAcl,
    /// The full path of the queue it is in.
    pub queue: &'a str,
}

/// The answer to one question, with the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whose rules.
    pub dialect: Dialect,
    /// Who asked.
    pub identity: Identity,
    /// What was needed, in the order asked: all of it for a yes. What comes behind the first that is not met was not asked.
    pub requirements: Vec<Requirement>,
}

/// Something that is needed; any of its clauses is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// What.
    pub need: Need,
    /// The clauses that were asked, in order; the last one lets in if any does.
    pub steps: Vec<Step>,
}

/// What a verb needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// To view the application.
    View,
    /// To read its logs.
    Logs,
    /// To modify it.
    Modify,
    /// To submit to the queue that it is in.
    Source,
    /// To submit to the queue that it is to be moved to.
    Target,
    /// There is no such thing: Spark moves no application.
    Impossible,
}

/// A clause that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub clause: Clause,
    /// Whether it lets in.
    pub granted: bool,
}

/// A clause of a dialect, with what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clause {
    /// The switch of all ACLs: lets everybody in where it is off.
    Switch {
        /// The setting.
        key: &'static str,
    },
    /// A list of those who administer the cluster.
    ClusterAdministrators(List),
    /// The application's owner.
    Owner {
        /// Its name.
        owner: String,
    },
    /// A list that came with the application.
    ApplicationAcl(List),
    /// A right in a queue.
    Queue(check::Decision),
    /// A queue that there must be, and is not.
    NoQueue {
        /// As asked.
        queue: String,
    },
}

/// A setting that names users or groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The setting.
    pub key: &'static str,
    /// As written, or the default.
    pub text: String,
    /// Whether it is written.
    pub set: bool,
    /// The entry that lets in; `None` when none does.
    pub entry: Option<Subject>,
}

/// What would let somebody in who is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// An entry in this setting, which comes with the application and is fixed when it is submitted.
    ApplicationAcl {
        /// The setting.
        key: &'static str,
    },
    /// A right in a queue.
    Queue(remedy::Remedy),
    /// This queue, which there is not.
    CreateQueue {
        /// As asked.
        queue: String,
    },
    /// An entry in this setting, which counts for all applications.
    ClusterAdministrators {
        /// The setting.
        key: &'static str,
    },
}

/// Decides, and says how.
pub fn decide(tree: &Tree, question: Question<'_>, identity: &Identity) -> Decision {
    let dialect = question.application.dialect();
    let asked = Asked { tree, question, identity };
    let mut requirements = Vec::new();
    for need in needs(dialect, question.verb) {
        let requirement = Requirement { need: *need, steps: asked.steps(*need) };
        let met = requirement.met();
        requirements.push(requirement);
        if !met {
            break;
        }
    }
    Decision { dialect, identity: identity.clone(), requirements }
}

/// What a verb needs in a dialect. In Spark whoever kills does it on a page that must be viewed; by the handbook, who may submit to
/// both queues may move.
fn needs(dialect: Dialect, verb: Verb<'_>) -> &'static [Need] {
    match (dialect, verb) {
        (Dialect::Spark, Verb::Move(_)) => &[Need::Impossible],
        (Dialect::YarnCloudera, Verb::Move(_)) => &[Need::Source, Need::Target],
        (_, Verb::Move(_)) => &[Need::Modify, Need::Target],
        (Dialect::Spark, Verb::Kill) => &[Need::View, Need::Modify],
        (_, Verb::Modify | Verb::Kill) => &[Need::Modify],
        (Dialect::YarnHadoop, Verb::Logs) => &[Need::Logs],
        (_, Verb::View | Verb::Logs) => &[Need::View],
    }
}

impl Decision {
    /// Whether it is a yes.
    pub fn allowed(&self) -> bool {
        self.requirements.iter().all(Requirement::met)
    }

    /// What is missing for a yes; what comes behind it was not asked.
    pub fn unmet(&self) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.met())
    }

    /// What decided, in one word of a few: the clause that lets in, or why none does. A label of metrics.
    pub fn clause(&self) -> &'static str {
        match self.unmet() {
            Some(Requirement { need: Need::Impossible, .. }) => "impossible",
            Some(unmet) => unmet.steps.last().map_or("acl", |step| step.clause.refuses()),
            None => {
                let last = self.requirements.last().and_then(Requirement::granted_by);
                last.map_or("acl", |step| step.clause.grants())
            }
        }
    }

    /// What would have to change for what is missing, the smallest change first. Empty for a yes, and where nothing would help. The
    /// tree is the one that was asked.
    pub fn remedies(&self, tree: &Tree) -> Vec<Remedy> {
        let steps = self.unmet().map(|unmet| unmet.steps.as_slice()).unwrap_or_default();
        let mut remedies: Vec<Remedy> = steps.iter().flat_map(|step| step.remedies(tree)).collect();
        remedies.sort_by_key(Remedy::reach);
        remedies
    }
}

impl Requirement {
    /// Whether a clause lets in.
    pub fn met(&self) -> bool {
        self.granted_by().is_some()
    }

    /// The clause that lets in.
    pub fn granted_by(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.granted)
    }
}

impl Clause {
    fn grants(&self) -> &'static str {
        match self {
            Self::Switch { .. } => "switch",
            Self::ClusterAdministrators(_) => "cluster_administrators",
            Self::Owner { .. } => "owner",
            Self::ApplicationAcl(_) => "application_acl",
            Self::Queue(decision) => decision.clause(),
            Self::NoQueue { .. } => "no_queue",
        }
    }

    /// Lists that do not name somebody are all the same here.
    fn refuses(&self) -> &'static str {
        match self {
            Self::Queue(decision) => decision.clause(),
            Self::NoQueue { .. } => "no_queue",
            _ => "acl",
        }
    }
}

impl Step {
    /// What would make this clause let in. An owner cannot be changed, and a switch is for the whole cluster: no remedy.
    fn remedies(&self, tree: &Tree) -> Vec<Remedy> {
        match &self.clause {
            Clause::Switch { .. } | Clause::Owner { .. } => Vec::new(),
            Clause::ClusterAdministrators(list) => vec![Remedy::ClusterAdministrators { key: list.key }],
            Clause::ApplicationAcl(list) => vec![Remedy::ApplicationAcl { key: list.key }],
            Clause::NoQueue { queue } => vec![Remedy::CreateQueue { queue: queue.clone() }],
            Clause::Queue(decision) => {
                remedy::remedies(tree, decision).into_iter().map(Remedy::Queue).collect()
            }
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApplicationAcl { key } => {
                write!(f, "name {} in {key}, which is set when the application is submitted", listed_in(key))
            }
            Self::Queue(remedy) => remedy.fmt(f),
            Self::CreateQueue { queue } => write!(f, "make the queue {queue}"),
            Self::ClusterAdministrators { key } => {
                write!(f, "name {} in {key}, which counts for all applications", listed_in(key))
            }
        }
    }
}

/// Whom a setting names: YARN's have users and groups, Spark has a setting for each.
fn listed_in(key: &str) -> &'static str {
    match (key.starts_with("spark."), key.ends_with(".groups")) {
        (true, true) => "one of the groups",
        (true, false) => "the user",
        (false, _) => "the user or one of the groups",
    }
}

impl Remedy {
    /// How much it changes: one application, one queue, everything.
    fn reach(&self) -> u8 {
        match self {
            Self::ApplicationAcl { .. } => 0,
            Self::Queue(_) | Self::CreateQueue { .. } => 1,
            Self::ClusterAdministrators { .. } => 2,
        }
    }
}

#[cfg(test)]
mod tests;
