//! Decides which replica writes: a `coordination.k8s.io` Lease, and the task that renews it.
//!
//! All replicas watch and plan, but only the leader writes, so that no work is done twice. Every write
//! carries a resource version, so a second leader could only lose a race for the text, but its data may be
//! old. A replica that wins the Lease therefore reads everything again before its first write, and makes sure
//! that no write of a former leader is accepted later (see [`queuewarden_plan::machine`]).
//!
//! `kube` has no leader election, and other crates rely on times written by other replicas. This module
//! relies only on the local clock. [`Election`] decides, without I/O, by client-go's rules
//! (`tools/leaderelection`). A lease expires when its duration has passed since this process *saw* it change
//! last, measured by a monotonic clock, so that wall clocks that disagree do no harm; the times in the Lease
//! are only informational. A leader stops [`DEADLINE`] after it *sent* its last successful renewal, which is
//! before any other replica may see the lease expire.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::ObjectMeta;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::clock::precise;
use queuewarden_client::objects::post_params;

/// Longest wait for one response; shorter when the deadline is nearer. A replica that does not lead waits
/// twice per attempt: it reads, then writes.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle to check whether this replica may write now.
#[derive(Debug, Clone)]
pub struct Leadership {
    term: watch::Receiver<Option<Term>>,
}

/// One period of leadership, from winning the Lease to losing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    since: Instant,
    until: Instant,
    /// The end by the wall clock, because a monotonic clock stops while a virtual machine is suspended.
    wall_until: Timestamp,
}

impl Term {
    fn holds(&self, now: Instant, wall: Timestamp) -> bool {
        now < self.until && wall < self.wall_until
    }
}

impl Leadership {
    /// Returns leadership that does not depend on a Lease (`--leader-elect=false`).
    pub fn unconditional() -> Self {
        let since = Instant::now();
        let until = since + Duration::from_hours(24 * 365 * 30);
        let term = Term { since, until, wall_until: Timestamp::MAX };
        let (_, term) = watch::channel(Some(term));
        Self { term }
    }

    /// Returns when the Lease was won, if this replica leads. No two terms begin at the same time. Reads both
    /// clocks each time, so that a process that was suspended notices before the lease task runs again.
    pub fn leads_since(&self) -> Option<Instant> {
        self.term.borrow().filter(|term| term.holds(Instant::now(), precise())).map(|term| term.since)
    }

    /// Returns whether this replica leads.
    pub fn holds(&self) -> bool {
        self.leads_since().is_some()
    }

    /// Returns when leadership was won or lost since the last call. Never returns if it cannot change any
    /// more.
    pub async fn changed(&mut self) {
        let since = |term: &Option<Term>| term.map(|term| term.since);
        let before = since(&self.term.borrow_and_update());
        while self.term.changed().await.is_ok() {
            if since(&self.term.borrow_and_update()) != before {
                return;
            }
        }
        std::future::pending::<Infallible>().await;
    }
}

/// A candidate for the Lease `name`.
#[derive(Debug)]
pub struct Candidate {
    api: Api<Lease>,
    name: String,
    election: Election,
    /// The Lease as returned by our last write, so that renewing it needs no other request.
    lease: Option<Lease>,
    origin: Instant,
    /// The end of the last renewal by the wall clock.
    wall_until: Timestamp,
    term: watch::Sender<Option<Term>>,
}

impl Candidate {
    /// Creates a candidate and the handle of its leadership. `identity` must differ between replicas and
    /// between runs.
    pub fn new(api: Api<Lease>, name: &str, identity: &str) -> (Self, Leadership) {
        let (term, view) = watch::channel(None);
        let candidate = Self {
            api,
            name: name.to_owned(),
            election: Election::new(identity.to_owned()),
            lease: None,
            origin: Instant::now(),
            wall_until: Timestamp::MIN,
            term,
        };
        (candidate, Leadership { term: view })
    }

