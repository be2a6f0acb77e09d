//! The evaluator: it decides every access question, for the command line, the webhooks, the reports and the
//! status alike.
//!
//! * [`tree`]: the queues of one partition with their ACLs, and the origin of each ACL.
//! * [`mod@alias`]: groups that stand in ACLs for names that these cannot hold.
//! * [`application`]: may this user view, modify, kill or move an application, or read its logs, by the rules
//!   of a dialect.
//! * [`check`]: may this user submit to, or administer, this queue; with every step on the way.
//! * [`sentence`](mod@sentence): a decision for people.
//! * [`near_miss`], [`remedy`]: the reason why a user is denied in spite of a similar entry, and the changes
//!   that would grant access. A [`change`] is made and evaluated before it is offered.
//! * `named`: the names in the ACLs and the queues where their rights begin, by which it decides.
//! * [`reach`]: how far a grant reaches.
//! * [`until`](mod@until): when a right ends.
//! * [`starts`](mod@starts): the subjects of a tree, and the queues where their rights begin, which is the
//!   whole matrix in few words.
//! * [`review`]: the same questions as `SubjectAccessReview`s.
//! * [`running`]: the applications that a cluster runs, by their pods.
//! * [`who_can`](mod@who_can): who may do this on a queue.
//! * [`submission`]: will `YuniKorn` accept a workload that is being applied.
//! * [`placement`]: where does an application land, and by which rule.
//! * [`user_info`]: in whose name a workload may run.
//! * [`diff`](mod@diff): who gains and who loses access between two configurations.
//! * [`expect`]: compares the access that is meant with the access that is granted.
//! * [`lint`](mod@lint): findings about a whole tree that no single ACL shows.
//!
//! All of it is synchronous and works on plain data alone.

pub mod alias;
pub mod application;
pub mod change;
pub mod check;
pub mod diff;
pub mod expect;
pub mod lint;
mod named;
pub mod near_miss;
pub mod placement;
#[cfg(test)]
mod properties;
pub mod reach;
pub mod remedy;
pub mod review;
pub mod running;
pub mod sentence;
pub mod starts;
pub mod submission;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;
pub mod until;
pub mod user_info;
pub mod who_can;

pub use diff::diff;
pub use near_miss::{NearMiss, near_misses};
pub use reach::{GrantingEntry, QueueSet};
pub use remedy::{How, Remedy, remedies};
pub use sentence::sentence;
pub use starts::all_named;
pub use tree::{Node, Origin, QueueId, TextLocation, Tree};
pub use until::{latest, until};
pub use who_can::who_can;

/// The example of the README, which compiles and runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
