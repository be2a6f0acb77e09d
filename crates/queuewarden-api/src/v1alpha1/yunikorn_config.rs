//! `YuniKornConfig`: the YuniKorn to manage, and the ownership of its configuration. One per cluster.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use queuewarden_plan::snapshot::{Adoption, Mode, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// The source of the base configuration, the target of the result, and the conditions for writing it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "queuewarden.dev",
    version = "v1alpha1",
    kind = "YuniKornConfig",
    plural = "yunikornconfigs",
    shortname = "ykc",
    category = "yunikorn",
    category = "queuewarden",
    status = "YuniKornConfigStatus",
    doc = "YuniKornConfig names the YuniKorn that queuewarden manages and says how its configuration is \
           owned. There is one, named \"default\".",
    validation = Rule::new("self.metadata.name == 'default'").message(
        "there is one YuniKornConfig in a cluster, and its name must be \"default\""
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("self.base.configMap != self.output.configMap").message(
        "base.configMap and output.configMap must differ: the base is yours to write, the output is \
         queuewarden's"
    ),
    validation = Rule::new(
        "(!has(self.schedulerCaBundle) && !has(self.schedulerSecret)) || (has(self.schedulerUrl) && \
         self.schedulerUrl.startsWith('https://'))"
    )
    .message(
        "schedulerCaBundle and schedulerSecret need an https schedulerUrl: credentials are not sent in plain \
         text"
    )
)]
pub struct YuniKornConfigSpec {
    /// The namespace YuniKorn runs in and reads its ConfigMaps from. It cannot be changed. Default:
    /// "yunikorn".
    #[serde(default = "default_namespace")]
    #[schemars(schema_with = "schema::namespace_name")]
    #[x_kube(
        validation = Rule::new("self == oldSelf").message(
            "namespace cannot be changed: the ConfigMap written so far would stay behind. Delete this object \
             and create it anew"
        )
    )]
    pub namespace: String,

    /// The configuration queuewarden starts from: yours to write, never written by queuewarden except once
    /// with adoption: Import. Default: ConfigMap "yunikorn-defaults", which YuniKorn's Helm chart creates.
    #[serde(default)]
    pub base: BaseConfigMap,

    /// The configuration queuewarden writes. Default: ConfigMap "yunikorn-configs", the one that YuniKorn
    /// merges over yunikorn-defaults.
    #[serde(default)]
    pub output: OutputConfigMap,

    /// Enforce: write. Observe: compute and report everything in status, write nothing to the ConfigMap, and
    /// refuse no workload for its queue; AdmissionPolicy spec.userInfo does not depend on it. Default:
    /// Enforce.
    #[serde(default)]
    pub mode: Mode,

    /// Reaction when someone else wrote the output key. IfUnowned: write only when the key is absent or ours,
    /// else report the owner. Import: when the base does not exist and the output has a text, make that text
    /// the base first, then own the output. Force: take the key over after a backup copy, but not while the
    /// base lacks queues that are live. Default: IfUnowned.
    #[serde(default)]
    pub adoption: Adoption,

    /// The scheduler's REST address, read only, e.g. "http://yunikorn-service.yunikorn:9080". With it
    /// queuewarden proves that the scheduler runs what was written (condition Loaded). Left out: there is no
    /// such proof, Loaded is Unknown, and Ready has the reason NotVerified. YuniKorn serves plain HTTP; https
    /// is for a proxy in front of it.
    #[schemars(length(max = 512))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^https?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$')").message(
            "must be http://HOST:PORT or https://HOST:PORT, without a path; YuniKorn itself serves plain HTTP, \
             usually on port 9080, e.g. http://yunikorn-service.yunikorn:9080"
        )
    )]
    pub scheduler_url: Option<String>,

    /// The authorities that are trusted for the certificate of an https schedulerUrl: PEM, in base64. Left
    /// out: ca.crt of schedulerSecret, or else those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::pem_bundle")]
    pub scheduler_ca_bundle: Option<ByteString>,

    /// Name of a Secret in the namespace of YuniKorn with the credentials for an https schedulerUrl: token;
    /// or username and password; or tls.crt and tls.key, a client certificate, also beside one of the others.
    /// It is read with each request to the scheduler, so it can be changed at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::secret_name")]
    pub scheduler_secret: Option<String>,

    /// The version of YuniKorn. Auto: that of the release that the scheduler at schedulerUrl reports, shown
    /// in status.version. Where that is not known, or is none that queuewarden was compared with, the
    /// strictest rules of all known versions apply, and Loaded is never True. "1.8" and "1.9": this version,
    /// for a scheduler that reports no release or is a build of your own; one that reports another version
    /// is not believed. Default: Auto.
    #[serde(default)]
    pub version: YuniKornVersion,

    /// Enabled: the ACLs in force are written a second time, as ClusterRoles and ClusterRoleBindings with the
    /// label queuewarden.dev/mirror=rbac, so that "kubectl auth can-i submit
    /// queues.queuewarden.dev/root.prod" answers by them where no authorization webhook can be configured.
    /// The mirror never grants more than the ACLs. It is kept up in both modes, and removed when this becomes
    /// Disabled. It needs the rights in manifests/rbac-mirror. Default: Disabled.
    #[serde(default)]
    pub rbac_mirror: Switch,

    /// Enabled: administrators of a queue may write QueueAcls of that queue and those below it, never of
    /// root, with spec.delegatedBy. It also needs the manifests in manifests/delegation, which let them write
    /// and keep them from writing anything else. Disabled: objects with spec.delegatedBy grant nothing.
    /// Default: Disabled.
    #[serde(default)]
    pub delegation: Switch,

    /// true: FailOpen=True does not keep this object from being Ready while YuniKorn reads the text that
    /// queuewarden wrote in full, and the base, or a QueueAcl with everyone for root, opens root there. It
    /// accepts nothing else that gives access to everyone, such as YuniKorn's built-in default or a missing
    /// output. Default: false.
    #[serde(default)]
    pub accept_open_root: bool,

    /// Name of the AdmissionPolicy that counts; the others are Conflicted. Left out: the only one there is;
    /// of several the one that is in force, and none before one is named here.
    #[schemars(length(min = 1, max = 253))]
    pub admission_policy: Option<String>,
}

