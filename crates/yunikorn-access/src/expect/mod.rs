//! What access is meant to be, checked against what it is.
//!
//! Expectations grant nothing. They are questions with their answers: who may do what on which queues, who may not, and where applications
//! run. So a change that takes away what somebody relies on, or opens what is to stay closed, is seen before it does so.
//!
//! Judged is by the configuration alone. Queues that placement rules have made at run time are not among it; they have no ACLs of their own, so a right on
//! them is that of the nearest configured queue above.
//!
//! * [`mod@run`]: the checks, each with what came of it.
//! * [`reason`]: why one is not as expected.
//! * [`words`]: checks for people.

pub mod reason;
pub mod run;
#[cfg(test)]
mod tests;
pub mod words;

pub use reason::Reason;
pub use run::{Check, Question, Tally, Verdict, World, run};

use super::placement::Workload;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Most checks of one set of expectations. At this number an answer takes about as long as reading the configuration.
pub const MAX_CHECKS: usize = 10_000;

/// Everything that is expected of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The partition, matched without case.
    pub partition: String,
    /// What is expected.
    pub cases: Vec<Case>,
}

/// What is expected of some subjects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// For people; may be empty.
    pub name: String,
    /// Who. Without groups, they are resolved.
    pub subjects: Vec<Identity>,
    /// What they may do.
    pub allow: Queues,
    /// What they may not do.
    pub deny: Queues,
    /// Where their applications run.
    pub placements: Vec<Placing>,
    /// Whether queues are meant that the configuration does not have.
    pub dynamic: bool,
}

/// Queues by right, by full path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queues {
    /// To submit to.
    pub submit: Vec<String>,
    /// To administer.
    pub administer: Vec<String>,
}

/// A workload, and what is to become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placing {
    /// The pod and its namespace.
    pub workload: Workload,
    /// Where it is to run.
    pub expected: Place,
}

/// Where an application is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In this queue, matched without case.
    In(String),
    /// Nowhere: it is rejected.
    Nowhere,
}

impl Expectations {
    /// How many checks they make.
    pub fn size(&self) -> usize {
        self.cases.iter().fold(0, |sum, case| sum.saturating_add(case.size()))
    }
}

impl Case {
    /// How many checks it makes.
    pub fn size(&self) -> usize {
        let rights = self.rights().count();
        self.subjects.len().saturating_mul(rights.saturating_add(self.placements.len()))
    }

    /// Each right on each queue, and whether it is to be allowed.
    pub fn rights(&self) -> impl Iterator<Item = (Right, &str, bool)> {
        [(&self.allow, true), (&self.deny, false)].into_iter().flat_map(|(queues, allowed)| {
            let submit = queues.submit.iter().map(move |queue| (Right::Submit, queue.as_str(), allowed));
            let administer =
                queues.administer.iter().map(move |queue| (Right::Admin, queue.as_str(), allowed));
            submit.chain(administer)
        })
    }
}
