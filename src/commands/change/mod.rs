//! Commands that change who has access.

pub mod grant;
#[cfg(feature = "import")]
pub mod import;
pub mod revoke;
pub mod suspend;
