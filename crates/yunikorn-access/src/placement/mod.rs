//! Finds the queue in which an application would land, or `YuniKorn`'s rejection.
//!
//! The scheduler tries its placement rules in order, takes the first queue that the user may submit to, and
//! creates it where it does not exist (yunikorn-core v1.8.0 `pkg/scheduler/placement/`,
//! `partition.go:316-350`, `partition.go:526-563`). Users read only one sentence of it, `no placement rule
//! matched`, whatever went wrong. A [`Placement`] has every step.
//!
//! * [`workload`]: the application that the shim makes of a pod and its namespace.
//! * `rule` and `filter`: the rules of the configuration, and the queue each names for an application.
//! * `landing`: the decision about a queue that a rule has named; the queues that exist beside the
//!   configuration.
//! * [`trace`]: the result with its steps.
//! * [`advice`]: the changes that would lead to another result.
//!
//! The steps after placement are not modelled: quotas and limits delay an application, and a gang that does
//! not fit into its queue is rejected (`partition.go:371-381`).

pub mod advice;
mod filter;
mod landing;
mod rule;
pub mod trace;
pub mod workload;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use landing::{Live, LiveQueue};
pub use trace::{
    Created, Landing, LandingEnd, Outcome, Placement, RuleEnd, RuleName, RuleStep, Step, Target, Why,
};
pub use workload::{Naming, Workload};

use super::decide::decide;
use super::tree::Tree;
use go_compat::go_bool::go_bool;
use landing::Existing;
use rule::{Rule, rules};
use yunikorn::identity::Identity;
use yunikorn::queue::RECOVERY;
use yunikorn::right::Right;

/// The queue of an application that no rule places, if such a queue exists (`common/constants.go:31`).
pub const DEFAULT_QUEUE: &str = "root.default";

/// The tag of an application whose pod runs already (scheduler interface, `AppTagCreateForce`).
pub const FORCE_TAG: &str = "application.create.force";

/// `YuniKorn`'s message when no rule placed the application (`placement.go:37`).
const NO_RULE_MATCHED: &str = "application rejected: no placement rule matched";

/// An application as the scheduler's core gets it (`si.AddApplicationRequest`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// Its id; it appears in rejections.
    pub application_id: String,
    /// The user after resolution, with the groups the scheduler sees.
    pub identity: Identity,
    /// The queue it names, as written; empty for none.
    pub queue: String,
    /// Its tags. Of names that differ in case only, `YuniKorn` reads any one; here it is the first in order.
    pub tags: BTreeMap<String, String>,
}

impl Submission {
    /// The value of a tag, whatever the case of its name; empty when there is none
    /// (`objects/application.go:2076`).
    pub fn tag(&self, name: &str) -> &str {
        let name = folded(name);
        self.tags.iter().find(|(key, _)| folded(key) == name).map_or("", |(_, value)| value)
    }

    /// Returns whether it has to be accepted because its pod runs already (`common/utils.go:189`).
    pub fn forced(&self) -> bool {
        go_bool(self.tag(FORCE_TAG)) == Some(true)
    }
}

/// The text in one case, character by character, as Go's `strings.EqualFold` compares it.
fn folded(text: &str) -> String {
    let one = |c: char| {
        let upper = c.to_uppercase().next().unwrap_or(c);
        upper.to_lowercase().next().unwrap_or(upper)
    };
    text.chars().map(one).collect()
}

/// The placement of one partition: its rules, prepared once, and its queues.
#[derive(Debug)]
pub struct Placer<'a> {
    existing: Existing<'a>,
    /// The rules, or the reason why they cannot be built.
    rules: Result<Vec<Rule>, String>,
}

impl<'a> Placer<'a> {
    /// A placer for a partition whose queues are those of its configuration.
    pub fn new(tree: &'a Tree) -> Self {
        Self::with_live(tree, Live::default())
    }

    /// A placer for a partition in which other queues exist, too.
    pub fn with_live(tree: &'a Tree, live: Live) -> Self {
        Self { existing: Existing { tree, live }, rules: rules(tree.placement_rules()) }
    }

    /// The queues beside the configuration.
    pub fn live_mut(&mut self) -> &mut Live {
        &mut self.existing.live
    }

