//! The five `admissionController.accessControl.*` keys: who may say in whose name a workload runs.
//!
//! Nothing in `YuniKorn` validates them: what the admission controller cannot read becomes the default, with a line in its log.
//!
//! * [`keys`]: their names and defaults.
//! * [`lists`]: lists of regular expressions as the admission controller reads them.
//! * [`render`]: lists of regular expressions written so that they are read as they were meant.
//! * `pitfalls`: expressions that match more, or less, than they seem to.
//! * [`access`]: what the keys decide.
//! * [`codes`]: the findings.

pub mod access;
pub mod codes;
pub mod keys;
pub mod lists;
mod pitfalls;
pub mod render;

pub use access::{AccessControl, Allowed, Verdict};
pub use codes::CODES;
pub use keys::{
    AccessList, BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, KEYS, SYSTEM_USERS, TRUST_CONTROLLERS,
};
pub use lists::PatternList;
pub use render::render_list;

/// The most expressions of one list that are judged.
pub const MAX_EXPRESSIONS: usize = 256;
