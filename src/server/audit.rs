//! One line in the log for each decision, of target `queuewarden::audit`, so that `--log-level info,queuewarden::audit=off` leaves them out;
//! and its count.
//!
//! Both have the same three words of ours: what was asked (`verb`), what was said (`decision`), and what decided (`clause`). A line also has
//! who asks about whom and what; names come from outside, so each of them is cut. Whoever asks a thousand times at once fills no disk:
//! further lines of a second are counted instead. Each door has its own lines, so a busy one does not silence the others; counts are
//! never left out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::operator::health::Health;
use crate::text::diag::cut;

/// Lines of one second.
const LINES: u32 = 50;
/// Characters of a name; those of Kubernetes' own objects and users have at most 253.
const NAME: usize = 256;
/// Characters of a reason.
const REASON: usize = 1024;

/// What was decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision<'a> {
    /// What was asked: one of the verbs that the door knows, or [`OTHER`].
    pub(super) verb: &'static str,
    /// What was said.
    pub(super) said: &'static str,
    /// What decided.
    pub(super) clause: &'static str,
    /// Whether the request does not succeed because of it.
    pub(super) refused: bool,
    /// Who asks; empty where a door does not know.
    pub(super) by: &'a str,
    /// Whom it is about.
    pub(super) user: &'a str,
    /// In which queue; may be empty.
    pub(super) queue: &'a str,
    /// What it is about besides: the ID of an application, or the kind, namespace and name of an object; may be empty.
    pub(super) object: &'a str,
    /// Why, in words; may be empty.
    pub(super) reason: &'a str,
}

/// Where there is no word of ours for what somebody has sent: labels of metrics are few.
pub(super) const OTHER: &str = "other";

/// Writes down what a door decides; clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Audit {
    door: &'static str,
    second: Arc<Mutex<Option<Second>>>,
}

#[derive(Debug)]
struct Second {
    began: Instant,
    lines: u32,
    left_out: u32,
}

impl Audit {
    /// Of one door.
    pub(super) fn of(door: &'static str) -> Self {
        Self { door, second: Arc::default() }
    }

    /// Counts it and writes it down.
    pub(super) fn note(&self, health: &Health, decided: &Decision<'_>) {
        let Decision { verb, said: decision, clause, refused, by, user, queue, object, reason } = *decided;
        health.metrics.doors.decided(verb, decision, clause);
        let Some(left_out) = self.line(Instant::now()) else { return };
        tracing::info!(
            target: "queuewarden::audit",
            door = self.door,
            verb,
            decision,
            clause,
            refused,
            by = &*cut(by, NAME),
            user = &*cut(user, NAME),
            queue = &*cut(queue, NAME),
            object = &*cut(object, NAME),
            reason = &*cut(reason, REASON),
            left_out,
            "Decided"
        );
    }

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
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn lines_are_bounded_and_the_others_counted() {
        let audit = Audit::of("authorize");
        let start = Instant::now();
        for _ in 0..LINES {
            assert_eq!(audit.line(start), Some(0));
        }
        assert_eq!((audit.line(start), audit.line(start)), (None, None));
        let later = start + Duration::from_secs(1);
        assert_eq!((audit.line(later), audit.line(later)), (Some(2), Some(0)));
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_everything_and_nothing_is_longer_than_it_may_be() {
        let written = Log::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
        let health = Health::default();
        let (audit, endless) = (Audit::of("authorize"), "ü".repeat(10_000));
        let decided = Decision {
            verb: "submit",
            said: "denied",
            clause: "acl",
            refused: false,
            by: "system:apiserver",
            user: &endless,
            queue: "root.prod\nlevel=info",
            object: "",
            reason: &endless,
        };
        tracing::subscriber::with_default(subscriber, || {
            (0..=LINES).for_each(|_| audit.note(&health, &decided));
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), LINES as usize, "one for each, up to the bound");
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["target"], "queuewarden::audit");
        let fields = &line["fields"];
        assert_eq!((&fields["door"], &fields["clause"]), (&"authorize".into(), &"acl".into()));
        assert_eq!(fields["queue"], decided.queue);
        let length = |field: &str| fields[field].as_str().unwrap().chars().count();
        assert_eq!((length("user"), length("reason")), (NAME, REASON));
        let counted = r#"queuewarden_decisions_total{verb="submit",decision="denied",clause="acl"} 51"#;
        assert!(health.metrics.text(&[]).contains(counted), "counts are never left out");
    }
}
