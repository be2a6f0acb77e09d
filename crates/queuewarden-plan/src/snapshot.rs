//! The input of `plan`: everything it reads, as plain data, gathered at one moment.
//!
//! The operator fills a [`Snapshot`] from its watches, `queuewarden render` from files. Nothing in here is a
//! Kubernetes type, and the clock is a field, so that the same snapshot always gives the same plan.
//!
//! * [`spec`]: the specs of our kinds.
//! * [`observed`]: what the operator remembers and observes.

mod observed;
mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::ConfigStatus;
use super::conditions::{self, Condition, Type};
use super::mirror::Mirror;
use go_compat::diag::Diagnostic;
use yunikorn_access::alias::Aliased;

pub use observed::*;
pub use spec::*;

/// The field manager of every write, and the name in `managedFields` that distinguishes our keys from other
/// people's.
pub const FIELD_MANAGER: &str = "queuewarden";
/// The field manager of `YuniKorn`'s queue operator (k8shim pull request 1049): the name of its program,
/// which the API server takes from `User-Agent`.
pub const QUEUE_OPERATOR: &str = "yunikorn-queue-operator";
/// The label of the objects that queuewarden creates. Its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation on the output ConfigMap: the keys that queuewarden wrote, separated by commas.
pub const MANAGED_KEYS: &str = "queuewarden.dev/managed-keys";
/// Annotation on the output ConfigMap: the key whose queue tree is kept up to date, where several keys are
/// ours.
pub const QUEUES_KEY: &str = "queuewarden.dev/queues-key";
/// Annotation on the output ConfigMap: the number of objects that its queue tree was rendered from.
pub const OBJECTS: &str = "queuewarden.dev/objects";
/// Annotation on the output ConfigMap: a number for writes that change nothing else.
pub const EPOCH: &str = "queuewarden.dev/epoch";
/// Annotation on the output ConfigMap: the grants of its queue tree that the statuses of the objects do not
/// show yet.
pub const IN_FORCE: &str = "queuewarden.dev/in-force";
/// Annotation on the `YuniKornConfig`: the revision of the output that permits the removal of most objects at
/// once.
pub const CONFIRM_REMOVAL: &str = "queuewarden.dev/confirm-removal";
/// Annotation on a base ConfigMap that `adoption: Import` created: `namespace/name` of the origin of its
/// text.
pub const IMPORTED_FROM: &str = "queuewarden.dev/imported-from";
/// `YuniKorn`'s first ConfigMap (Helm's); k8shim `constants.go:67`.
pub const YUNIKORN_DEFAULTS: &str = "yunikorn-defaults";
/// `YuniKorn`'s second ConfigMap, whose keys win; k8shim `constants.go:68`.
pub const YUNIKORN_CONFIGS: &str = "yunikorn-configs";

/// Everything the plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The moment the plan is made for.
    pub now: Timestamp,
    /// The `YuniKornConfig` named `default`; `None` when there is none.
    pub config: Option<ConfigEntry>,
    /// All `QueueAcl` objects, in any order; shared, because there may be thousands, and most of them are the
    /// same in the next snapshot.
    pub queue_acls: Vec<Arc<QueueAclEntry>>,
    /// All `AdmissionPolicy` objects, in any order.
    pub policies: Vec<PolicyEntry>,
    /// All `QueueAccessTest` objects, in any order.
    pub access_tests: Vec<AccessTestEntry>,
    /// `yunikorn-defaults` in the configured namespace.
    pub defaults: Option<Arc<ConfigMapState>>,
    /// The base ConfigMap (often the same object as `defaults`).
    pub base: Option<Arc<ConfigMapState>>,
    /// The output ConfigMap (`yunikorn-configs`).
    pub output: Option<Arc<ConfigMapState>>,
    /// The last base from which a full text was written, as the operator stored it; `None` if nothing is
    /// stored.
    pub last_base: Option<LastBase>,
    /// The RBAC mirror in the cluster; `None` if it was not read.
    pub mirror: Option<Mirror>,
    /// The operator's observations of the outside world since it started.
    pub observed: Observed,
}

