//! Limits how often another writer's edit is reverted.
//!
//! Two controllers that each insist on their own text can rewrite a ConfigMap in a hot loop, and every
//! rewrite makes the scheduler reload. The first repairs are immediate, so that a mistake is repaired before
//! anyone notices; later ones are spaced out.
//!
//! A [`Backoff`] is the wait before a failed action is retried. It does not delay other actions. A change to
//! the desired state is tried at once. Other changes wait, because two writers would otherwise overwrite each
//! other forever.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// Number of repairs within [`WINDOW`] that are not delayed.
pub(super) const BURST: usize = 3;
/// Repairs older than this are forgotten.
pub(super) const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// Delay after the first repair beyond the burst; doubled for each further one.
const FIRST_DELAY: SignedDuration = SignedDuration::from_secs(30);
/// Delay of a repair beyond the burst if access is too wide.
const OPEN_DELAY: SignedDuration = SignedDuration::from_secs(1);
/// The longest delay.
const LONGEST_DELAY: SignedDuration = SignedDuration::from_mins(10);
/// How long no edits must follow our last repair before a contention ends.
const QUIET: SignedDuration = SignedDuration::from_secs(30);

/// Returns the repairs that are still relevant at `now`.
fn recent(repairs: &[Timestamp], now: Timestamp) -> impl DoubleEndedIterator<Item = Timestamp> {
    repairs.iter().copied().filter(move |at| now.duration_since(*at) < WINDOW)
}

/// Returns the earliest time of the next repair, given the earlier repairs; `None` means now. A text that is
/// missing or grants too much (`open`) is repaired at least every second, because a reload takes milliseconds
/// while an open cluster is a risk.
pub(super) fn repair_at(repairs: &[Timestamp], open: bool, now: Timestamp) -> Option<Timestamp> {
    let count = recent(repairs, now).count();
    let beyond = u32::try_from(count.checked_sub(BURST)?).unwrap_or(u32::MAX);
    let last = recent(repairs, now).max()?;
    let delay = if open { OPEN_DELAY } else { doubled(FIRST_DELAY, beyond, LONGEST_DELAY) };
    last.checked_add(delay).ok().filter(|due| *due > now)
}

/// The number of writes that may widen access at once.
pub(super) const WIDENINGS: usize = 60;
/// Time after which another such write may be made.
const WIDENING_EVERY: SignedDuration = SignedDuration::from_secs(5);

/// Returns the earliest time when access may be widened, given the earlier times; `None` means now. A bucket
/// of [`WIDENINGS`] tokens that gains one every [`WIDENING_EVERY`].
pub(super) fn widening_at(widened: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
    let take = |full: Option<Timestamp>, at: &Timestamp| {
        full.map_or(*at, |full| full.max(*at)).checked_add(WIDENING_EVERY).ok()
    };
    // The time when the bucket is full again; the bucket is empty if refilling takes all of its tokens.
    let full = widened.iter().fold(None, take);
    let depth =
        i32::try_from(WIDENINGS).ok().and_then(|tokens| WIDENING_EVERY.checked_mul(tokens.saturating_sub(1)));
    full?.checked_sub(depth?).ok().filter(|due| *due > now)
}

/// Returns when to retry a write that was refused this many times, last at `at`.
pub(super) fn retry_at(at: Timestamp, times: u32) -> Timestamp {
    at.checked_add(doubled(FIRST_DELAY, times, LONGEST_DELAY)).unwrap_or(at)
}

/// Returns when the contention at `now` ends if no more edits follow; `None` without a contention.
pub(super) fn contended_until(repairs: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
    if recent(repairs, now).count() < BURST {
        return None;
    }
    let until = recent(repairs, now).max()?.checked_add(QUIET).ok()?;
    (until > now).then_some(until)
}

/// Returns `first` doubled `times` times, at most `longest`.
pub(super) fn doubled(first: SignedDuration, times: u32, longest: SignedDuration) -> SignedDuration {
    let factor = 2_i32.checked_pow(times);
    factor.and_then(|factor| first.checked_mul(factor)).map_or(longest, |delay| delay.min(longest))
}

/// First and longest wait after a failure.
const FIRST: SignedDuration = SignedDuration::from_secs(1);
const LONGEST: SignedDuration = SignedDuration::from_mins(1);

/// The keys that a write sets (`Some`) or removes (`None`).
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
    /// Begins after a failure. It lasts longer after each failure, and `seed` makes replicas retry at
    /// different times.
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

    /// Returns whether it is still running and `this` matches what failed.
    pub(super) fn holds(&self, now: Timestamp, this: impl Fn(&T) -> bool) -> bool {
        self.lasts(now) && this(&self.what)
    }

    /// Limits the remaining time. Otherwise, after the clock was set back, the backoff would last as long as
    /// the clock was wrong.
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

