//! Decides what is written to the output ConfigMap.
//!
//! * [`change`]: the changes that a plan makes, and the limit on their size.
//! * [`applied`]: the input of the decision, and condition `Applied`.
//! * [`hold`]: reasons to write only withdrawals, and how to apply these.
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
