//! The answer of the user-info policy to a request.

use super::Mode;
use crate::decide::visible;

/// The result of a request; of several sites the last one in this order counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The request makes no pods.
    #[default]
    NotApplicable,
    /// The user of its pods is not touched.
    Unchanged,
    /// The user that it names is accepted.
    Kept,
    /// A missing user is added, or the aliases of the one that it names are.
    Added,
    /// The request is refused.
    Refused,
}

impl Outcome {
    /// The outcome in one word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotApplicable => "not_applicable",
            Self::Unchanged => "unchanged",
            Self::Kept => "kept",
            Self::Added => "added",
            Self::Refused => "refused",
        }
    }
}

/// A text for a site that has none, or one whose aliases are not those of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The position of the site in the request.
    pub site: usize,
    /// The annotation's value.
    pub text: String,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// The result of the request.
    pub outcome: Outcome,
    /// The clause that decided, in one word of a few: a label of metrics.
    pub clause: &'static str,
    /// The reason why it is refused, in one bounded line without invisible characters; else empty.
    pub reason: String,
    /// The user of its pods, or the one who was refused; may be empty.
    pub user: String,
    /// The texts that are added. Empty where it is refused.
    pub additions: Vec<Addition>,
    /// The warnings for the user; bounded, and empty where it is refused.
    pub warnings: Vec<String>,
}

impl Decision {
    pub(super) fn new(outcome: Outcome, clause: &'static str) -> Self {
        Self { outcome, clause, ..Self::default() }
    }

    pub(super) fn refused(clause: &'static str, reason: &str, user: &str) -> Self {
        Self { reason: visible(reason), user: visible(user), ..Self::new(Outcome::Refused, clause) }
    }

    /// The answer to a request that cannot be read, and so is refused.
    pub fn unreadable(why: &str, user: &str) -> Self {
        Self::refused("unreadable", why, user)
    }

    /// The answer of `YuniKorn`'s admission controller: a refusal with its message, or else whether it
    /// changes anything.
    pub fn of_yunikorn(refusal: Option<&str>, patched: bool, user: &str) -> Self {
        if let Some(message) = refusal {
            return Self::refused("yunikorn", message, user);
        }
        let outcome = if patched { Outcome::Added } else { Outcome::Unchanged };
        Self { user: visible(user), ..Self::new(outcome, "yunikorn") }
    }

    /// Adds the result of one more site.
    pub(super) fn note(&mut self, outcome: Outcome, clause: &'static str) {
        if outcome > self.outcome {
            (self.outcome, self.clause) = (outcome, clause);
        }
    }

    /// The reason why the request is refused in this mode; `None` lets it pass.
    pub fn refusal(&self, mode: Mode) -> Option<&str> {
        (mode == Mode::Enforce && self.outcome == Outcome::Refused).then_some(self.reason.as_str())
    }
}
