//! Our objects: their kinds and names, their metadata, their specs, and the state kept in their statuses.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;
use crate::snapshot::release::Release;
use crate::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use go_compat::diag::Diagnostic;
use yunikorn::{Acl, Identity, QueuePath, Right, Version, acl, admission};
use yunikorn_access::expect::Expectations;
use yunikorn_access::{submission, user_info};

/// A kind of queuewarden's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// `YuniKornConfig`
    YuniKornConfig,
    /// `QueueAcl`
    QueueAcl,
    /// `AdmissionPolicy`
    AdmissionPolicy,
    /// `QueueAccessTest`
    QueueAccessTest,
}

impl ResourceKind {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::QueueAcl, Self::AdmissionPolicy, Self::YuniKornConfig, Self::QueueAccessTest];

    /// Returns the name as in `kind:`, the plural as in URLs and RBAC, and the short name of kubectl.
    pub fn names(self) -> [&'static str; 3] {
        match self {
            Self::YuniKornConfig => ["YuniKornConfig", "yunikornconfigs", "ykc"],
            Self::QueueAcl => ["QueueAcl", "queueacls", "qacl"],
            Self::AdmissionPolicy => ["AdmissionPolicy", "admissionpolicies", "admpol"],
            Self::QueueAccessTest => ["QueueAccessTest", "queueaccesstests", "qat"],
        }
    }

    /// Returns the name as in `kind:`.
    pub fn name(self) -> &'static str {
        let [name, ..] = self.names();
        name
    }

    /// Returns the plural as in URLs and in RBAC.
    pub fn plural(self) -> &'static str {
        let [_, plural, _] = self.names();
        plural
    }

    /// Parses a name as kubectl accepts it: `queueacl`, `queueacls` or `qacl`, ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.names().iter().any(|name| name.eq_ignore_ascii_case(text)))
    }

    /// Returns the object of this name.
    pub fn object(self, name: impl Into<Arc<str>>) -> ObjectRef {
        ObjectRef { kind: self, name: name.into() }
    }
}

/// One object, by its kind and name: `QueueAcl/prod`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: ResourceKind,
    /// `metadata.name`
    pub name: Arc<str>,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.name(), self.name)
    }
}

/// One of our objects: its metadata, its spec (or why it cannot be read), and the state kept in its status.
#[derive(Debug, Clone)]
pub struct Entry<S, M> {
    /// Name and bookkeeping.
    pub meta: Meta,
    /// The spec, or diagnostics if it cannot be decoded at all.
    pub spec: Result<S, Vec<Diagnostic>>,
    /// The version that was last in force, from its status.
    pub in_force: Option<M>,
}

/// A `QueueAcl`.
pub type QueueAclEntry = Entry<QueueAclSpec, Arc<QueueAclInForce>>;
/// An `AdmissionPolicy`.
pub type PolicyEntry = Entry<AdmissionPolicySpec, AdmissionPolicySpec>;
/// A `QueueAccessTest`.
pub type AccessTestEntry = Entry<AccessTestSpec, ()>;
/// The `YuniKornConfig`.
pub type ConfigEntry = Entry<ConfigSpec, ConfigStatus>;

/// The part of `metadata` and `status` that plans depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.name`
    pub name: Arc<str>,
    /// `metadata.uid`; empty when it comes from a file.
    pub uid: Arc<str>,
    /// `metadata.generation`; 0 when it comes from a file.
    pub generation: i64,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// True if `metadata.deletionTimestamp` is set: the object is deleted, but a finalizer delays its
    /// removal.
    pub deleting: bool,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// Bytes of the spec and of the metadata that its writers control, as JSON.
    pub stored: usize,
    /// `status.conditions` now; shared with plans that do not change them.
    pub conditions: Arc<[Condition]>,
    /// The last writers of its fields. They do not affect plans and are only used in reports.
    pub touches: Vec<Touch>,
}

/// The fields of an object that a program was the last to write: one entry of `metadata.managedFields`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Touch {
    /// The time; `None` if the API server does not record it.
    pub time: Option<Timestamp>,
    /// The program, as it calls itself.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The fields that it owns: `spec.submit`, `data.queues.yaml`. Sorted; a bounded number.
    pub fields: Vec<String>,
}

/// The message for an object with a time window and without `baseAcl: Extend`, shared by the schema and the
/// plan.
pub const TEMPORARY_ONLY_ADDS: &str = "with notBefore or expiresAt, write baseAcl: Extend: a temporary grant \
    can only add access. Replace would remove the base's own ACL of the queue when the time begins, and \
    restore it when the time ends";
/// The message for a right that is `null`, shared by the schema and the conversion.
pub const LEFT_EMPTY: &str = "is left empty (null), which could mean nobody or no change: to give the right \
    to no one, write {nobody: true}; to grant it, write users, groups or everyone: true; to keep the base's \
    own ACL, remove the field";

