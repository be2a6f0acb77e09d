//! Runs the checks, collects the results, and describes each expectation in one line without invisible
//! characters.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Case, Expectations, ExpectedPlacement, Placing};
use crate::decide::{Decision, below_leaf, decide, explain, visible};
use crate::placement::{Naming, Outcome, Placer};
use crate::submission::whys;
use crate::tree::{Located, QueueId, Tree};
use go_compat::diag::quoted;
use yunikorn::identity::{GroupResolver, Identity, Refusal};
use yunikorn::queue::nearest;
use yunikorn::right::Right;
use yunikorn::version::Version;

/// The context of the checks.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "the trees are large")]
pub struct World<'a> {
    /// The queues of each partition.
    pub trees: &'a [Tree],
    /// The resolver of missing groups.
    pub resolver: &'a dyn GroupResolver,
    /// The version of `YuniKorn`.
    pub version: Version,
    /// Explains a decision with [`sentence`](fn@crate::decide::sentence), or with that and the locations of
    /// the entries.
    pub explain: &'a dyn Fn(&Tree, &Decision) -> String,
}

/// A subject and a question, with the result.
#[derive(Debug, Clone)]
pub struct Check<'e> {
    /// The case's position in the list.
    pub index: usize,
    /// The case of the check.
    pub case: &'e Case,
    /// The subject as written.
    pub subject: &'e Identity,
    /// The question with its expected answer.
    pub expectation: Expectation<'e>,
    /// The result of the check.
    pub verdict: CheckOutcome<'e>,
}

/// A question with its expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation<'e> {
    /// A right on a queue is granted, or denied.
    Right {
        /// The right to check.
        right: Right,
        /// The queue, as written.
        queue: &'e str,
        /// True if the right must be granted.
        allowed: bool,
    },
    /// An application runs in the expected queue.
    Placement(&'e Placing),
}

/// The result of a check.
#[derive(Debug, Clone)]
pub enum CheckOutcome<'e> {
    /// The answer meets the expectation.
    Passed,
    /// The answer does not meet the expectation, for this reason.
    Failed(Reason<'e>),
    /// The answer is unknown, for this reason.
    Undecided(String),
}

/// The reason for a failed check.
#[derive(Debug, Clone)]
pub enum Reason<'e> {
    /// A known reason.
    Text(String),
    /// The queue is not in the configuration. The intended queue is searched only when the reason is read,
    /// because the search compares every queue, and a status lists only a few of perhaps ten thousand failed
    /// checks.
    NotConfigured {
        /// The queues of the configuration.
        tree: &'e Tree,
        /// The queue as written.
        queue: &'e str,
        /// The nearest queue above, which decides.
        above: QueueId,
    },
}

impl From<String> for Reason<'_> {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl CheckOutcome<'_> {
    /// Returns whether the answer meets the expectation.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Returns the reason if the check did not pass.
    pub fn reason(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Passed => None,
            Self::Failed(Reason::Text(reason)) | Self::Undecided(reason) => Some(reason.into()),
            Self::Failed(Reason::NotConfigured { tree, queue, above }) => {
                Some(not_configured(tree, queue, *above).into())
            }
        }
    }
}

/// The numbers of checks by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// The number of passed checks.
    pub passed: usize,
    /// The number of failed checks.
    pub failed: usize,
    /// The number of undecided checks.
    pub undecided: usize,
}

impl Tally {
    /// Counts the results of the checks.
    pub fn new<'c>(checks: impl IntoIterator<Item = &'c Check<'c>>) -> Self {
        let mut tally = Self::default();
        for check in checks {
            let count = match check.verdict {
                CheckOutcome::Passed => &mut tally.passed,
                CheckOutcome::Failed(_) => &mut tally.failed,
                CheckOutcome::Undecided(_) => &mut tally.undecided,
            };
            *count = count.saturating_add(1);
        }
        tally
    }

    /// Returns the total number of checks.
    pub fn all(self) -> usize {
        self.passed.saturating_add(self.failed).saturating_add(self.undecided)
    }
}

