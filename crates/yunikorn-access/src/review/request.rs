//! A request about access, its spellings in a review, and the full and the short answer.
//!
//! `kubectl auth can-i submit queues.queuewarden.dev/root.prod` sends the group `queuewarden.dev` and the
//! resource `queues` if the API server serves that resource. If not, the group is empty, and the resource is
//! exactly the text that the user typed. It may then contain a version (`queues.v1alpha1.queuewarden.dev`)
//! and be in the singular. `/yunikorn/queues/root.prod` asks the same with a path.
//!
//! The short answer is for users who ask about themselves but may not read the queue. It depends only on the
//! request, the user, and the entry that names the user, and reveals nothing else about the configuration. A
//! missing object gets the same answer as a denial, so that users cannot probe for names.

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
/// The API group of the served resources, which requests may also use.
pub const ACCESS_GROUP: &str = "access.queuewarden.dev";
/// The prefix of queues among the paths.
const QUEUES_PATH: &str = "/yunikorn/queues";

/// The verbs for queues, and the right for each.
pub const QUEUE_VERBS: [(&str, Right); 3] =
    [("submit", Right::Submit), ("use", Right::Submit), ("administer", Right::Admin)];

/// A request about access: who wants to do what. All endpoints and the evaluator share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// The partition of the queue.
    pub partition: &'a str,
    /// The user in question, with all groups, such as `system:authenticated`. `YuniKorn` resolves the groups
    /// if there are none.
    pub user: &'a Identity,
    /// The action in question.
    pub action: AccessAction<'a>,
}

impl AccessRequest<'_> {
    /// Returns whether callers ask about themselves. With an added group, the question is what a member of it
    /// could do. If no groups are given, `YuniKorn` resolves them, so nothing is made up.
    pub fn is_about(&self, caller: &Identity) -> bool {
        caller.user == self.user.user && self.user.groups.iter().all(|group| caller.groups.contains(group))
    }
}

/// An action that queuewarden decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessAction<'a> {
    /// Use of a right on a queue.
    Queue {
        /// The right in question.
        right: Right,
        /// The path of the queue, in any case.
        queue: &'a str,
    },
    /// Use of a right on every queue, including future ones. In Kubernetes, a missing name means all objects.
    AllQueues {
        /// The right in question.
        right: Right,
    },
    /// An action on an application.
    Application {
        /// The action in question.
        verb: Verb,
        /// The target queue of a move; empty for other verbs.
        target: &'a str,
        /// The namespace of its pods; may be empty.
        namespace: &'a str,
        /// The ID of the application.
        id: &'a str,
    },
    /// An action on a pod, which is an action on its application: `get pods/log` reads the application's
    /// logs, `delete pods` ends a part of it. Therefore an administrator of a queue may kill its
    /// applications, as in YARN.
    Pod {
        /// The action: reading logs, or ending the pod.
        verb: Verb,
        /// The namespace of the pod.
        namespace: &'a str,
        /// The name of the pod.
        name: &'a str,
    },
}

impl<'a> AccessAction<'a> {
    /// Returns the action of a review.
    ///
    /// # Errors
    /// The answer to a question that queuewarden does not decide. This includes questions about pods unless
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
                "the review has no resourceAttributes and no nonResourceAttributes",
            )),
            (Some(_), Some(_)) => Err(Answer::undecided(
                "malformed",
                "the review has both resourceAttributes and nonResourceAttributes, but only one of them is allowed",
            )),
        }
    }

    /// Returns the verb as a label.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Queue { right, .. } | Self::AllQueues { right } => right.verb(),
            Self::Application { verb, .. } | Self::Pod { verb, .. } => verb.as_str(),
        }
    }

    /// Returns the application or pod for logs, or an empty text if the action concerns queues.
    pub fn object(self) -> String {
        match self {
            Self::Queue { .. } | Self::AllQueues { .. } => String::new(),
            Self::Application { namespace: "", id, .. } => format!("application {id}"),
            Self::Application { namespace, id, .. } => format!("application {namespace}/{id}"),
            Self::Pod { namespace, name, .. } => format!("pod {namespace}/{name}"),
        }
    }

    /// Returns the kind of the object, which might not exist, or `None` if the action does not concern a
    /// single object.
    pub(super) fn kind(self) -> Option<&'static str> {
        match self {
            Self::Queue { .. } => Some("queue"),
            Self::AllQueues { .. } => None,
            Self::Application { .. } => Some("application"),
            Self::Pod { .. } => Some("pod"),
        }
    }

    /// Returns the sentence for a yes. `who` is the granting entry, such as `user sue`.
    pub fn granted(self, who: &str) -> String {
        format!("{who} may {}", self.words())
    }

    /// Returns the sentence for a no.
    pub fn denied(self, user: &str) -> String {
        let absent = self.kind().map(|kind| format!(", or there is no such {kind}")).unwrap_or_default();
        format!("user {user} has no right to {}{absent}; ask an administrator of the cluster", self.words())
    }

    /// Returns the words after "may".
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