    /// The same queues, with the one rule that uses the queue in the request.
    #[must_use]
    pub fn only_provided(&self) -> Self {
        Self { existing: self.existing.clone(), rules: rules(&[]) }
    }

    /// Places the application (`PlaceApplication` and `AddApplication`).
    pub fn place(&self, submission: &Submission) -> Placement {
        // The result if no rule places it.
        let mut placement = Placement::rejected(rejection(submission, NO_RULE_MATCHED));
        let rules = match &self.rules {
            Ok(rules) => rules,
            Err(reason) => {
                placement.inactive = Some(reason.clone());
                return placement;
            }
        };
        let existing = &self.existing;
        // Rules and filters go by what the pods carry, ACLs by the names that it follows from.
        let seen = match existing.tree.presented(&submission.identity) {
            Cow::Borrowed(_) => Cow::Borrowed(submission),
            Cow::Owned(identity) => Cow::Owned(Submission { identity, ..submission.clone() }),
        };
        let written = rules.iter().map(|rule| rule.run(&seen, existing));
        let last = std::iter::once_with(|| last_resort(submission, existing));
        for rule in written.chain(last) {
            if let Some(outcome) = placement.take(rule, submission, existing) {
                placement.outcome = outcome;
                break;
            }
        }
        placement
    }
}

/// Places an application when no queues exist but those of the configuration.
pub fn place(tree: &Tree, submission: &Submission) -> Placement {
    Placer::new(tree).place(submission)
}

/// The rule after all others: the recovery queue for an application that must be accepted, `root.default` for
/// others (`recovery_rule.go:60`, `placement.go:127-137`).
fn last_resort(submission: &Submission, existing: &Existing<'_>) -> RuleStep {
    if submission.forced() {
        return RuleStep::internal(RuleName::Recovery, RuleEnd::Named(RECOVERY.to_owned()));
    }
    let queue = DEFAULT_QUEUE.to_owned();
    let end =
        if existing.find(DEFAULT_QUEUE).is_some() { RuleEnd::Named(queue) } else { RuleEnd::Missing(queue) };
    RuleStep::internal(RuleName::Default, end)
}

impl Placement {
    /// Takes the next rule's result into the trace. `None` means that the rule after it is tried.
    fn take(&mut self, rule: RuleStep, submission: &Submission, existing: &Existing<'_>) -> Option<Outcome> {
        let (landing, outcome) = match &rule.end {
            RuleEnd::Named(queue) => {
                let landing = existing.land(queue, submission);
                let outcome = landing.outcome();
                (Some(landing), outcome)
            }
            RuleEnd::Fails(message) => (None, Some(Outcome::Rejected(rejection(submission, message)))),
            RuleEnd::Undecided(reason) => (None, Some(Outcome::Undecided(reason.clone()))),
            _ => (None, None),
        };
        self.steps.push(Step { rule, landing });
        outcome
    }
}

impl Landing {
    /// The outcome of the application; `None` when the next rule is tried.
    fn outcome(&self) -> Option<Outcome> {
        match &self.end {
            LandingEnd::Placed(_) => Some(Outcome::Placed(self.queue.to_ascii_lowercase())),
            LandingEnd::Fails { message, .. } => Some(Outcome::Rejected(message.clone())),
            LandingEnd::Crashes => Some(Outcome::Crashes(self.queue.clone())),
            LandingEnd::Undecided(reason) => Some(Outcome::Undecided(reason.clone())),
            LandingEnd::NotALeaf | LandingEnd::Denied | LandingEnd::Draining => None,
        }
    }
}

/// The message with which `AddApplication` wraps a rejection by placement (`partition.go:327`).
fn rejection(submission: &Submission, reason: &str) -> String {
    format!("failed to place application {}: {reason}", submission.application_id)
}

/// Returns whether the rule would place it after all if a queue had been made at run time. That queue would
/// have the ACLs of the queue above.
pub(crate) fn may_exist(tree: &Tree, step: &Step, submission: &Submission) -> bool {
    let missing = |end: &RuleEnd| match end {
        RuleEnd::Missing(queue) => decide(tree, Right::Submit, queue, &submission.identity).allowed(),
        _ => false,
    };
    missing(&step.rule.end) || step.rule.parent.as_ref().is_some_and(|parent| missing(&parent.end))
}
