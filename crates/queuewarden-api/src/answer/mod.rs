//! What programs get: the answers as JSON and YAML, from the commands and from the served resources alike.
//! The schemas under `docs/schema` and the `OpenAPI` documents are generated from these types.
//!
//! Fields are added without notice; [`VERSION`] is raised when one changes its meaning or goes.
//!
//! * [`answers`]: fills them with what the evaluator says.
//! * [`report`]: the report.
//! * [`words`]: how they are spelt.

pub mod answers;
pub mod report;
mod words;

use schemars::JsonSchema;
use serde::Serialize;

pub use answers::{Answers, Place, Texts};

/// The version of all answers.
pub const VERSION: u32 = 1;

/// What every answer is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The version of this format: 1.
    pub version: u32,
    /// What was asked about: a file, a ConfigMap's key, or the scheduler.
    pub source: String,
    /// The partition.
    pub partition: String,
}

/// A right, as questions name it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// May run applications.
    Submit,
    /// Administers.
    Administer,
}

/// The key of an ACL in queues.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AclKey {
    /// `submitacl`
    SubmitAcl,
    /// `adminacl`
    AdminAcl,
}

/// Whom an entry of an ACL names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Named {
    /// What it is.
    pub kind: NamedKind,
    /// The name; null for everyone.
    pub name: Option<String>,
}

/// What an entry of an ACL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum NamedKind {
    /// `*`
    Everyone,
    /// A user.
    User,
    /// The members of a group.
    Group,
}

/// Where an entry is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenIn {
    /// `QueueAcl` for an object, `Text` for the text of a configuration.
    pub kind: String,
    /// The object's name, or that of the file or ConfigMap key.
    pub name: String,
    /// The line in it, from 1; null for an object, and where it is not known.
    pub line: Option<usize>,
    /// The column in it in characters, from 1; null as `line`.
    pub column: Option<usize>,
}

/// The answer to `can-i` and `explain`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionAnswer {
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// What was asked for.
    pub verb: Verb,
    /// The queue that was asked about.
    pub queue: String,
    /// The configured queue whose ACLs are asked first: the queue itself, or the nearest above it.
    pub nearest_queue: Option<String>,
    /// The user.
    pub user: String,
    /// The groups that the user was taken to be in.
    pub groups: Vec<String>,
    /// The answer.
    pub allowed: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// Why not; null when it is allowed.
    pub denial: Option<DenialKind>,
    /// Each ACL that was looked at, in order; the last one grants access if any does.
    pub trace: Vec<TraceStep>,
    /// What would turn a denial into a yes, the smallest change first.
    pub remedies: Vec<RemedyAnswer>,
}

/// Why not.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum DenialKind {
    /// No ACL on the way to the root names the user or a group.
    NotGranted,
    /// Nobody may submit to the recovery queue.
    Recovery,
    /// There can be no such queue.
    NoQueue,
}

/// One ACL that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// The queue.
    pub queue: String,
    /// Which of its ACLs.
    pub acl: AclKey,
    /// The ACL as written; empty when there is none.
    pub text: String,
    /// The entry that grants it; null when none does.
    pub entry: Option<Named>,
    /// Where that entry is written; more than one object may grant the same.
    pub origins: Vec<WrittenIn>,
    /// What in it nearly was the user's.
    pub near_misses: Vec<NearMissAnswer>,
}

/// Something in an ACL that nearly was the user's.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NearMissAnswer {
    /// What it is.
    pub kind: NearMissKind,
    /// The same for people.
    pub message: String,
}

/// How an ACL can seem to name someone.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum NearMissKind {
    /// It names the user in another case.
    UserCase,
    /// It names one of the groups in another case.
    GroupCase,
    /// The user's name stands among the groups.
    UserAmongGroups,
    /// A group of the user stands among the users.
    GroupAmongUsers,
    /// The text has the name, and `YuniKorn` drops it.
    Dropped,
}

/// One way to get what was denied.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RemedyAnswer {
    /// What is to be done.
    pub kind: RemedyKind,
    /// The same for people.
    pub message: String,
    /// The queue whose ACL it is, or the one to ask for.
    pub queue: Option<String>,
    /// Which of its ACLs.
    pub acl: Option<AclKey>,
    /// Whom to name, or the group to join.
    pub subject: Option<Named>,
    /// The objects that set this ACL already, to be edited; none means a new one.
    pub objects: Vec<WrittenIn>,
    /// Whether a new object must say `baseAcl: Extend` so that nobody loses access.
    pub extend: bool,
    /// How many queues a grant opens; 0 when nothing is granted.
    pub opens: usize,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub enum RemedyKind {
    /// An ACL names someone more.
    Grant,
    /// The user joins a group that has access.
    Join,
    /// Another queue was meant.
    Ask,
    /// No ACL can name the user or a group: another name is needed.
    Unnameable,
}

/// An entry that grants something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GrantedBy {
    /// The queue whose ACL it is.
    pub queue: String,
    /// Which of its ACLs.
    pub acl: AclKey,
    /// Where the entry is written; more than one object may grant the same.
    pub origins: Vec<WrittenIn>,
}

/// The answer to `who-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoCanAnswer {
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// What was asked for.
    pub verb: Verb,
    /// The queue that was asked about.
    pub queue: String,
    /// The configured queue whose ACLs are asked first: the queue itself, or the nearest above it.
    pub nearest_queue: Option<String>,
    /// Why it is nobody whatever the ACLs say; null when they decide.
    pub denial: Option<DenialKind>,
    /// All who may.
    pub subjects: Vec<Grantee>,
}

/// One who may.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Grantee {
    /// Who.
    #[serde(flatten)]
    pub named: Named,
    /// Every entry that grants it, the nearest first; any one of them is enough.
    pub grants: Vec<GrantedBy>,
}

/// The answer to `what-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WhatCanAnswer {
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// The user.
    pub user: String,
    /// The groups that the user was taken to be in.
    pub groups: Vec<String>,
    /// What the user may do, in the order of the queues.
    pub rights: Vec<RightOn>,
}

/// One right on one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RightOn {
    /// The queue.
    pub queue: String,
    /// Whether applications run in it.
    pub leaf: bool,
    /// The right.
    pub verb: Verb,
    /// The entry nearest to the queue that grants it.
    pub entry: Named,
    /// Where it stands.
    pub by: GrantedBy,
}

/// The answer to `matrix`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MatrixAnswer {
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// Whom it is about: a user without its groups, a group without its members.
    pub subjects: Vec<Named>,
    /// The queues.
    pub queues: Vec<String>,
    /// Every right that a subject has on a queue.
    pub cells: Vec<Cell>,
}

/// One right of one subject on one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Who.
    pub subject: Named,
    /// The queue.
    pub queue: String,
    /// The right.
    pub verb: Verb,
    /// Whether a queue above grants it.
    pub inherited: bool,
    /// Whether it comes with the right to administer.
    pub through_admin: bool,
    /// Whether it is granted to everyone, not by name.
    pub everyone: bool,
    /// Where the entry stands.
    pub by: GrantedBy,
}
