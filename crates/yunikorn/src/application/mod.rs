//! Applications as access questions see them: who owns one, and which rules say who else may view, kill or move it.
//!
//! * [`dialect`]: whose rules.
//! * [`yarn_acl`]: YARN's ACL text as Hadoop reads it; [`carry`]: what `YuniKorn` would make of the same text.
//! * [`settings`]: the settings of a cluster and of an application, as YARN and Spark read them; [`properties`]: the files they stand in.
//! * [`own`]: what an application in `YuniKorn` says of itself.
//!
//! The questions themselves are [`yunikorn_access::application`]'s.

pub mod carry;
pub mod codes;
pub mod dialect;
pub mod own;
pub mod properties;
pub mod settings;
pub mod yarn_acl;

pub use codes::CODES;
pub use dialect::{Dialect, Reading, UnknownDialect};
pub use own::OwnRules;
pub use settings::{ApplicationAcl, Rules};
pub use yarn_acl::YarnAcl;
