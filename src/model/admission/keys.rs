//! Names and defaults of the keys (yunikorn-k8shim v1.8.0 `pkg/admission/conf/am_conf.go:57-83`).

/// Whether `user.info` is taken from anyone unchecked. Default `false`.
pub const BYPASS_AUTH: &str = "admissionController.accessControl.bypassAuth";
/// Whether the users of [`SYSTEM_USERS`] may set `user.info`. Default `true`.
pub const TRUST_CONTROLLERS: &str = "admissionController.accessControl.trustControllers";
/// Expressions for the users that controllers run as. Default [`DEFAULT_SYSTEM_USERS`].
pub const SYSTEM_USERS: &str = "admissionController.accessControl.systemUsers";
/// Expressions for users that may set `user.info`. Default none.
pub const EXTERNAL_USERS: &str = "admissionController.accessControl.externalUsers";
/// Expressions for groups that may set `user.info`. Default none.
pub const EXTERNAL_GROUPS: &str = "admissionController.accessControl.externalGroups";

/// All keys, sorted.
pub const KEYS: [&str; 5] = [BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, SYSTEM_USERS, TRUST_CONTROLLERS];

/// Default of [`BYPASS_AUTH`].
pub const DEFAULT_BYPASS_AUTH: bool = false;
/// Default of [`TRUST_CONTROLLERS`].
pub const DEFAULT_TRUST_CONTROLLERS: bool = true;
/// Default of [`SYSTEM_USERS`].
pub const DEFAULT_SYSTEM_USERS: &str = "^system:serviceaccount:kube-system:";