fn default_namespace() -> String {
    "yunikorn".to_owned()
}

/// The ConfigMap with the base configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaseConfigMap {
    /// Name of the ConfigMap in the namespace of YuniKorn. It need not exist: then YuniKorn's built-in
    /// configuration is the base, in which everyone may submit everywhere. Default: "yunikorn-defaults".
    #[serde(default = "default_base")]
    #[schemars(schema_with = "schema::config_map_name")]
    pub config_map: String,

    /// The key that holds the queues. Default: the key YuniKorn reads, which is "queues.yaml", or
    /// "<service.policyGroup>.yaml" where that setting exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[-._a-zA-Z0-9]+[.]yaml$')").message(
            "must be a ConfigMap key that ends in .yaml, e.g. \"queues.yaml\": YuniKorn reads its queues \
             from no other"
        )
    )]
    pub key: Option<String>,
}

fn default_base() -> String {
    YUNIKORN_DEFAULTS.to_owned()
}

impl Default for BaseConfigMap {
    fn default() -> Self {
        Self { config_map: default_base(), key: None }
    }
}

/// The ConfigMap queuewarden writes.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputConfigMap {
    /// Name of the ConfigMap in the namespace of YuniKorn. It is created when it does not exist. It cannot be
    /// changed. YuniKorn reads only "yunikorn-configs" (and yunikorn-defaults below it). Default:
    /// "yunikorn-configs".
    #[serde(default = "default_output")]
    #[schemars(schema_with = "schema::config_map_name")]
    #[x_kube(
        validation = Rule::new("self == oldSelf").message(
            "output.configMap cannot be changed: the one written so far would stay behind. Delete this \
             object and create it anew"
        )
    )]
    pub config_map: String,
}

fn default_output() -> String {
    YUNIKORN_CONFIGS.to_owned()
}

impl Default for OutputConfigMap {
    fn default() -> Self {
        Self { config_map: default_output() }
    }
}

/// The version of YuniKorn.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[schemars(inline)]
pub enum YuniKornVersion {
    /// The one that the scheduler reports.
    #[default]
    Auto,
    /// 1.8
    #[serde(rename = "1.8")]
    V1_8,
    /// 1.9
    #[serde(rename = "1.9")]
    V1_9,
}

/// A capability that is off unless it is asked for. The values are not Off and On, because kubectl reads
/// those as false and true.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[schemars(inline)]
pub enum Switch {
    /// It is off.
    #[default]
    Disabled,
    /// It is on.
    Enabled,
}

/// State of the configuration as a whole, as queuewarden reports it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct YuniKornConfigStatus {
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The rest.
    #[serde(flatten)]
    pub rest: queuewarden_plan::ConfigStatus,

    /// BaseResolved: the base was found and understood. Applied: the ConfigMap holds the computed text.
    /// Loaded: the scheduler runs it. Mirrored: Kubernetes' RBAC says what the ACLs say (only with
    /// rbacMirror). FailOpen: True when everyone may submit everywhere. Ready: all is well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
