//! The input of `plan`: everything it reads, as plain data, gathered at one moment.
//!
//! The operator fills a [`Snapshot`] from its watches, `queuewarden render` from files. Nothing in here is a
//! Kubernetes type, and the clock is a field, so that the same snapshot always gives the same plan.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::ConfigStatus;
use super::conditions::{self, Condition, Reason, Type};
use super::mirror::Mirror;
use go_compat::diag::Diagnostic;
use yunikorn::acl::{self, Acl};
use yunikorn::config::checksum;
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::expect::Expectations;
use yunikorn_access::{submission, user_info};

/// The field manager of every write, and the name in `managedFields` that distinguishes our keys from other
/// people's.
pub const FIELD_MANAGER: &str = "queuewarden";
/// The field manager of `YuniKorn`'s queue operator (k8shim pull request 1049): the name of its program,
/// which the API server takes from `User-Agent`.
pub const QUEUE_OPERATOR: &str = "yunikorn-queue-operator";
/// The label of the objects that queuewarden creates. Its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation on the output ConfigMap: the keys that queuewarden wrote, separated by commas.
pub const MANAGED_KEYS: &str = "queuewarden.dev/managed-keys";
/// Annotation on the output ConfigMap: the key whose queue tree is kept up to date, where several keys are
/// ours.
pub const QUEUES_KEY: &str = "queuewarden.dev/queues-key";
/// Annotation on the output ConfigMap: the number of objects that its queue tree was rendered from.
pub const OBJECTS: &str = "queuewarden.dev/objects";
/// Annotation on the output ConfigMap: a number for writes that change nothing else.
pub const EPOCH: &str = "queuewarden.dev/epoch";
/// Annotation on the output ConfigMap: the grants of its queue tree that the statuses of the objects do not
/// show yet.
pub const IN_FORCE: &str = "queuewarden.dev/in-force";
/// Annotation on the `YuniKornConfig`: the revision of the output that permits the removal of most objects at
/// once.
pub const CONFIRM_REMOVAL: &str = "queuewarden.dev/confirm-removal";
/// Annotation on a base ConfigMap that `adoption: Import` created: `namespace/name` of the origin of its
/// text.
pub const IMPORTED_FROM: &str = "queuewarden.dev/imported-from";
/// `YuniKorn`'s first ConfigMap (Helm's); k8shim `constants.go:67`.
pub const YUNIKORN_DEFAULTS: &str = "yunikorn-defaults";
/// `YuniKorn`'s second ConfigMap, whose keys win; k8shim `constants.go:68`.
pub const YUNIKORN_CONFIGS: &str = "yunikorn-configs";

/// The message for an object with a time window and without `baseAcl: Extend`, shared by the schema and the
/// plan.
pub const TEMPORARY_ONLY_ADDS: &str = "with notBefore or expiresAt write baseAcl: Extend: a temporary grant only adds. With Replace the \
    base's own ACL of the queue would give way when the time begins, and come back when it ends";
/// The message for a right that is `null`, shared by the schema and the conversion.
pub const LEFT_EMPTY: &str = "is left empty (null), which says neither nobody nor nothing: write {nobody: true} to give the right to \
    nobody, or users, groups or everyone: true; to keep the base's own ACL, remove the field";

/// Everything the plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The moment the plan is made for.
    pub now: Timestamp,
    /// The `YuniKornConfig` named `default`; `None` when there is none.
    pub config: Option<ConfigEntry>,
    /// All `QueueAcl` objects, in any order; shared, because there may be thousands, and most of them are the
    /// same in the next snapshot.
    pub queue_acls: Vec<Arc<QueueAclEntry>>,
    /// All `AdmissionPolicy` objects, in any order.
    pub policies: Vec<PolicyEntry>,
    /// All `QueueAccessTest` objects, in any order.
    pub access_tests: Vec<AccessTestEntry>,
    /// `yunikorn-defaults` in the configured namespace.
    pub defaults: Option<Arc<ConfigMapState>>,
    /// The base ConfigMap (often the same object as `defaults`).
    pub base: Option<Arc<ConfigMapState>>,
    /// The output ConfigMap (`yunikorn-configs`).
    pub output: Option<Arc<ConfigMapState>>,
    /// The last base from which a full text was written, as the operator stored it; `None` if nothing is
    /// stored.
    pub last_base: Option<LastBase>,
    /// The RBAC mirror in the cluster; `None` if it was not read.
    pub mirror: Option<Mirror>,
    /// The operator's observations of the outside world since it started.
    pub observed: Observed,
}