    /// Takes part in the election until `stop` completes, then releases the Lease.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = self.round() => {}
            }
        }
        self.release().await;
    }

    /// Makes one attempt, then waits until the next.
    async fn round(&mut self) {
        let begin = self.origin.elapsed();
        match timeout(self.patience(), self.attempt()).await {
            Ok(Err(error)) if !is_race(&error) => {
                tracing::warn!(lease = self.name, %error, "Could not renew the lease");
            }
            Ok(_) => {}
            Err(_) => {
                tracing::warn!(lease = self.name, "The API server did not answer in time about the lease");
            }
        }
        self.publish();
        sleep(self.delay(begin)).await;
        self.publish();
    }

    /// Writes the Lease if the election decides so. Unless that succeeds, the next attempt reads it first.
    async fn attempt(&mut self) -> Result<(), kube::Error> {
        let lease = self.take_lease().await?;
        let (sent, wall) = (self.origin.elapsed(), precise());
        if let Some(next) = self.election.step(sent, wall, lease.as_ref()) {
            let written = self.write(lease, next).await?;
            self.election.written(sent, written.clone());
            self.wall_until = wall.checked_add(DEADLINE).unwrap_or(Timestamp::MAX);
            self.lease = Some(written);
        }
        Ok(())
    }

    /// Returns the Lease as returned by our last write, or else reads the current one.
    async fn take_lease(&mut self) -> Result<Option<Lease>, kube::Error> {
        match self.lease.take() {
            Some(lease) => Ok(Some(lease)),
            None => self.api.get_opt(&self.name).await,
        }
    }

    async fn write(&self, lease: Option<Lease>, spec: LeaseSpec) -> Result<Lease, kube::Error> {
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        match lease {
            None => self.api.create(&post_params(), &Lease { metadata, spec: Some(spec) }).await,
            Some(lease) => {
                self.api.replace(&self.name, &post_params(), &Lease { spec: Some(spec), ..lease }).await
            }
        }
    }

    /// Returns the maximum duration of an attempt, which never extends past the time when we have to stop
    /// leading.
    fn patience(&self) -> Duration {
        self.time_left().map_or(2 * CALL_TIMEOUT, |left| left.min(CALL_TIMEOUT))
    }

    /// Returns the wait until the next attempt: [`RETRY`] with up to a fifth of jitter since the start of
    /// this attempt, or less if we have to stop leading before. The API server's response time is included,
    /// because a leader with slow responses has no time to lose.
    fn delay(&self, begin: Duration) -> Duration {
        let retry = RETRY.mul_f64(1.0 + 0.2 * fastrand::f64());
        let wait = retry.saturating_sub(self.origin.elapsed().saturating_sub(begin)).max(RETRY / 4);
        self.time_left().map_or(wait, |left| left.min(wait))
    }

    /// Returns the time until we have to stop leading, or `None` if we do not lead.
    fn time_left(&self) -> Option<Duration> {
        let now = self.origin.elapsed();
        self.election.leads_until(now).map(|until| until.saturating_sub(now))
    }

    fn publish(&self) {
        let until = self.election.leads_until(self.origin.elapsed()).map(|until| self.origin + until);
        let before = *self.term.borrow();
        let since = before.map_or_else(Instant::now, |term| term.since);
        let wall_until = self.wall_until;
        self.term.send_replace(until.map(|until| Term { since, until, wall_until }));
        match (before.is_some(), until.is_some()) {
            (false, true) => tracing::info!(lease = self.name, "This replica leads"),
            (true, false) => tracing::warn!(lease = self.name, "This replica does not lead any more"),
            _ => {}
        }
    }

    /// Stops leading, then releases the Lease so that others need not wait, if the API server answers.
    async fn release(&mut self) {
        self.term.send_replace(None);
        let Some(spec) = self.election.release(precise()) else {
            return;
        };
        let give_up = async {
            let lease = self.take_lease().await?;
            if let Some(lease) = lease.filter(|lease| self.election.is_ours(lease)) {
                self.write(Some(lease), spec).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match timeout(CALL_TIMEOUT, give_up).await {
            Ok(Ok(())) => tracing::info!(lease = self.name, "Released the lease"),
            Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "Could not release the lease"),
            Err(_) => tracing::warn!(lease = self.name, "Could not release the lease in time"),
        }
    }
}

/// Returns whether another replica was faster; the next round reads its write.
fn is_race(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists())
}

/// How many seconds others wait after the last change of the Lease that they saw. This, [`DEADLINE`] and
/// [`RETRY`] are client-go's defaults.
const LEASE_SECONDS: i32 = 15;
/// How long a leader continues after its last successful renewal: less than the lease.
const DEADLINE: Duration = Duration::from_secs(10);
/// The wait between two attempts: less than [`DEADLINE`].
const RETRY: Duration = Duration::from_secs(2);

/// The state of one candidate. Its times are durations since an origin that the caller chooses.
#[derive(Debug)]
struct Election {
    identity: String,
    /// The last seen Lease, and when this version was first seen.
    observed: Option<(Lease, Duration)>,
    /// When our last successful write was sent.
    renewed: Option<Duration>,
}

