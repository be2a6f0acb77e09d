//! Compares expected access with granted access.
//!
//! Expectations grant nothing. They are questions with expected answers: who may or may not do what on which
//! queues, and where applications run. They detect a change that removes required access, or opens a queue
//! that must stay closed, before the change takes effect.
//!
//! Only the configuration decides. It does not contain queues that placement rules have created at run time.
//! Such queues have no ACLs, so a right on them is a right on the nearest configured queue
//! above.
//!
//! [`mod@run`] performs the checks.

pub mod run;
#[cfg(test)]
mod tests;

pub use run::{Check, CheckOutcome, Expectation, Reason, Tally, World, run};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::Workload;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Maximum number of checks in a set of expectations. At this number, the checks take about as long as
/// parsing the configuration.
pub const MAX_CHECKS: usize = 10_000;
/// Maximum number of queues in a list.
const MAX_QUEUES: usize = 64;
/// Maximum length of a queue path.
const MAX_LENGTH: usize = 1024;
/// A full path, as the API server validates it. A pattern has no validation cost, even for many paths.
pub const QUEUE_PATTERN: &str = "^[rR][oO][oO][tT]([.][a-zA-Z0-9_:#/@-]{1,64})*$";

/// The expectations for one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The partition, matched without case.
    pub partition: String,
    /// The expected cases.
    pub cases: Vec<Case>,
}

/// Expectations for some subjects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// A description, which may be empty.
    pub name: String,
    /// The subjects. Missing groups are resolved.
    pub subjects: Vec<Identity>,
    /// Rights that they must have.
    pub allow: Queues,
    /// Rights that they must not have.
    pub deny: Queues,
    /// Queues that their applications must run in.
    pub placements: Vec<Placing>,
    /// True if the queues need not be in the configuration.
    pub dynamic: bool,
}

/// Queues by right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::doc_link_with_quotes, reason = "kubectl explain shows it as plain text")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queues {
    /// Full paths of queues to submit to, e.g. ["root.prod.etl"]. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_QUEUES), inner(length(max = MAX_LENGTH), regex(pattern = QUEUE_PATTERN)))]
    pub submit: Vec<String>,
    /// Full paths of queues to administer. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_QUEUES), inner(length(max = MAX_LENGTH), regex(pattern = QUEUE_PATTERN)))]
    pub administer: Vec<String>,
}

/// A workload with its expected queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placing {
    /// The pod and its namespace.
    pub workload: Workload,
    /// The expected queue.
    pub expected: ExpectedPlacement,
}

/// The expected result of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedPlacement {
    /// In this queue, matched without case.
    In(String),
    /// In no queue; it is rejected.
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

    /// Returns the expectations for each subject, with rights on queues before placements.
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
