//! `AdmissionPolicy`: whom YuniKorn's admission controller trusts to say for which user a workload runs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// YuniKorn's admissionController.accessControl.* keys. A field left out leaves its key alone.
///
/// One AdmissionPolicy counts: the one that YuniKornConfig spec.admissionPolicy names, else the only one,
/// else the one in force. The others are reported as Conflicted.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "AdmissionPolicy",
    plural = "admissionpolicies",
    shortname = "admpol",
    category = "yunikorn",
    status = "AdmissionPolicyStatus",
    derive = "PartialEq",
    doc = "AdmissionPolicy says whom YuniKorn's admission controller trusts to set the user.info annotation of a workload.",
    printcolumn(
        name = "Bypass",
        type_ = "boolean",
        json_path = ".spec.bypassAuth",
        description = "Whether all checks are off"
    ),
    printcolumn(
        name = "Controllers",
        type_ = "boolean",
        json_path = ".spec.trustControllers",
        description = "Whether systemUsers are trusted"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason"
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
#[x_kube(
    validation = Rule::new(
        "has(self.bypassAuth) || has(self.trustControllers) || has(self.systemUsers) || has(self.externalUsers) || has(self.externalGroups) || has(self.submission) || has(self.userInfo)"
    )
    .message("set at least one of bypassAuth, trustControllers, systemUsers, externalUsers, externalGroups, submission, userInfo: an empty policy changes nothing")
)]
pub struct AdmissionPolicySpec {
    /// true switches the admission controller's identity checks off: anyone may set user.info on a workload
    /// and so submit as anyone, and it is no longer filled in where it is missing. YuniKorn's default: false.
    /// Left out: the key is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_auth: Option<bool>,

    /// true trusts the controllers named in systemUsers to create pods for others. With false, pods of
    /// Deployments, Jobs and the like are refused unless their controller is in externalUsers. YuniKorn's
    /// default: true. Left out: the key is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_controllers: Option<bool>,

    /// Regular expressions (Go's syntax) for users that create pods on behalf of others, e.g.
    /// ["^system:serviceaccount:kube-system:(cronjob|daemon-set|deployment|job|replicaset|replication|statefulset)-controller$"].
    /// Not anchored: write ^ and $ where the whole name is meant. No commas. An empty list trusts none.
    /// YuniKorn's default, ["^system:serviceaccount:kube-system:"], trusts every add-on there. Left out: the
    /// key is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub system_users: Option<Vec<String>>,

    /// Regular expressions (Go's syntax) for users that may set user.info themselves, and so submit as
    /// anyone, e.g. ["^airflow$"]. Not anchored: write ^ and $ where the whole name is meant. No commas.
    /// YuniKorn's default: none. Left out: the key is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub external_users: Option<Vec<String>>,

    /// Regular expressions (Go's syntax) for groups whose members may set user.info themselves, and so submit
    /// as anyone, e.g. ["^platform$"]. Not anchored: write ^ and $ where the whole name is meant. No commas.
    /// YuniKorn's default: none. Left out: the key is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub external_groups: Option<Vec<String>>,

    /// See [`Submission`], whose description is shown for the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,

    /// What queuewarden does about the annotation yunikorn.apache.org/user.info, which says in whose name a
    /// workload runs: it is added where it is missing, and refused where the requester may not set it. It
    /// needs the webhooks of manifests/user-info. Who may set it is what bypassAuth, trustControllers,
    /// systemUsers, externalUsers and externalGroups say. Left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_info: Option<UserInfo>,
}

/// What queuewarden says at once to whoever applies a pod or a workload that YuniKorn would reject: nothing
/// ("Off", in quotes: without them YAML reads it as false), a line in its log (Audit), a warning that kubectl
/// prints (Warn), or a refusal with the reason (Deny). It needs the webhook of manifests/submission. What is
/// certain is refused, what is not is only warned about; YuniKorn decides in any case. While the
/// YuniKornConfig says `mode: Observe` nobody is refused: Deny is Warn then. Left out: Off.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[schemars(inline)]
pub enum Submission {
    /// Nobody looks.
    Off,
    /// A line in the log of queuewarden.
    Audit,
    /// A warning as well.
    Warn,
    /// It is refused.
    Deny,
}

/// What queuewarden does about the annotation yunikorn.apache.org/user.info.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct UserInfo {
    /// See [`UserInfoMode`], whose description is shown for the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<UserInfoMode>,

    /// See [`UserInfoProfile`], whose description is shown for the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<UserInfoProfile>,

    /// Where other kinds than Kubernetes' own hold pod templates, so that profile strict guards them too. The
    /// webhooks must be asked about these resources: see manifests/user-info.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = schema::MAX_TEMPLATES), extend("x-kubernetes-list-type" = "atomic"))]
    pub templates: Vec<UserInfoTemplate>,
}

/// How much is done about user.info: nothing (Off), a line in the log and a count of what would be refused
/// (Audit), or what the profile says (Enforce). Write "Off" in quotes: YAML takes the bare word for a
/// boolean. Left out: Off.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[schemars(inline)]
pub enum UserInfoMode {
    /// Nobody looks.
    Off,
    /// What would be refused is written down and counted.
    Audit,
    /// It is added, and refused.
    Enforce,
}

/// By which rules: what YuniKorn 1.8's own admission controller does, and no more (yunikorn), or the same
/// without its holes: updates of workloads, ReplicationControllers, custom resources and namespaces that
/// YuniKorn leaves alone are guarded as well (strict). Left out: strict.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum UserInfoProfile {
    /// What YuniKorn's admission controller does, in its place.
    Yunikorn,
    /// The same without its holes.
    Strict,
}

/// A place with pod templates in the objects of one resource.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct UserInfoTemplate {
    /// The API group, e.g. sparkoperator.k8s.io.
    #[schemars(length(max = 253))]
    pub group: String,

    /// The version, e.g. v1beta2. Left out: all versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,

    /// The resource's plural name, e.g. sparkapplications.
    #[schemars(length(min = 1, max = 63))]
    pub resource: String,

    /// Names with dots between them, to a pod template (spec.headGroupSpec.template), or to annotations that
    /// become those of pods (spec.driver.annotations). * is every member of a list or map
    /// (spec.pytorchReplicaSpecs.*.template).
    #[schemars(schema_with = "schema::template_path")]
    pub path: String,
}

/// What queuewarden reports about an AdmissionPolicy.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionPolicyStatus {
    /// The metadata.generation that this status speaks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The last version of this object that went into the ConfigMap. It stays in force while the object is
    /// Invalid. Absent when nothing of this object is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<AccessControlInForce>,

    /// Accepted: the object is valid and the one that counts. Programmed: it is in the ConfigMap. Effective:
    /// it changes a decision. Ready: all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// The values of an AdmissionPolicy as they went into the ConfigMap; an absent one left its key alone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AccessControlInForce {
    /// The value of bypassAuth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_auth: Option<bool>,
    /// The value of trustControllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_controllers: Option<bool>,
    /// The elements of systemUsers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = schema::MAX_PATTERNS))]
    pub system_users: Option<Vec<String>>,
    /// The elements of externalUsers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = schema::MAX_PATTERNS))]
    pub external_users: Option<Vec<String>>,
    /// The elements of externalGroups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = schema::MAX_PATTERNS))]
    pub external_groups: Option<Vec<String>>,
    /// The value of submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// The value of userInfo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_info: Option<UserInfo>,
}
