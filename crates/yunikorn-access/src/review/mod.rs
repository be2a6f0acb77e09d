//! Access questions as Kubernetes asks them: a `SubjectAccessReview`, and the answer of an authorizer.
//!
//! * [`question`]: which of our questions a review asks, in all the spellings that `kubectl auth can-i` sends.
//! * [`answer`]: what the evaluator says to it.
//! * [`brief`]: what is left of it for those who may not read the queue.
//! * [`curious`]: who may ask about whom.
//!
//! | resource | verbs | answered by |
//! |---|---|---|
//! | `queues` | `submit`, `use` (the same, and a verb that kubectl knows), `administer` | [`check`](super::check) |
//! | `applications` | `view`, `modify`, `kill`, `logs`, `move` | [`application`](super::application) |
//!
//! An answer is one of three, as in the authorization webhook protocol:
//! * **allow**: the ACLs grant it.
//! * **deny**: `YuniKorn` would refuse it, whatever else is configured. An authorizer that only had no opinion would leave the last word
//!   to a rule with `verbs: ["*"]`, and Kubernetes would then say yes to what the scheduler refuses.
//! * **no opinion**: the question is not ours (another resource, `get queues.queuewarden.dev`), or cannot be decided now. What keeps
//!   it from being decided is also told as an evaluation error.

pub mod answer;
pub mod brief;
pub mod curious;
pub mod question;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use answer::{Answer, Application, Applications, Found, NoApplications, Opinion, World, answer, path_of};
pub use brief::Wish;
pub use curious::{administers, is_self};
pub use question::{NotAsked, Question, read};

/// The API group of the questions.
pub const GROUP: &str = "queuewarden.dev";
/// The API group of the served resources, which are asked about by the same names.
pub const ACCESS_GROUP: &str = "access.queuewarden.dev";

/// What a `SubjectAccessReview` says (`spec`, `authorization.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The user, as the API server has authenticated them.
    pub user: String,
    /// Their groups, `system:authenticated` among them. None means that `YuniKorn` would resolve them.
    pub groups: Vec<String>,
    /// Their UID; no rule looks at it.
    pub uid: String,
    /// What the authenticator added; no rule looks at it.
    pub extra: BTreeMap<String, Vec<String>>,
    /// What is asked about, if it is a resource.
    pub resource: Option<ResourceAttributes>,
    /// What is asked about, if it is a path.
    pub path: Option<PathAttributes>,
}

/// `spec.resourceAttributes`. Everything but the verb may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// Queues have none, and what is written here about one is not looked at: `can-i` sends the current one.
    pub namespace: String,
    /// What to do.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The API version; every one is the same here.
    pub version: String,
    /// The resource in the plural, or what somebody has typed where the API server serves no such resource.
    pub resource: String,
    /// The part of the resource.
    pub subresource: String,
    /// Which one; empty for all.
    pub name: String,
}

/// `spec.nonResourceAttributes`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathAttributes {
    /// The path of the request.
    pub path: String,
    /// What to do.
    pub verb: String,
}
