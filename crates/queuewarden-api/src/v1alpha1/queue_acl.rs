//! `QueueAcl`: the rights to submit to one queue and to administer it. The holders of both rights have the
//! same form.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v1alpha1::schema;
use queuewarden_plan::entries::Names;
use queuewarden_plan::snapshot::{BaseAcl, TEMPORARY_ONLY_ADDS, delegated_by};
use yunikorn::{Acl, Identity, acl};
use yunikorn_access::alias::SERVICE_ACCOUNT;

/// One queue, the rights on it, and when they are in force.
///
/// If any QueueAcl of a queue sets a right, the right is granted to the union of all QueueAcls of the queue,
/// which replaces the text of the base configuration unless all of them set baseAcl: Extend. A right that no
/// QueueAcl sets keeps the base's text. In YuniKorn a grant on a queue also applies to every queue below it,
/// and no queue can take back what a queue above it grants.
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
        "set submit, admin or both: a QueueAcl without either changes nothing. To close a queue, write \
         submit: {nobody: true}"
    ),
    validation = schema::nothing_left_empty(),
    validation = Rule::new("!(has(self.notBefore) || has(self.expiresAt)) || self.baseAcl == 'Extend'")
        .message(TEMPORARY_ONLY_ADDS),
    validation = Rule::new("!has(self.notBefore) || !has(self.expiresAt) || self.notBefore < self.expiresAt")
        .message("expiresAt must be later than notBefore: otherwise the grant is never in force"),
    validation = Rule::new("!has(self.delegatedBy) || self.baseAcl == 'Extend'").message(
        "with delegatedBy, write baseAcl: Extend: a queue administrator can add to the access that cluster \
         administrators grant, but not remove it"
    ),
    validation = Rule::new("!has(self.delegatedBy) || !self.queue.matches('^(?i)root$')").message(
        "queue root cannot be delegated: cluster administrators grant on it, without delegatedBy"
    )
)]
pub struct QueueAclSpec {
    /// The partition of the queue, case-insensitive. YuniKorn on Kubernetes uses only "default". Default:
    /// "default".
    #[serde(default = "default_partition")]
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\s/]*$')").message("must not contain white space or '/'"))]
    pub partition: String,

    /// Full path of the queue from root, case-insensitive, e.g. "root.prod.etl". The queue must exist in the
    /// base configuration: queues that YuniKorn creates while it runs have no ACL and use that of the nearest
    /// configured queue above.
    #[schemars(schema_with = "schema::queue_path")]
    pub queue: String,

    /// Users and groups that may submit applications to the queue and to the queues below it; or everyone:
    /// true, nobody: true, or acl. If left out, this object does not change who may submit. null is refused.
    pub submit: Option<Grant>,

    /// Administrators of the queue and of the queues below it. In YuniKorn an administrator may also submit;
    /// nothing else depends on this right today. Takes the same forms as submit. If left out, this object
    /// does not change who may administer. null is refused.
    pub admin: Option<Grant>,

    /// What happens to the queue's ACL in the base configuration, for the rights set here. Replace: it is
    /// dropped. Extend: it is joined with the grants, which is required for temporary grants; a single
    /// QueueAcl of the queue with Replace for the right is enough to drop it. Default: Replace.
    #[serde(default)]
    pub base_acl: BaseAcl,

    /// Time at which the grant comes into force, to the second, e.g. "2026-12-01T00:00:00Z". Until then the
    /// object is NotYetValid. Requires baseAcl: Extend, because a temporary grant can only add access, and an
    /// operator that is running at that time. If left out, the grant is in force at once.
    pub not_before: Option<Time>,

    /// Time at which the grant ends, to the second, e.g. "2027-01-01T00:00:00Z". This requires an operator
    /// that is running at that time and writes the configuration without the grant; until it has done so,
    /// YuniKorn continues to grant access. After that time the object is Expired, but it is not deleted.
    /// Requires baseAcl: Extend, because a temporary grant can only add access, and must be later than
    /// notBefore. If left out, the grant does not end.
    pub expires_at: Option<Time>,

    /// true suspends the object: it is Suspended and grants nothing until this is false again. No one gains
    /// access through this: with baseAcl: Replace, the queue's ACL in the base stays replaced. Default:
    /// false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The queue administrator who writes this object, if YuniKornConfig spec.delegation is Enabled. Anyone
    /// other than a cluster administrator must enter their own name here, and the grant is in force as long
    /// as YuniKorn's ACLs make them administrator of the queue or of a queue above it. Cluster administrators
    /// leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "delegated_by")]
    pub delegated_by: Option<Identity>,
}

