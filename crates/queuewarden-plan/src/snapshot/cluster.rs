//! The cluster apart from our objects: ConfigMaps, the roles and bindings of the RBAC mirror, and the
//! operator's memory and observations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::Reason;
use crate::snapshot::{QueueAclInForce, Touch};
use yunikorn::config::checksum;

/// The field manager of every write, which distinguishes our keys from other people's in `managedFields`.
pub const FIELD_MANAGER: &str = "queuewarden";
/// The field manager of `YuniKorn`'s queue operator (k8shim pull request 1049), which is the program's name
/// that the API server takes from `User-Agent`.
pub const QUEUE_OPERATOR: &str = "yunikorn-queue-operator";
/// The label of the objects that queuewarden creates. Its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation on the output ConfigMap: the keys that queuewarden wrote, separated by commas.
pub const MANAGED_KEYS: &str = "queuewarden.dev/managed-keys";
/// Annotation on the output ConfigMap: the key whose queue tree is kept up to date, if several keys are ours.
pub const QUEUES_KEY: &str = "queuewarden.dev/queues-key";
/// Annotation on the output ConfigMap: the number of objects that its queue tree was rendered from.
pub const OBJECTS: &str = "queuewarden.dev/objects";
/// Annotation on the output ConfigMap: a number for writes that change nothing else.
pub const EPOCH: &str = "queuewarden.dev/epoch";
/// Annotation on the output ConfigMap: the grants of its queue tree that are not yet recorded in the statuses
/// of the objects.
pub const IN_FORCE: &str = "queuewarden.dev/in-force";
/// Annotation on the `YuniKornConfig`: the revision of the output that permits the removal of most objects at
/// once.
pub const CONFIRM_REMOVAL: &str = "queuewarden.dev/confirm-removal";
/// Annotation on a base ConfigMap that `adoption: Import` created: `namespace/name` of the origin of its
/// text.
pub const IMPORTED_FROM: &str = "queuewarden.dev/imported-from";
/// `YuniKorn`'s first ConfigMap (Helm's); k8shim `constants.go:67`.
pub const YUNIKORN_DEFAULTS: &str = "yunikorn-defaults";
/// `YuniKorn`'s second ConfigMap, whose keys take precedence; k8shim `constants.go:68`.
pub const YUNIKORN_CONFIGS: &str = "yunikorn-configs";

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
    /// Annotation [`IN_FORCE`](super::IN_FORCE) by the uid of the object; `None` means that the queue tree
    /// grants nothing for it.
    pub in_force: BTreeMap<String, Option<QueueAclInForce>>,
    /// For each key of `data` and `binaryData`, its owners according to `metadata.managedFields`.
    pub owners: BTreeMap<String, Vec<KeyOwner>>,
    /// The last writers of its fields. They do not affect plans and are only used in reports.
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
pub struct KeyOwner {
    /// `manager`
    pub manager: String,
    /// `operation`: `Apply` or `Update`.
    pub operation: String,
}

/// The label of every object of the mirror; the mirror ignores all other objects.
pub const MIRROR_LABEL: &str = "queuewarden.dev/mirror";
/// The value of [`MIRROR_LABEL`].
pub const MIRROR_VALUE: &str = "rbac";

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MirrorKind {
    /// `ClusterRole`
    Role,
    /// `ClusterRoleBinding`
    Binding,
}

/// A rule of a role (`rules[]`, `rbac.authorization.k8s.io/v1`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirrorRule {
    /// `apiGroups`
    pub groups: Vec<String>,
    /// `resources`
    pub resources: Vec<String>,
    /// `resourceNames`. An empty list would mean every name, so the mirror never writes one.
    pub names: Vec<String>,
    /// `verbs`
    pub verbs: Vec<String>,
}

/// A subject of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MirrorSubject {
    /// A user.
    User(String),
    /// A group.
    Group(String),
}

/// The content of a role or a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorContent {
    /// A role's rules.
    Role(Vec<MirrorRule>),
    /// The subjects that a binding assigns to the role of the same name.
    Binding(BTreeSet<MirrorSubject>),
    /// Content that the mirror does not write, such as a service account, an aggregated role, or a binding to
    /// another role, which cannot be changed (`roleRef` is immutable), only deleted.
    Other,
}

/// An object of the mirror as it is in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorObject {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.uid` of the `YuniKornConfig` that owns it.
    pub owner: Option<String>,
    /// The rules or subjects in it.
    pub content: MirrorContent,
}

/// The objects with the label, as they are in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mirror {
    /// The roles by name.
    pub roles: BTreeMap<String, Arc<MirrorObject>>,
    /// The bindings by name.
    pub bindings: BTreeMap<String, Arc<MirrorObject>>,
    /// True if all of them were read.
    pub synced: bool,
    /// Why they cannot be read now.
    pub problem: Option<String>,
}