impl Snapshot {
    /// Returns the snapshot of a cluster without any objects.
    pub fn empty(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// Returns the settings of the installation, if they can be read.
    pub(super) fn spec(&self) -> Option<&ConfigSpec> {
        self.config.as_ref()?.spec.as_ref().ok()
    }

    /// Returns the last status of the `YuniKornConfig`.
    pub(super) fn config_status(&self) -> Option<&ConfigStatus> {
        self.config.as_ref()?.in_force.as_ref()
    }

    /// Returns the checksum of the text that the scheduler was last known to run, by the status. With another
    /// spec it may be another scheduler.
    pub(super) fn loaded_hash(&self) -> Option<&String> {
        let Meta { conditions, generation, .. } = &self.config.as_ref()?.meta;
        let current = conditions::find(conditions, Type::Loaded)?.observed_generation == *generation;
        self.config_status().filter(|_| current)?.loaded_hash.as_ref()
    }

    /// Returns the text in `data` of the output under a key.
    pub(super) fn output_text(&self, key: &str) -> Option<&String> {
        self.output.as_deref()?.data.get(key)
    }
}

/// One object of ours: its metadata, its spec (or why that cannot be read), and what its status remembers.
#[derive(Debug, Clone)]
pub struct Entry<S, M> {
    /// Name and bookkeeping.
    pub meta: Meta,
    /// The spec; diagnostics when it cannot be decoded at all.
    pub spec: Result<S, Vec<Diagnostic>>,
    /// The version that was last in force, by its status.
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
    /// True if `metadata.deletionTimestamp` is set: the object is deleted, and a finalizer delays that.
    pub deleting: bool,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// `status.conditions` now; shared with plans that do not change them.
    pub conditions: Arc<[Condition]>,
    /// The last writers of its fields. No plan depends on them; reports print them.
    pub touches: Vec<Touch>,
}

/// The fields of an object that one program wrote last: one entry of `metadata.managedFields`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Touch {
    /// The time; `None` if the API server does not give it.
    pub time: Option<Timestamp>,
    /// The program, as it calls itself.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The fields that it owns: `spec.submit`, `data.queues.yaml`. Sorted; a bounded number.
    pub fields: Vec<String>,
}

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

/// The people to whom a right is granted, as written.
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
    /// The treatment of the base's own ACL.
    pub base_acl: BaseAcl,
    /// Not in force before this moment.
    pub not_before: Option<Timestamp>,
    /// Not in force from this moment on.
    pub expires_at: Option<Timestamp>,
    /// The queue's administrator in whose name it is written; `None`: a cluster administrator's.
    pub delegated_by: Option<Identity>,
}

/// The position of a moment in the time window of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before it.
    Planned,
    /// In it.
    Current,
    /// After it.
    Expired,
}

impl QueueAclSpec {
    /// Returns the partition and the queue; `None` where the path is none.
    pub fn target(&self) -> Option<(String, QueuePath)> {
        Some((self.partition.clone(), QueuePath::parse(&self.queue).ok()?))
    }