/// Runs all checks: case by case, subject by subject, rights before placements, in their written order.
pub fn run<'e>(expectations: &'e Expectations, world: World<'e>) -> Vec<Check<'e>> {
    let partition = &expectations.partition;
    let tree = world.trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(partition));
    let evaluator = tree
        .map(|tree| Evaluator { tree, placer: Placer::new(tree), world })
        .ok_or_else(|| no_partition(world.trees, partition));
    let mut checks = Vec::with_capacity(expectations.size().min(super::MAX_CHECKS));
    for (index, case) in expectations.cases.iter().enumerate() {
        for subject in &case.subjects {
            let evaluator = evaluator.as_ref().map(|evaluator| (evaluator, evaluator.identify(subject)));
            for expectation in case.expectations() {
                let verdict = match &evaluator {
                    Ok((evaluator, identity)) => evaluator.verdict(case, subject, expectation, identity),
                    Err(why) => CheckOutcome::Failed(String::clone(why).into()),
                };
                checks.push(Check { index, case, subject, expectation, verdict });
            }
        }
    }
    checks
}

fn no_partition(trees: &[Tree], partition: &str) -> String {
    let names = trees.iter().map(Tree::partition);
    let hint = nearest(names, partition).map(|near| format!("; did you mean {}?", quoted(near)));
    format!("there is no partition {}{}", quoted(partition), hint.unwrap_or_default())
}

struct Evaluator<'e> {
    tree: &'e Tree,
    placer: Placer<'e>,
    world: World<'e>,
}

impl<'e> Evaluator<'e> {
    fn identify(&self, subject: &Identity) -> Result<Identity, Refusal> {
        self.tree.identify(subject, self.world.resolver, self.world.version)
    }

    fn verdict(
        &self,
        case: &Case,
        subject: &Identity,
        expectation: Expectation<'e>,
        identity: &Result<Identity, Refusal>,
    ) -> CheckOutcome<'e> {
        if let Expectation::Right { queue, .. } = expectation
            && let Some(verdict) = self.unknown_queue(case, queue)
        {
            return verdict;
        }
        match (identity, expectation) {
            (Ok(identity), Expectation::Right { right, queue, allowed }) => {
                self.right(right, queue, allowed, identity)
            }
            (Ok(identity), Expectation::Placement(placing)) => self.placement(placing, identity),
            (Err(Refusal::Undecided(why)), _) => {
                CheckOutcome::Undecided(format!("{why}; write the groups of the subject"))
            }
            (Err(refusal), _) => refused(expectation, refusal.describe(&subject.user)),
        }
    }

    fn right(&self, right: Right, queue: &str, allowed: bool, identity: &Identity) -> CheckOutcome<'e> {
        if decide(self.tree, right, queue, identity).allowed() == allowed {
            return CheckOutcome::Passed;
        }
        let decision = explain(self.tree, right, queue, identity);
        CheckOutcome::Failed((self.world.explain)(self.tree, &decision).into())
    }

    /// Fails a check on a queue that is unknown or cannot exist. If it passed because nobody has rights on
    /// such a queue, it would prove nothing.
    fn unknown_queue(&self, case: &Case, queue: &'e str) -> Option<CheckOutcome<'e>> {
        let tree = self.tree;
        match tree.locate(queue) {
            Located::BelowLeaf(leaf) => {
                let leaf = tree.node(leaf).map_or("the one above", |node| node.path.as_str());
                Some(CheckOutcome::Failed(below_leaf(queue, leaf).into()))
            }
            Located::Below(above) if !case.dynamic => {
                Some(CheckOutcome::Failed(Reason::NotConfigured { tree, queue, above }))
            }
            _ => None,
        }
    }

    fn placement(&self, placing: &Placing, identity: &Identity) -> CheckOutcome<'e> {
        let submission = placing.workload.submission(identity.clone(), Naming::default());
        let placement = self.placer.place(&submission);
        match (&placement.outcome, &placing.expected) {
            (Outcome::Undecided(reason), _) => CheckOutcome::Undecided(reason.clone()),
            (Outcome::Crashes(queue), _) => CheckOutcome::Failed(
                format!("a placement rule uses queue {}, which crashes the scheduler", quoted(queue)).into(),
            ),
            (Outcome::Placed(queue), ExpectedPlacement::In(wanted)) if queue.eq_ignore_ascii_case(wanted) => {
                CheckOutcome::Passed
            }
            (Outcome::Rejected(_), ExpectedPlacement::Nowhere) => CheckOutcome::Passed,
            (Outcome::Placed(queue), _) => {
                let reason = whys(self.tree, &submission, &placement, "");
                let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                CheckOutcome::Failed(format!("it runs in {queue}{because}").into())
            }
            (Outcome::Rejected(message), ExpectedPlacement::In(_)) => CheckOutcome::Failed(
                format!("it is rejected: {}", whys(self.tree, &submission, &placement, message)).into(),
            ),
        }
    }
}

