//! Parsers and checks for texts of `YuniKorn`: ACLs, queues, the scheduler's configuration, the admission
//! controller's access keys, the identity of users, and the rules for applications from other systems.

pub mod acl;
pub mod admission;
pub mod application;
pub mod config;
pub mod identity;
pub mod queue;
pub mod right;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text_map;
pub mod version;

pub use acl::Acl;
pub use config::Config;
pub use identity::Identity;
pub use queue::QueuePath;
pub use right::Right;
pub use version::Version;

/// Compiles and runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
