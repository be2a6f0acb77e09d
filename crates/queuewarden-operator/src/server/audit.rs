//! The audit log: one line for each decision, with target `queuewarden::audit`, and a count of decisions.
//! `--log-level info,queuewarden::audit=off` turns the lines off.
//!
//! Lines and counts have the same three fixed words: the request (`verb`), the answer (`decision`), and the
//! rule that decided (`clause`). A line also names the requester, the user and the object. Names come from
//! outside, so they are truncated. To keep a flood of requests from filling the disk, the number of lines per
//! second is limited, and further decisions are only counted. Each endpoint has its own limit, so a busy one
//! does not silence the others. Counts are never dropped.
//!
//! Each line includes the `peer`, because callers of admission webhooks are not authenticated and can write
//! any name into a review. Each [`LineShare`] has its own limit, so fabricated reviews do not use up the
//! lines of real ones.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::api_error::ApiError;
use crate::controller::health::Health;
use crate::controller::lock;
use go_compat::diag::cut;
use yunikorn_access::review::Answer;

/// Maximum number of lines per second in each [`LineShare`].
const LINES: u32 = 50;
/// Number of [`LineShare`]s.
const SHARES: usize = 4;
/// Number of remembered pairs of requester and object; the oldest is forgotten first.
const PAIRS: usize = 1024;
/// Maximum characters of a name. Names of Kubernetes' own objects and users have at most 253.
const NAME: usize = 256;
/// Characters of a reason.
const REASON: usize = 1024;

/// A decision to log and to count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AuditRecord<'a> {
    /// The request: one of the endpoint's verbs, or [`OTHER`].
    pub(super) verb: &'static str,
    /// The answer.
    pub(super) decision: &'static str,
    /// The rule that decided.
    pub(super) clause: &'static str,
    /// True if the request fails because of the decision.
    pub(super) refused: bool,
    /// The requester; empty if the endpoint does not know them.
    pub(super) by: &'a str,
    /// The user whose access was decided.
    pub(super) user: &'a str,
    /// The queue; may be empty.
    pub(super) queue: &'a str,
    /// The secondary subject: the ID of an application, or the kind, namespace and name of an object; may be
    /// empty.
    pub(super) object: &'a str,
    /// The reason in words; may be empty.
    pub(super) reason: &'a str,
}

impl<'a> AuditRecord<'a> {
    /// Returns the record of an answer about access, or of the refusal to give one.
    pub(super) fn of(answer: Result<&'a Answer, &'a ApiError>) -> Self {
        let (decision, clause, reason) = match answer {
            Ok(answer) => (answer.decision(), answer.clause, &answer.reason),
            Err(error) => ("forbidden", "asker", &error.message),
        };
        Self { decision, clause, refused: answer.is_err(), reason, ..Self::default() }
    }
}

/// The verb of a request without a fixed word here, which limits the number of labels in metrics.
pub(super) const OTHER: &str = "other";

/// Logs and counts the decisions of an endpoint; clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Audit {
    endpoint: &'static str,
    lines: Arc<Mutex<Lines>>,
}

/// A share of the lines that others cannot use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineShare {
    /// Requests that do not succeed because of the decision.
    Refused,
    /// Pairs of requester and object that were not seen before.
    New,
    /// All other decisions.
    Known,
    /// Requests that were not read.
    Unread,
}

/// The lines of the current second.
#[derive(Debug, Default)]
struct Lines {
    began: Option<Instant>,
    used: [u32; SHARES],
    left_out: u32,
    /// Hashes of the pairs that have a line, oldest first. The names themselves may be long.
    pairs: VecDeque<u64>,
    hasher: RandomState,
}

impl Lines {
    /// Takes a line for a decision.
    fn decided(&mut self, now: Instant, refused: bool, by: &str, object: &str) -> Option<u32> {
        if refused {
            return self.take(now, LineShare::Refused);
        }
        let pair = self.hasher.hash_one((by, object));
        if self.pairs.contains(&pair) {
            return self.take(now, LineShare::Known);
        }
        let line = self.take(now, LineShare::New)?;
        if self.pairs.len() == PAIRS {
            self.pairs.pop_front();
        }
        self.pairs.push_back(pair);
        Some(line)
    }

