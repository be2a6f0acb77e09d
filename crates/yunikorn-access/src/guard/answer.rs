//! What the guard answers.

use super::Mode;
use crate::review::answer::visible;
use yunikorn::admission::AccessList;

/// What becomes of a request; of several places the last one in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It makes no pods.
    NotAsked,
    /// In whose name its pods run is not touched.
    Unchanged,
    /// What it says stands.
    Kept,
    /// What it does not say is added.
    Added,
    /// It is refused.
    Refused,
}

impl Verdict {
    /// One word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Unchanged => "unchanged",
            Self::Kept => "kept",
            Self::Added => "added",
            Self::Refused => "refused",
        }
    }
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// No pods are made.
    NoPods,
    /// What nobody changes stays.
    Unchanged,
    /// A `ReplicaSet` of a Deployment's controller is left as it is.
    ReplicaSet,
    /// It is the requester's own name.
    Own,
    /// It is the name that the pod runs in which makes this one.
    OwnPod,
    /// `bypassAuth` lets everybody.
    BypassAuth,
    /// This list lets the requester.
    Allowed(AccessList),
    /// It is missing: it is added, or at the end refused.
    Missing,
    /// It names somebody else.
    NotAllowed,
    /// It names a running application of others.
    Application,
    /// It was set before.
    Immutable,
    /// It cannot be read, or not by everybody alike.
    Form,
    /// It is missing, and the requester has no name.
    Nobody,
    /// What a list holds is not known.
    Configuration,
    /// The request cannot be read.
    Unreadable,
    /// `YuniKorn`'s admission controller decides, by whose profile.
    YuniKorn,
}

impl Rule {
    /// One word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoPods => "no_pods",
            Self::Unchanged => "unchanged",
            Self::ReplicaSet => "replica_set",
            Self::Own => "own",
            Self::OwnPod => "own_pod",
            Self::BypassAuth => "bypass_auth",
            Self::Allowed(AccessList::SystemUsers) => "system_users",
            Self::Allowed(AccessList::ExternalUsers) => "external_users",
            Self::Allowed(AccessList::ExternalGroups) => "external_groups",
            Self::Missing => "missing",
            Self::NotAllowed => "not_allowed",
            Self::Application => "application",
            Self::Immutable => "immutable",
            Self::Form => "form",
            Self::Nobody => "nobody",
            Self::Configuration => "configuration",
            Self::Unreadable => "unreadable",
            Self::YuniKorn => "yunikorn",
        }
    }
}

/// A text for a place that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// Which of the places.
    pub site: usize,
    /// The annotation's value.
    pub text: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of the request.
    pub verdict: Verdict,
    /// What decided that.
    pub rule: Rule,
    /// Why it is refused, in one bounded line that can be seen; else empty.
    pub reason: String,
    /// In whose name its pods run, or who was refused; may be empty.
    pub user: String,
    /// What is added. Empty where it is refused.
    pub additions: Vec<Addition>,
    /// What the user should know; bounded, and empty where it is refused.
    pub warnings: Vec<String>,
}

impl Judgement {
    pub(super) fn new(verdict: Verdict, rule: Rule) -> Self {
        Self {
            verdict,
            rule,
            reason: String::new(),
            user: String::new(),
            additions: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn refused(rule: Rule, reason: &str, user: &str) -> Self {
        Self { reason: visible(reason), user: visible(user), ..Self::new(Verdict::Refused, rule) }
    }

    /// The answer to a request that cannot be read, and so is refused.
    pub fn unreadable(why: &str, user: &str) -> Self {
        Self::refused(Rule::Unreadable, why, user)
    }

    /// What `YuniKorn`'s admission controller answers: with a message where it refuses, and whether it changes anything where not.
    pub fn of_yunikorn(refusal: Option<&str>, patched: bool, user: &str) -> Self {
        if let Some(message) = refusal {
            return Self::refused(Rule::YuniKorn, message, user);
        }
        let verdict = if patched { Verdict::Added } else { Verdict::Unchanged };
        Self { user: visible(user), ..Self::new(verdict, Rule::YuniKorn) }
    }

    /// Joins what becomes of one more place.
    pub(super) fn note(&mut self, verdict: Verdict, rule: Rule) {
        if verdict > self.verdict {
            (self.verdict, self.rule) = (verdict, rule);
        }
    }

    /// Why the request is refused in this mode; `None` lets it pass.
    pub fn refusal(&self, mode: Mode) -> Option<&str> {
        (mode == Mode::Enforce && self.verdict == Verdict::Refused).then_some(self.reason.as_str())
    }
}
