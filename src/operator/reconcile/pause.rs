//! The pauses after failures.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::operator::mirror;
use crate::plan::mirror::Changes;

/// First and longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// What a write sets and removes.
pub(super) type Data = BTreeMap<String, Option<String>>;

/// How long not to try again what failed. What has not failed does not wait for it. A change of what is wanted is tried at once; other
/// changes are not, or two writers that race would do so without end.
#[derive(Debug, Default)]
pub struct Pause {
    /// The keys that could not be written; none where a ConfigMap that comes first could not be made.
    write: Backoff<Option<Data>>,
    /// The steps towards the RBAC mirror that were not done.
    mirror: Backoff<Vec<mirror::Wish>>,
    /// Of the plan, and of what the doors make of it.
    plan: Backoff<()>,
    /// Of the statuses.
    statuses: Backoff<()>,
}

#[derive(Debug, Default)]
struct Backoff<T> {
    /// Since the last success.
    failures: u32,
    until: Option<Instant>,
    what: T,
}

impl Pause {
    /// Whether what is to be written is what failed, and too early.
    pub(super) fn holds_write(&self, wanted: Option<&Data>) -> bool {
        self.write.lasts() && wanted.is_some() && wanted == self.write.what.as_ref()
    }

    /// Whether all steps that are wanted are ones that failed, and too early.
    pub(super) fn holds_mirror(&self, wanted: &Changes) -> bool {
        self.mirror.lasts()
            && !wanted.steps.is_empty()
            && mirror::wishes(wanted).iter().all(|wish| self.mirror.what.contains(wish))
    }

    /// Takes in what came of the write.
    pub(super) fn wrote(&mut self, result: Result<(), Option<Data>>) {
        self.write.take_in(result);
    }

    /// Takes in what came of the steps towards the RBAC mirror.
    pub(super) fn mirrored(&mut self, result: Result<(), Vec<mirror::Wish>>) {
        self.mirror.take_in(result);
    }

    /// Takes in whether there is a plan by which doors answer.
    pub(super) fn planned(&mut self, well: bool) {
        self.plan.take_in(well.then_some(()).ok_or(()));
    }

    /// Takes in whether the statuses tell how it stands.
    pub(super) fn reported(&mut self, well: bool) {
        self.statuses.take_in(well.then_some(()).ok_or(()));
    }

    /// Takes in that there is no plan; how long to wait for the next, whatever else is due: nothing is tried without one.
    pub(super) fn unplanned(&mut self) -> Duration {
        self.planned(false);
        self.plan.left().unwrap_or_default()
    }

    /// Takes in that it is not for us to write.
    pub(super) fn yielded(&mut self) {
        self.write = Backoff::default();
        self.mirror = Backoff::default();
    }

    /// How long until something that failed may be tried again; `None` when nothing failed.
    pub(super) fn left(&self) -> Option<Duration> {
        let all = [self.write.left(), self.mirror.left(), self.plan.left(), self.statuses.left()];
        all.into_iter().flatten().min()
    }
}

impl<T: Default> Backoff<T> {
    /// Begins after a failure, longer after each and never in step with others; is over after a success.
    fn take_in(&mut self, result: Result<(), T>) {
        let Err(what) = result else {
            *self = Self::default();
            return;
        };
        let (first, longest) = BACKOFF;
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let length = first.saturating_mul(factor).min(longest).mul_f64(0.8 + 0.4 * fastrand::f64());
        let failures = self.failures.saturating_add(1);
        *self = Self { failures, until: Some(Instant::now() + length), what };
    }

    /// How long it still lasts; `None` after a success.
    fn left(&self) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(Instant::now()))
    }

    fn lasts(&self) -> bool {
        self.left().is_some_and(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::plan::mirror::{Action, Kind, Step};

    fn data(text: &str) -> Data {
        Data::from([("queues.yaml".into(), Some(text.into()))])
    }

    fn removals(names: &[&str]) -> Changes {
        let step =
            |name: &&str| Step { kind: Kind::Role, name: (*name).into(), seen: None, action: Action::Delete };
        Changes { owner: "u".into(), steps: names.iter().map(step).collect() }
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_failed_waits() {
        let (this, other) = (data("this"), data("other"));
        let mut pause = Pause::default();
        pause.mirrored(Err(mirror::wishes(&removals(&["a", "b"]))));
        assert!(!pause.holds_write(Some(&this)), "it was not tried");
        let held = |names: &[&str]| pause.holds_mirror(&removals(names));
        assert!(held(&["a", "b"]) && held(&["b"]));
        assert!(!held(&["b", "c"]) && !held(&["c"]) && !held(&[]));
        pause.mirrored(Ok(()));
        pause.wrote(Err(Some(this.clone())));
        assert!(pause.holds_write(Some(&this)));
        assert!(!pause.holds_write(Some(&other)) && !pause.holds_write(None));
        assert!(!pause.holds_mirror(&removals(&["a"])));
        pause.wrote(Err(None));
        assert!(!pause.holds_write(Some(&this)) && !pause.holds_write(None), "a base could not be made");
    }

    #[tokio::test(start_paused = true)]
    async fn each_pause_grows_by_its_own_failures_only() {
        let this = data("this");
        let mut pause = Pause::default();
        assert_eq!(pause.left(), None);
        for _ in 0..10 {
            pause.reported(false);
        }
        assert!(pause.left() >= Some(Duration::from_secs(48)));
        pause.wrote(Err(Some(this.clone())));
        assert!(pause.left() <= Some(Duration::from_millis(1200)), "the first failure");
        for _ in 0..10 {
            pause.reported(false);
        }
        assert!(pause.left() <= Some(Duration::from_millis(1200)), "not put off");
        advance(Duration::from_secs(2)).await;
        assert!(!pause.holds_write(Some(&this)));
        assert_eq!(pause.left(), Some(Duration::ZERO));
        let first = pause.unplanned();
        assert!(first > Duration::ZERO, "nothing is due without a plan");
        assert!(first <= Duration::from_millis(1200), "the first failure");
        for _ in 0..10 {
            pause.planned(false);
        }
        assert!(pause.unplanned() >= Duration::from_secs(48));
        pause.yielded();
        pause.planned(true);
        assert!(pause.left() > Some(Duration::ZERO), "the statuses are not told");
        pause.reported(true);
        assert_eq!(pause.left(), None);
    }
}
