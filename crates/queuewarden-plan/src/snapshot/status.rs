//! What the status of the `YuniKornConfig` remembers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::release::Release;

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
