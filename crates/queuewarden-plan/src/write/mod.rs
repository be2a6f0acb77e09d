//! Decides what is written to the output ConfigMap.
//!
//! * [`change`]: the changes that a plan makes, and the limit of their size.
//! * [`applied`]: what the decision is made from, and condition `Applied`.
//! * [`hold`]: the reasons to write no more than the withdrawals, and applies these alone.
//! * [`adoption`]: keys that someone else wrote.
//! * [`history`]: why a text is written, and the revisions that are stored.
//! * [`decide`]: the decision.

pub(crate) mod change;

pub(crate) mod applied;

pub(crate) mod adoption;
pub(crate) mod hold;

pub mod history;

pub(crate) mod decide;

pub(crate) use applied::WriteContext;
pub(crate) use decide::{Evaluation, WriteDecision};
pub(crate) use history::Revision;

pub use change::{NewConfigMap, Write};