    /// Returns how many lines were dropped since the last one, or `None` if the share is full.
    fn take(&mut self, now: Instant, share: LineShare) -> Option<u32> {
        if self.began.is_none_or(|began| now.duration_since(began) >= Duration::from_secs(1)) {
            (self.began, self.used) = (Some(now), [0; SHARES]);
        }
        let used = self.used.get_mut(share as usize).filter(|used| **used < LINES);
        let Some(used) = used else {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        };
        *used = used.saturating_add(1);
        Some(std::mem::take(&mut self.left_out))
    }
}

tokio::task_local! {
    /// The address that the request of this task comes from, which log lines contain.
    pub(super) static PEER: Option<SocketAddr>;
}

/// Returns the peer as text; empty if unknown.
fn peer() -> String {
    PEER.try_with(|peer| peer.map(|peer| peer.to_string())).ok().flatten().unwrap_or_default()
}

impl Audit {
    /// Returns the audit log of one endpoint.
    pub(super) fn new(endpoint: &'static str) -> Self {
        Self { endpoint, lines: Arc::default() }
    }

    /// Counts a decision and logs it.
    pub(super) fn note(&self, health: &Health, decided: &AuditRecord<'_>) {
        let AuditRecord { verb, decision, clause, refused, by, user, queue, object, reason } = *decided;
        health.metrics.decided(verb, decision, clause);
        let line = lock(&self.lines).decided(Instant::now(), refused, by, object);
        let Some(left_out) = line else { return };
        tracing::info!(
            target: "queuewarden::audit",
            endpoint = self.endpoint,
            verb,
            decision,
            clause,
            refused,
            peer = peer(),
            by = &*cut(by, NAME),
            user = &*cut(user, NAME),
            queue = &*cut(queue, NAME),
            object = &*cut(object, NAME),
            reason = &*cut(reason, REASON),
            left_out,
            "Decided"
        );
    }

