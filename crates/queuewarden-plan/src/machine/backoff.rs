//! The backoff after failures: the wait before a failed action is tried again. Other actions do not wait. A
//! change of what is desired is tried at once; other changes wait, because otherwise two writers would
//! overwrite each other without end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::budget::doubled;

/// First and longest wait after a failure.
const FIRST: SignedDuration = SignedDuration::from_secs(1);
const LONGEST: SignedDuration = SignedDuration::from_mins(1);

/// The keys that a write sets, and those that it removes.
pub(super) type Data = BTreeMap<String, Option<String>>;

/// The wait of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backoff<T> {
    /// The number of failures since the last success.
    failures: u32,
    until: Option<Timestamp>,
    what: T,
}

impl<T: Default> Backoff<T> {
    /// Begins after a failure, longer after each and, by `seed`, not at the same time as other replicas.
    pub(super) fn fail(&mut self, now: Timestamp, what: T, seed: u64) {
        let length = jittered(doubled(FIRST, self.failures, LONGEST), seed, self.failures);
        let failures = self.failures.saturating_add(1);
        *self = Self { failures, until: Some(now.checked_add(length).unwrap_or(Timestamp::MAX)), what };
    }

    /// Ends after a success.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Returns the time when it ends; `None` after a success.
    pub(super) fn until(&self) -> Option<Timestamp> {
        self.until
    }

    pub(super) fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Returns whether it lasts, and is about `this`.
    pub(super) fn holds(&self, now: Timestamp, this: impl Fn(&T) -> bool) -> bool {
        self.lasts(now) && this(&self.what)
    }

    /// Bounds what is left: a clock that was set back would otherwise make it last for as long as it was
    /// wrong.
    pub(super) fn pass(&mut self, now: Timestamp) {
        let latest = LONGEST.checked_add(LONGEST / 5).and_then(|longest| now.checked_add(longest).ok());
        self.until = self.until.map(|until| latest.map_or(until, |latest| until.min(latest)));
    }
}

impl Backoff<()> {
    /// Takes in whether something went well.
    pub(super) fn take(&mut self, now: Timestamp, well: bool, seed: u64) {
        if well { self.end() } else { self.fail(now, (), seed) }
    }
}

/// `length`, or up to a fifth less or more.
fn jittered(length: SignedDuration, seed: u64, failures: u32) -> SignedDuration {
    // As in splitmix64: neighbouring numbers give unlike ones.
    let mixed = (seed ^ u64::from(failures)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
    let permille = 800_i64.saturating_add_unsigned(mixed % 401);
    let millis = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    SignedDuration::from_millis(millis.saturating_mul(permille) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000_000 + millis).unwrap()
    }

    fn left<T: Default>(backoff: &Backoff<T>, now: Timestamp) -> i128 {
        backoff.until().map_or(0, |until| until.duration_since(now).as_millis())
    }

    #[test]
    fn backoff_after_each_failure_grows_up_to_a_minute_and_ends_with_a_success() {
        let mut backoff = Backoff::<()>::default();
        assert_eq!(backoff.until(), None);
        for length in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            backoff.fail(at(0), (), 7);
            let left = left(&backoff, at(0));
            assert!((length * 4 / 5..=length * 6 / 5).contains(&left), "{length}: {left}");
        }
        assert!(backoff.lasts(at(47_000)) && !backoff.lasts(at(72_001)));
        backoff.end();
        assert_eq!((backoff.until(), backoff.lasts(at(0))), (None, false));
    }

    #[test]
    fn backoff_of_another_seed_is_another_one() {
        let length = |seed| {
            let mut backoff = Backoff::<()>::default();
            backoff.fail(at(0), (), seed);
            left(&backoff, at(0))
        };
        let lengths: std::collections::BTreeSet<_> = (0..20).map(length).collect();
        assert!(lengths.len() > 10, "{lengths:?}");
    }

    #[test]
    fn backoff_holds_only_what_failed() {
        let mut backoff = Backoff::<Vec<&str>>::default();
        backoff.fail(at(0), vec!["a"], 0);
        let holds = |this| backoff.holds(at(1), |what| what.contains(&this));
        assert!(holds("a") && !holds("b"));
    }

    #[test]
    fn backoff_with_a_clock_set_back_lasts_no_longer_than_the_longest() {
        let mut backoff = Backoff::<()>::default();
        backoff.fail(at(3_600_000), (), 0);
        backoff.pass(at(0));
        assert_eq!(left(&backoff, at(0)), 72_000);
    }
}
