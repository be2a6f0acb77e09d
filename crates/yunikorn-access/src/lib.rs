//! The evaluator: it decides every access question, for the command line, the webhooks, the reports and the
//! status alike.
//!
//! * [`mod@alias`]: groups that stand in ACLs for names that these cannot hold.
//! * [`subject`]: the subjects that ACLs name.
//! * [`tree`]: the queues of one partition with their ACLs, the origin of each entry, and the index by which
//!   it decides.
//! * [`reach`]: the queues that a grant reaches, and where the rights of each subject begin.
//! * [`decide`]: may this user submit to, or administer, this queue; with every step on the way, the reason
//!   in one sentence, the near misses, and the end of the right.
//! * [`who_can`](mod@who_can): who may do this on a queue.
//! * [`diff`](mod@diff): who gains and who loses access between two configurations.
//! * [`change`], [`remedy`]: the changes that would grant access, each made and evaluated before it is
//!   offered.
//! * [`application`]: may this user view, modify, kill or move an application, or read its logs, by the rules
//!   of a dialect.
//! * [`placement`]: where does an application land, and by which rule.
//! * [`review`]: the same questions as `SubjectAccessReview`s.
//! * [`running`]: the applications that a cluster runs, by their pods.
//! * [`submission`]: will `YuniKorn` accept a workload that is being applied.
//! * [`user_info`]: in whose name a workload may run.
//! * [`expect`]: compares the access that is meant with the access that is granted.
//! * [`lint`](mod@lint): findings about a whole tree that no single ACL shows.
//!
//! All of it is synchronous and works on plain data alone.

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

/// The example of the README, which compiles and runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
