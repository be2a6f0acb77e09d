//! Metrics of the endpoints. Labels are fixed words; the one exception is the hash of the snapshot, of
//! which there is one series at a time.

use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::{Durations, Labels, Series, begun, labels, registered};
use crate::controller::published::Published;

/// All metrics of the endpoints.
#[derive(Debug)]
pub struct Metrics {
    snapshot: Series,
    snapshot_made: Gauge,
    certificate_until: Gauge,
    authority_until: Gauge,
    /// Connections that are open, those in their handshake among them.
    pub connections: Gauge,
    ended: Family<Labels, Counter>,
    requests: Durations,
    decisions: Family<[(&'static str, &'static str); 3], Counter>,
}

impl Metrics {
    /// Adds the metrics to the registry.
    pub(super) fn new(r: &mut Registry) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 2.0, 18));
        Self {
            snapshot: begun(
                r,
                "snapshot_info",
                "Always 1; the label is the hash of what all answers follow from, the same on all replicas that answer the same",
            ),
            snapshot_made: begun(
                r,
                "snapshot_timestamp_seconds",
                "When that was last looked at; now less this is its age",
            ),
            certificate_until: begun(
                r,
                "tls_certificate_expiry_timestamp_seconds",
                "When the certificate of the HTTPS endpoints expires",
            ),
            authority_until: begun(
                r,
                "tls_authority_expiry_timestamp_seconds",
                "When the newest authority of our own expires",
            ),
            connections: begun(r, "https_connections", "Open connections"),
            ended: begun(r, "https_connections_ended", "Connections, by how they ended"),
            requests: registered(
                r,
                "https_request_duration_seconds",
                "Requests, by endpoint and status code",
                Family::new_with_constructor(seconds),
            ),
            decisions: begun(r, "decisions", "Decisions about access, by verb, decision and what decided"),
        }
    }

    /// Records the state that the endpoints answer from.
    pub fn knows(&self, published: &Published) {
        // As many digits as tell it apart: the whole hash makes labels hard to read.
        let hash: String = published.hash.chars().take(16).collect();
        self.snapshot.show([(labels([("hash", &hash)]), 1)].into());
        self.snapshot_made.set(published.made.as_second());
    }

    /// Records the certificate that is in use.
    pub fn certified(&self, until: Timestamp, authority: Option<Timestamp>) {
        self.certificate_until.set(until.as_second());
        if let Some(until) = authority {
            self.authority_until.set(until.as_second());
        }
    }

    /// Counts a connection that ended: `closed`, `handshake_failed`, `handshake_timeout`, `idle`,
    /// `evicted`, `retired`, `cut` or `error`.
    pub fn ended(&self, how: &'static str) {
        self.ended.get_or_create(&labels([("how", how)])).inc();
    }

    /// Counts an answered request. `endpoint` is the path of a route, of which there are few.
    pub fn answered(&self, endpoint: &str, code: u16, took: Duration) {
        let labels = labels([("endpoint", endpoint), ("code", &code.to_string())]);
        self.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Counts a decision. All three labels are fixed words.
    pub fn decided(&self, verb: &'static str, decision: &'static str, clause: &'static str) {
        self.decisions.get_or_create(&[("verb", verb), ("decision", decision), ("clause", clause)]).inc();
    }
}
