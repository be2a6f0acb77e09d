//! Computes, in one function, everything that is written and what every status reports:
//! `plan(&Snapshot) -> Plan`.
//!
//! The function is total and deterministic: the same snapshot gives the same plan. A plan made after its
//! predecessor was applied writes nothing.

pub mod access_tests;
pub mod admit;
pub mod ahead;
mod applied;
pub mod attribution;
mod base;
mod budget;
#[cfg(test)]
mod checker;
pub mod conditions;
mod decide;
mod delegation;
mod effect;
pub mod entries;
mod environment;
mod grants;
mod header;
pub mod history;
mod hold;
pub mod machine;
pub mod mirror;
mod object;
mod output;
mod ownership;
mod parse_cache;
pub mod past;
mod planted;
mod policy;
mod record;
pub mod release;
mod render;
mod replacement;
mod report;
mod resolve;
mod running;
pub mod simulate;
pub mod snapshot;
pub mod timeline;
pub mod view;
mod waiting;
mod withdraw;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use attribution::Attribution;
use conditions::{Condition, Finding, merge};
use decide::Decided;
use release::Release;
use snapshot::{
    AdmissionPolicySpec, ConfigMapState, FIELD_MANAGER, LastBase, Meta, OutputText, QueueAclInForce, Snapshot,
};

use go_compat::diag::Code;

pub use base::base_tree;
pub use environment::{config_map_of, merged, merged_alone, text_in_force};
pub use object::{ObjectRef, ResourceKind};
pub use output::{MAX_BYTES, WARN_BYTES, size_after};
pub use ownership::managed_keys;
pub use parse_cache::{ParseCache, Reading};
pub use policy::{
    Trust, admission_keys, admission_settings, field_of, risks, settings, shared_application, submission,
    trusts, user_info,
};
pub use replacement::Replacement;
pub use resolve::{grant_acl, grants, no_names};
pub use running::Running;

/// All codes of this module.
pub const CODES: &[Code] = &[
    resolve::EMPTY_WINDOW,
    resolve::NO_RIGHT,
    resolve::SHARED_QUEUE,
    resolve::REPLACES_FOR_A_TIME,
    resolve::NO_NAMES,
    render::NOT_AS_MEANT,
];

/// Makes the plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    plan_again(snapshot, &mut ParseCache::new(snapshot.version()))
}

/// Makes the same plan for a caller that plans repeatedly: texts in the cache `known` are not parsed again.
pub fn plan_again(snapshot: &Snapshot, known: &mut ParseCache) -> Plan {
    known.set_version(snapshot.version());
    let decided = decide::decided(snapshot, known);
    let plan = decided.map_or_else(|| waiting::plan(snapshot), Decided::into_plan);
    known.forget_unused();
    plan
}

/// The writes to make and the statuses and events to publish. Apply the steps in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// A ConfigMap to create first (`adoption: Import`): the base, with the current text of the output.
    pub import: Option<NewConfigMap>,
    /// A ConfigMap to create first (`adoption: Force`): a copy of what is about to be replaced.
    pub backup: Option<NewConfigMap>,
    /// The change of the output ConfigMap; `None` when nothing is to be written.
    pub write: Option<Write>,
    /// The base to store as the last good one; `None` when the stored one stays.
    pub last_base: Option<LastBase>,
    /// The changes of the RBAC mirror, which follows the ACLs now in force.
    pub mirror: mirror::Changes,
    /// The text that should be in force, whether it may be written or not; `None` when the base gives none.
    pub rendered: Option<OutputText>,
    /// Which objects decide which ACLs of `rendered`, by partition, queue and right.
    pub contributions: Arc<[Attribution]>,
    /// Status of each `QueueAcl`, by name.
    pub queue_acls: BTreeMap<Arc<str>, ObjectStatus<QueueAclStatus>>,
    /// Status of each `AdmissionPolicy`, by name.
    pub policies: BTreeMap<Arc<str>, ObjectStatus<AdmissionPolicyStatus>>,
    /// Status of each `QueueAccessTest`, by name.
    pub access_tests: BTreeMap<Arc<str>, ObjectStatus<AccessTestStatus>>,
    /// Status of the `YuniKornConfig`, if there is one.
    pub config: Option<ObjectStatus<ConfigStatus>>,
    /// Events to publish once the statuses are written, in a stable order. Only transitions: none when
    /// nothing changed.
    pub events: Vec<Event>,
    /// The time to plan again although nothing changed: a window opens or closes, or a retry is due.
    pub wake_at: Option<Timestamp>,
}

/// A ConfigMap to create.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct NewConfigMap {
    /// `metadata.name`, in the configured namespace.
    pub name: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `data`
    pub data: BTreeMap<String, String>,
}

/// A change of the output ConfigMap; keys that are not named stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is about something else")]
pub struct Write {
    /// Name of the ConfigMap.
    pub name: String,
    /// The precondition: `None` creates the ConfigMap and fails if there is one.
    pub resource_version: Option<String>,
    /// `data` keys to set (`Some`) or to remove (`None`).
    pub data: BTreeMap<String, Option<String>>,
    /// `metadata.annotations` to set.
    pub annotations: BTreeMap<String, String>,
    /// The annotation [`snapshot::IN_FORCE`] to set; `None` leaves it.
    pub in_force: Option<BTreeMap<String, Option<QueueAclInForce>>>,
    /// True if it puts back a key that someone else changed: such writes are limited in rate.
    pub repair: bool,
    /// True if it writes the same text again with a new revision, because the scheduler did not load it.
    pub reassert: bool,
    /// True if it grants somebody more than the current text does: such writes are limited in rate.
    pub widens: bool,
    /// True if its text is the current one with nothing but withdrawals applied, and not the full text.
    pub partial: bool,
    /// The objects that make the difference, and other reasons for its text, for the history.
    pub causes: Vec<String>,
    /// Which objects decide which ACLs of the full text, with the ends of their grants.
    pub contributions: Arc<[Attribution]>,
}

