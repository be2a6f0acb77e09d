//! `YuniKorn`'s access control list: a wildcard, or users and groups; nobody when both are empty.
//!
//! * [`parse`]: the string exactly as activation reads it, and as the validator reads it, and what a human should know about the difference.
//! * [`print`]: the canonical string.
//! * [`eval`]: who gets access.
use std::collections::BTreeSet;

pub mod eval;
pub mod parse;
pub mod print;

/// An ACL in force. There is no deny entry in `YuniKorn`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Acl {
    /// `*`: everyone; then `users` and `groups` are empty.
    pub everyone: bool,
    /// Users named.
    pub users: BTreeSet<String>,
    /// Groups named.
    pub groups: BTreeSet<String>,
}