/// Suggests the intended queue, or how to allow a queue that is not configured. `above` is the queue that
/// decides for it.
fn not_configured(tree: &Tree, queue: &str, above: QueueId) -> String {
    let near = nearest(tree.queues().map(|(_, node)| &node.path), queue);
    let hint = match near.filter(|near| tree.find(near) != Some(above)) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; if placement rules create it, write `dynamic: true` in the case".to_owned(),
    };
    format!("{} is not configured{hint}", quoted(queue))
}

/// Returns the result for a subject that the scheduler refuses: such a subject has no rights and runs no
/// applications.
fn refused<'e>(expectation: Expectation<'_>, why: String) -> CheckOutcome<'e> {
    let as_expected = match expectation {
        Expectation::Right { allowed, .. } => !allowed,
        Expectation::Placement(placing) => placing.expected == ExpectedPlacement::Nowhere,
    };
    if as_expected { CheckOutcome::Passed } else { CheckOutcome::Failed(why.into()) }
}

impl Check<'_> {
    /// Returns `case 2`, or `case 2 (developers run in prod)`.
    pub fn location(&self) -> String {
        let number = self.index.saturating_add(1);
        match self.case.name.as_str() {
            "" => format!("case {number}"),
            name => format!("case {number} ({})", visible(name)),
        }
    }

    /// Returns the expectation with the reason for a failure: `user sue may submit to root.prod, but no ACL
    /// ...`.
    pub fn line(&self) -> String {
        match self.verdict.reason() {
            None => self.to_string(),
            Some(reason) => format!("expected: {self}; but {reason}"),
        }
    }
}

impl fmt::Display for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = who(self.subject);
        match self.expectation {
            Expectation::Right { right, queue, allowed } => {
                let may = if allowed { "may" } else { "may not" };
                write!(f, "{who} {may} {} {}", right.act(), visible(queue))
            }
            Expectation::Placement(Placing { workload, expected }) => {
                let asks = match workload.queue() {
                    "" => String::new(),
                    queue => format!(", asking for {},", visible(queue)),
                };
                let what = match expected {
                    ExpectedPlacement::In(queue) => format!("runs in {}", visible(queue)),
                    ExpectedPlacement::Nowhere => "is rejected".to_owned(),
                };
                let namespace = visible(&workload.namespace);
                write!(f, "an application of {who} in namespace {namespace}{asks} {what}")
            }
        }
    }
}

/// Returns `user sue`, `user sue in group devs`, `user sue in groups devs and qa`, or `user sue in 7 groups`.
fn who(subject: &Identity) -> String {
    let user = visible(&subject.user);
    match subject.groups.as_slice() {
        [] => format!("user {user}"),
        [one] => format!("user {user} in group {}", visible(one)),
        [one, two] => format!("user {user} in groups {} and {}", visible(one), visible(two)),
        several => format!("user {user} in {} groups", several.len()),
    }
}
