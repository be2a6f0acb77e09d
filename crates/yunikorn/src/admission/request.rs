//! The input of the admission controller: the fields of an `AdmissionReview` that it reads, and its view of
//! the cluster.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The annotation that names the submitting user.
pub const USER_INFO: &str = "yunikorn.apache.org/user.info";
/// The label that names the submitting user if [`USER_INFO`] is missing. Ignored after 1.9.
pub const USERNAME: &str = "yunikorn.apache.org/username";
/// The label and annotation of an application's ID.
pub const APP_ID: &str = "yunikorn.apache.org/app-id";
/// An older label with the same meaning.
pub const APPLICATION_ID: &str = "applicationId";
/// Spark's label with the same meaning.
pub const SPARK_APP_SELECTOR: &str = "spark-app-selector";
/// The label of the queue.
pub const QUEUE: &str = "yunikorn.apache.org/queue";
/// An older label with the same meaning.
pub const OLD_QUEUE: &str = "queue";
/// The label that, with the value `yunikorn`, marks `YuniKorn`'s own pods.
pub const APP: &str = "app";
/// The annotation of pods and `PriorityClass`es that allows preemption.
pub const ALLOW_PREEMPTION: &str = "yunikorn.apache.org/allow-preemption";
/// The annotation of pods in namespaces that get no application IDs.
pub const IGNORE_APPLICATION: &str = "yunikorn.apache.org/ignore-application";
/// The annotation of a namespace that controls whether `YuniKorn` schedules its pods.
pub const ENABLE_YUNIKORN: &str = "yunikorn.apache.org/namespace.enableYuniKorn";
/// The annotation of a namespace that controls whether its pods get application IDs.
pub const GENERATE_APP_ID: &str = "yunikorn.apache.org/namespace.generateAppId";
/// The annotation of a namespace with the value of the tag `namespace.parentqueue`.
pub const PARENT_QUEUE: &str = "yunikorn.apache.org/parentqueue";
/// The annotation of a namespace with the value of the tag `namespace.resourcemaxapps`.
pub const MAX_APPS: &str = "yunikorn.apache.org/namespace.maxApps";
/// The annotation, and the tag, of the task groups of a gang.
pub const TASK_GROUPS: &str = "yunikorn.apache.org/task-groups";
/// The annotation, and the tag, of parameters of gang scheduling.
pub const POLICY: &str = "yunikorn.apache.org/schedulingPolicyParameters";

/// The annotation that the scheduler writes into the placeholders of a gang.
pub const PLACEHOLDER: &str = "internal.yunikorn.apache.org/placeholder";
/// An older annotation with the same meaning.
pub const OLD_PLACEHOLDER: &str = "yunikorn.apache.org/placeholder";
/// A label with the same meaning.
pub const PLACEHOLDER_LABEL: &str = "placeholder";

/// Labels that determine the user, the application or the queue of a pod (k8shim 1.8.0 and 1.9.0
/// `pkg/common/utils/utils.go`, `pkg/cache/metadata.go`). The shim reads them again whenever the pod changes
/// or the scheduler starts, so nobody may change them once the pod exists.
pub const DECIDING_LABELS: [&str; 7] =
    [USERNAME, APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR, QUEUE, OLD_QUEUE, PLACEHOLDER_LABEL];
/// Annotations with the same effect. Placement rules can use the two gang annotations as tags, and a pod
/// marked as a placeholder belongs to the pods that own it.
pub const DECIDING_ANNOTATIONS: [&str; 8] =
    [USER_INFO, APP_ID, QUEUE, IGNORE_APPLICATION, TASK_GROUPS, POLICY, PLACEHOLDER, OLD_PLACEHOLDER];

/// A map of strings, such as labels or annotations.
pub type Texts = BTreeMap<String, String>;

/// An admission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The kind of the object.
    pub kind: Kind,
    /// The object's namespace; empty means `default`.
    pub namespace: String,
    /// The authenticated user of the request.
    pub user: String,
    /// The user's groups, in order.
    pub groups: Vec<String>,
    /// The pod, or the pod template of a workload.
    pub pod: Pod,
    /// The same before an update; otherwise empty.
    pub old_pod: Pod,
}

impl Request {
    /// Returns the namespace that the admission controller uses (`admission_controller.go:121-124`).
    pub fn namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

/// An operation on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `CREATE`
    Create,
    /// `UPDATE`
    Update,
    /// `DELETE` or `CONNECT`, for which the admission controller is not called.
    Other,
}

