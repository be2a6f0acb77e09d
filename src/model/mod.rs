//! What `YuniKorn` means by its texts: ACLs, queues, the scheduler's configuration, the admission controller's access keys,
//! and who a user is to it.

pub mod acl;
pub mod admission;
pub mod config;
pub mod identity;
pub mod queue;
pub mod right;
pub mod version;