    /// Logs that a request to an endpoint was not read, if its status indicates that it was malformed, late,
    /// too large, or beyond a limit.
    pub(super) fn unread(&self, endpoint: &str, status: u16) {
        if !matches!(status, 400 | 408 | 413 | 429) {
            return;
        }
        let Some(left_out) = lock(&self.lines).take(Instant::now(), LineShare::Unread) else {
            return;
        };
        tracing::info!(target: "queuewarden::audit", endpoint, status, peer = peer(), left_out, "Not read");
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::http::Request;
    use axum::routing::post;
    use tower::ServiceExt as _;

    use super::*;
    use crate::server::bounds::{RequestLimits, bound};
    use crate::server::listener::Peer;
    use crate::server::testing::requests;

    #[test]
    fn lines_beyond_the_bound_are_counted() {
        let mut lines = Lines::default();
        let start = Instant::now();
        for _ in 0..LINES {
            assert_eq!(lines.take(start, LineShare::Known), Some(0));
        }
        assert_eq!((lines.take(start, LineShare::Known), lines.take(start, LineShare::Known)), (None, None));
        let later = start + Duration::from_secs(1);
        assert_eq!(
            (lines.take(later, LineShare::Known), lines.take(later, LineShare::Known)),
            (Some(2), Some(0))
        );
    }

    #[test]
    fn refusals_new_pairs_and_unread_requests_have_lines_of_their_own() {
        let mut lines = Lines::default();
        let now = Instant::now();
        assert_eq!(lines.decided(now, false, "sue", "Pod a/b"), Some(0), "new");
        let known = (0..1000).filter_map(|_| lines.decided(now, false, "sue", "Pod a/b")).count();
        let new = (0..1000).filter_map(|i| lines.decided(now, false, &i.to_string(), "Pod a/b")).count();
        let refused = (0..1000).filter_map(|i| lines.decided(now, true, &i.to_string(), "Pod a/b")).count();
        let unread = (0..1000).filter_map(|_| lines.take(now, LineShare::Unread)).count();
        assert_eq!([known, new + 1, refused, unread], [LINES as usize; SHARES]);
        // A pair without a line is still new in the next second.
        let later = now + Duration::from_secs(1);
        assert_eq!(lines.decided(later, false, "999", "Pod a/b"), Some(1000 - LINES));
        assert_eq!(lines.used, [0, 1, 0, 0]);
        lines.decided(later, false, "999", "Pod a/b");
        assert_eq!(lines.used, [0, 1, 1, 0]);
    }

    #[test]
    fn pairs_that_are_remembered_are_bounded() {
        let mut lines = Lines::default();
        let mut now = Instant::now();
        for i in 0..2 * PAIRS {
            now += Duration::from_secs(1);
            lines.decided(now, false, "sue", &i.to_string());
        }
        assert_eq!(lines.pairs.len(), PAIRS);
        lines.decided(now, false, "sue", "0");
        assert_eq!(lines.used, [0, 2, 0, 0], "forgotten");
        lines.decided(now, false, "sue", &(2 * PAIRS - 1).to_string());
        assert_eq!(lines.used, [0, 2, 1, 0], "remembered");
    }

    /// The lines that a future writes to the log, one value per line.
    async fn logged(work: impl Future<Output = ()>) -> Vec<serde_json::Value> {
        let written = Log::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
        let guard = tracing::subscriber::set_default(subscriber);
        work.await;
        drop(guard);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn lines_name_the_peer_and_requests_that_are_not_read_have_one() {
        let health = Arc::new(Health::default());
        let (audit, seen) = (Audit::new("submission"), Arc::clone(&health));
        let decided = move || {
            let decided = AuditRecord {
                verb: "submit",
                decision: "placed",
                clause: "submitacl",
                by: "boss",
                ..AuditRecord::default()
            };
            audit.note(&seen, &decided);
        };
        let router: Router = Router::new().route("/x", post(async move |_: Bytes| decided()));
        let limits = RequestLimits { body: 4, cuts: false, all: 1000, cost: 1 };
        let router = bound(router, limits, &requests(), &health);
        let send = async |body: &'static str| {
            let peer = Peer::new(([192, 0, 2, 7], 99).into(), Arc::new([]));
            let request = Request::post("/x").extension(peer).body(Body::from(body)).unwrap();
            router.clone().oneshot(request).await.unwrap().status().as_u16()
        };
        let lines = logged(async {
            assert_eq!((send("four").await, send("more than four").await), (200, 413));
        })
        .await;
        let lines: Vec<_> = lines.iter().filter(|line| line["target"] == "queuewarden::audit").collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        let [decided, unread] = [&lines[0]["fields"], &lines[1]["fields"]];
        assert_eq!((&decided["peer"], &decided["by"]), (&"192.0.2.7:99".into(), &"boss".into()));
        assert_eq!(unread["peer"], "192.0.2.7:99");
        assert_eq!((&unread["endpoint"], &unread["status"]), (&"/x".into(), &413.into()));
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
        let (audit, endless) = (Audit::new("authorize"), "ü".repeat(10_000));
        let decided = AuditRecord {
            verb: "submit",
            decision: "denied",
            clause: "acl",
            refused: false,
            by: "system:apiserver",
            user: &endless,
            queue: "root.prod\nlevel=info",
            object: "",
            reason: &endless,
        };
        tracing::subscriber::with_default(subscriber, || {
            (0..LINES + 2).for_each(|_| audit.note(&health, &decided));
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), LINES as usize + 1, "the first, and the others up to the bound");
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["target"], "queuewarden::audit");
        let fields = &line["fields"];
        assert_eq!((&fields["endpoint"], &fields["clause"]), (&"authorize".into(), &"acl".into()));
        assert_eq!(fields["queue"], decided.queue);
        let length = |field: &str| fields[field].as_str().unwrap().chars().count();
        assert_eq!((length("user"), length("reason")), (NAME, REASON));
        let counted = r#"queuewarden_decisions_total{verb="submit",decision="denied",clause="acl"} 52"#;
        assert!(health.metrics.text(&[]).contains(counted), "counts are never left out");
    }
}