impl Mirror {
    /// Returns whether the objects in the cluster are fully known.
    pub(crate) fn is_known(&self) -> bool {
        self.synced && self.problem.is_none()
    }
}

impl MirrorKind {
    /// Returns the name as in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "ClusterRole",
            Self::Binding => "ClusterRoleBinding",
        }
    }
}

impl MirrorSubject {
    /// `name`
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Group(name) => name,
        }
    }
}

/// The base of the last full text, which is used while the base is missing or invalid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LastBase {
    /// The base as named in the output's header.
    pub source: String,
    /// The text.
    pub text: String,
    /// The text that the scheduler ran when it refused another one. Withdrawals are applied to it.
    pub loaded: Option<String>,
}

/// The operator's observations since it started. Empty for `render`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The last read-back of the scheduler.
    pub read_back: Option<ReadBack>,
    /// The release that the scheduler reported last.
    pub release: Option<String>,
    /// When the text in force was first observed, if the scheduler does not run it yet.
    pub pending_since: Option<Timestamp>,
    /// The text that was last proven to run.
    pub loaded_text: Option<String>,
    /// How many times the current text was written again, with a new revision, because the scheduler did not
    /// run it.
    pub reasserts: u32,
    /// The failure of the last write, for the text that is still desired.
    pub write_failure: Option<WriteFailure>,
    /// The failure of the last write of the RBAC mirror, if it failed.
    pub mirror_failure: Option<WriteFailure>,
    /// Our repairs of other people's edits, oldest first; bounded.
    pub repairs: Vec<Timestamp>,
    /// The manager that made the edit we last repaired.
    pub other_writer: Option<String>,
    /// Checksum of the text we wrote last, to distinguish a new intent from a repair.
    pub last_written: Option<String>,
    /// The text that this process wrote last, even if the outcome of that write is unknown.
    pub written: Option<OutputText>,
    /// The resource version of the output that a late write, by a former leader or of unknown outcome, may
    /// still use as its precondition. While the output has this version, that write may still be accepted, so
    /// the version has to change first.
    pub fence: Option<String>,
    /// The writes that widened access, oldest first; bounded.
    pub widened: Vec<Timestamp>,
    /// The refusal of a full text by an admission webhook or by the scheduler, until another full text is
    /// proven to run.
    pub refused: Option<RefusedText>,
    /// A watch of our kinds or of the ConfigMaps that has been failing for minutes, and why.
    pub watch_failure: Option<String>,
    /// Success if the user-info webhook is registered so that it writes the aliases of all pods, or why it is
    /// not. `None` if this was not observed, as with files.
    pub identity_webhook: Option<Result<(), String>>,
    /// Queues that the scheduler has at run time, per partition: path and whether it comes from the
    /// configuration.
    pub live_queues: BTreeMap<String, BTreeMap<String, bool>>,
}

impl Observed {
    /// Returns the checksum that the scheduler reports, if it answered the last request.
    pub(crate) fn reported(&self) -> Option<&String> {
        self.read_back.as_ref()?.checksum.as_ref().ok()
    }

    /// Returns whether the scheduler reports the text that it was last observed to run.
    pub(crate) fn reports_loaded_text(&self) -> bool {
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
pub struct RefusedText {
    /// Checksum of the text's body, without the header that names the revision.
    pub body: String,
    /// The time of the last refusal.
    pub at: Timestamp,
    /// How many times this body was refused.
    pub times: u32,
    /// True if the scheduler refused it, false if the API server did.
    pub by_scheduler: bool,
}

/// One answer of `GET /ws/v1/config`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadBack {
    /// The time of the request.
    pub at: Timestamp,
    /// The checksum, or why none is usable (as a stable text).
    pub checksum: Result<String, NoChecksum>,
}

/// Why there is no usable checksum, as condition `Loaded` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NoChecksum {
    /// The reason: [`Reason::VersionUnproven`] if the scheduler answers, but a checksum of its version proves
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

/// The scheduler's report of the text that it runs.
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
    pub(crate) fn running(text: &str) -> Self {
        Self { checksum: checksum(text), release: Some("1.8.0".to_owned()) }
    }
}

/// The reason why a write failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteFailure {
    /// 403 by RBAC; the message of the API server.
    Forbidden(String),
    /// An admission webhook (possibly `YuniKorn`'s own), a policy or a rule of the API server refused it, and
    /// will do so again.
    Rejected(String),
    /// A failure that passes by itself, such as a conflict or a timeout.
    Transient(String),
}
