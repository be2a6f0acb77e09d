//! Decides which replica leads, without I/O: the next step for a Lease, given its observed versions and
//! times.
//!
//! The rules are client-go's (`tools/leaderelection`). A lease expires when the duration in it has passed
//! since this process *saw* it change last, measured by a monotonic clock, so that wall clocks that disagree
//! do no harm; the times in the Lease are for people. A leader stops [`DEADLINE`] after it *sent* its last
//! successful renewal, which is before anyone else may see the lease expire.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// The seconds that others wait after the last change of the Lease that they saw. This time, [`DEADLINE`]
/// and [`RETRY`] are client-go's defaults.
const LEASE_SECONDS: i32 = 15;
/// The time for which a leader continues after the last renewal that succeeded: less than the lease.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// The wait between two attempts: less than [`DEADLINE`].
pub(super) const RETRY: Duration = Duration::from_secs(2);

/// Monotonic time since an origin of the caller's choice.
type Instant = Duration;

/// The state of one candidate.
#[derive(Debug)]
pub(super) struct Election {
    identity: String,
    /// The Lease as last seen, and the time when this version was first seen.
    observed: Option<(Lease, Instant)>,
    /// The time when our last successful write was sent.
    renewed: Option<Instant>,
}

impl Election {
    /// Creates a candidate that has seen nothing. `identity` must be unique among candidates.
    pub(super) fn new(identity: String) -> Self {
        Self { identity, observed: None, renewed: None }
    }

    /// Returns what to write now, with the Lease's resource version (or its absence) as precondition; `None`
    /// while someone else leads. `wall` goes into it.
    pub(super) fn step(&mut self, now: Instant, wall: Timestamp, lease: Option<&Lease>) -> Option<LeaseSpec> {
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

    /// Notes that our write, sent at `sent`, succeeded and resulted in `lease`.
    pub(super) fn written(&mut self, sent: Instant, lease: Lease) {
        self.renewed = Some(sent);
        self.observed = Some((lease, sent));
    }

    /// Returns the time until which this candidate leads; `None` when it does not lead at `now`.
    pub(super) fn leads_until(&self, now: Instant) -> Option<Instant> {
        let until = self.renewed?.saturating_add(DEADLINE);
        (now < until).then_some(until)
    }

    /// Returns whether the Lease names this candidate.
    pub(super) fn is_ours(&self, lease: &Lease) -> bool {
        lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_ref()) == Some(&self.identity)
    }

    /// Returns what releases the Lease, if this candidate holds it, as client-go does.
    pub(super) fn release(&mut self, wall: Timestamp) -> Option<LeaseSpec> {
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

    /// Every renewal changes the resource version, whatever the holder's clock shows.
    fn observe(&mut self, now: Instant, lease: &Lease) {
        if self.observed.as_ref().is_none_or(|(seen, _)| seen != lease) {
            self.observed = Some((lease.clone(), now));
        }
    }

    /// Returns whether the duration that the holder wrote has passed, as in client-go.
    fn expired(&self, now: Instant) -> bool {
        self.observed.as_ref().is_some_and(|(lease, since)| {
            let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
            let seconds = u64::try_from(seconds.unwrap_or_default()).unwrap_or(0);
            now >= since.saturating_add(Duration::from_secs(seconds))
        })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn s(seconds: u64) -> Instant {
        Duration::from_secs(seconds)
    }

    /// A Lease that candidates write one after the other, as an API server with preconditions handles it.
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
        fn attempt(&mut self, candidate: &mut Election, now: Instant, skew: i64) -> bool {
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
