//! May this user view, modify, kill or move this application, or read its logs?
//!
//! `YuniKorn` enforces nothing of this: it has no such question. Each dialect answers by its own rules, clause by clause in the
//! order in which its source asks them, and the trace names each clause. Sources: `ApplicationACLsManager.checkAccess`
//! (hadoop-yarn-common 3.4.1), `ClientRMService` lines 367-374 and 1216-1284 and `QueueACLsManager` (resourcemanager 3.4.1),
//! `ContainerLogsUtils` and `LogAggregationHtmlBlock` for logs, which do not ask the queue; Cloudera's "Managing YARN ACLs"; Spark
//! 3.5's `SecurityManager` and `HttpSecurityFilter`.
//!
//! Queues are those of a [`Tree`], whose ACLs `YuniKorn` reads. Where YARN's capacity scheduler lets everybody in to an
//! application whose queue has been removed, nobody is let in here by a queue that there is not; a queue below one that there is
//! may have been made for the application, and those who administer the one above administer it.

use super::check::{self, Denial, Outcome, Subject};
use super::tree::{Located, Tree};
use crate::model::acl::Match;
use crate::model::application::settings::{
    SPARK_ENABLE, SparkList, SparkLists, SparkRules, Written, YARN_ENABLE, YarnRules,
};
use crate::model::application::{ApplicationAcl, Dialect, Reading, Rules, YarnAcl};
use crate::model::identity::Identity;
use crate::model::right::Right;

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
    /// This right in this queue, or in one above it.
    Queue {
        /// Submit or administer.
        right: Right,
        /// Its path.
        queue: String,
    },
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

/// One question, and what it is asked of.
#[derive(Clone, Copy)]
struct Asked<'a> {
    tree: &'a Tree,
    question: Question<'a>,
    identity: &'a Identity,
}

impl<'a> Asked<'a> {
    fn steps(self, need: Need) -> Vec<Step> {
        let mut trace = Trace::default();
        match &self.question.application.rules {
            Rules::YuniKorn => self.yunikorn(need, &mut trace),
            Rules::Yarn(Reading::Hadoop, rules) => self.hadoop(need, rules, &mut trace),
            Rules::Yarn(Reading::Cloudera, rules) => self.cloudera(need, rules, &mut trace),
            Rules::Spark(rules) => self.spark(need, rules, &mut trace),
        };
        trace.0
    }

    fn yunikorn(self, need: Need, trace: &mut Trace) -> bool {
        match need {
            Need::View | Need::Logs | Need::Modify => {
                trace.ask(self.owner()) || trace.ask(self.administers())
            }
            Need::Target => self.target(trace, |trace, queue| trace.ask(self.submits(queue))),
            Need::Source | Need::Impossible => false,
        }
    }

    /// The queue's administrators come last: `ClientRMService.checkAccess` asks them when `ApplicationACLsManager` has said no.
    fn hadoop(self, need: Need, rules: &YarnRules, trace: &mut Trace) -> bool {
        let manager = |trace: &mut Trace, acl: &Written<YarnAcl>| {
            trace.ask(switch(YARN_ENABLE, rules.enabled))
                || trace.ask(self.administrators(&rules.admin))
                || trace.ask(self.owner())
                || trace.ask(self.application_acl(acl))
        };
        match need {
            Need::View => manager(trace, &rules.view) || trace.ask(self.administers()),
            Need::Logs => manager(trace, &rules.view),
            Need::Modify => manager(trace, &rules.modify) || trace.ask(self.administers()),
            // Whoever administers the cluster may not submit for it (`accessToTargetQueueAllowed`).
            Need::Target => self.target(trace, |trace, queue| {
                trace.ask(switch(YARN_ENABLE, rules.enabled)) || trace.ask(self.submits(queue))
            }),
            Need::Source | Need::Impossible => false,
        }
    }

    /// Who administers the cluster counts as administering every queue; who may modify may view.
    fn cloudera(self, need: Need, rules: &YarnRules, trace: &mut Trace) -> bool {
        let cluster = |trace: &mut Trace| {
            trace.ask(switch(YARN_ENABLE, rules.enabled)) || trace.ask(self.administrators(&rules.admin))
        };
        match need {
            Need::View | Need::Logs => {
                cluster(trace)
                    || trace.ask(self.owner())
                    || trace.ask(self.application_acl(&rules.view))
                    || trace.ask(self.application_acl(&rules.modify))
                    || trace.ask(self.administers())
            }
            Need::Modify => {
                cluster(trace)
                    || trace.ask(self.owner())
                    || trace.ask(self.application_acl(&rules.modify))
                    || trace.ask(self.administers())
            }
            Need::Source => cluster(trace) || trace.ask(self.submits(self.question.queue)),
            Need::Target => {
                self.target(trace, |trace, queue| cluster(trace) || trace.ask(self.submits(queue)))
            }
            Need::Impossible => false,
        }
    }

    fn spark(self, need: Need, rules: &SparkRules, trace: &mut Trace) -> bool {
        let lists = match need {
            Need::View | Need::Logs => &rules.view,
            Need::Modify => &rules.modify,
            Need::Source | Need::Target | Need::Impossible => return false,
        };
        trace.ask(switch(SPARK_ENABLE, rules.enabled))
            || self.spark_lists(&rules.admin, Clause::ClusterAdministrators, trace)
            || trace.ask(self.owner())
            || self.spark_lists(lists, Clause::ApplicationAcl, trace)
    }

