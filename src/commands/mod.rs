//! The commands, in the groups of the help.
//!
//! A command does not import another command. Shared code is in [`output`](crate::output) and
//! [`source`](crate::source).

pub mod ask;
pub mod change;
pub mod check;
pub mod operate;
pub mod other;
