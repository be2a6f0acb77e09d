//! Finds the queue that an application would run in, or `YuniKorn`'s rejection.
//!
//! The scheduler tries its placement rules in order, takes the first queue that the user may submit to, and
//! creates it if it does not exist (yunikorn-core v1.8.0 `pkg/scheduler/placement/`, `partition.go:316-350`,
//! `partition.go:526-563`). Whatever went wrong, users only see the message `no placement rule matched`. A
//! [`Placement`] contains every step.
//!
//! * [`workload`]: the application that the shim creates from a pod and its namespace.
//! * `rule` and `filter`: the rules of the configuration, and the queue that each selects for an application.
//! * `landing`: the evaluation of a queue that a rule has selected, and existing queues outside the
//!   configuration.
//! * [`trace`]: the result with its steps.
//! * [`advice`]: changes that would lead to another result.
//!
//! Steps after placement are not modelled: quotas and limits delay an application, and a gang that does not
//! fit in its queue is rejected (`partition.go:371-381`).

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

/// The queue of an application that no rule places, if that queue exists (`common/constants.go:31`).
pub const DEFAULT_QUEUE: &str = "root.default";

/// The tag of an application whose pod already runs (scheduler interface, `AppTagCreateForce`).
pub const FORCE_TAG: &str = "application.create.force";

/// `YuniKorn`'s message if no rule placed the application (`placement.go:37`).
const NO_RULE_MATCHED: &str = "application rejected: no placement rule matched";

/// An application in the form that the scheduler's core receives (`si.AddApplicationRequest`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// The ID, which appears in rejections.
    pub application_id: String,
    /// The user after resolution, with the groups that the scheduler uses.
    pub identity: Identity,
    /// The queue that it names, as written, or an empty text.
    pub queue: String,
    /// The tags. If several names differ only in case, `YuniKorn` uses any of them; here it is the first in
    /// order.
    pub tags: BTreeMap<String, String>,
}

impl Submission {
    /// Returns the value of a tag, ignoring the case of its name, or an empty text
    /// (`objects/application.go:2076`).
    pub fn tag(&self, name: &str) -> &str {
        let name = folded(name);
        self.tags.iter().find(|(key, _)| folded(key) == name).map_or("", |(_, value)| value)
    }

    /// Returns whether it must be accepted because its pod already runs (`common/utils.go:189`).
    pub fn forced(&self) -> bool {
        go_bool(self.tag(FORCE_TAG)) == Some(true)
    }
}

/// Folds the case of a text, character by character, like Go's `strings.EqualFold`.
fn folded(text: &str) -> String {
    let one = |c: char| {
        let upper = c.to_uppercase().next().unwrap_or(c);
        upper.to_lowercase().next().unwrap_or(upper)
    };
    text.chars().map(one).collect()
}

/// Places applications in one partition: its rules, built once, and its queues.
#[derive(Debug)]
pub struct Placer<'a> {
    existing: Existing<'a>,
    /// The rules, or why they cannot be built.
    rules: Result<Vec<Rule>, String>,
}

impl<'a> Placer<'a> {
    /// Returns a placer for a partition without queues outside its configuration.
    pub fn new(tree: &'a Tree) -> Self {
        Self::with_live(tree, Live::default())
    }

    /// Returns a placer for a partition with other queues, too.
    pub fn with_live(tree: &'a Tree, live: Live) -> Self {
        Self { existing: Existing { tree, live }, rules: rules(tree.placement_rules()) }
    }

    /// Returns the queues outside the configuration.
    pub fn live_mut(&mut self) -> &mut Live {
        &mut self.existing.live
    }

    /// Returns a placer for the same queues whose only rule uses the queue in the request.
    #[must_use]
    pub fn only_provided(&self) -> Self {
        Self { existing: self.existing.clone(), rules: rules(&[]) }
    }

    /// Places the application (`PlaceApplication` and `AddApplication`).
    pub fn place(&self, submission: &Submission) -> Placement {
        // The result if no rule places the application.
        let mut placement = Placement::rejected(rejection(submission, NO_RULE_MATCHED));
        let rules = match &self.rules {
            Ok(rules) => rules,
            Err(reason) => {
                placement.inactive = Some(reason.clone());
                return placement;
            }
        };
        let existing = &self.existing;
        // Rules and filters use the pods' annotations, ACLs use the original names.
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

/// Places an application if no queues outside the configuration exist.
pub fn place(tree: &Tree, submission: &Submission) -> Placement {
    Placer::new(tree).place(submission)
}

/// Returns the rule after all others: the recovery queue for an application that must be accepted, otherwise
/// `root.default` (`recovery_rule.go:60`, `placement.go:127-137`).
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
    /// Adds the result of a rule to the trace. Returns `None` if the next rule must be tried.
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
    /// Returns the outcome of the application, or `None` if the next rule must be tried.
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

/// Returns the message of `AddApplication` about a rejection by placement (`partition.go:327`).
fn rejection(submission: &Submission, reason: &str) -> String {
    format!("failed to place application {}: {reason}", submission.application_id)
}

/// Returns whether the rule would place the application if a queue had been created at run time. That queue
/// would have the ACLs of its parent.
pub(crate) fn may_exist(tree: &Tree, step: &Step, submission: &Submission) -> bool {
    let missing = |end: &RuleEnd| match end {
        RuleEnd::Missing(queue) => decide(tree, Right::Submit, queue, &submission.identity).allowed(),
        _ => false,
    };
    missing(&step.rule.end) || step.rule.parent.as_ref().is_some_and(|parent| missing(&parent.end))
}
