//! Metrics. Label values are constants, never names of objects, so that their number is limited. The only
//! exception is the hash of the snapshot, which has one series at a time.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use super::lock;
use super::published::Published;
use super::watch::Progress;
use queuewarden_plan::conditions::{self, Condition, Reason, Status, Type, is_ours};
use queuewarden_plan::snapshot::{QueueAclEntry, Snapshot};
use queuewarden_plan::{Plan, ResourceKind, risks, size_after};

type Labels = Vec<(&'static str, String)>;
type Durations = Family<Labels, Histogram, fn() -> Histogram>;

/// How long before its end a grant is counted as ending soon.
const SOON: SignedDuration = SignedDuration::from_hours(24);

/// All metrics of the operator.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// 1 while this replica leads.
    pub leader: Gauge,
    reconciles: Family<Labels, Counter>,
    reconcile_duration: Histogram,
    watch_progress: Series,
    objects: Series,
    grants_expiring: Gauge,
    render_bytes: Gauge,
    output_bytes: Gauge,
    applies: Family<Labels, Counter>,
    mirror: Family<Labels, Counter>,
    history: Family<Labels, Counter>,
    drifts: Family<Labels, Counter>,
    status_patches: Family<Labels, Counter>,
    contested: Gauge,
    conditions: Series,
    shadowed: AtomicBool,
    in_sync: Gauge,
    last_in_sync: Gauge,
    fail_open: Gauge,
    admission_risks: Gauge,
    /// The running pods that lack an alias used in an ACL, or have an alias that is not theirs. The metric is
    /// absent while pods are not watched.
    pods_with_wrong_aliases: Series,
    scheduler_requests: Durations,
    snapshot: Series,
    snapshot_made: Gauge,
    certificate_until: Gauge,
    authority_until: Gauge,
    /// Open connections, including connections in their handshake.
    pub connections: Gauge,
    ended: Family<Labels, Counter>,
    https_requests: Durations,
    decisions: Family<[(&'static str, &'static str); 3], Counter>,
}

/// Adds a metric to the registry and returns it; its clones share the value.
fn registered<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// Adds a metric with its default value to the registry and returns it.
fn begun<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    registered(registry, name, help, M::default())
}

/// Returns a registry with the version of the program.
fn registry() -> Registry {
    let mut registry = Registry::with_prefix("queuewarden");
    let build: Family<Labels, Gauge> = begun(&mut registry, "build_info", "Always 1; the version is a label");
    build.get_or_create(&labels([("version", env!("CARGO_PKG_VERSION"))])).set(1);
    registry
}

/// Adds the counter of recorded revisions. Each result has a series from the start, because an increase is
/// only visible in a series that existed before.
fn history(registry: &mut Registry) -> Family<Labels, Counter> {
    let help = "Attempts to record a revision of the output, by how they ended";
    let history: Family<Labels, Counter> = begun(registry, "history_record", help);
    for result in ["recorded", "error", "lost"] {
        drop(history.get_or_create(&labels([("result", result)])));
    }
    history
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 15));
        let short: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 2.0, 18));
        let mut registry = registry();
        let r = &mut registry;
        Self {
            leader: begun(r, "leader", "1 while this replica leads"),
            reconciles: begun(r, "reconcile", "Runs of the loop, by how they ended"),
            reconcile_duration: registered(
                r,
                "reconcile_duration_seconds",
                "Duration of a run of the loop",
                seconds(),
            ),
            watch_progress: begun(
                r,
                "watch_last_progress_timestamp_seconds",
                "When the API server last answered the watch with success",
            ),
            objects: begun(r, "objects", "Objects by kind, condition and its status"),
            grants_expiring: begun(r, "grants_expiring", "QueueAcls that are Ready and end within a day"),
            render_bytes: begun(r, "render_bytes", "Length of the rendered queue tree"),
            output_bytes: begun(
                r,
                "output_bytes",
                "Length of all values of the output ConfigMap, with the rendered queue tree among them",
            ),
            applies: begun(r, "config_apply", "Writes of the output ConfigMap, by how they ended"),
            mirror: begun(r, "rbac_mirror_write", "Writes of the RBAC mirror, by how they ended"),
            history: history(r),
            drifts: begun(
                r,
                "config_drift",
                "How often someone else changed, deleted or shadowed what was written",
            ),
            status_patches: begun(r, "status_patch", "Status patches, by how they ended"),
            contested: begun(r, "config_contested", "1 while another writer insists on the output key"),
            conditions: begun(
                r,
                "config_condition",
                "Always 1; a condition of the YuniKornConfig, with its status and reason",
            ),
            shadowed: AtomicBool::new(false),
            in_sync: begun(
                r,
                "config_in_sync",
                "1 while the YuniKornConfig is Ready; 0 also while no plan can be made",
            ),
            last_in_sync: begun(
                r,
                "config_last_in_sync_timestamp_seconds",
                "When the YuniKornConfig was last Ready",
            ),
            fail_open: begun(r, "fail_open", "1 while everyone has access to every queue"),
            admission_risks: begun(
                r,
                "admission_risks",
                "Findings about the settings of YuniKorn's admission controller that are in force",
            ),
            pods_with_wrong_aliases: begun(
                r,
                "pods_with_wrong_aliases",
                "Pods that lack an alias which a grant needs, or have a foreign one; only with --applications",
            ),
            scheduler_requests: registered(
                r,
                "scheduler_request_duration_seconds",
                "Requests to the scheduler's REST service, by endpoint and status code or failure",
                Family::new_with_constructor(seconds),
            ),
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
            https_requests: registered(
                r,
                "https_request_duration_seconds",
                "Requests, by endpoint and status code",
                Family::new_with_constructor(short),
            ),
            decisions: begun(r, "decisions", "Decisions about access, by verb, decision and what decided"),
            registry,
        }
    }
}