impl Election {
    /// Creates a candidate that has seen nothing. `identity` must be unique among candidates.
    fn new(identity: String) -> Self {
        Self { identity, observed: None, renewed: None }
    }

    /// Returns the Lease to write now, with the current resource version (or absence) as the precondition, or
    /// `None` while someone else leads. The Lease contains `wall`.
    fn step(&mut self, now: Duration, wall: Timestamp, lease: Option<&Lease>) -> Option<LeaseSpec> {
        let Some(lease) = lease else {
            return Some(self.claim(wall, 0));
        };
        self.observe(now, lease);
        let spec = lease.spec.clone().unwrap_or_default();
        if self.is_ours(lease) {
            return Some(LeaseSpec {
                renew_time: Some(MicroTime(wall)),
                lease_duration_seconds: Some(LEASE_SECONDS),
                ..spec
            });
        }
        self.renewed = None;
        let released = spec.holder_identity.as_deref().unwrap_or_default().is_empty();
        let transitions = spec.lease_transitions.unwrap_or_default().saturating_add(1);
        (released || self.expired(now)).then(|| self.claim(wall, transitions))
    }

    /// Records that our write, sent at `sent`, succeeded and resulted in `lease`.
    fn written(&mut self, sent: Duration, lease: Lease) {
        self.renewed = Some(sent);
        self.observed = Some((lease, sent));
    }

    /// Returns until when this candidate leads, or `None` if it does not lead at `now`.
    fn leads_until(&self, now: Duration) -> Option<Duration> {
        let until = self.renewed?.saturating_add(DEADLINE);
        (now < until).then_some(until)
    }

