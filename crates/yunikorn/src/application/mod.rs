//! Applications in access questions: their owner, and the rules that decide who else may view, kill or move
//! them.
//!
//! * [`dialect`]: the sets of rules.
//! * [`yarn_acl`]: YARN's ACL text as Hadoop reads it; [`carry`]: the same text as `YuniKorn` reads it.
//! * [`settings`]: the settings of a cluster and of an application, as YARN and Spark read them;
//!   [`properties`]: the files that contain them.
//! * [`own`]: the rules that an application in `YuniKorn` brings itself.
//!
//! The questions themselves are in `yunikorn_access::application`.

pub mod carry;
pub mod codes;
pub mod dialect;
pub mod own;
pub mod properties;
pub mod settings;
pub mod yarn_acl;

pub use codes::CODES;
pub use dialect::{Dialect, Reading};
pub use own::OwnRules;
pub use settings::{ApplicationAcl, Rules};
pub use yarn_acl::YarnAcl;
