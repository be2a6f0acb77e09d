//! Shortens answers for users who ask about themselves and may not read the queue.
//!
//! The short answer depends on the question, on the user, and on the entry that names the user. It contains
//! nothing else of the configuration, and a missing object gets the same answer as a denial, so that names
//! cannot be tried out.

use super::answer::{Answer, Opinion};
use super::request::Request;
use go_compat::diag::quoted;
use yunikorn::right::Right;

/// The answer while the ACLs are not known.
pub const UNKNOWN: &str =
    "the ACLs are not known now: ask again later, or ask an administrator of the cluster";

/// An action that a user wants to take, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedAction {
    /// The action as written after "may".
    pub act: String,
    /// The kind of its object, which may not exist; `None` where it is not a single object.
    pub to: Option<&'static str>,
}

impl RequestedAction {
    /// The use of a right in a queue.
    pub fn in_queue(right: Right, queue: &str) -> Self {
        Self { act: format!("{} {}", right.act(), quoted(queue)), to: Some("queue") }
    }

    /// An action on a pod.
    pub fn with_pod(verb: &str, namespace: &str, name: &str) -> Self {
        Self { act: format!("{verb} pod {}", quoted(&format!("{namespace}/{name}"))), to: Some("pod") }
    }

    /// The sentence of a yes. `who` is the entry that grants it: `user sue`.
    pub fn granted(&self, who: &str) -> String {
        format!("{who} may {}", self.act)
    }

    /// The sentence of a no.
    pub fn denied(&self, user: &str) -> String {
        let absent = self.to.map(|kind| format!(", or there is no such {kind}")).unwrap_or_default();
        format!("nothing lets user {user} {}{absent}: ask an administrator of the cluster", self.act)
    }
}

impl From<Request<'_>> for RequestedAction {
    fn from(question: Request<'_>) -> Self {
        match question {
            Request::Queue { right, queue } => Self::in_queue(right, queue),
            Request::AllQueues { right } => Self { act: format!("{} all queues", right.act()), to: None },
            Request::Application { verb, id, .. } => {
                let act = format!("{} application {}", verb.as_str(), quoted(id));
                Self { act, to: Some("application") }
            }
        }
    }
}

impl Answer {
    /// Reduces the answer to what `user`, who may not read the queue, may know about themselves. An answer
    /// that depends on the name alone stays.
    #[must_use]
    pub fn brief(self, action: &RequestedAction, user: &str) -> Self {
        match (self.clause, self.opinion) {
            ("identity", _) => self,
            ("configuration", _) => Self::undecided(self.clause, UNKNOWN),
            (clause, Opinion::Allow) => {
                let who = self.entry.map_or_else(|| format!("user {user}"), |entry| entry.to_string());
                Self::allow(clause, &action.granted(&who))
            }
            (clause, Opinion::Deny) if action.to == Some("queue") => Self::deny(clause, &action.denied(user)),
            // For other objects a denial, an undecided answer and a missing object look alike.
            (clause, _) => Self::no_opinion(clause, &action.denied(user)),
        }
    }
}