    /// Returns the position of a moment in the object's time window.
    pub fn phase(&self, now: Timestamp) -> Phase {
        match (self.not_before, self.expires_at) {
            (_, Some(end)) if end <= now => Phase::Expired,
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
    /// Holders of the right to submit, as YuniKorn's ACL text; absent when the object said nothing about
    /// submitting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<String>,
    /// Holders of the right to administer, as YuniKorn's ACL text; absent when the object said nothing about
    /// administration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<String>,
    /// Effect on the base's own ACL.
    #[serde(default)]
    pub base_acl: BaseAcl,
    /// Time at which the grant ends; absent when it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The administrator of the queue in whose name it was written; absent when it was a cluster
    /// administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "delegated_by")]
    pub delegated_by: Option<Identity>,
}

impl QueueAclInForce {
    /// Returns the holders of a right; `None` when the object said nothing about it, or it cannot be read.
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
                "description": "Those of their groups that make them administrator. Needed when no ACL names \
                                them by user name. Default: none.",
                "maxItems": 32,
                "x-kubernetes-list-type": "set",
                "items": { "type": "string", "minLength": 1, "maxLength": 256 },
            },
        },
    })
}

/// The values of an `AdmissionPolicy`, in its spec and as they went into the ConfigMap; `None` leaves the key
/// alone.
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
    /// The consequence when they do not hold.
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
    /// Make it the base where there is none, then own the output.
    Import,
    /// Take it over after a backup copy.
    Force,
}

/// The right of a queue's administrators to write objects of its subtree. The values are not Off and On,
/// because kubectl reads those as false and true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Delegation {
    /// Only cluster administrators may.
    #[default]
    Disabled,
    /// Administrators of a queue may as well.
    Enabled,
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
    /// The scheduler's REST service; `None`: no read-back.
    pub scheduler: Option<SchedulerAddress>,
    /// The version of the scheduler; `None`: that of the release that it reports.
    pub version: Option<Version>,
    /// True if the ACLs are mirrored in Kubernetes' RBAC.
    pub rbac_mirror: bool,
    /// The setting by which `QueueAcl`s in the name of a queue's administrator count.
    pub delegation: Delegation,
    /// True if a root queue that the base, or a `QueueAcl`, opens to everyone is meant to be open.
    pub accept_open_root: bool,
    /// The revision of the output that may be followed by one without most of its objects
    /// ([`CONFIRM_REMOVAL`]).
    pub confirmed_removal: Option<u64>,
    /// Name of the `AdmissionPolicy` that counts; `None`: the only one, or the one in force.
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
            delegation: Delegation::Disabled,
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
    /// The certificates of the authorities that are trusted for it, as PEM; `None`: those of its Secret, or
    /// else of the system.
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

/// A ConfigMap as it is in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ConfigMapState {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`, the precondition of a write.
    pub resource_version: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `data`
    pub data: BTreeMap<String, String>,
    /// `binaryData`
    pub binary: BTreeMap<String, BinaryValue>,
    /// Annotation [`IN_FORCE`] by the uid of the object; `None`: the queue tree grants nothing of it.
    pub in_force: BTreeMap<String, Option<QueueAclInForce>>,
    /// Per key of `data` and `binaryData`: its owners by `metadata.managedFields`.
    pub owners: BTreeMap<String, Vec<Owner>>,
    /// The last writers of its fields. No plan depends on them; reports print them.
    pub touches: Vec<Touch>,
}

/// One value of `binaryData`, unpacked at the edge so that the core needs no decompressor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct BinaryValue {
    /// Length in bytes as stored.
    pub len: usize,
    /// The text inside, if it is gzip and UTF-8 (invalid bytes replaced as Go prints them) and within bounds;
    /// `None` otherwise.
    pub gunzipped: Option<String>,
}

/// One entry of `managedFields` that owns a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// `manager`
    pub manager: String,
    /// `operation`: `Apply` or `Update`.
    pub operation: String,
}

/// The base from which the last full text was rendered: it is used while the base is missing or invalid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LastBase {
    /// The base as the header of the output names it.
    pub source: String,
    /// The text.
    pub text: String,
    /// The text that the scheduler ran when it refused another one: withdrawals are applied to it.
    pub loaded: Option<String>,
}

