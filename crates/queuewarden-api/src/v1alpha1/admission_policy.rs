//! `AdmissionPolicy`: the users, groups and controllers that YuniKorn's admission controller trusts to set
//! the user of a workload.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use yunikorn_access::{submission, user_info};

/// YuniKorn's admissionController.accessControl.* keys. A field that is left out does not change its key.
///
/// Only one AdmissionPolicy is in effect: the one that YuniKornConfig spec.admissionPolicy names; otherwise
/// the only one; otherwise the one already in force. The others are reported as Conflicted.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "AdmissionPolicy",
    plural = "admissionpolicies",
    shortname = "admpol",
    category = "yunikorn",
    category = "queuewarden",
    status = "AdmissionPolicyStatus",
    doc = "AdmissionPolicy lists the users, groups and controllers that YuniKorn's admission controller \
           trusts to set the user.info annotation of a workload."
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new(
        "has(self.bypassAuth) || has(self.trustControllers) || has(self.systemUsers) || \
         has(self.externalUsers) || has(self.externalGroups) || has(self.submission) || has(self.userInfo)"
    )
    .message("set at least one of bypassAuth, trustControllers, systemUsers, externalUsers, externalGroups, \
              submission, userInfo: an empty policy changes nothing")
)]
pub struct AdmissionPolicySpec {
    /// true disables the admission controller's identity checks: anyone may set user.info on a workload and
    /// so submit as anyone, and a missing user.info is no longer added. If left out, the key does not change;
    /// YuniKorn's default is false.
    pub bypass_auth: Option<bool>,

    /// true trusts the controllers named in systemUsers to create pods for others. With false, pods of
    /// Deployments, Jobs and the like are refused unless their controller is in externalUsers. If left out,
    /// the key does not change; YuniKorn's default is true.
    pub trust_controllers: Option<bool>,

    /// Regular expressions (Go's syntax) for users that create pods on behalf of others, e.g.
    /// ["^system:serviceaccount:kube-system:(cronjob|daemon-set|deployment|job|replicaset|replication|statefulset)-controller$"].
    /// Not anchored: write ^ and $ to match the whole name. Must not contain commas. An empty list trusts no
    /// controller. If left out, the key does not change; YuniKorn's default,
    /// ["^system:serviceaccount:kube-system:"], trusts every add-on there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub system_users: Option<Vec<String>>,

    /// Regular expressions (Go's syntax) for users that may set user.info themselves, and so submit as
    /// anyone, e.g. ["^airflow$"]. Not anchored: write ^ and $ to match the whole name. Must not contain
    /// commas. If left out, the key does not change; YuniKorn's default is an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub external_users: Option<Vec<String>>,

    /// Regular expressions (Go's syntax) for groups whose members may set user.info themselves, and so submit
    /// as anyone, e.g. ["^platform$"]. Not anchored: write ^ and $ to match the whole name. Must not contain
    /// commas. If left out, the key does not change; YuniKorn's default is an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::patterns")]
    pub external_groups: Option<Vec<String>>,

    /// See [`submission::Mode`], whose description is shown for the field.
    pub submission: Option<submission::Mode>,

    /// How to handle the annotation yunikorn.apache.org/user.info, which names the user a workload runs as.
    /// queuewarden adds it if it is missing, and refuses it if the requester is not allowed to set it
    /// according to bypassAuth, trustControllers, systemUsers, externalUsers and externalGroups. Requires the
    /// webhooks in manifests/user-info. If left out, queuewarden ignores the annotation.
    pub user_info: Option<user_info::Settings>,
}

/// State of an AdmissionPolicy, as reported by queuewarden.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionPolicyStatus {
    /// The metadata.generation that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The rest.
    #[serde(flatten)]
    pub rest: queuewarden_plan::AdmissionPolicyStatus,

    /// Accepted: the object is valid and in effect. Programmed: it is in the ConfigMap. Effective: it changes
    /// a decision. Ready: all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
