//! The five `admissionController.accessControl.*` keys: who may say in whose name a workload runs.
//!
//! Nothing in `YuniKorn` validates them: what the admission controller cannot read becomes the default, with a line in its log.
//!
//! * [`keys`]: their names and defaults.
//! * [`lists`]: lists of regular expressions, written and read.
//! * [`access`]: what they decide.

pub mod access;
pub mod keys;
pub mod lists;

pub use access::{AccessControl, Allowed};
pub use keys::{BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, KEYS, SYSTEM_USERS, TRUST_CONTROLLERS};
pub use lists::{PatternList, render_list};

use crate::text::diag::Code;

/// A boolean that Go does not read.
pub const NOT_A_BOOLEAN: Code = Code::new(4101, "not-a-go-boolean");
/// One expression of a list does not compile, so that the whole list is discarded.
pub const LIST_DISCARDED: Code = Code::new(4102, "list-discarded");
/// A list element contains a comma, which separates elements and cannot be escaped.
pub const COMMA: Code = Code::new(4103, "comma-in-expression");
/// A list element begins or ends with a blank, which would be cut off.
pub const OUTER_BLANK: Code = Code::new(4104, "blank-around-expression");
/// A list element is empty, which would be left out.
pub const EMPTY: Code = Code::new(4105, "empty-expression");
/// An expression without anchors matches anywhere in a name.
pub const UNANCHORED: Code = Code::new(4106, "unanchored-expression");
/// An expression matches every name.
pub const MATCHES_ALL: Code = Code::new(4107, "expression-matches-all");

/// All codes of this module.
pub const CODES: &[Code] = &[NOT_A_BOOLEAN, LIST_DISCARDED, COMMA, OUTER_BLANK, EMPTY, UNANCHORED, MATCHES_ALL];
