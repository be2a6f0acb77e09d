//! Lists the objects of a snapshot with the last change that each program made to them.

use std::cmp::Reverse;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::number;
use queuewarden_plan::snapshot::{ConfigMapState, ConfigSpec, Entry, QueueAclSpec, Snapshot, Touch};
use yunikorn_access::Tree;

/// Most changes that are reported: a cluster has a few for each object.
pub const MAX_CHANGES: usize = 20_000;

/// The last change that a program made to an object, by its `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ChangeAnswer")]
pub struct ReportChange {
    /// The time, in RFC 3339; null when the API server does not record it.
    #[schemars(with = "Option<String>")]
    pub time: Option<Timestamp>,
    /// The object's kind.
    pub kind: &'static str,
    /// Its namespace; null where the kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The program, as it calls itself: `kubectl-client-side-apply`, `argocd-controller`.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The fields of the object that this program manages: `spec.submit`, `data.queues.yaml`.
    pub fields: Vec<String>,
    /// The number of the queue whose ACLs the object sets; null when it is about more than one, or none that
    /// there is.
    pub queue: Option<usize>,
}

/// Returns all known changes of a snapshot's objects, the latest first. Objects from files have none, unless
/// they were printed with their `managedFields`.
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
    // Programs that wrote in the same second stay in the order of their objects.
    changes.sort_by(|left, right| order(left).cmp(&order(right)));
    changes.truncate(MAX_CHANGES);
    changes
}

/// Returns the key to sort changes by.
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
    // The base is the defaults, unless something else is configured.
    maps.sort_by(|left, right| left.name.cmp(&right.name));
    maps.dedup_by(|left, right| left.name == right.name);
    let changes = maps.into_iter().flat_map(|map| changes_to("ConfigMap", &map.name, &map.touches));
    changes.map(|change| ReportChange { namespace: Some(namespace.clone()), ..change }).collect()
}
