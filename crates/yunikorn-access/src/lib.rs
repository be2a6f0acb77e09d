//! The evaluator, which makes every access decision for the command line, the webhooks, the reports and the
//! status.
//!
//! * [`mod@alias`]: groups that represent names that ACLs cannot contain.
//! * [`subject`]: the subjects that ACLs name.
//! * [`tree`]: the queues of one partition with their ACLs, the origin of each entry, and an index for
//!   decisions.
//! * [`reach`]: the queues that a grant reaches, and where the rights of each subject begin.
//! * [`decide`]: may this user submit to or administer this queue; with the steps, the reason in one
//!   sentence, the near misses, and the end of the right.
//! * [`who_can`](mod@who_can): who may do this on a queue.
//! * [`diff`](mod@diff): who gains and who loses access between two configurations.
//! * [`change`], [`remedy`]: changes that would grant access, each tested before it is offered.
//! * [`application`]: may this user view, modify, kill or move an application, or read its logs, according to
//!   a dialect.
//! * [`placement`]: the queue that an application runs in, and the rule that selects it.
//! * [`review`]: the same questions as `SubjectAccessReview`s.
//! * [`running`]: the running applications of a cluster, derived from their pods.
//! * [`submission`]: whether `YuniKorn` will accept a workload that is being applied.
//! * [`user_info`]: which user a workload may run as.
//! * [`expect`]: compares expected access with granted access.
//! * [`lint`](mod@lint): findings about a whole tree that no single ACL shows.
//!
//! Everything is synchronous and uses only plain data.

pub mod alias;
pub mod application;
pub mod change;
pub mod decide;
pub mod diff;
pub mod expect;
pub mod lint;
pub mod placement;
#[cfg(test)]
mod properties;
mod queue_set;
pub mod reach;
pub mod remedy;
pub mod review;
pub mod running;
pub mod subject;
pub mod submission;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;
pub mod user_info;
pub mod who_can;

pub use decide::{NearMiss, in_words, sentence, until};
pub use diff::diff;
pub use queue_set::QueueSet;
pub use reach::all_named;
pub use remedy::{Remedy, remedies};
pub use tree::{GrantingEntry, Node, Origin, QueueId, TextLocation, Tree, latest};
pub use who_can::who_can;

/// Compiles and runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
