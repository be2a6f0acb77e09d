//! What `YuniKorn` means by its texts: ACLs, queues, the scheduler's configuration, the admission controller's access keys,
//! who a user is to it, and the applications that others bring rules for.

pub mod acl;
pub mod admission;
pub mod application;
pub mod by_path;
pub mod config;
pub mod identity;
pub mod queue;
pub mod right;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod version;
