//! Defines the answers for programs, as JSON and YAML. The commands and the served resources share them. The
//! schemas under `docs/schema` and the `OpenAPI` documents are generated from these types.
//!
//! Fields are added without notice; [`VERSION`] is raised when one changes its meaning or is removed.
//!
//! * [`answers`]: fills them with the evaluator's results.
//! * [`report`]: the report.

pub mod answers;
pub mod report;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use answers::Answers;
use yunikorn::right::{AclKey, Right};
use yunikorn_access::decide::{Denial, Step};
use yunikorn_access::reach::GrantedBy;
use yunikorn_access::subject::Subject;
use yunikorn_access::who_can::Grantee;
use yunikorn_access::{Origin, in_words};

/// Returns an end as a cell of a table; empty if there is none.
pub fn until(end: Option<Timestamp>) -> String {
    end.map(in_words).unwrap_or_default()
}

/// The version of all answers.
pub const VERSION: u32 = 1;

/// The header of every answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The version of this format: 1.
    pub version: u32,
    /// The source of the answer: a file, a ConfigMap's key, or the scheduler.
    pub source: String,
    /// The partition.
    pub partition: String,
}

/// The answer to `can-i` and `explain`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionAnswer {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The right in question.
    pub verb: Right,
    /// The queue in question.
    pub queue: String,
    /// The configured queue whose ACLs are checked first: the queue itself, or the nearest above it.
    pub nearest_queue: Option<String>,
    /// The user.
    pub user: String,
    /// The groups of the user, as assumed for the answer.
    pub groups: Vec<String>,
    /// True when access is allowed.
    pub allowed: bool,
    /// The reason, in one sentence.
    pub reason: String,
    /// The reason for a denial, as one word; null when access is allowed.
    pub denial: Option<Denial>,
    /// The time at which the right ends: that of the last grant of it. Null when one has no end.
    pub until: Option<Timestamp>,
    /// Each ACL that was checked, in order; the last one grants access if any does.
    pub trace: Vec<Step>,
    /// Changes that would turn a denial into a yes, the smallest first.
    pub remedies: Vec<RemedyAnswer>,
}

/// One way to get the access that was denied.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RemedyAnswer {
    /// The kind of change.
    pub kind: RemedyKind,
    /// The same, as a sentence for people.
    pub message: String,
    /// The queue whose ACL to change, or the queue to use instead.
    pub queue: Option<String>,
    /// The ACL of that queue to change.
    pub acl: Option<AclKey>,
    /// The subject to name, or the group to join.
    pub subject: Option<Subject>,
    /// The objects that already set this ACL and can be edited; none means a new one.
    pub objects: Vec<Origin>,
    /// True when a new object must set `baseAcl: Extend` so that nobody loses access.
    pub extend: bool,
    /// The number of queues that a grant opens; 0 when nothing is granted.
    pub opens: usize,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An ACL names one more subject.
    #[default]
    Grant,
    /// The user joins a group that has access.
    Join,
    /// Another queue is used.
    Ask,
    /// The user's name is written as the ACL has it, in another case.
    Rename,
}

/// The answer to `who-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoCanAnswer {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The right in question.
    pub verb: Right,
    /// The queue in question.
    pub queue: String,
    /// The configured queue whose ACLs are checked first: the queue itself, or the nearest above it.
    pub nearest_queue: Option<String>,
    /// The reason why nobody has the right, whatever the ACLs say; null when the ACLs decide.
    pub denial: Option<Denial>,
    /// All who have the right.
    pub subjects: Vec<Grantee>,
}

/// The answer to `what-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WhatCanAnswer")]
pub struct WhatCan {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The user.
    pub user: String,
    /// The groups of the user, as assumed for the answer.
    pub groups: Vec<String>,
    /// The rights of the user, in the order of the queues.
    pub rights: Vec<RightOn>,
}

/// One right on one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RightOn {
    /// The queue.
    pub queue: String,
    /// True when applications run in the queue.
    pub leaf: bool,
    /// The right.
    pub verb: Right,
    /// The entry nearest to the queue that grants the right.
    pub entry: Subject,
    /// The location of that entry.
    pub by: GrantedBy,
    /// The time at which the right ends: that of the last grant of it. Null when one has no end.
    pub until: Option<Timestamp>,
}

/// The answer to `matrix`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MatrixAnswer")]
pub struct Matrix {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// The subjects of the matrix: a user without its groups, a group without its members.
    pub subjects: Vec<Subject>,
    /// The queues.
    pub queues: Vec<String>,
    /// Every right that a subject has on a queue.
    pub cells: Vec<Cell>,
}

/// One right of one subject on one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// The subject.
    pub subject: Subject,
    /// The queue.
    pub queue: String,
    /// The right.
    pub verb: Right,
    /// True when a queue above grants the right.
    pub inherited: bool,
    /// True when the right comes with the right to administer.
    pub through_admin: bool,
    /// True when the right is granted to everyone, not by name.
    pub everyone: bool,
    /// The location of the entry.
    pub by: GrantedBy,
    /// The time at which the right ends: that of the last grant of it. Null when one has no end.
    pub until: Option<Timestamp>,
}