/// `spec.resourceAttributes`. All fields but the verb may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceAttributes {
    /// The namespace, which is ignored for queues, because `can-i` always sends the current one.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// The verb in question.
    #[serde(deserialize_with = "nullable")]
    pub verb: String,
    /// The API group.
    #[serde(deserialize_with = "nullable")]
    pub group: String,
    /// The API version, which is ignored.
    #[serde(deserialize_with = "nullable")]
    pub version: String,
    /// The resource in the plural, or the typed word if the API server does not serve such a resource.
    #[serde(deserialize_with = "nullable")]
    pub resource: String,
    /// The subresource.
    #[serde(deserialize_with = "nullable")]
    pub subresource: String,
    /// The name of the object; empty for all objects.
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

/// The short answer if the ACLs are unknown.
const UNKNOWN: &str =
    "the ACLs are unknown at the moment; try again later, or ask an administrator of the cluster";

/// The opinion of an authorizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opinion {
    /// Yes. Kubernetes calls no other authorizer.
    Allow,
    /// The next authorizer may allow it. If none does, it is denied.
    NoOpinion,
    /// No. Kubernetes calls no other authorizer.
    Deny,
}

/// The answer to a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The opinion of the authorizer.
    pub opinion: Opinion,
    /// The deciding clause, as a label for metrics.
    pub clause: &'static str,
    /// The reason, in one line of limited length without invisible characters.
    pub reason: String,
    /// The error that prevented a decision. API servers drop it; direct callers see it.
    pub evaluation_error: Option<String>,
    /// The granting entry; `None` for a no, or if something other than an entry grants it.
    pub entry: Option<Subject>,
}

impl Answer {
    fn new(opinion: Opinion, clause: &'static str, reason: &str) -> Self {
        Self { opinion, clause, reason: visible(reason), evaluation_error: None, entry: None }
    }

    /// Returns an answer that allows.
    pub fn allow(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::Allow, clause, reason)
    }

    /// Returns an answer that denies, regardless of other authorizers.
    pub fn deny(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::Deny, clause, reason)
    }

    /// Returns an answer that leaves the decision to other authorizers.
    pub fn no_opinion(clause: &'static str, reason: &str) -> Self {
        Self::new(Opinion::NoOpinion, clause, reason)
    }

    /// Returns an answer without an opinion, with an error for direct callers.
    pub fn undecided(clause: &'static str, why: &str) -> Self {
        let answer = Self::no_opinion(clause, why);
        Self { evaluation_error: Some(answer.reason.clone()), ..answer }
    }

    /// Returns the decision as a label for logs and metrics.
    pub fn decision(&self) -> &'static str {
        match self.opinion {
            _ if self.evaluation_error.is_some() => "undecided",
            Opinion::Allow => "allowed",
            Opinion::NoOpinion => "no_opinion",
            Opinion::Deny => "denied",
        }
    }

    /// Reduces the answer to the information that users without access to the queue may have about
    /// themselves. An answer that depends only on the name is unchanged.
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
            // For other objects, a denial, an undecided answer and a missing object must be
            // indistinguishable.
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

/// Returns an action on a pod. All pods of a namespace do not form an application.
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

/// Returns the answer to a question about another resource or path, which others decide.
fn elsewhere(what: &str) -> Answer {
    let why = format!("queuewarden answers for queues and applications of {GROUP}, not for {}", quoted(what));
    Answer::no_opinion("elsewhere", &why)
}

/// Returns the answer about a subresource. Queues have no subresources, and applications only the target of a
/// move.
fn no_subresource(name: &str) -> Answer {
    let why = format!("there is no subresource {}", quoted(name));
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
                    "the request names no application; write its ID after the resource: \
                     applications.queuewarden.dev/ID",
                ));
            }
            Ok(AccessAction::Application { verb, target: subresource, namespace, id: name })
        }
    }
}

/// Returns the resource of a review: as known to the API server, or as typed if it is unknown there.
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

/// Returns whether a text is a version such as `v1` or `v1alpha1`.
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
            "the request does not contain the target queue; write the queue as the subresource: \
             --subresource=root.prod",
        )),
        Some(found) if found == Verb::Move || subresource.is_empty() => Ok(found),
        Some(_) => Err(no_subresource(subresource)),
    }
}

/// Returns the answer about other verbs, which RBAC decides: reading and writing objects. Kubernetes verbs
/// are similar to some of ours but mean something else.
fn other_verb(resource: &str, ours: &str, verbs: impl Iterator<Item = &'static str>, verb: &str) -> Answer {
    const KUBERNETES: [&str; 9] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"];
    let near = if KUBERNETES.contains(&verb) { None } else { nearest(verbs, verb) };
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let why = format!("queuewarden answers {ours} for {resource}, not {}{hint}", quoted(verb));
    Answer::no_opinion("verb", &why)
}
