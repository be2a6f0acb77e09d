//! The changes that the admission controller makes in an object: a list of JSON Patch operations, all of them
//! `add`.

use serde::Serialize;

use super::request::{Pod, Texts};

/// The path of a pod's annotations.
pub const ANNOTATIONS: &str = "/metadata/annotations";
/// The path of a pod's labels.
pub const LABELS: &str = "/metadata/labels";
/// The path of a pod's scheduler name.
pub const SCHEDULER_NAME: &str = "/spec/schedulerName";
/// The scheduler's name (`constants.go:69`).
pub const YUNIKORN: &str = "yunikorn";

/// One operation; its `op` is `add`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// A JSON pointer.
    pub path: &'static str,
    /// The new value at the path; it replaces any old one.
    pub value: Value,
}

/// The value of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A string.
    Text(&'static str),
    /// An object of strings: all labels, all annotations.
    Texts(Texts),
}

/// The pod, or the pod template, after the operations.
pub fn patched(pod: &Pod, patches: &[Patch]) -> Pod {
    let mut pod = pod.clone();
    for patch in patches {
        match &patch.value {
            Value::Text(name) => (*name).clone_into(&mut pod.scheduler_name),
            Value::Texts(labels) if patch.path == LABELS => pod.labels.clone_from(labels),
            Value::Texts(annotations) => pod.annotations.clone_from(annotations),
        }
    }
    pod
}
