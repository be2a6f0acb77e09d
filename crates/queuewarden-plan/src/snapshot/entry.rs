//! One object of ours: its metadata, its spec, and what its status remembers.

use std::sync::Arc;

use jiff::Timestamp;

use super::spec::{AccessTestSpec, AdmissionPolicySpec, ConfigSpec, QueueAclInForce, QueueAclSpec};
use super::status::ConfigStatus;
use crate::conditions::Condition;
use go_compat::diag::Diagnostic;

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
