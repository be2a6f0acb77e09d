//! Defines the machine-readable answers, as JSON and YAML. The commands and the served resources share them.
//! The schemas under `docs/schema` and the `OpenAPI` documents are generated from these types.
//!
//! Fields are added without notice; [`VERSION`] is raised when a field is removed or changes its meaning.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use yunikorn::right::Right;
use yunikorn_access::decide::{Decision, Denial, Step};
use yunikorn_access::reach::GrantedBy;
use yunikorn_access::subject::Subject;
use yunikorn_access::who_can::WhoCan;
use yunikorn_access::{Origin, Remedy, Tree, in_words, remedies, sentence};

/// Returns an end time as a table cell; empty if the right does not end.
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

/// Turns the evaluator's results into answers about one configuration.
#[derive(Debug, Clone, Copy)]
pub struct Answers<'a> {
    /// The name of the configuration.
    pub source: &'a str,
    /// The partition's tree.
    pub tree: &'a Tree,
}

impl Answers<'_> {
    /// Returns the header that all answers share.
    pub fn about(&self) -> About {
        About {
            version: VERSION,
            source: self.source.to_owned(),
            partition: self.tree.partition().to_owned(),
        }
    }

    /// Converts a decision with its trace.
    pub fn decision(&self, decision: &Decision) -> DecisionAnswer {
        let until = self.until(decision);
        DecisionAnswer {
            about: self.about(),
            verb: decision.right,
            queue: decision.path.clone(),
            nearest_queue: decision.located.nearest().map(|id| self.tree.path(id).to_string()),
            user: decision.identity.user.clone(),
            groups: decision.identity.groups.clone(),
            allowed: decision.allowed(),
            reason: self.reason_until(decision, until),
            denial: decision.denial,
            until,
            trace: decision.steps.clone(),
            remedies: remedies(self.tree, decision).collect(),
        }
    }

    /// Returns the reason in one sentence, with its location.
    pub fn reason(&self, decision: &Decision) -> String {
        self.reason_until(decision, self.until(decision))
    }

    fn reason_until(&self, decision: &Decision, until: Option<Timestamp>) -> String {
        let sentence = sentence(self.tree, decision);
        let origins = decision.granted_by().map(|step| Origin::list(&step.origins)).unwrap_or_default();
        let origins = if origins.is_empty() { origins } else { format!(" ({origins})") };
        let until = until.map(|end| format!(", until {}", in_words(end))).unwrap_or_default();
        format!("{sentence}{origins}{until}")
    }

    /// Returns the time at which the right of a decision ends.
    pub fn until(&self, decision: &Decision) -> Option<Timestamp> {
        yunikorn_access::until(self.tree, decision.right, decision.located.decides()?, &decision.identity)
    }
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
    /// The configured queue whose ACLs are checked first: the queue itself, or its nearest configured
    /// ancestor.
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
    /// The time at which the right ends, which is when its last grant ends. Null if it does not end.
    pub until: Option<Timestamp>,
    /// Each ACL that was checked, in order; the last one grants access if any does.
    pub trace: Vec<Step>,
    /// Changes that would turn the denial into an allow, smallest first.
    pub remedies: Vec<Remedy>,
}

/// The answer to `who-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WhoCanAnswer")]
pub struct WhoCanList {
    /// The header.
    #[serde(flatten)]
    pub about: About,
    /// Everyone who has the right.
    #[serde(flatten)]
    pub found: WhoCan,
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
    /// The time at which the right ends, which is when its last grant ends. Null if it does not end.
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
    /// The time at which the right ends, which is when its last grant ends. Null if it does not end.
    pub until: Option<Timestamp>,
}
