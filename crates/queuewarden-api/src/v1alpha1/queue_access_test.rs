//! `QueueAccessTest`: what access to queues is meant to be, to be checked against what it is.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Expectations about access: who may do what on which queues, who may not, and where applications run.
///
/// "queuewarden test" checks them in files, and the operator checks them in the cluster by the configuration
/// in force. They grant nothing.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "QueueAccessTest",
    plural = "queueaccesstests",
    shortname = "qat",
    category = "yunikorn",
    status = "QueueAccessTestStatus",
    derive = "PartialEq",
    doc = "QueueAccessTest says what access to queues is meant to be; queuewarden checks it, and can refuse changes that would break it.",
    printcolumn(
        name = "Enforcement",
        type_ = "string",
        json_path = ".spec.enforcement",
        description = "Whether changes that break it are refused"
    ),
    printcolumn(name = "Checks", type_ = "integer", json_path = ".status.checks"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failed"),
    printcolumn(
        name = "Passing",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Passing')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueAccessTestSpec {
    /// The partition of the queues, matched without case. Default: "default".
    #[serde(default = "default_partition")]
    #[schemars(length(min = 1, max = 64))]
    pub partition: String,

    /// What happens when a change of a QueueAcl would break a check that holds now. Report: its writer is
    /// warned, and condition Passing says so. Block: the change is refused, where the validating webhook is
    /// installed. Default: Report.
    #[serde(default)]
    pub enforcement: Enforcement,

    /// What is expected. All cases together may make at most 10,000 checks: each subject with each queue and
    /// each placement.
    #[schemars(length(min = 1, max = schema::MAX_CASES))]
    pub cases: Vec<AccessCase>,
}

fn default_partition() -> String {
    "default".to_owned()
}

/// What a failing QueueAccessTest does.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[schemars(inline)]
pub enum Enforcement {
    /// It is reported.
    #[default]
    Report,
    /// Changes that would break it are refused.
    Block,
}

/// What is expected of some subjects.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("has(self.allow) || has(self.deny) || has(self.placements)").message(
    "set allow, deny or placements: a case without any of them checks nothing"
))]
pub struct AccessCase {
    /// What the case is about, for people, e.g. "developers run in prod". Default: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = schema::MAX_NAME_LENGTH))]
    pub name: String,

    /// Of whom it is expected; of each of them.
    #[schemars(length(min = 1, max = schema::MAX_SUBJECTS))]
    pub subjects: Vec<AccessSubject>,

    /// What they may do. Left out: nothing is expected of them to be allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<AccessRights>,

    /// What they may not do. Left out: nothing is expected of them to be denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<AccessRights>,

    /// Where their applications run. Left out: nothing is expected of placement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = schema::MAX_PLACEMENTS))]
    pub placements: Vec<ExpectedPlacement>,

    /// true where allow and deny name queues that the configuration does not have, because placement rules
    /// create them. Otherwise such a queue fails the check: it is likely misspelled. Default: false.
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

    /// The user's groups. Left out: they are resolved as YuniKorn does it; without a resolver that is one
    /// group of the user's own name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::claimed_groups")]
    pub groups: Vec<String>,
}

/// Queues by right.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessRights {
    /// Queues to submit to, by full path, e.g. ["root.prod.etl"]. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::expected_queues")]
    pub submit: Vec<String>,

    /// Queues to administer, by full path. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::expected_queues")]
    pub administer: Vec<String>,
}

/// A workload, and what is to become of it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("has(self.runsIn) != has(self.rejected)").message(
    "set either runsIn, the queue in which it is to run, or rejected: true"
))]
pub struct ExpectedPlacement {
    /// The pod's namespace. Default: "default".
    #[serde(default = "default_namespace")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// The queue it asks for: the label yunikorn.apache.org/queue. Left out: it asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = schema::MAX_QUEUE_LENGTH))]
    pub queue: Option<String>,

    /// The pod's labels. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub labels: BTreeMap<String, String>,

    /// The pod's annotations. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub annotations: BTreeMap<String, String>,

    /// The annotations of its namespace, e.g. yunikorn.apache.org/parentqueue. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::texts")]
    pub namespace_annotations: BTreeMap<String, String>,

    /// The queue in which it is to run, by full path; one that a placement rule creates, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::expected_queue")]
    pub runs_in: Option<String>,

    /// true where YuniKorn is to reject it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self").message("rejected can only be true: where it is to run, name the queue in runsIn"))]
    pub rejected: Option<bool>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// What queuewarden found.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QueueAccessTestStatus {
    /// The metadata.generation that this status speaks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many checks the cases make: each subject with each queue and each placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::counter")]
    pub checks: Option<u64>,

    /// How many of them hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::counter")]
    pub passed: Option<u64>,

    /// How many of them do not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::counter")]
    pub failed: Option<u64>,

    /// How many of them cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::counter")]
    pub undecided: Option<u64>,

    /// The first checks that do not hold or cannot be decided, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub failures: Vec<String>,

    /// Accepted: the object is valid. Passing: every check holds by the configuration in force. Ready: both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
