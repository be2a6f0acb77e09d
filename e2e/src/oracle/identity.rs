//! Who a request comes from, for a scheduler with a history.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Oracle, Subject};

/// Requests that come to one scheduler, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IdentityQuestion {
    /// As in `usergroupresolver.type`: `test`, `os`; anything else is none.
    pub resolver: String,
    /// The requests.
    pub claims: Vec<ClaimQuestion>,
}

/// One request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClaimQuestion {
    /// Who it says it is.
    #[serde(flatten)]
    pub subject: Subject,
    /// Whether it must be taken.
    pub force: bool,
}

/// Who a request comes from. After an error there is nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityAnswer {
    /// The user.
    pub user: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Why it comes from nobody.
    pub error: String,
}

impl Oracle {
    /// Identities, one list of answers for each list of requests.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn identity(&self, questions: &[IdentityQuestion]) -> Result<Vec<Vec<IdentityAnswer>>> {
        self.ask("identity", questions)
    }
}
