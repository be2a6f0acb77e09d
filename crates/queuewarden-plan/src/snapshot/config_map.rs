//! ConfigMaps as they are in the cluster.

use std::collections::BTreeMap;

use super::entry::Touch;
use super::spec::QueueAclInForce;

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
    /// Annotation [`IN_FORCE`](super::IN_FORCE) by the uid of the object; `None`: the queue tree grants
    /// nothing of it.
    pub in_force: BTreeMap<String, Option<QueueAclInForce>>,
    /// Per key of `data` and `binaryData`: its owners by `metadata.managedFields`.
    pub owners: BTreeMap<String, Vec<KeyOwner>>,
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
pub struct KeyOwner {
    /// `manager`
    pub manager: String,
    /// `operation`: `Apply` or `Update`.
    pub operation: String,
}