/// Effect of a QueueAcl on the base's own ACL of its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum BaseAcl {
    /// It no longer counts.
    #[default]
    Replace,
    /// It joins the union.
    Extend,
}

/// The users and groups who get a right, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// `everyone: true`
    Everyone,
    /// `nobody: true`
    Nobody,
    /// `acl: "sue dev"`, `YuniKorn`'s own syntax.
    Raw(String),
    /// `users` and `groups`; both empty means nobody, with a warning.
    Lists {
        /// User names.
        users: Vec<String>,
        /// Group names.
        groups: Vec<String>,
    },
}

/// The spec of a `QueueAcl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAclSpec {
    /// Partition name; `default` in every case is the default partition.
    pub partition: String,
    /// Full path from `root`, as written.
    pub queue: String,
    /// The people who may submit; `None` leaves the base's text.
    pub submit: Option<Grant>,
    /// The people who administer; `None` leaves the base's text.
    pub admin: Option<Grant>,
    /// How the base's own ACL is treated.
    pub base_acl: BaseAcl,
    /// Not in force before this moment.
    pub not_before: Option<Timestamp>,
    /// When the grant ends.
    pub expires_at: Option<Timestamp>,
    /// True while it is switched off.
    pub suspend: bool,
    /// The queue administrator who wrote it, or `None` for a cluster administrator.
    pub delegated_by: Option<Identity>,
}

/// The position of a moment in the time window of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before it.
    Planned,
    /// In it.
    Current,
    /// Switched off, and not after it.
    Suspended,
    /// After it.
    Expired,
}

impl QueueAclSpec {
    /// Returns the partition and the queue, or `None` if the path is invalid.
    pub fn target(&self) -> Option<(String, QueuePath)> {
        Some((self.partition.clone(), QueuePath::parse(&self.queue).ok()?))
    }

    /// Returns the position of a moment in the object's time window.
    pub fn phase(&self, now: Timestamp) -> Phase {
        match (self.not_before, self.expires_at) {
            (_, Some(end)) if end <= now => Phase::Expired,
            _ if self.suspend => Phase::Suspended,
            (Some(start), _) if start > now => Phase::Planned,
            _ => Phase::Current,
        }
    }
}

/// `status.inForce` of a `QueueAcl`: its last version that went into the ConfigMap. Texts are canonical ACLs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct QueueAclInForce {
    /// The partition of the queue.
    pub partition: String,
    /// The queue's full path in lower case.
    pub queue: String,
    /// Holders of the right to submit, as YuniKorn's ACL text; absent if the object did not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<String>,
    /// Holders of the right to administer, as YuniKorn's ACL text; absent if the object did not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<String>,
    /// Effect on the base's own ACL.
    #[serde(default)]
    pub base_acl: BaseAcl,
    /// Time at which the grant ends; absent if it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The queue administrator who wrote it; absent if it was a cluster administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "delegated_by")]
    pub delegated_by: Option<Identity>,
}

impl QueueAclInForce {
    /// Returns the holders of a right, or `None` if the object did not set it or it cannot be parsed.
    pub fn acl(&self, right: Right) -> Option<Acl> {
        let text = match right {
            Right::Submit => &self.submit,
            Right::Admin => &self.admin,
        };
        acl::parse(text.as_deref()?).ok()
    }
}

/// Returns the schema of `delegatedBy`: the writer of a delegated object, as the API server knows them.
pub fn delegated_by(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["user"],
        "properties": {
            "user": {
                "type": "string",
                "description": "Their user name, as in \"kubectl auth whoami\".",
                "minLength": 1,
                "maxLength": 256,
            },
            "groups": {
                "type": "array",
                "description": "Their groups that make them administrator. Required if no ACL names them by \
                                user name. Default: empty.",
                "maxItems": 32,
                "x-kubernetes-list-type": "set",
                "items": { "type": "string", "minLength": 1, "maxLength": 256 },
            },
        },
    })
}

/// The values of an `AdmissionPolicy`, in its spec and as they were written to the ConfigMap; `None` does not
/// change the key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AdmissionPolicySpec {
    /// The value of bypassAuth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_auth: Option<bool>,
    /// The value of trustControllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_controllers: Option<bool>,
    /// The elements of systemUsers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub system_users: Option<Vec<String>>,
    /// The elements of externalUsers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub external_users: Option<Vec<String>>,
    /// The elements of externalGroups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub external_groups: Option<Vec<String>>,
    /// The value of submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<submission::Mode>,
    /// The value of userInfo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_info: Option<user_info::Settings>,
}

impl AdmissionPolicySpec {
    /// Returns the lists, each with the key of `YuniKorn` that it sets.
    pub fn lists(&self) -> [(&'static str, Option<&Vec<String>>); 3] {
        [
            (admission::SYSTEM_USERS, self.system_users.as_ref()),
            (admission::EXTERNAL_USERS, self.external_users.as_ref()),
            (admission::EXTERNAL_GROUPS, self.external_groups.as_ref()),
        ]
    }
}

/// Reaction to a change that would break a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Enforcement {
    /// It is reported.
    #[default]
    Report,
    /// Changes that would break it are refused.
    Block,
}