impl Write {
    /// Returns the queue tree that it sets, with its key.
    fn queue_tree(&self) -> Option<(&String, &String)> {
        let mut set = self.data.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        set.find(|(key, _)| environment::is_queues_key(key))
    }

    /// Returns the access keys of the admission controller that it sets or removes.
    fn admission(&self) -> impl Iterator<Item = (&String, Option<&String>)> {
        let keys = self.data.iter().filter(|(key, _)| yunikorn::admission::KEYS.contains(&key.as_str()));
        keys.map(|(key, value)| (key, value.as_ref()))
    }

    /// Returns the other managers that own its keys in `map`, each once.
    fn other_writers(&self, map: Option<&ConfigMapState>) -> Vec<String> {
        let owners = map.into_iter().flat_map(|map| self.data.keys().filter_map(|key| map.owners.get(key)));
        let managers = owners.flatten().map(|owner| owner.manager.as_str());
        let others: BTreeSet<_> = managers.filter(|manager| *manager != FIELD_MANAGER).collect();
        others.into_iter().map(str::to_owned).collect()
    }
}

/// The status an object should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStatus<S> {
    /// `metadata.uid`, so that a status is never written to another object of the same name.
    pub uid: Arc<str>,
    /// All conditions, foreign ones included.
    pub conditions: Arc<[Condition]>,
    /// The rest of the status.
    pub rest: S,
}

impl<S> ObjectStatus<S> {
    /// Makes the status of an object of which `findings` hold now.
    fn new(meta: &Meta, findings: &[Finding], rest: S, now: Timestamp) -> Self {
        let conditions = merge(&meta.conditions, findings, meta.generation, now);
        Self { uid: meta.uid.clone(), conditions, rest }
    }
}

/// The rest of a `QueueAcl`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueAclStatus {
    /// Holders of the right to submit by this object alone: "user sue and group devs", "everyone", "nobody",
    /// or "-" when it says nothing about submitting. While the object is not in force, the names that it asks
    /// for; "invalid" if these cannot be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub submit: String,
    /// Holders of the right to administer by this object alone: "group ops", "everyone", "nobody", or "-"
    /// when it says nothing about administration. While the object is not in force, the names that it asks
    /// for; "invalid" if these cannot be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub admin: String,
    /// Whether a version of this object is in force: True if the ConfigMap has its grants, or the scheduler
    /// still runs them, False, or Unknown.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub active: Cow<'static, str>,
    /// The last version of this object that went into the ConfigMap. It stays in force while the object is
    /// Invalid, so that a typo neither widens nor takes away access. Absent when nothing of this object is in
    /// force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<Arc<QueueAclInForce>>,
}

/// The rest of an `AdmissionPolicy`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionPolicyStatus {
    /// The last version of this object that went into the ConfigMap. It stays in force while the object is
    /// Invalid. Absent when nothing of this object is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<AdmissionPolicySpec>,
}

/// The rest of a `QueueAccessTest`'s status. There are no numbers while the test is not evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessTestStatus {
    /// Number of checks in the cases: each subject with each queue and each placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub checks: Option<usize>,
    /// Number of checks that hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub passed: Option<usize>,
    /// Number of checks that do not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub failed: Option<usize>,
    /// Number of checks that cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub undecided: Option<usize>,
    /// The first checks that do not hold or cannot be decided, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub failures: Vec<String>,
}

/// The rest of the `YuniKornConfig`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigStatus {
    /// Number in the header of the text that was last written; it grows with each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub revision: Option<u64>,
    /// SHA-256 of the queue configuration in the output ConfigMap, in upper-case hexadecimal, as YuniKorn
    /// shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_hash: Option<String>,
    /// SHA-256 of the queue configuration that the scheduler runs, as it reported it last. Equal to
    /// configHash when Loaded is True.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_hash: Option<String>,
    /// The version of the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Release>,
    /// The ConfigMap that is written, and the keys in it that are queuewarden's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputRef>,
    /// Name of the AdmissionPolicy that is in force. Where spec.admissionPolicy names none, it stays the one
    /// that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub admission_policy: Option<String>,
}

/// The object and the keys that were written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct OutputRef {
    /// Namespace of the ConfigMap.
    pub namespace: String,
    /// Name of the ConfigMap.
    pub name: String,
    /// Its uid: another one means that it was deleted and created again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The keys in its data that queuewarden wrote; all others are left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub keys: Vec<String>,
}

/// An event to publish.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The object that the event is about.
    pub object: ObjectRef,
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// `reason`, a word of [`conditions::Reason`] or another one of the page about events.
    pub reason: String,
    /// `note`, at most 1000 bytes.
    pub note: String,
}

#[cfg(test)]
mod tests;
