//! Commands about queuewarden itself.

pub mod codes;
pub mod completion;
pub mod man;
pub mod version;
