//! Lists objects of a snapshot: with the last change that each program made to them, outside their time, and
//! without effect.

use jiff::Timestamp;
use queuewarden_plan::conditions::{Status, Type, find};
use queuewarden_plan::snapshot::{
    BaseAcl, ConfigMapState, ConfigSpec, Entry, Meta, Phase, QueueAclSpec, Snapshot, Touch,
};
use queuewarden_plan::{grant_acl, merged, merged_alone};
use yunikorn::acl;
use yunikorn::config::{Config, verdict};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// Most changes that are reported: a cluster has a few for each object.
pub const MAX_CHANGES: usize = 20_000;

/// The last change that a program made to an object, from its `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The object's kind.
    pub kind: &'static str,
    /// Its namespace; `None` where the kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The change.
    pub touch: Touch,
    /// The partition and the queue whose ACLs the object sets; `None` when it sets those of more than one, or
    /// none.
    pub queue: Option<(String, QueuePath)>,
}

/// Returns all known changes of a snapshot's objects, the latest first. Objects from files have none, unless
/// they were printed with their `managedFields`.
pub fn changes(snapshot: &Snapshot) -> Vec<Change> {
    let acls = snapshot.queue_acls.iter().flat_map(|entry| {
        let queue = entry.spec.as_ref().ok().and_then(QueueAclSpec::target);
        let changes = changes_to("QueueAcl", &entry.meta.name, &entry.meta.touches);
        changes.map(move |change| Change { queue: queue.clone(), ..change })
    });
    let policies = snapshot.policies.iter().map(|entry| ("AdmissionPolicy", &entry.meta));
    let tests = snapshot.access_tests.iter().map(|entry| ("QueueAccessTest", &entry.meta));
    let config = snapshot.config.iter().map(|entry| ("YuniKornConfig", &entry.meta));
    let others = policies
        .chain(tests)
        .chain(config)
        .flat_map(|(kind, meta)| changes_to(kind, &meta.name, &meta.touches));
    let mut changes: Vec<Change> = acls.chain(others).chain(of_maps(snapshot)).collect();
    // Programs that wrote in the same second stay in the order of their objects.
    changes.sort_by(|left, right| right.touch.time.cmp(&left.touch.time).then_with(|| left.cmp(right)));
    changes.truncate(MAX_CHANGES);
    changes
}

fn changes_to(kind: &'static str, name: &str, touches: &[Touch]) -> impl Iterator<Item = Change> {
    touches.iter().map(move |touch| Change {
        kind,
        namespace: None,
        name: name.to_owned(),
        touch: touch.clone(),
        queue: None,
    })
}

fn of_maps(snapshot: &Snapshot) -> Vec<Change> {
    let spec = snapshot.config.as_ref().and_then(|config: &Entry<ConfigSpec, _>| config.spec.as_ref().ok());
    let namespace = spec.map_or_else(|| ConfigSpec::default().namespace, |spec| spec.namespace.clone());
    let maps = [&snapshot.defaults, &snapshot.base, &snapshot.output];
    let mut maps: Vec<&ConfigMapState> = maps.into_iter().filter_map(Option::as_deref).collect();
    // The base is the defaults, unless something else is configured.
    maps.sort_by(|left, right| left.name.cmp(&right.name));
    maps.dedup_by(|left, right| left.name == right.name);
    let changes = maps.into_iter().flat_map(|map| changes_to("ConfigMap", &map.name, &map.touches));
    changes.map(|change| Change { namespace: Some(namespace.clone()), ..change }).collect()
}

// Lists the objects that grant nothing now because of their time, or because they are suspended.

/// A `QueueAcl` that is suspended, or whose time has not begun or has passed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outside {
    /// The phase: planned, suspended or expired.
    pub phase: Phase,
    /// The time at which it begins, if it has one.
    pub not_before: Option<Timestamp>,
    /// The time at which it ends, if it has one.
    pub expires_at: Option<Timestamp>,
    /// Its name.
    pub name: String,
    /// The partition and the queue.
    pub queue: (String, QueuePath),
}

/// Returns these objects of a snapshot, those that are planned first, each by its time.
pub fn outside(snapshot: &Snapshot) -> Vec<Outside> {
    let specs = snapshot.queue_acls.iter().filter_map(|entry| Some((entry, entry.spec.as_ref().ok()?)));
    let all = specs.filter_map(|(entry, spec)| {
        Some(Outside {
            phase: spec.phase(snapshot.now),
            not_before: spec.not_before,
            expires_at: spec.expires_at,
            name: entry.meta.name.to_string(),
            queue: spec.target()?,
        })
    });
    let mut outside: Vec<_> = all.filter(|object| object.phase != Phase::Current).collect();
    outside.sort();
    outside
}

// Lists the objects that change nothing: refused, planned, expired or redundant objects, and objects that
// give their rights to nobody and close nothing.

/// The reason for an object that gives its rights to nobody, and replaces no ACL of the base.
const GRANTS_NOBODY: &str = "GrantsNobody";

/// An object whose current version changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The partition and the queue; `None` for an object about none, and if its spec cannot be read.
    pub queue: Option<(String, QueuePath)>,
    /// The reason, as its condition has it, or `GrantsNobody`.
    pub reason: String,
    /// The message of that condition.
    pub message: String,
}

/// Returns these objects of a snapshot, by their conditions and by what the base has on their queues.
pub fn without_effect(snapshot: &Snapshot) -> Vec<WithoutEffect> {
    let base = base(snapshot);
    let acls = snapshot.queue_acls.iter().filter_map(|entry| {
        let spec = entry.spec.as_ref().ok();
        let queue = spec.and_then(QueueAclSpec::target);
        object("QueueAcl", &entry.meta, queue.clone()).or_else(|| {
            spec.filter(|spec| spec.phase(snapshot.now) == Phase::Current && is_empty(spec, base.as_ref()))
                .map(|_| WithoutEffect {
                    kind: "QueueAcl",
                    name: entry.meta.name.to_string(),
                    queue,
                    reason: GRANTS_NOBODY.to_owned(),
                    message:
                        "it gives its rights to nobody, and the base has no ACL of the queue that it replaces"
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

/// Returns whether an object gives each of its rights to nobody and leaves the base's ACLs of its queue as
/// they are, because they are empty or because it extends them.
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

fn object(kind: &'static str, meta: &Meta, queue: Option<(String, QueuePath)>) -> Option<WithoutEffect> {
    let found =
        [Type::Accepted, Type::Effective].into_iter().filter_map(|type_| find(&meta.conditions, type_));
    let mut current = found.filter(|condition| condition.observed_generation == meta.generation);
    let condition = current.find(|condition| condition.status == Status::False)?;
    Some(WithoutEffect {
        kind,
        name: meta.name.to_string(),
        queue,
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
    })
}
