//! Gets the admission controller's answer to a request, and the resulting submitter.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConfigMaps, Oracle, Subject, null_is_empty};

/// A request for admission, and the objects that the admission controller has seen before.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MutateQuestion {
    /// The `ConfigMap`s with its configuration.
    #[serde(flatten)]
    pub maps: ConfigMaps,
    /// `CREATE` or `UPDATE`.
    pub operation: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace.
    pub namespace: String,
    /// The requester.
    #[serde(flatten)]
    pub subject: Subject,
    /// The pod, or the pod template of a workload.
    pub pod: PodFacts,
    /// The same before an update.
    pub old_pod: PodFacts,
    /// Annotations of the namespace; `None` if it has not been seen.
    pub namespace_annotations: Option<BTreeMap<String, String>>,
    /// Annotations of the pod's `PriorityClass`; `None` if it has not been seen.
    pub priority_class_annotations: Option<BTreeMap<String, String>>,
}

/// The fields of a pod that the admission controller reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFacts {
    /// `metadata.labels`
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `metadata.uid`
    pub uid: String,
    /// `spec.priorityClassName`
    pub priority_class: String,
    /// `spec.schedulerName`
    pub scheduler_name: String,
}

/// The answer of `mutate()`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MutateAnswer {
    /// True when the request is allowed.
    pub allowed: bool,
    /// The reason for a refusal.
    pub message: String,
    /// The JSON patch as it is sent, which may be `null`.
    pub patch: Value,
    /// Labels with the patch.
    #[serde(deserialize_with = "null_is_none")]
    pub labels: BTreeMap<String, String>,
    /// Annotations with the patch.
    #[serde(deserialize_with = "null_is_none")]
    pub annotations: BTreeMap<String, String>,
    /// `spec.schedulerName` with the patch.
    pub scheduler_name: String,
    /// The submitter of the patched pod, as the shim reports it to the scheduler.
    pub user: String,
    /// The groups that go with it.
    #[serde(deserialize_with = "null_is_empty")]
    pub groups: Vec<String>,
    /// The admission controller panicked; everything else is meaningless.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub panic: String,
}

/// Returns a message without its wording if it reports an unreadable `user.info`, because our wording differs
/// from Go's.
pub fn without_wording(message: String) -> String {
    let begins = [
        "yunikorn.apache.org/user.info cannot be read: ",
        "invalid character '",
        "unexpected end of JSON input",
        "json: cannot unmarshal ",
    ];
    if begins.iter().any(|begin| message.starts_with(begin)) { "unreadable".to_owned() } else { message }
}

impl Oracle {
    /// Answers requests for admission.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn mutate(&self, questions: &[MutateQuestion]) -> Result<Vec<MutateAnswer>> {
        self.ask("mutate", questions)
    }
}

/// Reads a map; Go writes a nil map as `null`.
fn null_is_none<'de, D>(deserializer: D) -> std::result::Result<BTreeMap<String, String>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
