//! Finds our question in a review.
//!
//! `kubectl auth can-i submit queues.queuewarden.dev/root.prod` sends the group `queuewarden.dev` and the
//! resource `queues` when the API server serves that resource. When it does not, the group is empty and the
//! resource is what was typed, in its case; the version may then stand between the two
//! (`queues.v1alpha1.queuewarden.dev`), and the resource may be in the singular. `/yunikorn/queues/root.prod`
//! asks the same by path.

use super::{ACCESS_GROUP, Answer, GROUP, PathAttributes, ResourceAttributes, Review};
use crate::application::Verb;
use go_compat::diag::quoted;
use yunikorn::queue::nearest;
use yunikorn::right::Right;

/// The prefix of queues among the paths.
const QUEUES_PATH: &str = "/yunikorn/queues";

/// The verbs of queues, and the right that each means.
pub const QUEUE_VERBS: [(&str, Right); 3] =
    [("submit", Right::Submit), ("use", Right::Submit), ("administer", Right::Admin)];

/// A question that queuewarden answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// May the user do this in a queue?
    Queue {
        /// The right in question.
        right: Right,
        /// The path of the queue, in any case.
        queue: &'a str,
    },
    /// May the user do this in every queue, including those that do not exist yet? Kubernetes reads a missing
    /// name as all.
    AllQueues {
        /// The right in question.
        right: Right,
    },
    /// May the user do this with an application?
    Application {
        /// The action in question.
        verb: Verb,
        /// The queue to move it to; empty for other verbs.
        target: &'a str,
        /// The namespace of its pods; empty when the question does not name it.
        namespace: &'a str,
        /// Its ID.
        id: &'a str,
    },
}

impl Request<'_> {
    /// The verb in one word of a few.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Queue { right, .. } | Self::AllQueues { right } => right.verb(),
            Self::Application { verb, .. } => verb.as_str(),
        }
    }
}

/// Reads the question of a review.
///
/// # Errors
/// The answer where the question is for others.
pub fn read(review: &Review) -> Result<Request<'_>, Answer> {
    match (&review.resource, &review.path) {
        (Some(resource), None) => of_resource(resource),
        (None, Some(path)) => of_path(path),
        (None, None) => Err(Answer::undecided(
            "malformed",
            "neither resourceAttributes nor nonResourceAttributes say what is asked",
        )),
        (Some(_), Some(_)) => Err(Answer::undecided(
            "malformed",
            "resourceAttributes and nonResourceAttributes are both given, and only one of them can be asked \
             about",
        )),
    }
}

/// The answer to a question about another resource or path: others decide.
fn elsewhere(what: &str) -> Answer {
    let why = format!("queuewarden answers for queues and applications of {GROUP}, not for {}", quoted(what));
    Answer::no_opinion("elsewhere", &why)
}

/// The answer about a subresource: queues have none, and applications have one for a move only.
fn no_subresource(name: &str) -> Answer {
    let why = format!("there is no subresource {} to be asked about", quoted(name));
    Answer::no_opinion("subresource", &why)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Queues,
    Applications,
}

fn of_resource(attributes: &ResourceAttributes) -> Result<Request<'_>, Answer> {
    let ResourceAttributes { namespace, verb, group, subresource, name, .. } = attributes;
    match resource(group, &attributes.resource) {
        None => {
            let resource = &attributes.resource;
            let shown = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
            Err(elsewhere(&shown))
        }
        Some(Resource::Queues) => {
            let right = right(verb)?;
            if !subresource.is_empty() {
                return Err(no_subresource(subresource));
            }
            Ok(in_queue(right, name))
        }
        Some(Resource::Applications) => {
            let verb = application_verb(verb, subresource)?;
            if name.is_empty() {
                // Nobody may act on all applications at once, because each has its own owner.
                return Err(Answer::no_opinion(
                    "no_application",
                    "the question names no application; write its ID behind the resource: \
                     applications.queuewarden.dev/ID",
                ));
            }
            Ok(Request::Application { verb, target: subresource, namespace, id: name })
        }
    }
}

/// The resource that a review is about: as the API server knows it, or as typed where it knows none.
fn resource(group: &str, resource: &str) -> Option<Resource> {
    let typed = resource.to_ascii_lowercase();
    let (name, group) = if group.is_empty() {
        let (name, rest) = typed.split_once('.')?;
        let without_version = rest.split_once('.').filter(|(version, _)| is_version(version));
        (name, without_version.map_or(rest, |(_, group)| group))
    } else {
        (resource, group)
    };
    let is_typed = resource != name;
    match (name, is_typed) {
        _ if group != GROUP && group != ACCESS_GROUP => None,
        ("queues", _) | ("queue", true) => Some(Resource::Queues),
        ("applications", _) | ("application", true) => Some(Resource::Applications),
        _ => None,
    }
}

/// `v1`, `v1alpha1`
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn of_path(attributes: &PathAttributes) -> Result<Request<'_>, Answer> {
    let elsewhere = || elsewhere(&attributes.path);
    let name = match attributes.path.strip_prefix(QUEUES_PATH).ok_or_else(elsewhere)? {
        "" => "",
        rest => rest.strip_prefix('/').ok_or_else(elsewhere)?,
    };
    Ok(in_queue(right(&attributes.verb)?, name))
}

fn in_queue(right: Right, queue: &str) -> Request<'_> {
    if queue.is_empty() { Request::AllQueues { right } } else { Request::Queue { right, queue } }
}

fn right(verb: &str) -> Result<Right, Answer> {
    let found = QUEUE_VERBS.iter().find(|(name, _)| *name == verb).map(|(_, right)| *right);
    found.ok_or_else(|| {
        other_verb("queues", "submit, use and administer", QUEUE_VERBS.iter().map(|(name, _)| *name), verb)
    })
}

fn application_verb(verb: &str, subresource: &str) -> Result<Verb, Answer> {
    match Verb::ALL.into_iter().find(|known| known.as_str() == verb) {
        None => {
            let ours = "view, modify, kill, logs and move";
            Err(other_verb("applications", ours, Verb::ALL.into_iter().map(Verb::as_str), verb))
        }
        Some(Verb::Move) if subresource.is_empty() => Err(Answer::no_opinion(
            "no_target",
            "the question does not say where to move the application; write the queue as the subresource: \
             --subresource=root.prod",
        )),
        Some(found) if found == Verb::Move || subresource.is_empty() => Ok(found),
        Some(_) => Err(no_subresource(subresource)),
    }
}

/// The answer about a verb of others: RBAC decides about reading and writing objects. The verbs of Kubernetes
/// are near to some of these, but mean something else.
fn other_verb(resource: &str, ours: &str, verbs: impl Iterator<Item = &'static str>, verb: &str) -> Answer {
    const KUBERNETES: [&str; 9] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"];
    let near = if KUBERNETES.contains(&verb) { None } else { nearest(verbs, verb) };
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let why = format!("queuewarden answers {ours} for {resource}, not {}{hint}", quoted(verb));
    Answer::no_opinion("verb", &why)
}