impl Metrics {
    /// Records a run of the loop.
    pub fn reconciled(&self, took: Duration, failed: bool) {
        let result = if failed { "error" } else { "ok" };
        self.reconciles.get_or_create(&labels([("result", result)])).inc();
        self.reconcile_duration.observe(took.as_secs_f64());
    }

    /// Counts a write of the RBAC mirror: `written`, `conflict` or `error`.
    pub fn mirrored(&self, result: &'static str) {
        self.mirror.get_or_create(&labels([("result", result)])).inc();
    }

    /// Counts an attempt to record a revision: `recorded`, `error` if it will be retried, or `lost`.
    pub fn recorded(&self, result: &'static str) {
        self.history.get_or_create(&labels([("result", result)])).inc();
    }

    /// Counts a write of the output ConfigMap: `applied`, `conflict`, `forbidden`, `rejected` or `error`; or
    /// `unchanged` if there was nothing to write.
    pub fn applied(&self, result: &'static str) {
        self.applies.get_or_create(&labels([("result", result)])).inc();
    }

    /// Counts a drift: a write restored a key that someone else had changed (`external_edit`) or removed
    /// (`deleted`), or someone else's key hides it (`shadowed`).
    pub fn drifted(&self, kind: &'static str) {
        self.drifts.get_or_create(&labels([("kind", kind)])).inc();
    }

    /// Counts a status patch: `patched`, `stale` or `error`.
    pub fn patched(&self, kind: ResourceKind, result: &'static str) {
        self.status_patches.get_or_create(&labels([("kind", kind.name()), ("result", result)])).inc();
    }

    /// Records the number of running pods that lack an alias used in an ACL, or have an alias that is not
    /// theirs.
    pub fn counted_wrong_aliases(&self, pods: usize) {
        self.pods_with_wrong_aliases.show([(Labels::new(), gauge(pods))].into());
    }

