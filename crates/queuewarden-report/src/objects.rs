//! Lists objects of a snapshot: the last change that each program made to them, the objects outside their
//! time window, and the objects without effect.

use std::cmp::Reverse;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{is_here, number};
use queuewarden_plan::conditions::{Status, Type, find};
use queuewarden_plan::snapshot::{
    BaseAcl, ConfigMapState, ConfigSpec, Entry, Meta, Phase, QueueAclSpec, Snapshot, Touch,
};
use queuewarden_plan::{grant_acl, merged, merged_alone};
use yunikorn::acl;
use yunikorn::config::{Config, verdict};
use yunikorn::right::Right;
use yunikorn_access::Tree;

/// Maximum number of changes reported: a cluster has a few for each object.
pub const MAX_CHANGES: usize = 20_000;

/// The last change that a program made to an object, from its `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ChangeAnswer")]
pub struct ReportChange {
    /// The time, in RFC 3339; null when the API server does not record it.
    #[schemars(with = "Option<String>")]
    pub time: Option<Timestamp>,
    /// The object's kind.
    pub kind: &'static str,
    /// Its namespace; null for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The program, as it calls itself: `kubectl-client-side-apply`, `argocd-controller`.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The fields of the object that this program manages: `spec.submit`, `data.queues.yaml`.
    pub fields: Vec<String>,
    /// The number of the queue whose ACLs the object sets; null if it affects several queues or none that
    /// exists.
    pub queue: Option<usize>,
}

