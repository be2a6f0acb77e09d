//! Commands that check configurations, or compare them.

pub mod acl;
pub mod diff;
pub mod render;
pub mod review;
pub mod test;
pub mod validate;