/// The operator's observations since it started. All empty for `render`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The last read-back of the scheduler.
    pub read_back: Option<ReadBack>,
    /// The release that the scheduler reported last.
    pub release: Option<String>,
    /// The time when the text in force was first observed, if the scheduler does not run it yet.
    pub pending_since: Option<Timestamp>,
    /// The text that was last proven to run.
    pub loaded_text: Option<String>,
    /// The number of times that the current text was written again, with a new revision, because the
    /// scheduler did not run it.
    pub reasserts: u32,
    /// The failure of the last write, if it failed, for the text that is still desired.
    pub write_failure: Option<WriteFailure>,
    /// The failure of the last write of the RBAC mirror, if it failed.
    pub mirror_failure: Option<WriteFailure>,
    /// Our repairs of other people's edits, oldest first; bounded.
    pub repairs: Vec<Timestamp>,
    /// The manager that made the edit we last repaired.
    pub other_writer: Option<String>,
    /// Checksum of the text we wrote last, to distinguish a new intent from a repair.
    pub last_written: Option<String>,
    /// The text that this process wrote last, also where the outcome of that write is unknown.
    pub written: Option<OutputText>,
    /// The resource version of the output that a late write may still name, a former leader's or one of
    /// unknown outcome. While the output has it, that write may still be accepted: the version has to change
    /// first.
    pub fence: Option<String>,
    /// The writes that widened access, oldest first; bounded.
    pub widened: Vec<Timestamp>,
    /// The refusal of a full text by an admission webhook or by the scheduler, until another full text is
    /// proven to run.
    pub refused: Option<Refused>,
    /// A watch of our own kinds or of the ConfigMaps that has failed for minutes, and why.
    pub watch_failure: Option<String>,
    /// Queues that the scheduler has at run time, per partition: path and whether it comes from the
    /// configuration.
    pub live_queues: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Observed {
    /// Returns the checksum that the scheduler reports, if it answered the last request.
    pub(super) fn reported(&self) -> Option<&String> {
        self.read_back.as_ref()?.checksum.as_ref().ok()
    }

    /// Returns whether the scheduler reports the text that it was last observed to run.
    pub(super) fn reports_loaded_text(&self) -> bool {
        let both = self.reported().zip(self.loaded_text.as_ref());
        both.is_some_and(|(reported, text)| checksum(text) == *reported)
    }
}

/// A text with a queue tree in the output ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutputText {
    /// The key, `<service.policyGroup>.yaml`.
    pub key: String,
    /// The whole text, header included.
    pub text: String,
}

/// The refusal of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Refused {
    /// Checksum of the text's body, without the header that names the revision.
    pub body: String,
    /// The time of the last refusal.
    pub at: Timestamp,
    /// The number of refusals of this body.
    pub times: u32,
    /// True if the scheduler refused it, and not the API server.
    pub by_scheduler: bool,
}

/// One answer of `GET /ws/v1/config`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadBack {
    /// The time of the request.
    pub at: Timestamp,
    /// The checksum, or why none is usable (stable text).
    pub checksum: Result<String, NoChecksum>,
}

/// The reason why there is no usable checksum, as condition `Loaded` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NoChecksum {
    /// The reason: [`Reason::VersionUnproven`] if the scheduler answers, and a checksum of its version proves
    /// nothing.
    pub reason: Reason,
    /// The message, which is the same in the same situation.
    pub message: String,
}

impl NoChecksum {
    /// Returns the error of a scheduler that gives no usable response.
    pub fn unreachable(why: &str) -> Self {
        let message = format!("the scheduler does not answer: {why}");
        Self { reason: Reason::SchedulerUnreachable, message }
    }
}

/// The scheduler's answer about what it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchedulerAnswer {
    /// The checksum of the text that it runs.
    pub checksum: String,
    /// Its release; `None`: it reports none.
    pub release: Option<String>,
}

#[cfg(test)]
impl SchedulerAnswer {
    /// Returns the answer of a scheduler of version 1.8 that runs this text.
    pub(super) fn running(text: &str) -> Self {
        Self { checksum: checksum(text), release: Some("1.8.0".to_owned()) }
    }
}

/// The reason why a write failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteFailure {
    /// 403 by RBAC; the message of the API server.
    Forbidden(String),
    /// An admission webhook (`YuniKorn`'s own among them), a policy or a rule of the API server refused it,
    /// and will again.
    Rejected(String),
    /// Anything that passes by itself: a conflict, a time-out.
    Transient(String),
}
