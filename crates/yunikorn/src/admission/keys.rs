//! Names and defaults of the keys (yunikorn-k8shim v1.8.0 `pkg/admission/conf/am_conf.go:43-83`).

/// If true, anyone can set `user.info` unchecked. Default `false`.
pub const BYPASS_AUTH: &str = "admissionController.accessControl.bypassAuth";
/// If true, the users of [`SYSTEM_USERS`] may set `user.info`. Default `true`.
pub const TRUST_CONTROLLERS: &str = "admissionController.accessControl.trustControllers";
/// Expressions for the users of controllers. Default `^system:serviceaccount:kube-system:`.
pub const SYSTEM_USERS: &str = "admissionController.accessControl.systemUsers";
/// Expressions for users that may set `user.info`. Empty by default.
pub const EXTERNAL_USERS: &str = "admissionController.accessControl.externalUsers";
/// Expressions for groups that may set `user.info`. Empty by default.
pub const EXTERNAL_GROUPS: &str = "admissionController.accessControl.externalGroups";

/// Expressions for the namespaces whose pods `YuniKorn` schedules. Empty by default, which selects all.
pub const PROCESS_NAMESPACES: &str = "admissionController.filtering.processNamespaces";
/// Expressions for the namespaces whose pods `YuniKorn` does not schedule. Default `^kube-system$`.
pub const BYPASS_NAMESPACES: &str = "admissionController.filtering.bypassNamespaces";
/// Expressions for the namespaces whose pods get an application ID. Empty by default, which selects all.
pub const LABEL_NAMESPACES: &str = "admissionController.filtering.labelNamespaces";
/// Expressions for the namespaces whose pods do not get an application ID. Empty by default.
pub const NO_LABEL_NAMESPACES: &str = "admissionController.filtering.noLabelNamespaces";
/// If true, each pod without an application ID gets a separate one; otherwise all such pods of a namespace
/// share one. Default `false`.
pub const GENERATE_UNIQUE_APP_ID: &str = "admissionController.filtering.generateUniqueAppId";

/// The access keys, sorted.
pub const KEYS: [&str; 5] = [BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, SYSTEM_USERS, TRUST_CONTROLLERS];

/// Default of [`GENERATE_UNIQUE_APP_ID`].
pub const DEFAULT_GENERATE_UNIQUE_APP_ID: bool = false;

/// Returns the default text of a list. It is in force if the key is missing or an expression does not
/// compile.
pub(super) fn default_text(key: &str) -> &'static str {
    match key {
        SYSTEM_USERS => "^system:serviceaccount:kube-system:",
        BYPASS_NAMESPACES => "^kube-system$",
        _ => "",
    }
}
