//! `QueueAcl`: the right to submit to one queue, and the right to administer it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grant::Grant;
use super::schema;
use queuewarden_plan::snapshot::{BaseAcl, TEMPORARY_ONLY_ADDS, delegated_by};
use yunikorn::Identity;

/// One queue, the rights in it, and the time for which they count.
///
/// A right that any QueueAcl of a queue sets is the union of what all QueueAcls of the queue grant; it
/// replaces the text of the base configuration unless all of them say baseAcl: Extend. A right that none sets
/// keeps the base's text. In YuniKorn a grant on a queue also holds for every queue below it, and no queue
/// can take back what a queue above it grants.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "QueueAcl",
    plural = "queueacls",
    shortname = "qacl",
    category = "yunikorn",
    category = "queuewarden",
    status = "QueueAclStatus",
    doc = "QueueAcl grants users and groups the right to submit to, or to administer, one queue of Apache \
           YuniKorn.",
    selectable = ".spec.queue",
    selectable = ".spec.partition"
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("has(self.submit) || has(self.admin)").message(
        "set submit, admin or both: a QueueAcl without either changes nothing. To close a queue write \
         submit: {nobody: true}"
    ),
    validation = schema::nothing_left_empty(),
    validation = Rule::new("!(has(self.notBefore) || has(self.expiresAt)) || self.baseAcl == 'Extend'")
        .message(TEMPORARY_ONLY_ADDS),
    validation = Rule::new("!has(self.notBefore) || !has(self.expiresAt) || self.notBefore < self.expiresAt")
        .message("expiresAt must be later than notBefore: otherwise the grant is never in force"),
    validation = Rule::new("!has(self.delegatedBy) || self.baseAcl == 'Extend'").message(
        "with delegatedBy write baseAcl: Extend: an administrator of a queue adds to what the cluster's \
         administrators grant, and takes nothing of it away"
    ),
    validation = Rule::new("!has(self.delegatedBy) || !self.queue.matches('^(?i)root$')").message(
        "queue root is not delegated: only cluster administrators, without delegatedBy, grant on it"
    )
)]
pub struct QueueAclSpec {
    /// The partition of the queue, matched without case. YuniKorn on Kubernetes uses one, "default". Default:
    /// "default".
    #[serde(default = "default_partition")]
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\s/]*$')").message("must not contain white space or '/'"))]
    pub partition: String,

    /// Full path of the queue from root, matched without case, e.g. "root.prod.etl". It must be a queue of
    /// the base configuration: queues that YuniKorn creates while it runs have no ACL of their own and take
    /// that of the nearest configured queue above.
    #[schemars(schema_with = "schema::queue_path")]
    pub queue: String,

    /// Users and groups that may submit applications to the queue and to those below it; or everyone: true,
    /// nobody: true, or acl. Left out: this object says nothing about submitting. null is refused.
    pub submit: Option<Grant>,

    /// Administrators of the queue and of those below it. In YuniKorn an administrator may also submit;
    /// nothing else depends on this right today. The forms are those of submit. Left out: this object says
    /// nothing about administration. null is refused.
    pub admin: Option<Grant>,

    /// Effect on the queue's ACL in the base configuration, for the rights set here. Replace: it no longer
    /// counts. Extend: it joins the union, as temporary grants have to; one QueueAcl of the queue that says
    /// Replace for the right is enough to drop it. Default: Replace.
    #[serde(default)]
    pub base_acl: BaseAcl,

    /// Time from which the grant counts, to the second, e.g. "2026-12-01T00:00:00Z". Until then the object is
    /// NotYetValid. It needs baseAcl: Extend, because a temporary grant only adds, and an operator that runs
    /// at that time. Left out: at once.
    pub not_before: Option<Time>,

    /// Time at which the grant ends, to the second, e.g. "2027-01-01T00:00:00Z". The end needs a running
    /// operator: it writes the configuration without the grant at that time. While no operator runs or can
    /// write, YuniKorn goes on granting. From then on the object is Expired, but is not deleted. It needs
    /// baseAcl: Extend, because a temporary grant only adds, and must be later than notBefore. Left out:
    /// never.
    pub expires_at: Option<Time>,

    /// true suspends the object: it grants nothing until this is false again, and is Suspended. Nobody gains
    /// access by it: with baseAcl: Replace the queue's ACL in the base still does not count. Left out: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The administrator of the queue who writes this object, where YuniKornConfig spec.delegation is
    /// Enabled. Anyone else than a cluster administrator writes their own name here, and the grant counts as
    /// long as YuniKorn's ACLs make them administrator of the queue or of one above it. Left out: a cluster
    /// administrator writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "delegated_by")]
    pub delegated_by: Option<Identity>,
}

pub(super) fn default_partition() -> String {
    "default".to_owned()
}

/// State of a QueueAcl, as queuewarden reports it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QueueAclStatus {
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The rest.
    #[serde(flatten)]
    pub rest: queuewarden_plan::QueueAclStatus,

    /// Accepted: the object is valid and its queue exists. Programmed: it is in the ConfigMap. Effective: it
    /// changes a decision. Ready: all of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
