//! Names and defaults of the keys (yunikorn-k8shim v1.8.0 `pkg/admission/conf/am_conf.go:43-83`).

/// True takes `user.info` from anyone unchecked. Default `false`.
pub const BYPASS_AUTH: &str = "admissionController.accessControl.bypassAuth";
/// True lets the users of [`SYSTEM_USERS`] set `user.info`. Default `true`.
pub const TRUST_CONTROLLERS: &str = "admissionController.accessControl.trustControllers";
/// Expressions for the users that controllers run as. Default `^system:serviceaccount:kube-system:`.
pub const SYSTEM_USERS: &str = "admissionController.accessControl.systemUsers";
/// Expressions for users that may set `user.info`. Default none.
pub const EXTERNAL_USERS: &str = "admissionController.accessControl.externalUsers";
/// Expressions for groups that may set `user.info`. Default none.
pub const EXTERNAL_GROUPS: &str = "admissionController.accessControl.externalGroups";

/// Expressions for the namespaces whose pods go to `YuniKorn`; empty means all. Default none.
pub const PROCESS_NAMESPACES: &str = "admissionController.filtering.processNamespaces";
/// Expressions for the namespaces whose pods do not go to `YuniKorn`. Default `^kube-system$`.
pub const BYPASS_NAMESPACES: &str = "admissionController.filtering.bypassNamespaces";
/// Expressions for the namespaces whose pods get an application ID; empty means all. Default none.
pub const LABEL_NAMESPACES: &str = "admissionController.filtering.labelNamespaces";
/// Expressions for the namespaces whose pods do not get an application ID. Default none.
pub const NO_LABEL_NAMESPACES: &str = "admissionController.filtering.noLabelNamespaces";
/// True gives each pod without an application ID one of its own, instead of one for its namespace. Default
/// `false`.
pub const GENERATE_UNIQUE_APP_ID: &str = "admissionController.filtering.generateUniqueAppId";

/// The access keys, sorted.
pub const KEYS: [&str; 5] = [BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, SYSTEM_USERS, TRUST_CONTROLLERS];

/// Default of [`GENERATE_UNIQUE_APP_ID`].
pub const DEFAULT_GENERATE_UNIQUE_APP_ID: bool = false;

/// The text of a list that is in force where its key is absent, or one of its expressions does not compile.
pub(super) fn default_text(key: &str) -> &'static str {
    match key {
        SYSTEM_USERS => "^system:serviceaccount:kube-system:",
        BYPASS_NAMESPACES => "^kube-system$",
        _ => "",
    }
}
