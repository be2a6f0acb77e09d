//! Lines about decisions, of target `queuewarden::audit`, so that `--log-level info,queuewarden::audit=off` leaves them out. Whoever applies
//! a thousand workloads at once fills no disk: further lines of a second are counted instead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lines of one second.
const LINES: u32 = 50;

/// Counts them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    second: Arc<Mutex<Option<Second>>>,
}

#[derive(Debug)]
struct Second {
    began: Instant,
    lines: u32,
    left_out: u32,
}

impl Lines {
    /// Whether there is a line left, and how many were left out since the last one.
    pub(super) fn next(&self, now: Instant) -> Option<u32> {
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |left_out| Second { began: now, lines: 0, left_out };
        let current = second.get_or_insert_with(|| fresh(0));
        if now.duration_since(current.began) >= Duration::from_secs(1) {
            *current = fresh(current.left_out);
        }
        if current.lines == LINES {
            current.left_out = current.left_out.saturating_add(1);
            return None;
        }
        current.lines = current.lines.saturating_add(1);
        Some(std::mem::take(&mut current.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_others_counted() {
        let lines = Lines::default();
        let start = Instant::now();
        for _ in 0..LINES {
            assert_eq!(lines.next(start), Some(0));
        }
        assert_eq!((lines.next(start), lines.next(start)), (None, None));
        let later = start + Duration::from_secs(1);
        assert_eq!((lines.next(later), lines.next(later)), (Some(2), Some(0)));
    }
}