pub(super) fn default_partition() -> String {
    "default".to_owned()
}

/// State of a QueueAcl, as reported by queuewarden.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QueueAclStatus {
    /// The metadata.generation that this status was computed from.
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

/// Holders of the right: lists of users, groups and service accounts; or everyone; or nobody; or YuniKorn's
/// own ACL text. Exactly one of these four forms is allowed. An empty object means nobody and causes a
/// warning; write nobody: true instead.
///
/// The object is atomic, so that server-side apply can change between the forms. If an object that is not
/// atomic loses its last field, the API server sets it to null.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
#[x_kube(
    validation = Rule::new(
        "!has(self.nobody) || !(has(self.users) || has(self.groups) || has(self.serviceAccounts) || \
         has(self.everyone) || has(self.acl))"
    )
    .message(
        "nobody cannot be combined with other fields: it gives the right to no one. Remove it, or remove users, groups, \
         serviceAccounts, everyone and acl"
    ),
    validation = Rule::new(
        "!has(self.acl) || !(has(self.users) || has(self.groups) || has(self.serviceAccounts) || \
         has(self.everyone))"
    )
    .message(
        "acl cannot be combined with other fields: it is the whole ACL. Write either acl, or users, groups \
         and serviceAccounts, or everyone"
    ),
    validation = Rule::new(
        "!has(self.everyone) || !(has(self.users) || has(self.groups) || has(self.serviceAccounts))"
    )
    .message(
        "everyone cannot be combined with other fields: YuniKorn ignores users and groups next to '*'. Remove the lists, or remove \
         everyone"
    )
)]
pub struct Grant {
    /// Users by exact, case-sensitive name, as Kubernetes authenticates them, e.g. ["sue",
    /// "https://issuer.example.com#1234"]. A name that YuniKorn's ACLs cannot hold is granted through an
    /// alias, which requires the user-info webhook. ACLs can hold names that begin with a letter or _,
    /// continue with letters, digits, _ . @ -, and have at most one $, at the end. Default: empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::user_names")]
    pub users: Vec<String>,

    /// Groups by exact, case-sensitive name, as Kubernetes authenticates them, e.g. ["devs",
    /// "team.a@example.com"]. A name that YuniKorn's ACLs cannot hold is granted through an alias, which
    /// requires the user-info webhook. ACLs can hold names that begin with a letter or _ and continue with
    /// letters, digits, _ and -. Default: empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::group_names")]
    pub groups: Vec<String>,

    /// Service accounts, e.g. [{namespace: spark, name: driver}]; without a name, all service accounts of the
    /// namespace. They are granted through aliases, which require the user-info webhook. Default: empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = schema::MAX_NAMES), extend("x-kubernetes-list-type" = "atomic"))]
    pub service_accounts: Vec<ServiceAccount>,

    /// true gives the right to everyone (YuniKorn's '*'), on this queue and on all queues below it. false is
    /// refused: to grant the right to no one, write nobody: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(
        validation = Rule::new("self")
            .message("everyone can only be true: to give the right to no one, write nobody: true")
    )]
    pub everyone: Option<bool>,

    /// true means that this object gives the right to no one. false is refused: to grant the right, write
    /// users, groups or everyone; to leave it unchanged, leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(
        validation = Rule::new("self").message(
            "nobody can only be true: to grant the right, write users, groups or everyone: true \
             instead"
        )
    )]
    pub nobody: Option<bool>,

    /// The whole ACL in YuniKorn's own syntax, for copying existing ACLs: users separated by commas, one
    /// space, groups separated by commas; e.g. "sue,bob devs", " devs" (a group only), "*" (everyone), ""
    /// (nobody). A name that YuniKorn would drop makes the object Invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = schema::MAX_RAW_ACL_LENGTH))]
    #[x_kube(
        validation = Rule::new(r"!self.matches('[\\x00-\\x1f\\x7f]')").message(
            "tabs, line breaks and other control characters are not allowed in an ACL: YuniKorn takes them \
             for a part of a name and drops it. Separate users from groups with one space"
        ),
        validation = Rule::new("self.split(' ').size() <= 2").message(
            "more than one space in an ACL: YuniKorn refuses it when the configuration becomes active. Write \
             users separated by commas, one space, groups separated by commas, and no space after a comma"
        )
    )]
    pub acl: Option<String>,
}