/// The spec of a `QueueAccessTest`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessTestSpec {
    /// The expectations to check.
    pub expectations: Expectations,
    /// What happens if they are not met.
    pub enforcement: Enforcement,
}

/// Write access of queuewarden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Mode {
    /// It writes the ConfigMap.
    #[default]
    Enforce,
    /// It computes and reports only.
    Observe,
}

/// Reaction to an output key that someone else wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Adoption {
    /// Leave it, and report the owner.
    #[default]
    IfUnowned,
    /// Make it the base if there is no base, then own the output.
    Import,
    /// Take it over after a backup copy.
    Force,
}

/// The spec of the `YuniKornConfig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSpec {
    /// `YuniKorn`'s namespace.
    pub namespace: String,
    /// Name of the ConfigMap with the queue tree.
    pub base_config_map: String,
    /// Key in it; `None`: `<service.policyGroup>.yaml`.
    pub base_key: Option<String>,
    /// Name of the ConfigMap that is written.
    pub output_config_map: String,
    /// The mode: whether the output is written.
    pub mode: Mode,
    /// The treatment of a key that someone else wrote.
    pub adoption: Adoption,
    /// The scheduler's REST service; `None` disables reading back.
    pub scheduler: Option<SchedulerAddress>,
    /// The version of the scheduler; `None` means the release that it reports.
    pub version: Option<Version>,
    /// True if the ACLs are mirrored in Kubernetes' RBAC.
    pub rbac_mirror: bool,
    /// True if `QueueAcl`s by queue administrators are in effect.
    pub delegation: bool,
    /// True if a root queue that the base, or a `QueueAcl`, opens to everyone is intentionally open.
    pub accept_open_root: bool,
    /// The revision of the output that may be followed by one without most of its objects
    /// ([`CONFIRM_REMOVAL`](super::CONFIRM_REMOVAL)).
    pub confirmed_removal: Option<u64>,
    /// Name of the `AdmissionPolicy` in effect; `None` means the only one, or the one in force.
    pub admission_policy: Option<String>,
}

impl Default for ConfigSpec {
    fn default() -> Self {
        Self {
            namespace: "yunikorn".into(),
            base_config_map: YUNIKORN_DEFAULTS.into(),
            base_key: None,
            output_config_map: YUNIKORN_CONFIGS.into(),
            mode: Mode::Enforce,
            adoption: Adoption::IfUnowned,
            scheduler: None,
            version: None,
            rbac_mirror: false,
            delegation: false,
            accept_open_root: false,
            confirmed_removal: None,
            admission_policy: None,
        }
    }
}

/// The scheduler's REST service, and how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchedulerAddress {
    /// Its base URL.
    pub url: String,
    /// The certificates of the trusted authorities, as PEM; `None` means the authorities in its Secret or
    /// else the system's.
    pub ca_bundle: Option<Vec<u8>>,
    /// The Secret with the credentials: namespace and name.
    pub secret: Option<(String, String)>,
}

/// An address that needs no credentials.
impl From<&str> for SchedulerAddress {
    fn from(url: &str) -> Self {
        Self { url: url.to_owned(), ca_bundle: None, secret: None }
    }
}

impl ConfigSpec {
    /// Returns the name of the written ConfigMap, as shown in messages.
    pub(crate) fn output_name(&self) -> String {
        config_map(self, &self.output_config_map)
    }

    /// Returns the name of the ConfigMap with the queue tree that people maintain, as shown in messages.
    pub(crate) fn base_name(&self) -> String {
        config_map(self, &self.base_config_map)
    }
}

/// `namespace/name`, as messages name a ConfigMap.
pub(crate) fn config_map(spec: &ConfigSpec, name: &str) -> String {
    format!("ConfigMap {}/{name}", spec.namespace)
}

/// The rest of the `YuniKornConfig`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigStatus {
    /// Number in the header of the text that was last written, incremented with each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub revision: Option<u64>,
    /// SHA-256 of the queue configuration in the output ConfigMap, in upper-case hexadecimal, as YuniKorn
    /// shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_hash: Option<String>,
    /// SHA-256 of the queue configuration that the scheduler last reported. Equal to configHash when Loaded
    /// is True.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_hash: Option<String>,
    /// The version of the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Release>,
    /// The ConfigMap that is written, and the keys in it that are queuewarden's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputRef>,
    /// Name of the AdmissionPolicy in force. It stays in effect as long as spec.admissionPolicy does not name
    /// another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub admission_policy: Option<String>,
}

/// The object and the keys that were written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct OutputRef {
    /// Namespace of the ConfigMap.
    pub namespace: String,
    /// Name of the ConfigMap.
    pub name: String,
    /// Its uid; a different one means that it was deleted and created again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The keys in its data that queuewarden wrote. queuewarden changes no other keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub keys: Vec<String>,
}
