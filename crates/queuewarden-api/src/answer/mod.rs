//! Defines the answers for programs, as JSON and YAML. The commands and the served resources share them. The
//! schemas under `docs/schema` and the `OpenAPI` documents are generated from these types.
//!
//! Fields are added without notice; [`VERSION`] is raised when one changes its meaning or is removed.
//!
//! * [`answers`]: fills them with the evaluator's results.
//! * [`report`]: the report.
//! * [`words`]: their spelling.

pub mod answers;
pub mod report;
mod words;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use answers::Answers;
pub use words::until;
use yunikorn::right::{AclKey, Right};
use yunikorn_access::NearMiss;
use yunikorn_access::decide::Denial;
use yunikorn_access::subject::Subject;

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

/// The location of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenIn {
    /// `QueueAcl`, `AdmissionPolicy` or `ConfigMap` for an object, `Text` for the text of a configuration.
    pub kind: String,
    /// The object's name, or that of the file or ConfigMap key.
    pub name: String,
    /// The line in it, from 1; null for an object, and where it is not known.
    pub line: Option<usize>,
    /// The column in it in characters, from 1; null as `line`.
    pub column: Option<usize>,
    /// The time from which on it grants nothing; null where it has no end.
    pub until: Option<Timestamp>,
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
    pub trace: Vec<TraceStep>,
    /// Changes that would turn a denial into a yes, the smallest first.
    pub remedies: Vec<RemedyAnswer>,
}

/// One ACL that was checked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// The queue.
    pub queue: String,
    /// The ACL of the queue that was checked.
    pub acl: AclKey,
    /// The ACL as written; empty when there is none.
    pub text: String,
    /// The entry that grants it; null when none does.
    pub entry: Option<Subject>,
    /// The locations of that entry; more than one object may grant the same.
    pub origins: Vec<WrittenIn>,
    /// Names in the ACL that nearly match the user.
    pub near_misses: Vec<NearMiss>,
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
    pub objects: Vec<WrittenIn>,
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

/// An entry that grants something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GrantedBy {
    /// The queue whose ACL holds the entry.
    pub queue: String,
    /// The ACL of that queue.
    pub acl: AclKey,
    /// The locations of the entry; more than one object may grant the same.
    pub origins: Vec<WrittenIn>,
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

/// One who has the right.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Grantee {
    /// The user, the group, or everyone.
    #[serde(flatten)]
    pub subject: Subject,
    /// Every entry that grants the right, the nearest first; any one of them is enough.
    pub grants: Vec<GrantedBy>,
    /// The time at which the right ends: that of the last grant of it, by name or to everyone. Null when one
    /// has no end.
    pub until: Option<Timestamp>,
}

/// The answer to `what-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WhatCanAnswer {
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
pub struct MatrixAnswer {
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