/// A service account, or all service accounts of a namespace.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct ServiceAccount {
    /// The namespace, e.g. "spark".
    #[schemars(length(max = 63), pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
    /// The name, e.g. "driver". If left out, all service accounts of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), pattern(r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))]
    pub name: Option<String>,
}

impl ServiceAccount {
    /// Returns the user name of the service account, or the group of all service accounts in the namespace.
    pub fn subject(&self) -> String {
        match &self.name {
            Some(name) => format!("{SERVICE_ACCOUNT}{}:{name}", self.namespace),
            None => format!("system:serviceaccounts:{}", self.namespace),
        }
    }
}

impl Grant {
    /// Removes these users and groups. If no others remain, no one has the right.
    #[must_use]
    pub fn without(mut self, names: &Names) -> Self {
        if let Some(acl) = self.acl.as_deref().and_then(|text| acl::parse(text).ok()) {
            let left = names.taken_from(&acl);
            return if left == acl { self } else { Self::from(&left) };
        }
        let before = self.clone();
        self.users.retain(|user| !names.users.contains(user));
        self.groups.retain(|group| !names.groups.contains(group));
        self.service_accounts.retain(|account| {
            let of_kind = if account.name.is_some() { &names.users } else { &names.groups };
            !of_kind.contains(&account.subject())
        });
        if self != before && self == Self::default() {
            self.nobody = Some(true);
        }
        self
    }
}

impl From<&Acl> for Grant {
    /// Uses the lists, `everyone` or `nobody`, whichever expresses the ACL.
    fn from(acl: &Acl) -> Self {
        let names = |names: &yunikorn::acl::Names| names.iter().map(str::to_owned).collect();
        Self {
            users: names(acl.users()),
            groups: names(acl.groups()),
            service_accounts: Vec::new(),
            everyone: acl.is_everyone().then_some(true),
            nobody: acl.is_nobody().then_some(true),
            acl: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_left_of_a_grant_keeps_its_form() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names {
            users: set(&["bob", "system:serviceaccount:spark:driver", "a:b"]),
            groups: set(&["qa", "system:serviceaccounts:dev"]),
        };
        let cases: [(Value, Value); 11] = [
            (
                json!({"users": ["ann", "bob"], "groups": ["bob"]}),
                json!({"users": ["ann"], "groups": ["bob"]}),
            ),
            (json!({"users": ["bob", "a:b"], "groups": ["qa"]}), json!({"nobody": true})),
            (json!({"users": ["ann"]}), json!({"users": ["ann"]})),
            (json!({"users": ["Bob"]}), json!({"users": ["Bob"]})),
            (
                json!({"serviceAccounts": [{"namespace": "spark", "name": "driver"}, {"namespace": "spark"}]}),
                json!({"serviceAccounts": [{"namespace": "spark"}]}),
            ),
            (json!({"serviceAccounts": [{"namespace": "dev"}]}), json!({"nobody": true})),
            (json!({"acl": "ann,bob qa,devs"}), json!({"users": ["ann"], "groups": ["devs"]})),
            (json!({"acl": "bob qa"}), json!({"nobody": true})),
            (json!({"acl": "ann devs"}), json!({"acl": "ann devs"})),
            (json!({"everyone": true}), json!({"everyone": true})),
            (json!({}), json!({})),
        ];
        for (before, after) in cases {
            let grant: Grant = serde_json::from_value(before.clone()).unwrap();
            assert_eq!(json!(grant.without(&names)), after, "{before}");
        }
    }
}
