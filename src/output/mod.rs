//! What commands print and write: text for people, JSON and YAML for programs, files, exit codes.

pub mod codes;
pub mod console;
pub mod diagnostic;
pub mod exit;
pub mod explanation;
pub mod file;
pub mod findings;
pub mod format;
pub mod manifest;
pub mod sarif;
pub mod statuses;
pub mod text;

pub use console::Console;
pub use exit::{Exit, Failure};