    /// Records a request to the scheduler.
    pub fn requested(&self, endpoint: &'static str, code: &str, took: Duration) {
        let labels = labels([("endpoint", endpoint), ("code", code)]);
        self.scheduler_requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Records a plan.
    pub fn planned(&self, snapshot: &Snapshot, plan: &Plan) {
        let config = plan.config.as_ref().map(|config| &*config.conditions).unwrap_or_default();
        self.objects.show(objects(plan, config));
        self.grants_expiring.set(gauge(grants_expiring(snapshot, plan)));
        let find = |type_| conditions::find(config, type_);
        let holds = |type_: Type| find(type_).is_some_and(|condition| condition.status == Status::True);
        let contested = find(Type::Applied).is_some_and(|condition| condition.has(Reason::Contended));
        self.contested.set(contested.into());
        self.record_conditions(config);
        self.fail_open.set(holds(Type::FailOpen).into());
        self.admission_risks.set(gauge(risks(snapshot).len()));
        self.in_sync.set(holds(Type::Ready).into());
        if holds(Type::Ready) {
            self.last_in_sync.set(snapshot.now.as_second());
        }
        let rendered = plan.rendered.as_ref().map_or(0, |rendered| rendered.text.len());
        self.render_bytes.set(gauge(rendered));
        self.output_bytes.set(gauge(output_bytes(snapshot, plan)));
    }

    /// Records that no plan can be made, so it is unknown whether access is as intended.
    pub fn unplanned(&self) {
        self.in_sync.set(0);
    }

    /// Records the conditions of the `YuniKornConfig`, and counts a drift when its key becomes shadowed.
    fn record_conditions(&self, config: &[Condition]) {
        let series = config.iter().filter(|condition| is_ours(condition)).map(|condition| {
            let status = condition.status.as_str();
            (labels([("type", &condition.type_), ("status", status), ("reason", &condition.reason)]), 1)
        });
        self.conditions.show(series.collect());
        let shadowed = config.iter().any(|condition| condition.has(Reason::ShadowedByBinaryData));
        if !self.shadowed.swap(shadowed, Ordering::Relaxed) && shadowed {
            self.drifted("shadowed");
        }
    }

    /// Records the state that the endpoints answer from.
    pub fn published(&self, published: &Published) {
        // The first digits are enough to tell hashes apart; the whole hash would make labels hard to read.
        let hash: String = published.hash.chars().take(16).collect();
        self.snapshot.show([(labels([("hash", &hash)]), 1)].into());
        self.snapshot_made.set(published.made.as_second());
    }

    /// Records the certificate in use.
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

    /// Counts a response. `endpoint` is the path of a route, so there are only a few values.
    pub fn answered(&self, endpoint: &str, code: u16, took: Duration) {
        let labels = labels([("endpoint", endpoint), ("code", &code.to_string())]);
        self.https_requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Counts a decision. All three labels are fixed words.
    pub fn decided(&self, verb: &'static str, decision: &'static str, clause: &'static str) {
        self.decisions.get_or_create(&[("verb", verb), ("decision", decision), ("clause", clause)]).inc();
    }

    /// Returns the text of `/metrics`, with only the given watches.
    pub fn text(&self, watches: &[Arc<Progress>]) -> String {
        let series = watches.iter().map(|watch| (labels([("resource", watch.resource)]), watch.succeeded()));
        self.watch_progress.show(series.collect());
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Counts the objects of each kind by condition and status.
fn objects(plan: &Plan, config: &[Condition]) -> BTreeMap<Labels, i64> {
    let queue_acls = plan.queue_acls.values().map(|status| (ResourceKind::QueueAcl, &*status.conditions));
    let policies = plan.policies.values().map(|status| (ResourceKind::AdmissionPolicy, &*status.conditions));
    let tests = plan.access_tests.values().map(|status| (ResourceKind::QueueAccessTest, &*status.conditions));
    let all = queue_acls.chain(policies).chain(tests).chain([(ResourceKind::YuniKornConfig, config)]);
    let mut counts = BTreeMap::<_, i64>::new();
    for (kind, conditions) in all {
        for condition in conditions.iter().filter(|condition| is_ours(condition)) {
            // Strings are allocated only once for each series, because there are thousands of objects.
            let key = (kind.name(), &*condition.type_, condition.status.as_str());
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
    }
    let labelled = |((kind, condition, status), count): ((&str, &str, &str), i64)| {
        (labels([("kind", kind), ("condition", condition), ("status", status)]), count)
    };
    counts.into_iter().map(labelled).collect()
}

/// Counts the `QueueAcl`s that are ready and end within a day.
fn grants_expiring(snapshot: &Snapshot, plan: &Plan) -> usize {
    let tomorrow = snapshot.now.checked_add(SOON).unwrap_or(Timestamp::MAX);
    let ends_soon = |entry: &&Arc<QueueAclEntry>| {
        let spec = entry.spec.as_ref().ok().filter(|spec| !spec.suspend);
        let end = spec.and_then(|spec| spec.expires_at);
        end.is_some_and(|end| snapshot.now < end && end <= tomorrow)
    };
    let is_ready = |entry: &&Arc<QueueAclEntry>| {
        let status = plan.queue_acls.get(&entry.meta.name);
        let ready = status.and_then(|status| conditions::find(&status.conditions, Type::Ready));
        ready.is_some_and(|condition| condition.status == Status::True)
    };
    snapshot.queue_acls.iter().filter(ends_soon).filter(is_ready).count()
}

/// Returns the bytes of all values of the output ConfigMap once the plan has been carried out. A tree that is
/// too large, or must not be written now, is not among the changes of the plan, so it is added here.
fn output_bytes(snapshot: &Snapshot, plan: &Plan) -> usize {
    let (output, nothing) = (snapshot.output.as_deref(), BTreeMap::new());
    let changes = plan.write.as_ref().map_or(&nothing, |write| &write.data);
    let bytes = size_after(output, changes);
    match &plan.rendered {
        Some(rendered) if !changes.contains_key(&rendered.key) => {
            let live = output.and_then(|output| output.data.get(&rendered.key)).map_or(0, String::len);
            bytes.saturating_sub(live).saturating_add(rendered.text.len())
        }
        _ => bytes,
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn labels<const N: usize>(pairs: [(&'static str, &str); N]) -> Labels {
    pairs.map(|(name, value)| (name, value.to_owned())).into()
}

/// Gauges by their labels; clones share the same gauges.
///
/// All values are replaced in one step. A family of the metrics library would have to be cleared and filled
/// again. A scrape in between would see only a part: wrong counts, and gaps that restart the `for:` of
/// alerts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(Arc<Mutex<BTreeMap<Labels, i64>>>);

impl Series {
    /// Replaces all gauges by these.
    pub(crate) fn show(&self, all: BTreeMap<Labels, i64>) {
        *lock(&self.0) = all;
    }
}

impl EncodeMetric for Series {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (labels, value) in lock(&self.0).iter() {
            encoder.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}
