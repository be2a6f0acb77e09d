//! The answer of the user-info policy to a request.

use super::Mode;
use crate::review::answer::visible;

/// The result of a request; of several sites the last one in this order counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The request makes no pods.
    #[default]
    NotAsked,
    /// The user of its pods is not touched.
    Unchanged,
    /// The user that it names is accepted.
    Kept,
    /// A missing user is added.
    Added,
    /// The request is refused.
    Refused,
}

impl Outcome {
    /// The verdict in one word, for logs and metrics.
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

/// The rule that decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// No pods are made.
    #[default]
    NoPods,
    /// An unchanged annotation stays as it is.
    Unchanged,
    /// A `ReplicaSet` of a Deployment's controller is left as it is.
    ReplicaSet,
    /// The annotation names the requester.
    Own,
    /// The annotation names the user of the pod that makes this one.
    OwnPod,
    /// `bypassAuth` allows everybody.
    BypassAuth,
    /// `systemUsers` allows the requester.
    SystemUsers,
    /// `externalUsers` allows the requester.
    ExternalUsers,
    /// `externalGroups` allows the requester.
    ExternalGroups,
    /// The annotation is missing: it is added, or at the end refused.
    Missing,
    /// The annotation names somebody else.
    NotAllowed,
    /// The pod names a running application of others.
    Application,
    /// The annotation was set before, and must not change.
    Immutable,
    /// The annotation cannot be read, or is read differently by different readers.
    Form,
    /// The annotation is missing, and the requester has no name.
    Nobody,
    /// The content of a list is not known.
    Configuration,
    /// The request cannot be read.
    Unreadable,
    /// `YuniKorn`'s admission controller decides, in the profile of its name.
    YuniKorn,
}

impl Rule {
    /// The rule in one word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoPods => "no_pods",
            Self::Unchanged => "unchanged",
            Self::ReplicaSet => "replica_set",
            Self::Own => "own",
            Self::OwnPod => "own_pod",
            Self::BypassAuth => "bypass_auth",
            Self::SystemUsers => "system_users",
            Self::ExternalUsers => "external_users",
            Self::ExternalGroups => "external_groups",
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

/// A text for a site that has none.
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
    pub verdict: Outcome,
    /// The rule that decided it.
    pub rule: Rule,
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
    pub(super) fn new(verdict: Outcome, rule: Rule) -> Self {
        Self { verdict, rule, ..Self::default() }
    }

    pub(super) fn refused(rule: Rule, reason: &str, user: &str) -> Self {
        Self { reason: visible(reason), user: visible(user), ..Self::new(Outcome::Refused, rule) }
    }

    /// The answer to a request that cannot be read, and so is refused.
    pub fn unreadable(why: &str, user: &str) -> Self {
        Self::refused(Rule::Unreadable, why, user)
    }

    /// The answer of `YuniKorn`'s admission controller: a refusal with its message, or else whether it
    /// changes anything.
    pub fn of_yunikorn(refusal: Option<&str>, patched: bool, user: &str) -> Self {
        if let Some(message) = refusal {
            return Self::refused(Rule::YuniKorn, message, user);
        }
        let verdict = if patched { Outcome::Added } else { Outcome::Unchanged };
        Self { user: visible(user), ..Self::new(verdict, Rule::YuniKorn) }
    }

    /// Adds the result of one more site.
    pub(super) fn note(&mut self, verdict: Outcome, rule: Rule) {
        if verdict > self.verdict {
            (self.verdict, self.rule) = (verdict, rule);
        }
    }

    /// The reason why the request is refused in this mode; `None` lets it pass.
    pub fn refusal(&self, mode: Mode) -> Option<&str> {
        (mode == Mode::Enforce && self.verdict == Outcome::Refused).then_some(self.reason.as_str())
    }
}
