//! The identity of a user in the scheduler: a name and the groups for that name.
//!
//! Requests come with groups or without; a resolver fills in missing ones, and a cache stores them
//! (yunikorn-core v1.8.0 `pkg/common/security/usergroup.go:148-224`). Every access question is about the
//! result, an [`Identity`].
//!
//! * [`convert`]: converts a request into an identity, or YuniKorn's refusal; a cache stores earlier requests,
//!   which decide about later ones.
//! * [`resolver`]: the sources of groups.

pub mod convert;
pub mod resolver;

pub use convert::{Claim, UserCache, identify};
pub use resolver::{CODES, GroupResolver, NoResolver, Refusal, ResolverKind};

use serde::{Deserialize, Serialize};

/// A user as the scheduler's ACL checks see it (`UserGroup`, yunikorn-core `pkg/common/security/acl.go:135`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The name, compared byte for byte.
    pub user: String,
    /// The groups in the order they were given or resolved; duplicates and empty ones are kept, as `YuniKorn`
    /// keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}
