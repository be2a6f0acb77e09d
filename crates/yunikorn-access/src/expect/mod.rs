//! Compares the access that is meant with the access that is granted.
//!
//! Expectations grant nothing. They are questions with their answers: who may do what on which queues, who
//! may not, and where applications run. So a change that takes away needed access, or opens what has to stay
//! closed, is noticed before it takes effect.
//!
//! The decision is made by the configuration alone. Queues that placement rules have made at run time are not
//! in it; they have no ACLs of their own, so a right on them is that of the nearest configured queue above.
//!
//! [`mod@run`] has the checks, each with its result.

pub mod run;
#[cfg(test)]
mod tests;

pub use run::{Check, CheckOutcome, Expectation, Reason, Tally, World, run};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::Workload;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// The most checks of one set of expectations. At this number an answer takes about as long as reading the
/// configuration.
pub const MAX_CHECKS: usize = 10_000;
/// The most queues in one list.
const MAX_QUEUES: usize = 64;
/// The longest path of a queue.
const MAX_LENGTH: usize = 1024;
/// A full path, as the API server checks it: a pattern costs it nothing, however many paths there are.
pub const QUEUE_PATTERN: &str = "^[rR][oO][oO][tT]([.][a-zA-Z0-9_:#/@-]{1,64})*$";

/// Everything that is expected of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The partition, matched without case.
    pub partition: String,
    /// The expected cases.
    pub cases: Vec<Case>,
}

/// The expectations for some subjects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// A name for people; may be empty.
    pub name: String,
    /// The subjects. Missing groups are resolved.
    pub subjects: Vec<Identity>,
    /// The rights that they must have.
    pub allow: Queues,
    /// The rights that they must not have.
    pub deny: Queues,
    /// The queues in which their applications must run.
    pub placements: Vec<Placing>,
    /// True if queues may be named that the configuration does not have.
    pub dynamic: bool,
}

/// Queues by right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::doc_link_with_quotes, reason = "kubectl explain shows it as plain text")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queues {
    /// Queues to submit to, by full path, e.g. ["root.prod.etl"]. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_QUEUES), inner(length(max = MAX_LENGTH), regex(pattern = QUEUE_PATTERN)))]
    pub submit: Vec<String>,
    /// Queues to administer, by full path. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_QUEUES), inner(length(max = MAX_LENGTH), regex(pattern = QUEUE_PATTERN)))]
    pub administer: Vec<String>,
}

/// A workload, and its expected queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placing {
    /// The pod and its namespace.
    pub workload: Workload,
    /// The expected queue.
    pub expected: ExpectedPlacement,
}

/// The place where an application must run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedPlacement {
    /// In this queue, matched without case.
    In(String),
    /// In no queue, because it is rejected.
    Nowhere,
}

impl Expectations {
    /// Returns the number of checks in all cases.
    pub fn size(&self) -> usize {
        self.cases.iter().fold(0, |sum, case| sum.saturating_add(case.size()))
    }
}

impl Case {
    /// Returns the number of checks in the case.
    pub fn size(&self) -> usize {
        self.subjects.len().saturating_mul(self.expectations().count())
    }

    /// Returns what is expected of each subject: each right on each queue, then the placements.
    fn expectations(&self) -> impl Iterator<Item = Expectation<'_>> {
        let sides = [(&self.allow, true), (&self.deny, false)].into_iter();
        let rights = sides.flat_map(|(queues, allowed)| {
            let lists = [(Right::Submit, &queues.submit), (Right::Admin, &queues.administer)].into_iter();
            lists.flat_map(move |(right, list)| {
                list.iter().map(move |queue| Expectation::Right { right, queue, allowed })
            })
        });
        rights.chain(self.placements.iter().map(Expectation::Placement))
    }
}
