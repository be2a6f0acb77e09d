//! Limits the memory of the process by a single budget of bytes.
//!
//! Senders control how much memory requests take. Before a request is read, it reserves the bytes that it
//! decodes to from a [`Budget`], and keeps them reserved ([`Held`]) while it is in memory. A part of a budget
//! ([`Budget::part`]) limits one use; its bytes are also bytes of the whole. Pages of lists and events of
//! watches are charged in the same way (`controller::metered`).
//!
//! The budget is [`SHARE`] of the memory limit of the process. The rest is for the code, stacks, buffers of
//! connections, and the space that the allocator cannot use.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Bytes of one mebibyte.
pub const MIB: usize = 1024 * 1024;
/// The memory limit of the shipped Deployment, in bytes. It is used for a process without a limit.
const SHIPPED_LIMIT: usize = 256 * MIB;
/// A larger number in a control group means that there is no limit.
const NO_LIMIT: usize = 1024 * 1024 * MIB;
/// The share of the limit that can be reserved, as numerator and denominator.
const SHARE: (usize, usize) = (11, 16);

/// The budget of this process, from the limit of its control group.
static PROCESS: LazyLock<Arc<Budget>> =
    LazyLock::new(|| Budget::new(limit().unwrap_or(SHIPPED_LIMIT) / SHARE.1 * SHARE.0));

/// A number of bytes that can be reserved.
#[derive(Debug)]
pub struct Budget {
    all: usize,
    held: AtomicUsize,
    whole: Option<Arc<Self>>,
    freed: Notify,
}

/// Reserved bytes; free again when dropped.
#[derive(Debug)]
pub struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

/// Not enough bytes are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not enough memory is left at the moment")]
pub struct Full;

impl Budget {
    /// Returns a budget of `all` bytes.
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: AtomicUsize::new(0), whole: None, freed: Notify::new() })
    }

    /// Returns the budget of this process, from the limit of its control group.
    pub fn of_process() -> Arc<Self> {
        Arc::clone(&PROCESS)
    }

    /// Returns a part of this budget: at most `all` bytes, as long as the whole has them.
    pub fn part(self: &Arc<Self>, all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: AtomicUsize::new(0), whole: Some(Arc::clone(self)), freed: Notify::new() })
    }

    /// Reserves bytes.
    ///
    /// # Errors
    /// When the budget, or a budget that contains it, does not have enough bytes.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Result<Held, Full> {
        self.take(bytes)?;
        Ok(Held { budget: Arc::clone(self), bytes })
    }

    /// Reserves bytes as soon as they are available.
    pub async fn wait(self: &Arc<Self>, bytes: usize) -> Held {
        loop {
            let freed = self.freed();
            tokio::pin!(freed);
            // From here on, freed bytes are noticed.
            freed.as_mut().enable();
            if let Ok(held) = self.hold(bytes) {
                return held;
            }
            freed.await;
        }
    }

    /// Returns the bytes that can be reserved now.
    pub fn free(&self) -> usize {
        let free = self.all.saturating_sub(self.held());
        self.whole.as_ref().map_or(free, |whole| free.min(whole.free()))
    }

    /// Returns the bytes that are reserved.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns a future that completes once bytes of this budget, or of any other part of the same whole, are
    /// freed after its first poll or `enable`.
    pub fn freed(&self) -> Notified<'_> {
        self.top().freed.notified()
    }

    fn top(&self) -> &Self {
        self.whole.as_deref().map_or(self, Self::top)
    }

    fn take(&self, bytes: usize) -> Result<(), Full> {
        let more = |held: usize| held.checked_add(bytes).filter(|after| *after <= self.all);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| Full)?;
        self.whole.as_ref().map_or(Ok(()), |whole| whole.take(bytes)).inspect_err(|_| self.give(bytes))
    }

    fn give_back(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
        self.give(bytes);
    }

    /// Frees bytes of this budget alone.
    fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.top().freed.notify_waiters();
    }
}

impl Held {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Frees all bytes but so many.
    pub fn shrink(&mut self, bytes: usize) {
        self.budget.give_back(self.bytes.saturating_sub(bytes));
        self.bytes = self.bytes.min(bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// Returns the memory limit of the control group, which a container sees as the root: version 2, then 1.
fn limit() -> Option<usize> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().find_map(|file| parsed(&fs::read_to_string(file).ok()?))
}

/// Parses the content of such a file; `None` means no limit.
fn parsed(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|limit| (1..NO_LIMIT).contains(limit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_reserved_until_they_are_dropped() {
        let budget = Budget::new(100);
        let mut first = budget.hold(60).unwrap();
        assert_eq!(budget.hold(41).unwrap_err(), Full);
        first.shrink(61);
        assert_eq!(budget.held(), 60, "it never grows");
        first.shrink(40);
        assert_eq!(budget.held(), 40);
        let second = budget.hold(60).unwrap();
        drop((first, second));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn bytes_of_a_part_are_bytes_of_the_whole() {
        let whole = Budget::new(100);
        let (one, other) = (whole.part(80), whole.part(80));
        assert_eq!(one.hold(81).unwrap_err(), Full, "more than the part has");
        let held = one.hold(80).unwrap();
        assert_eq!(other.hold(21).unwrap_err(), Full, "more than the whole has");
        assert_eq!((other.held(), whole.held()), (0, 80), "a refusal takes nothing");
        drop(held);
        assert!(other.hold(80).is_ok());
    }

    #[tokio::test]
    async fn bytes_that_are_freed_are_noticed() {
        let whole = Budget::new(100);
        let held = whole.part(100).hold(100).unwrap();
        let freed = whole.freed();
        tokio::pin!(freed);
        freed.as_mut().enable();
        assert!(futures::poll!(&mut freed).is_pending());
        drop(held);
        freed.await;
    }

    #[test]
    fn a_limit_is_read_and_none_is_none() {
        for (text, expected) in [
            ("268435456\n", Some(256 * MIB)),
            ("max\n", None),
            ("9223372036854771712\n", None),
            ("0\n", None),
            ("", None),
        ] {
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }

    proptest! {
        /// No matter how bytes are reserved and freed, no budget ever has more bytes reserved than its size.
        #[test]
        fn no_budget_is_exceeded(steps in prop::collection::vec((0..2_usize, 0..80_usize, 0..8_usize), 0..64)) {
            let whole = Budget::new(100);
            let parts = [whole.part(70), whole.part(50)];
            let mut all: Vec<(usize, Held)> = Vec::new();
            for (part, bytes, what) in steps {
                match (what, all.len()) {
                    (0..4, _) | (_, 0) => all.extend(parts[part].hold(bytes).ok().map(|held| (part, held))),
                    (4..6, count) => all[bytes % count].1.shrink(bytes),
                    (_, count) => drop(all.swap_remove(bytes % count)),
                }
                for (number, budget) in parts.iter().enumerate() {
                    let sum: usize = all.iter().filter(|(of, _)| *of == number).map(|(_, held)| held.bytes()).sum();
                    prop_assert_eq!(budget.held(), sum);
                    prop_assert!(sum <= budget.all);
                }
                prop_assert_eq!(whole.held(), all.iter().map(|(_, held)| held.bytes()).sum::<usize>());
                prop_assert!(whole.held() <= whole.all);
            }
            drop(all);
            prop_assert_eq!(whole.held(), 0);
        }
    }
}