    fn spark_lists(self, lists: &SparkLists, clause: fn(List) -> Clause, trace: &mut Trace) -> bool {
        let users = |list: &SparkList| list.user(&self.identity.user).map(Subject::from);
        let groups = |list: &SparkList| list.group(&self.identity.groups).map(Subject::from);
        trace.ask(listed(&lists.users, clause, users)) || trace.ask(listed(&lists.groups, clause, groups))
    }

    /// Nobody is the owner of an application without one.
    fn owner(self) -> Step {
        let owner = &self.question.application.owner;
        Step {
            clause: Clause::Owner { owner: owner.clone() },
            granted: !owner.is_empty() && *owner == self.identity.user,
        }
    }

    fn administrators(self, acl: &Written<YarnAcl>) -> Step {
        listed(acl, Clause::ClusterAdministrators, |acl| acl.matched(self.identity).map(Subject::from))
    }

    fn application_acl(self, acl: &Written<YarnAcl>) -> Step {
        listed(acl, Clause::ApplicationAcl, |acl| acl.matched(self.identity).map(Subject::from))
    }

    fn administers(self) -> Step {
        self.in_queue(Right::Admin, self.question.queue)
    }

    fn submits(self, queue: &str) -> Step {
        self.in_queue(Right::Submit, queue)
    }

    fn in_queue(self, right: Right, queue: &str) -> Step {
        let decision = check::decide(self.tree, right, queue, self.identity);
        Step { granted: decision.allowed(), clause: Clause::Queue(decision) }
    }

    /// Nothing can be moved to a queue that there is not, whatever the ACLs say.
    fn target(self, trace: &mut Trace, then: impl FnOnce(&mut Trace, &'a str) -> bool) -> bool {
        let Verb::Move(queue) = self.question.verb else { return false };
        match self.tree.locate(queue) {
            Located::Queue(_) => then(trace, queue),
            Located::Below(_) | Located::Nowhere => {
                trace.ask(Step { clause: Clause::NoQueue { queue: queue.to_owned() }, granted: false })
            }
        }
    }
}

/// The clauses asked so far.
#[derive(Default)]
struct Trace(Vec<Step>);

impl Trace {
    fn ask(&mut self, step: Step) -> bool {
        let granted = step.granted;
        self.0.push(step);
        granted
    }
}

/// A switch that is off lets everybody in.
fn switch(key: &'static str, enabled: bool) -> Step {
    Step { clause: Clause::Switch { key }, granted: !enabled }
}

fn listed<T>(
    written: &Written<T>,
    clause: fn(List) -> Clause,
    entry: impl FnOnce(&T) -> Option<Subject>,
) -> Step {
    let entry = entry(&written.value);
    let granted = entry.is_some();
    let list = List { key: written.key, text: written.text.clone(), set: written.set, entry };
    Step { clause: clause(list), granted }
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

    /// What would have to change for what is missing, the smallest change first. Empty for a yes, and where nothing would help.
    pub fn remedies(&self) -> Vec<Remedy> {
        let steps = self.unmet().map(|unmet| unmet.steps.as_slice()).unwrap_or_default();
        let mut remedies: Vec<Remedy> = steps.iter().filter_map(Step::remedy).collect();
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

impl Step {
    /// What would make this clause let in. An owner cannot be changed, and a switch is for the whole cluster: no remedy.
    fn remedy(&self) -> Option<Remedy> {
        match &self.clause {
            Clause::Switch { .. } | Clause::Owner { .. } => None,
            Clause::ClusterAdministrators(list) => Some(Remedy::ClusterAdministrators { key: list.key }),
            Clause::ApplicationAcl(list) => Some(Remedy::ApplicationAcl { key: list.key }),
            Clause::NoQueue { queue } => Some(Remedy::CreateQueue { queue: queue.clone() }),
            Clause::Queue(decision) => in_queue(decision),
        }
    }
}

fn in_queue(decision: &check::Decision) -> Option<Remedy> {
    match decision.outcome {
        Outcome::Allowed | Outcome::Denied(Denial::Recovery) => None,
        Outcome::Denied(Denial::NoQueue) => Some(Remedy::CreateQueue { queue: decision.asked.clone() }),
        Outcome::Denied(Denial::NotGranted) => {
            Some(Remedy::Queue { right: decision.right, queue: decision.asked.clone() })
        }
    }
}

impl Remedy {
    /// How much it changes: one application, one queue, everything.
    fn reach(&self) -> u8 {
        match self {
            Self::ApplicationAcl { .. } => 0,
            Self::Queue { .. } | Self::CreateQueue { .. } => 1,
            Self::ClusterAdministrators { .. } => 2,
        }
    }
}

impl From<Match<'_>> for Subject {
    fn from(entry: Match<'_>) -> Self {
        match entry {
            Match::Everyone => Self::Everyone,
            Match::User(user) => Self::User(user.to_owned()),
            Match::Group(group) => Self::Group(group.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
