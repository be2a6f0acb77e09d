//! `QueueAccessTest`: expected access to queues, to be checked against the configuration.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use queuewarden_plan::snapshot::Enforcement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue_acl::default_partition;
use super::schema;
use yunikorn_access::expect::Queues;

/// Expectations about access: users' rights on queues, and the queues where their applications run.
///
/// "queuewarden test" checks them in files, and the operator checks them in the cluster against the
/// configuration in force. They grant nothing.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "QueueAccessTest",
    plural = "queueaccesstests",
    shortname = "qat",
    category = "yunikorn",
    category = "queuewarden",
    status = "QueueAccessTestStatus",
    doc = "QueueAccessTest describes the intended access to queues; queuewarden checks it, and can refuse \
           changes that would break it."
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueAccessTestSpec {
    /// The partition of the queues, case-insensitive. Default: "default".
    #[serde(default = "default_partition")]
    #[schemars(length(min = 1, max = 64))]
    pub partition: String,

    /// What happens if a change to a QueueAcl would break a check that passes now. Report: the writer gets a
    /// warning, and condition Passing shows it. Block: the change is refused, if the validating webhook is
    /// installed. Default: Report.
    #[serde(default)]
    pub enforcement: Enforcement,

    /// The expectations. All cases together may make at most 10,000 checks; there is one check for each
    /// subject with each queue and each placement.
    #[schemars(length(min = 1, max = schema::MAX_CASES))]
    pub cases: Vec<AccessCase>,
}

/// Expectations about some subjects.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("has(self.allow) || has(self.deny) || has(self.placements)").message(
    "set allow, deny or placements: a case without any of them checks nothing"
))]
pub struct AccessCase {
    /// A descriptive title for the case, e.g. "developers run in prod". Optional.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = schema::MAX_NAME_LENGTH))]
    pub name: String,

    /// Users to check. The case must hold for each of them.
    #[schemars(length(min = 1, max = schema::MAX_SUBJECTS))]
    pub subjects: Vec<AccessSubject>,

    /// Rights that the subjects have. If left out, no right is expected.
    pub allow: Option<Queues>,

    /// Rights that the subjects lack. If left out, no denial is expected.
    pub deny: Option<Queues>,

    /// Queues where their applications run. If left out, no placement is expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = schema::MAX_PLACEMENTS))]
    pub placements: Vec<ExpectedPlacement>,

    /// true if allow and deny may name queues that are not in the configuration because placement rules
    /// create them. Otherwise such a queue fails the check, because it is probably misspelled. Default:
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
}

/// A user with the groups that the scheduler sees.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessSubject {
    /// The user's name, exactly.
    #[schemars(length(min = 1, max = schema::MAX_NAME_LENGTH))]
    pub user: String,

    /// The user's groups. If left out, they are resolved as in YuniKorn: without a resolver, the only group
    /// is one with the user's own name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::claimed_groups")]
    pub groups: Vec<String>,
}

/// A workload, and its expected placement.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("has(self.runsIn) != has(self.rejected)").message(
    "set either runsIn, the queue where it should run, or rejected: true"
))]
pub struct ExpectedPlacement {
    /// The pod's namespace. Default: "default".
    #[serde(default = "default_namespace")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// The queue that the workload requests in the label yunikorn.apache.org/queue. If left out, it requests
    /// no queue.
    #[schemars(length(max = schema::MAX_QUEUE_LENGTH))]
    pub queue: Option<String>,

    /// The pod's labels. Default: empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub labels: BTreeMap<String, String>,

    /// The pod's annotations. Default: empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub annotations: BTreeMap<String, String>,

    /// The annotations of its namespace, e.g. yunikorn.apache.org/parentqueue. Default: empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub namespace_annotations: BTreeMap<String, String>,

    /// Full path of the queue where it is expected to run. A placement rule may create this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::expected_queue")]
    pub runs_in: Option<String>,

    /// true if YuniKorn is expected to reject it.
    #[x_kube(
        validation = Rule::new("self")
            .message("rejected can only be true: if the application should run, name its queue in runsIn")
    )]
    pub rejected: Option<bool>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// Results of the checks.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QueueAccessTestStatus {
    /// The metadata.generation that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The rest.
    #[serde(flatten)]
    pub rest: queuewarden_plan::AccessTestStatus,

    /// Accepted: the object is valid. Passing: every check passes with the configuration in force. Ready:
    /// both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
