//! The evaluator: every access question is answered here, for the command line, the webhooks, the reports and the status alike.
//!
//! * [`tree`]: the queues of one partition with their ACLs, and for each where it came from.
//! * [`index`]: the same without reasons, at a small part of the cost.
//! * [`check`]: may this user submit to, or administer, this queue; with every step on the way.
//! * [`placement`]: where does an application land, and by which rule.
//!
//! All of it is synchronous and total over plain data.

pub mod check;
pub mod index;
pub mod placement;
pub mod tree;

pub use check::{Decision, Denial, Outcome, Step};
pub use index::{Index, Prepared, Ranges};
pub use tree::{Grants, Node, Origin, QueueId, Tree};
