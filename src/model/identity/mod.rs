//! Who a user is to the scheduler: a name and the groups it holds for that name.
//!
//! Requests come with groups or without; what is missing a resolver fills in (yunikorn-core
//! `pkg/common/security/usergroup.go:148-181`). Every access question is asked about the result, an [`Identity`].

/// A user as the scheduler's ACL checks see it (`UserGroup`, yunikorn-core `pkg/common/security/acl.go:135`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// The name, compared byte for byte.
    pub user: String,
    /// The groups in the order they were given or resolved; duplicates and empty ones are kept, as `YuniKorn` keeps them.
    pub groups: Vec<String>,
}
