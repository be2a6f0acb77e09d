//! Who a user is to the scheduler: a name and the groups it holds for that name.
//!
//! Requests come with groups or without; what is missing a resolver fills in, and a cache remembers (yunikorn-core v1.8.0
//! `pkg/common/security/usergroup.go:148-224`). Every access question is asked about the result, an [`Identity`].
//!
//! * [`convert`]: from a request to an identity, or YuniKorn's refusal.
//! * [`resolver`]: where groups come from.
//! * [`accounts`]: groups by numbers, as operating systems keep them.
//! * [`groups_file`]: users and groups written in a file.
//! * [`cache`]: what a scheduler has seen before decides about what it sees next.
//! * [`codes`]: the findings.

pub mod accounts;
pub mod cache;
pub mod codes;
pub mod convert;
pub mod groups_file;
pub mod resolver;

pub use cache::UserCache;
pub use codes::CODES;
pub use convert::{Claim, Refusal, identify};
pub use resolver::{GroupResolver, NoResolver, Resolution, ResolverKind};

/// A user as the scheduler's ACL checks see it (`UserGroup`, yunikorn-core `pkg/common/security/acl.go:135`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// The name, compared byte for byte.
    pub user: String,
    /// The groups in the order they were given or resolved; duplicates and empty ones are kept, as `YuniKorn` keeps them.
    pub groups: Vec<String>,
}