/// Returns all known changes to a snapshot's objects, the latest first. Objects from files have no changes
/// unless they include `managedFields`.
pub fn changes(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportChange> {
    let acls = snapshot.queue_acls.iter().flat_map(|entry| {
        let target = entry.spec.as_ref().ok().and_then(QueueAclSpec::target);
        let queue = target.and_then(|target| number(tree, &target));
        let changes = changes_to("QueueAcl", &entry.meta.name, &entry.meta.touches);
        changes.map(move |change| ReportChange { queue, ..change })
    });
    let policies = snapshot.policies.iter().map(|entry| ("AdmissionPolicy", &entry.meta));
    let tests = snapshot.access_tests.iter().map(|entry| ("QueueAccessTest", &entry.meta));
    let config = snapshot.config.iter().map(|entry| ("YuniKornConfig", &entry.meta));
    let others = policies
        .chain(tests)
        .chain(config)
        .flat_map(|(kind, meta)| changes_to(kind, &meta.name, &meta.touches));
    let mut changes: Vec<ReportChange> = acls.chain(others).chain(of_maps(snapshot)).collect();
    // Changes made in the same second stay in the order of their objects.
    changes.sort_by(|left, right| order(left).cmp(&order(right)));
    changes.truncate(MAX_CHANGES);
    changes
}

/// Returns the sort key of a change.
fn order(change: &ReportChange) -> impl Ord {
    let ReportChange { time, kind, namespace, name, manager, operation, fields, .. } = change;
    (Reverse(*time), *kind, namespace, name, manager, operation, fields)
}

fn changes_to(kind: &'static str, name: &str, touches: &[Touch]) -> impl Iterator<Item = ReportChange> {
    touches.iter().map(move |Touch { time, manager, operation, fields }| ReportChange {
        time: *time,
        kind,
        namespace: None,
        name: name.to_owned(),
        manager: manager.clone(),
        operation: operation.clone(),
        fields: fields.clone(),
        queue: None,
    })
}

fn of_maps(snapshot: &Snapshot) -> Vec<ReportChange> {
    let spec = snapshot.config.as_ref().and_then(|config: &Entry<ConfigSpec, _>| config.spec.as_ref().ok());
    let namespace = spec.map_or_else(|| ConfigSpec::default().namespace, |spec| spec.namespace.clone());
    let maps = [&snapshot.defaults, &snapshot.base, &snapshot.output];
    let mut maps: Vec<&ConfigMapState> = maps.into_iter().filter_map(Option::as_deref).collect();
    // By default, the base is the defaults ConfigMap.
    maps.sort_by(|left, right| left.name.cmp(&right.name));
    maps.dedup_by(|left, right| left.name == right.name);
    let changes = maps.into_iter().flat_map(|map| changes_to("ConfigMap", &map.name, &map.touches));
    changes.map(|change| ReportChange { namespace: Some(namespace.clone()), ..change }).collect()
}

/// The reason for an object that gives its rights to no one and replaces no ACL of the base.
const GRANTS_NOBODY: &str = "GrantsNobody";

/// An object that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WithoutEffectAnswer")]
pub struct ReportWithoutEffect {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The number of its queue; null if the queue does not exist.
    pub queue: Option<usize>,
    /// The reason, as in its conditions: `Expired`, `QueueNotFound`, `AncestorAllowsEveryone`; or
    /// `GrantsNobody`.
    pub reason: String,
    /// The reason in a sentence.
    pub message: String,
}

/// Returns the objects of a snapshot that change nothing, judging by their conditions and by the base's ACLs
/// of their queues. Objects of other partitions are left out.
pub fn without_effect(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportWithoutEffect> {
    let base = base(snapshot);
    let acls = snapshot.queue_acls.iter().filter_map(|entry| {
        let spec = entry.spec.as_ref().ok();
        let target = spec.and_then(QueueAclSpec::target);
        if target.as_ref().is_some_and(|target| !is_here(tree, target)) {
            return None;
        }
        let queue = target.and_then(|target| number(tree, &target));
        object("QueueAcl", &entry.meta, queue).or_else(|| {
            spec.filter(|spec| spec.phase(snapshot.now) == Phase::Current && is_empty(spec, base.as_ref()))
                .map(|_| ReportWithoutEffect {
                    kind: "QueueAcl",
                    name: entry.meta.name.to_string(),
                    queue,
                    reason: GRANTS_NOBODY.to_owned(),
                    message:
                        "it gives its rights to no one, and there is no ACL in the base that it replaces"
                            .to_owned(),
                })
        })
    });
    let policies = snapshot.policies.iter();
    acls.chain(policies.filter_map(|entry| object("AdmissionPolicy", &entry.meta, None))).collect()
}

/// Returns the queues of the base, if it can be read.
fn base(snapshot: &Snapshot) -> Option<Config> {
    let spec = snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
    let key = spec.and_then(|spec| spec.base_key.clone());
    let key = key.unwrap_or_else(|| merged(snapshot).queues_key());
    let text = merged_alone(snapshot.base.as_deref()?).get(&key)?.text.clone();
    verdict(&text, &[], snapshot.version()).config
}

/// Returns whether an object gives each of its rights to no one and leaves the base's ACLs of its queue
/// unchanged, because they are empty or because it extends them.
fn is_empty(spec: &QueueAclSpec, base: Option<&Config>) -> bool {
    let Some(queue) = base.and_then(|base| {
        let (partition, path) = spec.target()?;
        base.partition(&partition)?.queue(&path)
    }) else {
        return false;
    };
    let grants = [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)];
    let mut rights =
        grants.into_iter().filter_map(|(right, grant)| Some((right, grant.as_ref()?))).peekable();
    rights.peek().is_some()
        && rights.all(|(right, grant)| {
            let keeps = spec.base_acl == BaseAcl::Extend
                || acl::parse(&queue.acl(right).value).is_ok_and(|own| own.is_nobody());
            keeps && grant_acl(grant).0.is_some_and(|acl| acl.is_nobody())
        })
}

fn object(kind: &'static str, meta: &Meta, queue: Option<usize>) -> Option<ReportWithoutEffect> {
    let found =
        [Type::Accepted, Type::Effective].into_iter().filter_map(|type_| find(&meta.conditions, type_));
    let mut current = found.filter(|condition| condition.observed_generation == meta.generation);
    let condition = current.find(|condition| condition.status == Status::False)?;
    Some(ReportWithoutEffect {
        kind,
        name: meta.name.to_string(),
        queue,
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
    })
}

/// A QueueAcl that grants nothing now because of its time, or because it is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OutsideAnswer")]
pub struct ReportOutside {
    /// Its name.
    pub name: String,
    /// The number of its queue; null if the queue does not exist.
    pub queue: Option<usize>,
    /// True if its end has passed.
    pub expired: bool,
    /// True if it is suspended. If it is neither expired nor suspended, it has not started yet.
    pub suspended: bool,
    /// When it begins; null if it has no start time.
    pub not_before: Option<Timestamp>,
    /// When it ends; null if it has no end time.
    pub expires_at: Option<Timestamp>,
}

/// Returns the objects of a snapshot that belong to the tree's partition and are outside their time window,
/// planned ones first, then by time.
pub fn outside(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportOutside> {
    let specs = snapshot.queue_acls.iter().filter_map(|entry| Some((entry, entry.spec.as_ref().ok()?)));
    let all = specs.filter_map(|(entry, spec)| {
        let (phase, target) = (spec.phase(snapshot.now), spec.target()?);
        let object = ReportOutside {
            name: entry.meta.name.to_string(),
            queue: number(tree, &target),
            expired: phase == Phase::Expired,
            suspended: phase == Phase::Suspended,
            not_before: spec.not_before,
            expires_at: spec.expires_at,
        };
        (phase != Phase::Current && is_here(tree, &target)).then_some((phase, object))
    });
    let mut outside: Vec<_> = all.collect();
    outside.sort_by_cached_key(|(phase, of)| (*phase, of.not_before, of.expires_at, of.name.clone()));
    outside.into_iter().map(|(_, object)| object).collect()
}
