//! Lists the clauses of each dialect, in the order of its source, and evaluates them.

use std::iter;

use super::{Clause, List, Need, Request, Step};
use crate::decide;
use crate::tree::{Located, Tree};
use yunikorn::acl::{Acl, Match};
use yunikorn::application::settings::{
    SPARK_ENABLE, SparkList, SparkLists, SparkRules, Written, YARN_ENABLE, YarnRules,
};
use yunikorn::application::{OwnRules, Reading, Rules, YarnAcl};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// One question, with the tree and the identity it is about.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) tree: &'a Tree,
    pub(super) request: Request<'a>,
    pub(super) identity: &'a Identity,
}

/// A clause that is not evaluated yet.
#[derive(Clone, Copy)]
enum Check<'a> {
    /// The switch with this key; everybody has access where it is off.
    Switch(&'static str, bool),
    Owner,
    /// An ACL in `YuniKorn`'s syntax that came with the application.
    Own(&'a Written<Acl>),
    Yarn(Kind, &'a Written<YarnAcl>),
    SparkUsers(Kind, &'a Written<SparkList>),
    SparkGroups(Kind, &'a Written<SparkList>),
    Queue(Right, &'a str),
    NoQueue(&'a str),
}

/// [`Clause::ClusterAdministrators`] or [`Clause::ApplicationAcl`].
type Kind = fn(List) -> Clause;

impl<'a> Context<'a> {
    /// The clauses up to the first that grants access.
    pub(super) fn steps(self, need: Need) -> Vec<Step> {
        let mut steps = Vec::new();
        for check in self.checks(need) {
            let step = self.evaluate(check);
            let granted = step.granted;
            steps.push(step);
            if granted {
                break;
            }
        }
        steps
    }

    fn checks(self, need: Need) -> Vec<Check<'a>> {
        let rules = &self.request.application.rules;
        match rules {
            _ if need == Need::Impossible => Vec::new(),
            _ if need == Need::Target => self.target(rules),
            Rules::YuniKorn(rules) => self.yunikorn(need, rules),
            Rules::Yarn(Reading::Hadoop, rules) => self.hadoop(need, rules),
            Rules::Yarn(Reading::Cloudera, rules) => self.cloudera(need, rules),
            Rules::Spark(rules) => spark(need, rules),
        }
    }

    /// The clauses for the queue to move to. Nothing can be moved to a queue that does not exist, whatever
    /// the ACLs say.
    fn target(self, rules: &'a Rules) -> Vec<Check<'a>> {
        let queue = self.request.target;
        if !matches!(self.tree.locate(queue), Located::Queue(_)) {
            return vec![Check::NoQueue(queue)];
        }
        let submits = Check::Queue(Right::Submit, queue);
        match rules {
            Rules::YuniKorn(_) => vec![submits],
            // Administrators of the cluster may not submit because of that (`accessToTargetQueueAllowed`).
            Rules::Yarn(Reading::Hadoop, rules) => vec![switch(rules), submits],
            Rules::Yarn(Reading::Cloudera, rules) => vec![switch(rules), administrators(rules), submits],
            Rules::Spark(_) => Vec::new(),
        }
    }

    /// `YuniKorn`'s clauses. ACLs that the application does not set are skipped.
    fn yunikorn(self, need: Need, rules: &'a OwnRules) -> Vec<Check<'a>> {
        let acl = need.pick(&rules.view, &rules.modify);
        let spark = rules.spark.as_ref();
        let spark = spark.map(|spark| [&spark.admin, need.pick(&spark.view, &spark.modify)]);
        let own = acl.set.then_some(Check::Own(acl));
        let spark = spark.into_iter().flatten().flat_map(|lists| both(lists, Clause::ApplicationAcl));
        iter::once(Check::Owner).chain(own).chain(spark).chain([self.administers()]).collect()
    }

    /// Hadoop's clauses. The queue's administrators come last: `ClientRMService.checkAccess` checks them when
    /// `ApplicationACLsManager` has denied. For logs it is not called.
    fn hadoop(self, need: Need, rules: &'a YarnRules) -> Vec<Check<'a>> {
        let acl = application_acl(need.pick(&rules.view, &rules.modify));
        let mut checks = vec![switch(rules), administrators(rules), Check::Owner, acl];
        checks.extend((need != Need::Logs).then_some(self.administers()));
        checks
    }

    /// The handbook's clauses. An administrator of the cluster counts as administrator of every queue; a user
    /// who may modify may view.
    fn cloudera(self, need: Need, rules: &'a YarnRules) -> Vec<Check<'a>> {
        let (view, modify) = (application_acl(&rules.view), application_acl(&rules.modify));
        let others = match need {
            Need::Source => vec![Check::Queue(Right::Submit, self.request.queue)],
            Need::Modify => vec![Check::Owner, modify, self.administers()],
            _ => vec![Check::Owner, view, modify, self.administers()],
        };
        [switch(rules), administrators(rules)].into_iter().chain(others).collect()
    }

    fn administers(self) -> Check<'a> {
        Check::Queue(Right::Admin, self.request.queue)
    }

    fn evaluate(self, check: Check<'_>) -> Step {
        let Identity { user, groups } = self.identity;
        match check {
            Check::Switch(key, enabled) => Step { clause: Clause::Switch(key), granted: !enabled },
            // An application without an owner is owned by nobody.
            Check::Owner => {
                let owner = self.request.application.owner.clone();
                let granted = !owner.is_empty() && owner == *user;
                Step { clause: Clause::Owner(owner), granted }
            }
            Check::Own(acl) => listed(acl, Clause::ApplicationAcl, acl.value.matched(user, groups)),
            Check::Yarn(kind, acl) => listed(acl, kind, acl.value.matched(self.identity)),
            Check::SparkUsers(kind, list) => listed(list, kind, list.value.user(user)),
            Check::SparkGroups(kind, list) => listed(list, kind, list.value.group(groups)),
            Check::Queue(right, queue) => {
                let decision = decide::explain_existing(self.tree, right, queue, self.identity);
                Step { granted: decision.allowed(), clause: Clause::Queue(decision) }
            }
            Check::NoQueue(queue) => Step { clause: Clause::NoQueue(queue.to_owned()), granted: false },
        }
    }
}

impl Need {
    /// Picks the setting for those who modify, or the one for those who view or read logs.
    fn pick<T>(self, view: T, modify: T) -> T {
        if self == Self::Modify { modify } else { view }
    }
}

fn spark(need: Need, rules: &SparkRules) -> Vec<Check<'_>> {
    let lists = need.pick(&rules.view, &rules.modify);
    iter::once(Check::Switch(SPARK_ENABLE, rules.enabled))
        .chain(both(&rules.admin, Clause::ClusterAdministrators))
        .chain([Check::Owner])
        .chain(both(lists, Clause::ApplicationAcl))
        .collect()
}

fn both(lists: &SparkLists, kind: Kind) -> [Check<'_>; 2] {
    [Check::SparkUsers(kind, &lists.users), Check::SparkGroups(kind, &lists.groups)]
}

fn switch(rules: &YarnRules) -> Check<'_> {
    Check::Switch(YARN_ENABLE, rules.enabled)
}

fn administrators(rules: &YarnRules) -> Check<'_> {
    Check::Yarn(Clause::ClusterAdministrators, &rules.admin)
}

fn application_acl(acl: &Written<YarnAcl>) -> Check<'_> {
    Check::Yarn(Clause::ApplicationAcl, acl)
}

fn listed<T>(written: &Written<T>, kind: Kind, entry: Option<Match<'_>>) -> Step {
    let (text, entry) = (written.text.clone(), entry.map(Into::into));
    let granted = entry.is_some();
    Step { clause: kind(List { key: written.key, text, set: written.set, entry }), granted }
}
