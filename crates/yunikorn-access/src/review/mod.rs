//! Answers access questions in the form of Kubernetes: a `SubjectAccessReview`, and the answer of an
//! authorizer.
//!
//! * [`request`]: finds our question in a review, in all the spellings that `kubectl auth can-i` sends.
//! * [`answer`](mod@answer): the answer of the evaluator.
//! * [`brief`]: the short answer for users who may not read the queue.
//! * [`permission`]: decides who may ask about whose access.
//!
//! | resource | verbs | answered by |
//! |---|---|---|
//! | `queues` | `submit`, `use` (the same, known to kubectl), `administer` | [`check`](super::check) |
//! | `applications` | `view`, `modify`, `kill`, `logs`, `move` | [`application`](super::application) |
//!
//! An answer is one of three, as in the authorization webhook protocol:
//! * **allow**: the ACLs grant it.
//! * **deny**: `YuniKorn` would refuse it, whatever else is configured. An authorizer that only had no
//!   opinion would leave the decision to a rule with `verbs: ["*"]`, and Kubernetes would then allow what the
//!   scheduler refuses.
//! * **no opinion**: the question is not ours (another resource, `get queues.queuewarden.dev`), or cannot be
//!   decided now. The reason is then also reported as an evaluation error.

pub mod answer;
pub mod brief;
pub mod permission;
pub mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Application, Lookup, Opinion, answer, path_of};
pub use brief::RequestedAction;
use go_compat::go_json::nullable;
pub use permission::{administers, is_self};
pub use request::{Request, read};
use serde::Deserialize;
use yunikorn::identity::Identity;

/// The API group of the questions.
pub const GROUP: &str = "queuewarden.dev";
/// The API group of the served resources. Questions may name it, too.
pub const ACCESS_GROUP: &str = "access.queuewarden.dev";

/// The content of a `SubjectAccessReview` (`spec`, `authorization.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The user, as the API server has authenticated them, with their groups, `system:authenticated` among
    /// them. Without any groups `YuniKorn` would resolve them. No rule uses the UID and extra values.
    pub identity: Identity,
    /// The resource in question, if it is one.
    pub resource: Option<ResourceAttributes>,
    /// The path in question, if it is one.
    pub path: Option<PathAttributes>,
}

/// `spec.resourceAttributes`. Everything but the verb may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceAttributes {
    /// The namespace. Queues have none, and for them this is ignored, because `can-i` sends the current one.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// The verb in question.
    #[serde(deserialize_with = "nullable")]
    pub verb: String,
    /// The API group.
    #[serde(deserialize_with = "nullable")]
    pub group: String,
    /// The API version; every one is the same here.
    #[serde(deserialize_with = "nullable")]
    pub version: String,
    /// The resource in the plural, or the typed word where the API server serves no such resource.
    #[serde(deserialize_with = "nullable")]
    pub resource: String,
    /// The part of the resource.
    #[serde(deserialize_with = "nullable")]
    pub subresource: String,
    /// The name of the object; empty for all.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// `spec.nonResourceAttributes`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PathAttributes {
    /// The path of the request.
    #[serde(deserialize_with = "nullable")]
    pub path: String,
    /// The verb in question.
    #[serde(deserialize_with = "nullable")]
    pub verb: String,
}
