//! A request about access, its spellings in a review, and the answer to it in full or in short.
//!
//! `kubectl auth can-i submit queues.queuewarden.dev/root.prod` sends the group `queuewarden.dev` and the
//! resource `queues` when the API server serves that resource. When it does not, the group is empty and the
//! resource is what was typed, in its case; the version may then stand between the two
//! (`queues.v1alpha1.queuewarden.dev`), and the resource may be in the singular. `/yunikorn/queues/root.prod`
//! asks the same by path.
//!
//! The short answer is for users who ask about themselves and may not read the queue. It depends on the
//! request, on the user, and on the entry that names the user. It contains nothing else of the configuration,
//! and a missing object gets the same answer as a denial, so that names cannot be tried out.

use serde::Deserialize;

use crate::application::Verb;
use crate::decide::visible;
use crate::subject::Subject;
use go_compat::diag::quoted;
use go_compat::go_json::nullable;
use yunikorn::identity::Identity;
use yunikorn::queue::nearest;
use yunikorn::right::Right;

/// The API group of the questions.
pub const GROUP: &str = "queuewarden.dev";
/// The API group of the served resources. Questions may name it, too.
pub const ACCESS_GROUP: &str = "access.queuewarden.dev";
/// The prefix of queues among the paths.
const QUEUES_PATH: &str = "/yunikorn/queues";

/// The verbs of queues, and the right that each means.
pub const QUEUE_VERBS: [(&str, Right); 3] =
    [("submit", Right::Submit), ("use", Right::Submit), ("administer", Right::Admin)];

/// A request about access: who wants to do what. Every endpoint and the evaluator share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// The partition of the queue.
    pub partition: &'a str,
    /// The user whom the request is about, with all groups, `system:authenticated` among them. `YuniKorn`
    /// resolves the groups of a user without any.
    pub user: &'a Identity,
    /// The action in question.
    pub action: AccessAction<'a>,
}

impl AccessRequest<'_> {
    /// Returns whether a caller asks about themselves. With an added group the question is what a member of
    /// it could do. If no groups are named, `YuniKorn` resolves them, and nothing is made up.
    pub fn is_about(&self, caller: &Identity) -> bool {
        caller.user == self.user.user && self.user.groups.iter().all(|group| caller.groups.contains(group))
    }
}

/// An action that queuewarden decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessAction<'a> {
    /// The use of a right in a queue.
    Queue {
        /// The right in question.
        right: Right,
        /// The path of the queue, in any case.
        queue: &'a str,
    },
    /// The use of a right in every queue, including future ones. Kubernetes reads a missing name as all.
    AllQueues {
        /// The right in question.
        right: Right,
    },
    /// An action on an application.
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
    /// An action on a pod, which is an action on its application: `get pods/log` reads the logs of one,
    /// `delete pods` ends a part of it. So an administrator of a queue may kill its applications, as in YARN.
    Pod {
        /// The action: read its logs, or end it.
        verb: Verb,
        /// The namespace of the pod.
        namespace: &'a str,
        /// The name of the pod.
        name: &'a str,
    },
}

impl<'a> AccessAction<'a> {
    /// Reads the action of a review.
    ///
    /// # Errors
    /// The answer to a question that others decide. Questions about pods are among them unless
    /// `answers_pods` is set.
    pub fn read(
        resource: Option<&'a ResourceAttributes>,
        path: Option<&'a PathAttributes>,
        answers_pods: bool,
    ) -> Result<Self, Answer> {
        match (resource, path) {
            (Some(resource), None) => {
                pod(resource).filter(|_| answers_pods).map_or_else(|| of_resource(resource), Ok)
            }
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

    /// Returns the verb in one word of a few.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Queue { right, .. } | Self::AllQueues { right } => right.verb(),
            Self::Application { verb, .. } | Self::Pod { verb, .. } => verb.as_str(),
        }
    }

    /// Returns the application or pod for logs; empty if the action is about queues.
    pub fn object(self) -> String {
        match self {
            Self::Queue { .. } | Self::AllQueues { .. } => String::new(),
            Self::Application { namespace: "", id, .. } => format!("application {id}"),
            Self::Application { namespace, id, .. } => format!("application {namespace}/{id}"),
            Self::Pod { namespace, name, .. } => format!("pod {namespace}/{name}"),
        }
    }

    /// Returns the kind of the object, which may not exist; `None` if it is not a single object.
    pub(super) fn kind(self) -> Option<&'static str> {
        match self {
            Self::Queue { .. } => Some("queue"),
            Self::AllQueues { .. } => None,
            Self::Application { .. } => Some("application"),
            Self::Pod { .. } => Some("pod"),
        }
    }

    /// Returns the sentence of a yes. `who` is the entry that grants it: `user sue`.
    pub fn granted(self, who: &str) -> String {
        format!("{who} may {}", self.words())
    }

    /// Returns the sentence of a no.
    pub fn denied(self, user: &str) -> String {
        let absent = self.kind().map(|kind| format!(", or there is no such {kind}")).unwrap_or_default();
        format!("nothing lets user {user} {}{absent}: ask an administrator of the cluster", self.words())
    }

    /// Returns the action as written after "may".
    fn words(self) -> String {
        match self {
            Self::Queue { right, queue } => format!("{} {}", right.act(), quoted(queue)),
            Self::AllQueues { right } => format!("{} all queues", right.act()),
            Self::Application { verb, id, .. } => format!("{} application {}", verb.as_str(), quoted(id)),
            Self::Pod { verb, namespace, name } => {
                format!("{} pod {}", verb.as_str(), quoted(&format!("{namespace}/{name}")))
            }
        }
    }
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

