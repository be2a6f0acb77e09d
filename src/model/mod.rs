//! What `YuniKorn` means by its texts: ACLs, queues, the scheduler's configuration, the admission controller's access keys.

pub mod acl;
pub mod admission;
pub mod config;
pub mod queue;
