//! Identifies the submitters of requests, in a scheduler with a history.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Oracle, Subject};

/// Requests to one scheduler, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IdentityQuestion {
    /// The resolver as in `usergroupresolver.type`: `test` or `os`; any other value means no resolver.
    pub resolver: String,
    /// The requests.
    pub claims: Vec<ClaimQuestion>,
}

/// One request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClaimQuestion {
    /// The subject that the request states.
    #[serde(flatten)]
    pub subject: Subject,
    /// True when the scheduler must accept it.
    pub force: bool,
}

/// The submitter of a request. After an error, the other fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityAnswer {
    /// The user.
    pub user: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Why there is no submitter.
    pub error: String,
}

impl Oracle {
    /// Resolves identities: returns one list of answers for each list of requests.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn identity(&self, questions: &[IdentityQuestion]) -> Result<Vec<Vec<IdentityAnswer>>> {
        self.ask("identity", questions)
    }
}
