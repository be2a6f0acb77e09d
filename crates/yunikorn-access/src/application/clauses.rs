//! Evaluates the clauses of each dialect, in the order of its source.

use super::{Clause, List, Need, Question, Step, Verb};
use crate::check::{self, Subject};
use crate::tree::{Located, Tree};
use yunikorn::acl::Acl;
use yunikorn::application::settings::{
    SPARK_ENABLE, SparkList, SparkLists, SparkRules, Written, YARN_ENABLE, YarnRules,
};
use yunikorn::application::{OwnRules, Reading, Rules, YarnAcl};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// One question, with the tree and the identity it is about.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) tree: &'a Tree,
    pub(super) question: Question<'a>,
    pub(super) identity: &'a Identity,
}

impl<'a> Asked<'a> {
    /// The clauses up to the first that grants access.
    pub(super) fn steps(self, need: Need) -> Vec<Step> {
        let mut trace = Trace::default();
        match &self.question.application.rules {
            Rules::YuniKorn(rules) => self.yunikorn(need, rules, &mut trace),
            Rules::Yarn(Reading::Hadoop, rules) => self.hadoop(need, rules, &mut trace),
            Rules::Yarn(Reading::Cloudera, rules) => self.cloudera(need, rules, &mut trace),
            Rules::Spark(rules) => self.spark(need, rules, &mut trace),
        };
        trace.0
    }

    /// Evaluates `YuniKorn`'s clauses. ACLs that the application does not set are skipped.
    fn yunikorn(self, need: Need, rules: &OwnRules, trace: &mut Trace) -> bool {
        let spark = rules.spark.as_ref();
        let own = |trace: &mut Trace, acl: &Written<Acl>, spark: Option<(&SparkRules, &SparkLists)>| {
            trace.ask(self.owner())
                || (acl.set && trace.ask(self.own_acl(acl)))
                || spark.is_some_and(|(rules, lists)| {
                    self.spark_lists(&rules.admin, Clause::ApplicationAcl, trace)
                        || self.spark_lists(lists, Clause::ApplicationAcl, trace)
                })
                || trace.ask(self.administers())
        };
        match need {
            Need::View | Need::Logs => own(trace, &rules.view, spark.map(|rules| (rules, &rules.view))),
            Need::Modify => own(trace, &rules.modify, spark.map(|rules| (rules, &rules.modify))),
            Need::Target => self.target(trace, |trace, queue| trace.ask(self.submits(queue))),
            Need::Source | Need::Impossible => false,
        }
    }

    /// Evaluates Hadoop's clauses. The queue's administrators come last: `ClientRMService.checkAccess` checks
    /// them when `ApplicationACLsManager` has denied.
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
            // Administrators of the cluster may not submit because of that (`accessToTargetQueueAllowed`).
            Need::Target => self.target(trace, |trace, queue| {
                trace.ask(switch(YARN_ENABLE, rules.enabled)) || trace.ask(self.submits(queue))
            }),
            Need::Source | Need::Impossible => false,
        }
    }

    /// Evaluates the handbook's clauses. An administrator of the cluster counts as administrator of every
    /// queue; a user who may modify may view.
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

    /// Evaluates the owner clause. An application without an owner is owned by nobody.
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

    fn own_acl(self, acl: &Written<Acl>) -> Step {
        let Identity { user, groups } = self.identity;
        listed(acl, Clause::ApplicationAcl, |acl| acl.matched(user, groups).map(Subject::from))
    }

    fn administers(self) -> Step {
        self.in_queue(Right::Admin, self.question.queue)
    }

    fn submits(self, queue: &str) -> Step {
        self.in_queue(Right::Submit, queue)
    }

    fn in_queue(self, right: Right, queue: &str) -> Step {
        let decision = check::explain(self.tree, right, queue, self.identity);
        Step { granted: decision.allowed(), clause: Clause::Queue(decision) }
    }

    /// Evaluates the target of a move. Nothing can be moved to a queue that does not exist, whatever the ACLs
    /// say.
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

/// The clauses evaluated so far.
#[derive(Default)]
struct Trace(Vec<Step>);

impl Trace {
    fn ask(&mut self, step: Step) -> bool {
        let granted = step.granted;
        self.0.push(step);
        granted
    }
}

/// Evaluates a switch, which grants everybody access when it is off.
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
