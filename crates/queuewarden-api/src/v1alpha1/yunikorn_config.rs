//! `YuniKornConfig`: the YuniKorn installation to manage and how to own its configuration. One per cluster.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use queuewarden_plan::snapshot::{Adoption, Mode, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// The base configuration, the output, and the conditions for writing it.
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
    doc = "YuniKornConfig identifies the YuniKorn that queuewarden manages and how its configuration is \
           owned. There is exactly one, named \"default\".",
    validation = Rule::new("self.metadata.name == 'default'").message(
        "a cluster has only one YuniKornConfig, which must be named \"default\""
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("self.base.configMap != self.output.configMap").message(
        "base.configMap and output.configMap must differ: you write the base, and queuewarden writes the \
         output"
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
            "namespace cannot be changed: the ConfigMap written so far would be left over. Delete this \
             object and create it again"
        )
    )]
    pub namespace: String,

    /// The configuration to start from. You write it; queuewarden never does, except once with adoption:
    /// Import. Default: ConfigMap "yunikorn-defaults", which YuniKorn's Helm chart creates.
    #[serde(default)]
    pub base: BaseConfigMap,

    /// The configuration queuewarden writes. Default: ConfigMap "yunikorn-configs", which YuniKorn merges
    /// over yunikorn-defaults.
    #[serde(default)]
    pub output: OutputConfigMap,

    /// Enforce: write the configuration. Observe: compute and report everything in status, but do not write
    /// the ConfigMap and do not refuse a workload because of its queue; AdmissionPolicy spec.userInfo works
    /// in both modes. Default: Enforce.
    #[serde(default)]
    pub mode: Mode,

    /// What to do if someone else has written the output key. IfUnowned: write only if the key is absent or
    /// ours, otherwise report the owner. Import: if the base does not exist and the output has a text, first
    /// make that text the base, then own the output. Force: take over the key after saving a backup copy, but
    /// not while the base lacks queues that are live. Default: IfUnowned.
    #[serde(default)]
    pub adoption: Adoption,

    /// The scheduler's REST address, used only for reading, e.g. "http://yunikorn-service.yunikorn:9080".
    /// queuewarden uses it to prove that the scheduler runs what was written (condition Loaded). If left out,
    /// this cannot be proved: Loaded is Unknown, and Ready has the reason NotVerified. YuniKorn serves plain
    /// HTTP; use https for a proxy in front of it.
    #[schemars(length(max = 512))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^https?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$')").message(
            "must be http://HOST:PORT or https://HOST:PORT, without a path; YuniKorn itself serves plain HTTP, \
             usually on port 9080, e.g. http://yunikorn-service.yunikorn:9080"
        )
    )]
    pub scheduler_url: Option<String>,

    /// The certificate authorities to trust for an https schedulerUrl: PEM, in base64. If left out, ca.crt in
    /// schedulerSecret is used, and otherwise the authorities of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::pem_bundle")]
    pub scheduler_ca_bundle: Option<ByteString>,

    /// Name of a Secret in YuniKorn's namespace with the credentials for an https schedulerUrl: token, or
    /// username and password. A client certificate, in tls.crt and tls.key, can replace or complement them.
    /// The Secret is read for each request to the scheduler, so you can change it at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::secret_name")]
    pub scheduler_secret: Option<String>,

    /// The version of YuniKorn. Auto: the release reported by the scheduler at schedulerUrl, which
    /// status.version shows. If it is unknown, or queuewarden was not compared with that release, the
    /// strictest rules of all known versions apply and Loaded is never True. "1.8", "1.9": this version, for
    /// a scheduler that reports no release or that you built yourself; a scheduler that reports a different
    /// version is not trusted. Default: Auto.
    #[serde(default)]
    pub version: YuniKornVersion,

    /// Enabled: also write the ACLs in force as ClusterRoles and ClusterRoleBindings with the label
    /// queuewarden.dev/mirror=rbac, so that "kubectl auth can-i submit queues.queuewarden.dev/root.prod"
    /// works where you cannot configure an authorization webhook. The mirror never grants more than the ACLs.
    /// It is kept up to date in both modes, and removed when this becomes Disabled. Requires the permissions
    /// in manifests/rbac-mirror. Default: Disabled.
    #[serde(default)]
    pub rbac_mirror: Switch,

    /// Enabled: administrators of a queue may write QueueAcls with spec.delegatedBy for that queue and the
    /// queues below it, but never for root. Also requires manifests/delegation, which lets them write these
    /// objects and nothing else. Disabled: objects with spec.delegatedBy grant nothing. Default: Disabled.
    #[serde(default)]
    pub delegation: Switch,

    /// true: this object can be Ready despite FailOpen=True, as long as YuniKorn reads the complete text that
    /// queuewarden wrote, and it is the base, or a QueueAcl with everyone for root, that opens root in that
    /// text. Access for everyone through any other cause, such as YuniKorn's built-in default or a missing
    /// output, still prevents Ready. Default: false.
    #[serde(default)]
    pub accept_open_root: bool,

    /// Name of the AdmissionPolicy in effect; the others are Conflicted. If left out, the only one is in
    /// effect. If there are several, the one already in force stays in effect, and a new one takes effect
    /// only when it is named here.
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
    /// Name of the ConfigMap in YuniKorn's namespace. If it does not exist, the base is YuniKorn's built-in
    /// configuration, in which everyone may submit everywhere. Default: "yunikorn-defaults".
    #[serde(default = "default_base")]
    #[schemars(schema_with = "schema::config_map_name")]
    pub config_map: String,

    /// The key that holds the queues. Default: the key that YuniKorn reads, which is "queues.yaml", or
    /// "<service.policyGroup>.yaml" if that setting exists.
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
    /// Name of the ConfigMap in YuniKorn's namespace. It is created if it does not exist. It cannot be
    /// changed. YuniKorn reads only "yunikorn-configs" (and yunikorn-defaults below it). Default:
    /// "yunikorn-configs".
    #[serde(default = "default_output")]
    #[schemars(schema_with = "schema::config_map_name")]
    #[x_kube(
        validation = Rule::new("self == oldSelf").message(
            "output.configMap cannot be changed: the ConfigMap written so far would be left over. Delete \
             this object and create it again"
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
    /// The version that the scheduler reports.
    #[default]
    Auto,
    /// 1.8
    #[serde(rename = "1.8")]
    V1_8,
    /// 1.9
    #[serde(rename = "1.9")]
    V1_9,
}

/// A capability that is off by default. The values are not Off and On, because kubectl parses those as false
/// and true.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[schemars(inline)]
pub enum Switch {
    /// The capability is off.
    #[default]
    Disabled,
    /// The capability is on.
    Enabled,
}

/// State of the configuration as a whole, as reported by queuewarden.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct YuniKornConfigStatus {
    /// The metadata.generation that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The rest.
    #[serde(flatten)]
    pub rest: queuewarden_plan::ConfigStatus,

    /// BaseResolved: the base was found and understood. Applied: the ConfigMap holds the computed text.
    /// Loaded: the scheduler runs it. Mirrored: Kubernetes' RBAC grants what the ACLs grant (only with
    /// rbacMirror). FailOpen: True when everyone may submit everywhere. Ready: all is well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