impl Operation {
    /// Parses the name of an operation in an `AdmissionReview`.
    pub fn parse(name: &str) -> Self {
        match name {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            _ => Self::Other,
        }
    }
}

/// A kind of object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A pod.
    Pod,
    /// A kind with a pod template.
    Workload(Workload),
    /// Any other kind, which the admission controller ignores: custom resources, `ReplicationController`s.
    Other(String),
}

/// A kind with a pod template that the admission controller supports (`metadata/extract.go:48-55`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// `apps/v1`
    Deployment,
    /// `apps/v1`
    DaemonSet,
    /// `apps/v1`
    StatefulSet,
    /// `apps/v1`
    ReplicaSet,
    /// `batch/v1`
    Job,
    /// `batch/v1`
    CronJob,
}

impl Kind {
    /// Returns the kind with this API group (empty for the core group) and name.
    pub fn parse(group: &str, name: &str) -> Self {
        match (group, name) {
            ("", "Pod") => Self::Pod,
            ("apps", "Deployment") => Self::Workload(Workload::Deployment),
            ("apps", "DaemonSet") => Self::Workload(Workload::DaemonSet),
            ("apps", "StatefulSet") => Self::Workload(Workload::StatefulSet),
            ("apps", "ReplicaSet") => Self::Workload(Workload::ReplicaSet),
            ("batch", "Job") => Self::Workload(Workload::Job),
            ("batch", "CronJob") => Self::Workload(Workload::CronJob),
            _ => Self::Other(name.to_owned()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod => f.write_str("Pod"),
            Self::Workload(workload) => write!(f, "{workload:?}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Workload {
    /// Returns the JSON pointer to the annotations of the object's pods.
    pub fn annotations_path(self) -> &'static str {
        match self {
            Self::CronJob => "/spec/jobTemplate/spec/template/metadata/annotations",
            _ => "/spec/template/metadata/annotations",
        }
    }
}

/// The relevant fields of a pod or a pod template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.labels`
    pub labels: Texts,
    /// `metadata.annotations`
    pub annotations: Texts,
    /// `metadata.uid`, usually not set yet when a pod is admitted.
    pub uid: String,
    /// `spec.priorityClassName`
    pub priority_class: String,
    /// `spec.schedulerName`
    pub scheduler_name: String,
}

impl Pod {
    /// Returns the value of a label, or an empty string if it is missing.
    pub fn label(&self, key: &str) -> &str {
        self.labels.get(key).map_or("", String::as_str)
    }

    /// Returns the value of an annotation, or an empty string if it is missing.
    pub fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    /// Returns whether it has the annotation of a placeholder, which anyone can set.
    pub fn has_placeholder_flag(&self) -> bool {
        [PLACEHOLDER, OLD_PLACEHOLDER].iter().any(|key| self.annotation(key) == "true")
    }

    /// Returns the first deciding label or annotation that differs from `other`. [`USER_INFO`] is excluded,
    /// because its text has to be parsed first.
    pub fn decides_otherwise(&self, other: &Self) -> Option<&'static str> {
        let labels = DECIDING_LABELS.into_iter().filter(|key| self.label(key) != other.label(key));
        let annotations = DECIDING_ANNOTATIONS
            .into_iter()
            .filter(|key| *key != USER_INFO && self.annotation(key) != other.annotation(key));
        labels.chain(annotations).next()
    }
}

/// The cluster state that the admission controller uses for a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Annotations of the request's namespace; empty if unknown.
    pub namespace_annotations: Texts,
    /// Annotations of the pod's `PriorityClass`; empty if unknown.
    pub priority_class_annotations: Texts,
}

// The changes that the admission controller makes to an object: a list of JSON Patch operations, all of them
// `add`.

/// The path of a pod's annotations.
pub const ANNOTATIONS: &str = "/metadata/annotations";
/// The path of a pod's labels.
pub const LABELS: &str = "/metadata/labels";
/// The path of a pod's scheduler name.
pub const SCHEDULER_NAME: &str = "/spec/schedulerName";
/// The scheduler's name (`constants.go:69`).
pub const YUNIKORN: &str = "yunikorn";

/// One operation, always `add`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// A JSON pointer.
    pub path: &'static str,
    /// The new value at the path, which replaces any old one.
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

/// Returns the pod, or the pod template, after the operations.
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