/// The short answer while the ACLs are not known.
const UNKNOWN: &str = "the ACLs are not known now: ask again later, or ask an administrator of the cluster";

/// The opinion of an authorizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opinion {
    /// Yes, and no other authorizer is called.
    Allow,
    /// The next authorizer may allow it; if none does, it is denied.
    NoOpinion,
    /// No, and no other authorizer is called.
    Deny,
}

/// The answer to a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The opinion of the authorizer.
    pub opinion: Opinion,
    /// The clause that decided, in one word of a few: a label of metrics.
    pub clause: &'static str,
    /// The reason, in one bounded line without invisible characters.
    pub reason: String,
    /// The error that prevents a decision. API servers drop it; direct callers see it.
    pub evaluation_error: Option<String>,
    /// The entry of an ACL that grants it; `None` for a no, and where something else grants it.
    pub entry: Option<Subject>,
}

impl Answer {
    fn new(opinion: Opinion, clause: &'static str, reason: &str) -> Self {
        Self { opinion, clause, reason: visible(reason), evaluation_error: None, entry: None }
    }

    /// An answer that allows.
    pub fn allow(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::Allow, clause, reason)
    }

    /// An answer that denies, whatever other authorizers say.
    pub fn deny(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::Deny, clause, reason)
    }

    /// An answer that leaves the decision to other authorizers.
    pub fn no_opinion(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::NoOpinion, clause, reason)
    }

    /// An answer without a decision: no opinion, and an error for direct callers.
    pub fn undecided(clause: &'static str, why: &str) -> Self {
        let answer = Self::no_opinion(clause, why);
        Self { evaluation_error: Some(answer.reason.clone()), ..answer }
    }

    /// The decision in one word, for logs and metrics.
    pub fn decision(&self) -> &'static str {
        match self.opinion {
            _ if self.evaluation_error.is_some() => "undecided",
            Opinion::Allow => "allowed",
            Opinion::NoOpinion => "no_opinion",
            Opinion::Deny => "denied",
        }
    }

    /// Reduces the answer to what users, who may not read the queue, may know about themselves. An answer
    /// that depends on the name alone stays.
    #[must_use]
    pub fn brief(self, request: &AccessRequest<'_>) -> Self {
        let (action, user) = (request.action, request.user.user.as_str());
        match (self.clause, self.opinion) {
            ("identity", _) => self,
            ("configuration", _) => Self::undecided(self.clause, UNKNOWN),
            (clause, Opinion::Allow) => {
                let who = self.entry.map_or_else(|| format!("user {user}"), |entry| entry.to_string());
                Self::allow(clause, &action.granted(&who))
            }
            (clause, Opinion::Deny) if matches!(action, AccessAction::Queue { .. }) => {
                Self::deny(clause, &action.denied(user))
            }
            // For other objects a denial, an undecided answer and a missing object look alike.
            (clause, _) => Self::no_opinion(clause, &action.denied(user)),
        }
    }

    /// `status.allowed`
    pub fn allowed(&self) -> bool {
        self.opinion == Opinion::Allow
    }

    /// `status.denied`
    pub fn denied(&self) -> bool {
        self.opinion == Opinion::Deny
    }
}

/// Reads an action on one pod: all pods of a namespace are no application.
fn pod(attributes: &ResourceAttributes) -> Option<AccessAction<'_>> {
    let ResourceAttributes { namespace, verb, group, resource, subresource, name, .. } = attributes;
    if !group.is_empty() || resource != "pods" || name.is_empty() || namespace.is_empty() {
        return None;
    }
    let verb = match (verb.as_str(), subresource.as_str()) {
        ("get", "log") => Verb::Logs,
        ("delete", "") => Verb::Kill,
        _ => return None,
    };
    Some(AccessAction::Pod { verb, namespace, name })
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

fn of_resource(attributes: &ResourceAttributes) -> Result<AccessAction<'_>, Answer> {
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
            Ok(AccessAction::Application { verb, target: subresource, namespace, id: name })
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

fn of_path(attributes: &PathAttributes) -> Result<AccessAction<'_>, Answer> {
    let elsewhere = || elsewhere(&attributes.path);
    let name = match attributes.path.strip_prefix(QUEUES_PATH).ok_or_else(elsewhere)? {
        "" => "",
        rest => rest.strip_prefix('/').ok_or_else(elsewhere)?,
    };
    Ok(in_queue(right(&attributes.verb)?, name))
}

fn in_queue(right: Right, queue: &str) -> AccessAction<'_> {
    if queue.is_empty() { AccessAction::AllQueues { right } } else { AccessAction::Queue { right, queue } }
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
