//! One line in the log for each decision, of target `queuewarden::audit`, so that `--log-level info,queuewarden::audit=off` leaves them out.
//! Whoever applies a thousand workloads at once fills no disk: further lines of a second are counted instead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::access::submission::{Judgement, Mode, Verdict};
use crate::api::review::submission::Asked;
use crate::model::admission::Request;

/// Lines of one second.
const LINES: u32 = 50;

/// Writes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Audit {
    second: Arc<Mutex<Option<Second>>>,
}

#[derive(Debug)]
struct Second {
    began: Instant,
    lines: u32,
    left_out: u32,
}

impl Audit {
    /// Whether there is a line left, and how many were left out since the last one.
    fn line(&self, now: Instant) -> Option<u32> {
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

    /// Writes down what was decided; nothing where nobody asked.
    pub(super) fn note(&self, asked: &Asked, judgement: &Judgement, mode: Mode) {
        if judgement.verdict == Verdict::NotAsked {
            return;
        }
        let Some(left_out) = self.line(Instant::now()) else { return };
        let Request { kind, user: by, .. } = &asked.request;
        tracing::info!(
            target: "queuewarden::audit",
            verb = "submit",
            decision = judgement.verdict.as_str(),
            clause = judgement.clause,
            refused = judgement.refusal(mode).is_some(),
            user = judgement.user,
            by,
            queue = judgement.queue,
            %kind,
            namespace = asked.request.namespace(),
            name = asked.name,
            reason = judgement.reason,
            left_out,
            "A workload was judged"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_others_counted() {
        let audit = Audit::default();
        let start = Instant::now();
        for _ in 0..LINES {
            assert_eq!(audit.line(start), Some(0));
        }
        assert_eq!((audit.line(start), audit.line(start)), (None, None));
        let later = start + Duration::from_secs(1);
        assert_eq!((audit.line(later), audit.line(later)), (Some(2), Some(0)));
    }
}