impl Snapshot {
    /// Returns the snapshot of a cluster without any objects.
    pub fn empty(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// Returns the settings of the installation, if they can be read.
    pub(super) fn spec(&self) -> Option<&ConfigSpec> {
        self.config.as_ref()?.spec.as_ref().ok()
    }

    /// Returns the names in the specs of all `QueueAcl`s by their aliases.
    pub fn aliased(&self) -> Aliased {
        let mut aliased = Aliased::default();
        let specs = self.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        for grant in specs.flat_map(|spec| [&spec.submit, &spec.admin]).flatten() {
            if let Grant::Lists { users, groups } = grant {
                aliased.add(users, groups);
            }
        }
        aliased
    }

    /// Returns the last status of the `YuniKornConfig`.
    pub(super) fn config_status(&self) -> Option<&ConfigStatus> {
        self.config.as_ref()?.in_force.as_ref()
    }

    /// Returns the checksum of the text that the scheduler was last known to run, by the status. With
    /// another spec it may be another scheduler.
    pub(super) fn loaded_hash(&self) -> Option<&String> {
        let Meta { conditions, generation, .. } = &self.config.as_ref()?.meta;
        let current = conditions::find(conditions, Type::Loaded)?.observed_generation == *generation;
        self.config_status().filter(|_| current)?.loaded_hash.as_ref()
    }

    /// Returns the text in `data` of the output under a key.
    pub(super) fn output_text(&self, key: &str) -> Option<&String> {
        self.output.as_deref()?.data.get(key)
    }
}

/// One object of ours: its metadata, its spec (or why that cannot be read), and what its status remembers.
#[derive(Debug, Clone)]
pub struct Entry<S, M> {
    /// Name and bookkeeping.
    pub meta: Meta,
    /// The spec; diagnostics when it cannot be decoded at all.
    pub spec: Result<S, Vec<Diagnostic>>,
    /// The version that was last in force, by its status.
    pub in_force: Option<M>,
}

/// A `QueueAcl`.
pub type QueueAclEntry = Entry<QueueAclSpec, Arc<QueueAclInForce>>;
/// An `AdmissionPolicy`.
pub type PolicyEntry = Entry<AdmissionPolicySpec, AdmissionPolicySpec>;
/// A `QueueAccessTest`.
pub type AccessTestEntry = Entry<AccessTestSpec, ()>;
/// The `YuniKornConfig`.
pub type ConfigEntry = Entry<ConfigSpec, ConfigStatus>;

/// The part of `metadata` and `status` that plans depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.name`
    pub name: Arc<str>,
    /// `metadata.uid`; empty when it comes from a file.
    pub uid: Arc<str>,
    /// `metadata.generation`; 0 when it comes from a file.
    pub generation: i64,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// True if `metadata.deletionTimestamp` is set: the object is deleted, and a finalizer delays that.
    pub deleting: bool,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// Bytes of the spec and of the metadata that its writers choose, as JSON.
    pub stored: usize,
    /// `status.conditions` now; shared with plans that do not change them.
    pub conditions: Arc<[Condition]>,
    /// The last writers of its fields. No plan depends on them; reports print them.
    pub touches: Vec<Touch>,
}

/// The fields of an object that one program wrote last: one entry of `metadata.managedFields`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Touch {
    /// The time; `None` if the API server does not give it.
    pub time: Option<Timestamp>,
    /// The program, as it calls itself.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The fields that it owns: `spec.submit`, `data.queues.yaml`. Sorted; a bounded number.
    pub fields: Vec<String>,
}

/// A ConfigMap as it is in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ConfigMapState {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`, the precondition of a write.
    pub resource_version: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `data`
    pub data: BTreeMap<String, String>,
    /// `binaryData`
    pub binary: BTreeMap<String, BinaryValue>,
    /// Annotation [`IN_FORCE`] by the uid of the object; `None`: the queue tree grants nothing of it.
    pub in_force: BTreeMap<String, Option<QueueAclInForce>>,
    /// Per key of `data` and `binaryData`: its owners by `metadata.managedFields`.
    pub owners: BTreeMap<String, Vec<Owner>>,
    /// The last writers of its fields. No plan depends on them; reports print them.
    pub touches: Vec<Touch>,
}

/// One value of `binaryData`, unpacked at the edge so that the core needs no decompressor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct BinaryValue {
    /// Length in bytes as stored.
    pub len: usize,
    /// The text inside, if it is gzip and UTF-8 (invalid bytes replaced as Go prints them) and within bounds;
    /// `None` otherwise.
    pub gunzipped: Option<String>,
}

/// One entry of `managedFields` that owns a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// `manager`
    pub manager: String,
    /// `operation`: `Apply` or `Update`.
    pub operation: String,
}