    /// Returns whether the Lease names this candidate.
    fn is_ours(&self, lease: &Lease) -> bool {
        lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_ref()) == Some(&self.identity)
    }

    /// Returns the write that releases the Lease, if this candidate holds it, as in client-go.
    fn release(&mut self, wall: Timestamp) -> Option<LeaseSpec> {
        self.renewed.take()?;
        let (held, _) = self.observed.take()?;
        Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(wall)),
            acquire_time: Some(MicroTime(wall)),
            ..held.spec.unwrap_or_default()
        })
    }

    fn claim(&self, wall: Timestamp, transitions: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            acquire_time: Some(MicroTime(wall)),
            renew_time: Some(MicroTime(wall)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// Every renewal changes the resource version, even if the holder's clock is wrong.
    fn observe(&mut self, now: Duration, lease: &Lease) {
        if self.observed.as_ref().is_none_or(|(seen, _)| seen != lease) {
            self.observed = Some((lease.clone(), now));
        }
    }

    /// Returns whether the holder's lease duration has passed, as in client-go.
    fn expired(&self, now: Duration) -> bool {
        self.observed.as_ref().is_some_and(|(lease, since)| {
            let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
            let seconds = u64::try_from(seconds.unwrap_or_default()).unwrap_or(0);
            now >= since.saturating_add(Duration::from_secs(seconds))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use jiff::SignedDuration;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn term_ends_by_either_clock() {
        let (since, wall) = (Instant::now(), precise());
        let ten = Duration::from_secs(10);
        let term = Term { since, until: since + ten, wall_until: wall + ten };
        let at = |monotonic: u64, seconds: i64| {
            term.holds(since + Duration::from_secs(monotonic), wall + SignedDuration::from_secs(seconds))
        };
        assert!(at(9, 9));
        assert!(at(9, -3600), "a clock that was set back");
        assert!(!at(10, 9), "suspended by a signal, with a clock that was set back");
        assert!(!at(1, 3600), "a virtual machine that was suspended");
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_suspended_knows_before_anybody_says_so_and_renewals_are_not_reported() {
        let since = Instant::now();
        let until = |seconds| {
            let until = since + Duration::from_secs(seconds);
            Some(Term { since, until, wall_until: Timestamp::MAX })
        };
        let (term, view) = watch::channel(until(10));
        let mut leadership = Leadership { term: view };
        let copy = leadership.clone();
        let mut changed = std::pin::pin!(leadership.changed());
        assert!(changed.as_mut().now_or_never().is_none());
        term.send_replace(until(20));
        assert!(changed.as_mut().now_or_never().is_none(), "a renewal");
        advance(Duration::from_secs(19)).await;
        assert!(copy.holds());
        advance(Duration::from_secs(1)).await;
        assert!(!copy.holds());
        term.send_replace(None);
        assert!(changed.as_mut().now_or_never().is_some());
    }

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A Lease that candidates write in turn, with preconditions as in an API server.
    #[derive(Default)]
    struct Server {
        lease: Option<Lease>,
        writes: u32,
    }

    impl Server {
        fn write(&mut self, spec: LeaseSpec) -> Lease {
            self.writes += 1;
            let resource_version = Some(self.writes.to_string());
            let metadata = ObjectMeta { resource_version, ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(spec) };
            self.lease = Some(lease.clone());
            lease
        }

        /// Makes one attempt at `now`, with the candidate's wall clock off by `skew` seconds; returns whether
        /// it leads afterwards.
        fn attempt(&mut self, candidate: &mut Election, now: Duration, skew: i64) -> bool {
            let wall =
                Timestamp::from_second(1_000_000 + i64::try_from(now.as_secs()).unwrap() + skew).unwrap();
            if let Some(spec) = candidate.step(now, wall, self.lease.as_ref()) {
                candidate.written(now, self.write(spec));
            }
            candidate.leads_until(now).is_some()
        }
    }

    fn candidate(name: &str) -> Election {
        Election::new(name.into())
    }

    #[test]
    fn the_first_candidate_leads_and_the_second_waits_until_the_lease_was_unchanged_for_its_duration() {
        let (mut server, mut a, mut b) = (Server::default(), candidate("a"), candidate("b"));
        assert!(server.attempt(&mut a, s(0), 0));
        assert!(!server.attempt(&mut b, s(1), 0));
        assert!(server.attempt(&mut a, s(8), 0), "a renews");
        assert!(!server.attempt(&mut b, s(9), 0), "b sees the renewal now");
        assert!(!server.attempt(&mut b, s(23), 0), "14 s after b saw it change");
        assert!(server.attempt(&mut b, s(24), 0), "15 s after b saw it change");
        let spec = server.lease.as_ref().and_then(|lease| lease.spec.clone()).unwrap();
        assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("b"), Some(1)));
        assert!(!server.attempt(&mut a, s(25), 0), "a learns of it");
    }

    #[test]
    fn a_leader_stops_before_anyone_else_may_start() {
        let (mut server, mut a, mut b) = (Server::default(), candidate("a"), candidate("b"));
        server.attempt(&mut a, s(0), 0);
        server.attempt(&mut b, s(0), 0);
        let stops = a.leads_until(s(0)).unwrap();
        assert_eq!(a.leads_until(stops), None);
        assert!(!server.attempt(&mut b, stops, 0));
    }

    #[test]
    fn wall_clocks_that_disagree_by_an_hour_change_nothing() {
        for skew in [-3600, 3600] {
            let (mut server, mut a, mut b) = (Server::default(), candidate("a"), candidate("b"));
            for second in (0..100).step_by(2) {
                assert!(server.attempt(&mut a, s(second), 0), "a renews at {second}");
                assert!(!server.attempt(&mut b, s(second + 1), skew), "b must wait at {second}");
            }
        }
    }

    #[test]
    fn never_two_leaders_whichever_attempts_fail() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut server = Server::default();
            let mut both = [candidate("a"), candidate("b")];
            for second in 0..300 {
                for one in &mut both {
                    if random.u8(..) < 60 {
                        server.attempt(one, s(second), random.i64(-60..60));
                    }
                }
                let leaders = both.iter().filter(|one| one.leads_until(s(second)).is_some()).count();
                assert!(leaders <= 1, "two leaders at {second} with seed {seed}");
            }
        }
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let (mut server, mut a, mut b) = (Server::default(), candidate("a"), candidate("b"));
        server.attempt(&mut a, s(0), 0);
        server.attempt(&mut b, s(1), 0);
        let released = a.release(Timestamp::UNIX_EPOCH).unwrap();
        server.write(released);
        assert!(a.leads_until(s(2)).is_none());
        assert!(server.attempt(&mut b, s(2), 0));
        assert_eq!(
            b.release(Timestamp::UNIX_EPOCH).and_then(|spec| spec.holder_identity),
            Some(String::new())
        );
    }

    #[test]
    fn who_does_not_lead_has_nothing_to_release() {
        let (mut server, mut a, mut b) = (Server::default(), candidate("a"), candidate("b"));
        server.attempt(&mut a, s(0), 0);
        server.attempt(&mut b, s(1), 0);
        assert_eq!(b.release(Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn a_deleted_lease_is_made_again() {
        let (mut server, mut a) = (Server::default(), candidate("a"));
        server.attempt(&mut a, s(0), 0);
        server.lease = None;
        assert!(server.attempt(&mut a, s(2), 0));
        assert!(server.lease.is_some_and(|lease| a.is_ours(&lease)));
    }
}
