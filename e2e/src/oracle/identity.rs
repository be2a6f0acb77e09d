//! Identifies the submitters of requests, for a scheduler with a history.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Oracle, Subject};

/// Requests to one scheduler, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IdentityQuestion {
    /// The resolver as in `usergroupresolver.type`: `test`, `os`; anything else is none.
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

/// The submitter of a request. After an error there is nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityAnswer {
    /// The user.
    pub user: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The reason why there is no submitter.
    pub error: String,
}

/// Users whose groups are looked up in a directory service.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LdapQuestion {
    /// The directory with the resolver's settings.
    pub settings: PathBuf,
    /// The users, each without groups.
    pub users: Vec<String>,
}

/// The result of a lookup, or of reading the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LdapAnswer {
    /// The groups.
    pub groups: Vec<String>,
    /// The reason for a refusal.
    pub error: String,
    /// `YuniKorn` panicked; everything else is meaningless.
    pub panic: String,
}

/// The answers of a scheduler with one set of settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum LdapAnswers {
    /// One for each user.
    Users(Vec<LdapAnswer>),
    /// The scheduler ended while it read the settings.
    Ended(LdapAnswer),
}

impl Oracle {
    /// Looks up groups in directory services.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn ldap(&self, questions: &[LdapQuestion]) -> Result<Vec<LdapAnswers>> {
        self.ask("ldap", questions)
    }

    /// Resolves identities: one list of answers for each list of requests.
    #[expect(clippy::missing_errors_doc, reason = "see `acl`")]
    pub fn identity(&self, questions: &[IdentityQuestion]) -> Result<Vec<Vec<IdentityAnswer>>> {
        self.ask("identity", questions)
    }
}
