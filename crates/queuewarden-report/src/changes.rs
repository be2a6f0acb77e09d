//! Lists the objects of a snapshot with the last change that each program made to them.

use queuewarden_plan::snapshot::{ConfigMapState, ConfigSpec, Entry, QueueAclSpec, Snapshot, Touch};
use yunikorn::queue::QueuePath;

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
