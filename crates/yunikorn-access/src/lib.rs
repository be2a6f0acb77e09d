//! The evaluator: every access question is answered here, for the command line, the webhooks, the reports and the status alike.
//!
//! * [`tree`]: the queues of one partition with their ACLs, and for each where it came from.
//! * [`application`]: may this user view, modify, kill or move an application, or read its logs, by the rules of a dialect.
//! * [`check`]: may this user submit to, or administer, this queue; with every step on the way.
//! * [`sentence`](mod@sentence): a decision for people.
//! * [`near_miss`], [`remedy`]: why it is a no although it looks like a yes, and what would make it one.
//! * `named`: whom the ACLs name, and where their rights begin: what decides.
//! * [`reach`]: how far a grant reaches.
//! * [`starts`](mod@starts): where rights begin, which is the whole matrix in few words.
//! * [`review`]: the same questions as Kubernetes asks them.
//! * [`running`]: the applications that a cluster runs, by their pods.
//! * [`who_can`](mod@who_can), [`what_can`](mod@what_can), [`matrix`](mod@matrix): who may do this on a queue, on which queues may one
//!   do this, and both at once.
//! * [`submission`]: will a workload that is being applied be taken.
//! * [`placement`]: where does an application land, and by which rule.
//! * [`guard`]: in whose name may a workload run.
//! * [`diff`](mod@diff): who gains and who loses what between two configurations.
//! * [`expect`]: what access is meant to be, checked against what it is.
//! * [`lint`](mod@lint): what the whole tree shows that no single ACL does.
//!
//! All of it is synchronous and total over plain data.

pub mod application;
pub mod check;
pub mod diff;
pub mod expect;
pub mod guard;
pub mod lint;
pub mod matrix;
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
pub mod what_can;
pub mod who_can;

pub use check::{Decision, Denial, Outcome, Step, Verdict};
pub use diff::{Diff, diff};
pub use matrix::{Matrix, matrix};
pub use near_miss::{NearMiss, near_misses};
pub use reach::{QueueSet, Way};
pub use remedy::{How, Remedy, administrators, remedies};
pub use sentence::sentence;
pub use starts::{Start, Starts, starts};
pub use tree::{Grants, Node, Origin, QueueId, Tree};
pub use what_can::{WhatCan, what_can};
pub use who_can::{WhoCan, who_can};