/// `length`, plus or minus up to a fifth.
fn jittered(length: SignedDuration, seed: u64, failures: u32) -> SignedDuration {
    // As in splitmix64: similar inputs give different results.
    let mixed = (seed ^ u64::from(failures)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
    let permille = 800_i64.saturating_add_unsigned(mixed % 401);
    let millis = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    SignedDuration::from_millis(millis.saturating_mul(permille) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn a_burst_is_free_and_then_delays_double() {
        let mut repairs = Vec::new();
        let mut clock = 0;
        let mut waits = Vec::new();
        for _ in 0..8 {
            let due = repair_at(&repairs, false, at(clock));
            let wait = due.map_or(0, |due| due.duration_since(at(clock)).as_secs());
            waits.push(wait);
            clock += wait;
            repairs.push(at(clock));
        }
        assert_eq!(waits, [0, 0, 0, 30, 60, 120, 240, 480]);
    }

    #[test]
    fn old_repairs_are_forgotten() {
        let repairs: Vec<_> = (0..50).map(at).collect();
        assert!(repair_at(&repairs, false, at(60)).is_some());
        assert_eq!(repair_at(&repairs, false, at(50 + 600)), None);
    }

    #[test]
    fn contention_ends_after_a_quiet_time() {
        let repairs = [at(0), at(1), at(2)];
        assert_eq!(contended_until(&repairs[..2], at(2)), None);
        assert_eq!(contended_until(&repairs, at(3)), Some(at(32)));
        assert_eq!(contended_until(&repairs, at(32)), None);
    }

    #[test]
    fn in_any_ten_minutes_of_a_hostile_writer_few_repairs_are_made() {
        let mut repairs: Vec<Timestamp> = Vec::new();
        for second in 0..3600 {
            if repair_at(&repairs, false, at(second)).is_none() {
                repairs.push(at(second));
            }
        }
        let most =
            (0..3000).map(|from| repairs.iter().filter(|r| **r >= at(from) && **r < at(from + 600)).count());
        assert!(most.max().unwrap() <= 8, "{repairs:?}");
    }

    #[test]
    fn an_open_text_is_put_right_every_second() {
        let repairs: Vec<_> = (0..20).map(at).collect();
        assert_eq!(repair_at(&repairs, true, at(19)), Some(at(20)));
        assert_eq!(repair_at(&repairs, true, at(20)), None);
    }

    #[test]
    fn widenings_beyond_the_burst_come_one_by_one() {
        let mut widened = Vec::new();
        for second in 0..600 {
            if widening_at(&widened, at(second)).is_none() {
                widened.push(at(second));
            }
        }
        let first_minute = widened.iter().filter(|time| **time < at(60)).count();
        assert_eq!(first_minute, 60, "the burst");
        let last_minute = widened.iter().filter(|time| **time >= at(540)).count();
        assert_eq!(last_minute, 12);
        assert_eq!(widening_at(&widened, at(600 + 300)), None);
    }

    #[test]
    fn a_repair_of_ten_minutes_ago_counts_no_more() {
        let repairs = [at(0), at(597), at(598), at(599)];
        assert_eq!(repair_at(&repairs, false, at(599)), Some(at(599 + 60)));
        assert_eq!(repair_at(&repairs, false, at(600)), Some(at(599 + 30)));
    }

    fn millis(millis: i64) -> Timestamp {
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
            backoff.fail(millis(0), (), 7);
            let left = left(&backoff, millis(0));
            assert!((length * 4 / 5..=length * 6 / 5).contains(&left), "{length}: {left}");
        }
        assert!(backoff.lasts(millis(47_000)) && !backoff.lasts(millis(72_001)));
        backoff.end();
        assert_eq!((backoff.until(), backoff.lasts(millis(0))), (None, false));
    }

    #[test]
    fn backoff_of_another_seed_is_another_one() {
        let length = |seed| {
            let mut backoff = Backoff::<()>::default();
            backoff.fail(millis(0), (), seed);
            left(&backoff, millis(0))
        };
        let lengths: std::collections::BTreeSet<_> = (0..20).map(length).collect();
        assert!(lengths.len() > 10, "{lengths:?}");
    }

    #[test]
    fn backoff_holds_only_what_failed() {
        let mut backoff = Backoff::<Vec<&str>>::default();
        backoff.fail(millis(0), vec!["a"], 0);
        let holds = |this| backoff.holds(millis(1), |what| what.contains(&this));
        assert!(holds("a") && !holds("b"));
    }

    #[test]
    fn backoff_with_a_clock_set_back_lasts_no_longer_than_the_longest() {
        let mut backoff = Backoff::<()>::default();
        backoff.fail(millis(3_600_000), (), 0);
        backoff.pass(millis(0));
        assert_eq!(left(&backoff, millis(0)), 72_000);
    }
}
