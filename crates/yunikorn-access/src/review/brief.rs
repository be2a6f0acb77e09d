//! Answers to somebody about themselves who may not read the queue.
//!
//! It depends on the question, on who asks, and on the entry that names them. Nothing else of the configuration is in it, and what does not
//! exist is answered like what is denied, so names cannot be tried out.

use super::answer::{Answer, Opinion};
use super::question::Question;
use go_compat::diag::quoted;
use yunikorn::right::Right;

/// The answer while nobody knows what the ACLs say.
pub const UNKNOWN: &str =
    "the ACLs are not known now: ask again later, or ask an administrator of the cluster";

/// Something that somebody wants to do, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// As it stands behind "may".
    pub act: String,
    /// The kind of what it is done to, and may not be there; `None` where it is no single thing.
    pub to: Option<&'static str>,
}

impl Wish {
    /// A right in a queue.
    pub fn in_queue(right: Right, queue: &str) -> Self {
        Self { act: format!("{} {}", act(right), quoted(queue)), to: Some("queue") }
    }

    /// Something with a pod.
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

impl From<Question<'_>> for Wish {
    fn from(question: Question<'_>) -> Self {
        match question {
            Question::Queue { right, queue } => Self::in_queue(right, queue),
            Question::AllQueues { right } => Self { act: format!("{} all queues", act(right)), to: None },
            Question::Application { verb, id, .. } => {
                let act = format!("{} application {}", verb.as_str(), quoted(id));
                Self { act, to: Some("application") }
            }
        }
    }
}

fn act(right: Right) -> &'static str {
    match right {
        Right::Submit => "submit to",
        Right::Admin => "administer",
    }
}

impl Answer {
    /// Reduces the answer to what `user` may know about themselves who may not read the queue. An answer that the name alone decides stays.
    #[must_use]
    pub fn brief(self, wish: &Wish, user: &str) -> Self {
        match (self.clause, self.opinion) {
            ("identity", _) => self,
            ("configuration", _) => Self::undecided(self.clause, UNKNOWN),
            (clause, Opinion::Allow) => {
                let who = self.entry.map_or_else(|| format!("user {user}"), |entry| entry.to_string());
                Self::allow(clause, &wish.granted(&who))
            }
            (clause, Opinion::Deny) if wish.to == Some("queue") => Self::deny(clause, &wish.denied(user)),
            // Of other things a no, a doubt and one that there is not look alike.
            (clause, _) => Self::no_opinion(clause, &wish.denied(user)),
        }
    }
}
