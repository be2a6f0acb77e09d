//! Decides what is written to the output ConfigMap.
//!
//! * [`change`]: the changes that a plan makes; [`size`]: their limit.
//! * [`context`]: what the decision is made from.
//! * [`withdraw`]: applies the withdrawals alone; [`hold`]: the reasons to write no more than these.
//! * [`applied`]: condition `Applied`; [`adoption`]: keys that someone else wrote.
//! * [`causes`]: why a text is written; [`history`]: the revisions that are stored.
//! * [`decide`]: the decision.

pub(crate) mod change;
pub(crate) mod context;
pub(crate) mod size;
pub(crate) mod withdraw;

pub(crate) mod applied;
pub(crate) mod causes;
pub(crate) mod hold;

pub(crate) mod adoption;
pub mod history;

pub(crate) mod decide;

pub(crate) use applied::rejection;
pub(crate) use context::WriteContext;
pub(crate) use decide::WriteDecision;
pub(crate) use history::Revision;

pub use change::{NewConfigMap, Write};
