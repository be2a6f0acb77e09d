//! What the admission controller answers to a request, and who then submits.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConfigMaps, Oracle, Subject, null_is_empty};

/// A request for admission, and what the admission controller has seen before.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MutateQuestion {
    /// Where its configuration is read from.
    #[serde(flatten)]
    pub maps: ConfigMaps,
    /// `CREATE` or `UPDATE`.
    pub operation: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace.
    pub namespace: String,
    /// Who asks.
    #[serde(flatten)]
    pub subject: Subject,
    /// The pod, or the pod template of a workload.
    pub pod: PodFacts,
    /// The same before an update.
    pub old_pod: PodFacts,
    /// Annotations of the namespace; `None` where it has not been seen.
    pub namespace_annotations: Option<BTreeMap<String, String>>,
    /// Annotations of the pod's `PriorityClass`; `None` where it has not been seen.
    pub priority_class_annotations: Option<BTreeMap<String, String>>,
}

/// What the admission controller reads of a pod.
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
    /// Whether the request is allowed.
    pub allowed: bool,
    /// Why not.
    pub message: String,
    /// The JSON patch as it is sent, `null` for none.
    pub patch: Value,
    /// Labels with the patch.
    #[serde(deserialize_with = "null_is_none")]
    pub labels: BTreeMap<String, String>,
    /// Annotations with the patch.
    #[serde(deserialize_with = "null_is_none")]
    pub annotations: BTreeMap<String, String>,
    /// `spec.schedulerName` with the patch.
    pub scheduler_name: String,
    /// Who submits the patched pod, as the shim tells the scheduler.
    pub user: String,
    /// The groups that go with it.
    #[serde(deserialize_with = "null_is_empty")]
    pub groups: Vec<String>,
    /// The admission controller panicked; everything else is meaningless.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub panic: String,
}

/// Returns a message without its wording where it says that a `user.info` cannot be read: ours is not Go's.
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
    /// Requests for admission.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn mutate(&self, questions: &[MutateQuestion]) -> Result<Vec<MutateAnswer>> {
        self.ask("mutate", questions)
    }
}

/// Go writes a nil map as `null`.
fn null_is_none<'de, D>(deserializer: D) -> std::result::Result<BTreeMap<String, String>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
