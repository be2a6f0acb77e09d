//! Evaluates the clauses of each dialect in the order of its source.

use std::iter;

use super::{ClauseKind, Need, Request, Step};
use crate::decide;
use crate::tree::Located;
use yunikorn::acl::Match;
use yunikorn::application::settings::{
    SPARK_ENABLE, SparkLists, SparkRules, Written, YARN_ENABLE, YarnRules,
};
use yunikorn::application::{OwnRules, Reading, Rules, YarnAcl};
use yunikorn::right::Right;

/// The clauses of a requirement, and the right on a queue that the last clause checks.
type Clauses<'a> = (Vec<Step>, Option<(Right, &'a str)>);

impl<'a> Request<'a> {
    /// Returns the clauses up to the first that grants access.
    pub(super) fn steps(self, need: Need) -> Vec<Step> {
        let (mut steps, in_queue) = self.clauses(need);
        match steps.iter().position(|step| step.granted) {
            Some(granting) => steps.truncate(granting.saturating_add(1)),
            None => steps.extend(in_queue.map(|(right, queue)| {
                let decision = decide::explain_existing(self.tree, right, queue, self.identity);
                let step = Step::new(ClauseKind::Queue, decision.allowed());
                Step { right: Some(right), queue: Some(queue.to_owned()), decision: Some(decision), ..step }
            })),
        }
        steps
    }

    fn clauses(self, need: Need) -> Clauses<'a> {
        let administers = Some((Right::Admin, self.queue));
        let rules = &self.application.rules;
        match rules {
            _ if need == Need::Impossible => (Vec::new(), None),
            _ if need == Need::Target => self.target(rules),
            Rules::YuniKorn(rules) => (self.yunikorn(need, rules), administers),
            // The queue's administrators come last: `ClientRMService.checkAccess` checks them after
            // `ApplicationACLsManager` has denied access. It is not called for logs.
            Rules::Yarn(Reading::Hadoop, rules) => {
                let acl = self.application_acl(need.pick(&rules.view, &rules.modify));
                let steps = vec![switch(rules), self.administrators(rules), self.owner(), acl];
                (steps, administers.filter(|_| need != Need::Logs))
            }
            Rules::Yarn(Reading::Cloudera, rules) => self.cloudera(need, rules),
            Rules::Spark(rules) => (self.spark(need, rules), None),
        }
    }

    /// Returns the clauses for the target queue of a move. Nothing can move to a queue that does not exist,
    /// regardless of the ACLs.
    fn target(self, rules: &Rules) -> Clauses<'a> {
        if !matches!(self.tree.locate(self.target), Located::Queue(_)) {
            let queue = Some(self.target.to_owned());
            return (vec![Step { queue, ..Step::new(ClauseKind::NoQueue, false) }], None);
        }
        let submits = Some((Right::Submit, self.target));
        match rules {
            Rules::YuniKorn(_) => (Vec::new(), submits),
            // Administrators of the cluster have no special right to submit (`accessToTargetQueueAllowed`).
            Rules::Yarn(Reading::Hadoop, rules) => (vec![switch(rules)], submits),
            Rules::Yarn(Reading::Cloudera, rules) => {
                (vec![switch(rules), self.administrators(rules)], submits)
            }
            Rules::Spark(_) => (Vec::new(), None),
        }
    }

    /// Returns `YuniKorn`'s clauses. ACLs that the application does not set are skipped.
    fn yunikorn(self, need: Need, rules: &OwnRules) -> Vec<Step> {
        let acl = need.pick(&rules.view, &rules.modify);
        let matched = acl.value.matched(&self.identity.user, &self.identity.groups);
        let own = acl.set.then(|| listed(acl, ClauseKind::ApplicationAcl, matched));
        let spark = rules.spark.as_ref();
        let spark = spark.map(|spark| [&spark.admin, need.pick(&spark.view, &spark.modify)]);
        let spark =
            spark.into_iter().flatten().flat_map(|lists| self.both(lists, ClauseKind::ApplicationAcl));
        iter::once(self.owner()).chain(own).chain(spark).collect()
    }

    /// Returns the handbook's clauses. An administrator of the cluster also administers every queue, and a
    /// user who may modify an application may also view it.
    fn cloudera(self, need: Need, rules: &YarnRules) -> Clauses<'a> {
        let mut steps = vec![switch(rules), self.administrators(rules)];
        if need == Need::Source {
            return (steps, Some((Right::Submit, self.queue)));
        }
        steps.push(self.owner());
        steps.extend((need != Need::Modify).then(|| self.application_acl(&rules.view)));
        steps.push(self.application_acl(&rules.modify));
        (steps, Some((Right::Admin, self.queue)))
    }

    fn spark(self, need: Need, rules: &SparkRules) -> Vec<Step> {
        let lists = need.pick(&rules.view, &rules.modify);
        iter::once(Step::switch(SPARK_ENABLE, rules.enabled))
            .chain(self.both(&rules.admin, ClauseKind::ClusterAdministrators))
            .chain([self.owner()])
            .chain(self.both(lists, ClauseKind::ApplicationAcl))
            .collect()
    }

    /// Nobody matches this clause if the application has no owner.
    fn owner(self) -> Step {
        let owner = &self.application.owner;
        Step::new(ClauseKind::Owner, !owner.is_empty() && *owner == self.identity.user)
    }

    fn administrators(self, rules: &YarnRules) -> Step {
        listed(&rules.admin, ClauseKind::ClusterAdministrators, rules.admin.value.matched(self.identity))
    }

    fn application_acl(self, acl: &Written<YarnAcl>) -> Step {
        listed(acl, ClauseKind::ApplicationAcl, acl.value.matched(self.identity))
    }

    fn both(self, SparkLists { users, groups }: &SparkLists, kind: ClauseKind) -> [Step; 2] {
        [
            listed(users, kind, users.value.user(&self.identity.user)),
            listed(groups, kind, groups.value.group(&self.identity.groups)),
        ]
    }
}

impl Need {
    /// Selects the setting for modifying, or for viewing and reading logs.
    fn pick<T>(self, view: T, modify: T) -> T {
        if self == Self::Modify { modify } else { view }
    }
}

impl Step {
    fn new(clause: ClauseKind, granted: bool) -> Self {
        Self {
            clause,
            granted,
            setting: None,
            text: None,
            set: None,
            entry: None,
            right: None,
            queue: None,
            decision: None,
        }
    }

    /// Returns the switch of all ACLs, which grants access to everyone if it is off.
    fn switch(key: &'static str, enabled: bool) -> Self {
        let text = Some(enabled.to_string());
        Self { setting: Some(key), text, ..Self::new(ClauseKind::Switch, !enabled) }
    }
}

fn switch(rules: &YarnRules) -> Step {
    Step::switch(YARN_ENABLE, rules.enabled)
}

/// Returns a list with the entry that grants access.
fn listed<T>(written: &Written<T>, kind: ClauseKind, entry: Option<Match<'_>>) -> Step {
    Step {
        setting: Some(written.key),
        text: Some(written.text.clone()),
        set: Some(written.set),
        entry: entry.map(Into::into),
        ..Step::new(kind, entry.is_some())
    }
}
