//! Answers access questions in the form of Kubernetes: a `SubjectAccessReview`, and the answer of an
//! authorizer.
//!
//! * [`request`]: a request about access, and all the spellings of it that `kubectl auth can-i` sends.
//! * [`answer`](mod@answer): the answer of the evaluator, in full or in short.
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
pub mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Application, Lookup, Opinion, answer, path_of};
pub use request::{AccessAction, AccessRequest};

use crate::decide::decide;
use crate::tree::Tree;
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// The API group of the questions.
pub const GROUP: &str = "queuewarden.dev";
/// The API group of the served resources. Questions may name it, too.
pub const ACCESS_GROUP: &str = "access.queuewarden.dev";

/// Returns whether a user administers a queue, and may so ask about the access of others, as in YARN: `GET
/// /ws/v1/cluster/queues/{queue}/access` requires `ADMINISTER_QUEUE` for questions about another user
/// (`RMWebServices`, `checkUserAccessToQueue`). A path that leads to no queue has no administrator.
pub fn administers(tree: Option<&Tree>, user: &Identity, queue: &str) -> bool {
    tree.is_some_and(|tree| decide(tree, Right::Admin, queue, user).allowed())
}
