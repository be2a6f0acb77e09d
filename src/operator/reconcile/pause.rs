//! The pause after a failure.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::operator::mirror;
use crate::plan::Plan;

/// First and longest pause after a run with errors.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// How long not to try again what failed. A change of what is wanted is tried at once; other changes are not, or two writers that
/// race would do so without end.
#[derive(Debug, Default)]
pub struct Pause {
    /// Runs with errors since the last one without.
    pub(super) failures: u32,
    until: Option<Instant>,
    /// The keys that could not be written.
    data: Option<BTreeMap<String, Option<String>>>,
    /// The steps towards the RBAC mirror that were not done.
    steps: Vec<mirror::Wish>,
}

impl Pause {
    /// What is left of it, if the plan wants what failed.
    pub(super) fn left(&self, plan: &Plan) -> Option<Duration> {
        let same = self.data.is_some() && self.data.as_ref() == plan.write.as_ref().map(|write| &write.data);
        let left = self.rest();
        (same && !left.is_zero()).then_some(left)
    }

    /// How long it still lasts.
    pub(super) fn rest(&self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether the steps that failed are the ones still wanted, and too early.
    pub(super) fn holds_mirror(&self, plan: &Plan) -> bool {
        !self.rest().is_zero() && !self.steps.is_empty() && self.steps == mirror::wishes(&plan.mirror)
    }

    /// Longer after each failure, never in step with others. Without a plan it was no write that failed, and none is held up.
    pub(super) fn begin(&mut self, plan: Option<&Plan>) -> Duration {
        let (first, longest) = BACKOFF;
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let length = first.saturating_mul(factor).min(longest).mul_f64(0.8 + 0.4 * fastrand::f64());
        *self = Self {
            failures: self.failures.saturating_add(1),
            until: Some(Instant::now() + length),
            data: plan.and_then(|plan| plan.write.as_ref()).map(|write| write.data.clone()),
            steps: plan.map(|plan| mirror::wishes(&plan.mirror)).unwrap_or_default(),
        };
        length
    }
}
