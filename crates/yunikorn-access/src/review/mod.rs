//! Answers access questions in the form of Kubernetes: a `SubjectAccessReview`, and the answer of an
//! authorizer.
//!
//! [`request`] contains the request, in all spellings that `kubectl auth can-i` sends, and the answer.
//! [`answer`](answer()) decides.
//!
//! | resource | verbs | decided by |
//! |---|---|---|
//! | `queues` | `submit`, `use` (a synonym), `administer` | [`decide`](mod@super::decide) |
//! | `applications` | `view`, `modify`, `kill`, `logs`, `move` | [`application`](super::application) |
//!
//! As in the authorization webhook protocol, there are three answers:
//! * **allow**: the ACLs grant it.
//! * **deny**: `YuniKorn` would refuse it, regardless of other authorizers. If this authorizer only had no
//!   opinion, a rule with `verbs: ["*"]` would make Kubernetes allow an action that the scheduler refuses.
//! * **no opinion**: the question is about something else (another resource, `get queues.queuewarden.dev`),
//!   or cannot be decided at the moment. In that case, the reason is also reported as an evaluation error.

pub mod request;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::application::{self, Verb};
use crate::decide::{Decision, decide, explain, sentence, yes};
use crate::remedy::remedies;
use crate::tree::{GrantingEntry, Origin, Scheduler, Tree};
use go_compat::diag::quoted;
use yunikorn::application::ApplicationAcl;
use yunikorn::identity::{Identity, Refusal};
use yunikorn::queue::{self, QueuePath};
use yunikorn::right::Right;

pub use request::{ACCESS_GROUP, AccessAction, AccessRequest, Answer, GROUP, Opinion};

/// Returns whether a user administers a queue and therefore may ask about the access of others. YARN has the
/// same rule: `GET /ws/v1/cluster/queues/{queue}/access` requires `ADMINISTER_QUEUE` for questions about
/// another user (`RMWebServices`, `checkUserAccessToQueue`). A path without a queue has no administrator.
pub fn administers(tree: Option<&Tree>, user: &Identity, queue: &str) -> bool {
    tree.is_some_and(|tree| decide(tree, Right::Admin, queue, user).allowed())
}

/// The relevant parts of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// The owner and the rules of its dialect.
    pub acl: ApplicationAcl,
    /// The full path of the application's queue.
    pub queue: String,
}

/// The result of a search for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The application exists.
    Application(Box<Application>),
    /// There is no application with this ID.
    Unknown,
    /// It is unknown, for this reason.
    Undecided(String),
}

/// Answers a request. `found` is the application in question; `None` if applications are unknown.
pub fn answer(request: &AccessRequest<'_>, found: Option<&Lookup>, scheduler: Scheduler<'_>) -> Answer {
    let (tree, user) = (scheduler.tree, request.user);
    match request.action {
        AccessAction::Queue { right, queue } => {
            identified(user, scheduler, |identity| in_queue(tree, right, queue, identity))
        }
        AccessAction::AllQueues { right } => {
            identified(user, scheduler, |identity| in_all_queues(tree, right, identity))
        }
        AccessAction::Application { verb, target, namespace, id } => {
            identified(user, scheduler, |identity| match found {
                Some(Lookup::Application(application)) => application.answer(tree, (verb, target), identity),
                Some(Lookup::Unknown) => Answer::undecided("no_application", &unknown(namespace, id)),
                Some(Lookup::Undecided(why)) => not_decided(id, why),
                None => not_decided(id, "only queues are known here, not applications"),
            })
        }
        AccessAction::Pod { verb, .. } => about_pod(user, verb, found, scheduler),
    }
}

/// Decides about a user that `YuniKorn` accepts.
fn identified(user: &Identity, scheduler: Scheduler<'_>, decide: impl FnOnce(&Identity) -> Answer) -> Answer {
    match scheduler.tree.identify(user, scheduler.resolver, scheduler.version) {
        Ok(identity) => decide(&identity),
        Err(Refusal::Undecided(why)) => Answer::undecided("identity", &why),
        Err(refusal) => Answer::deny("identity", &refusal.describe(&user.user)),
    }
}

/// Allows an action on a pod if the ACLs grant it. Everything else is left to RBAC; the authorizer
/// only adds.
fn about_pod(user: &Identity, verb: Verb, found: Option<&Lookup>, scheduler: Scheduler<'_>) -> Answer {
    let Scheduler { tree, resolver, version } = scheduler;
    let application = match found {
        Some(Lookup::Application(application)) => application,
        Some(Lookup::Undecided(why)) => return Answer::undecided("application", why),
        Some(Lookup::Unknown) | None => {
            return Answer::no_opinion("elsewhere", "YuniKorn schedules no such pod");
        }
    };
    let identity = match tree.identify(user, resolver, version) {
        Ok(identity) => identity,
        Err(refusal) => return Answer::no_opinion("identity", &refusal.describe(&user.user)),
    };
    match application.answer(tree, (verb, ""), &identity) {
        denied @ Answer { opinion: Opinion::Deny, .. } => Answer { opinion: Opinion::NoOpinion, ..denied },
        granted => granted,
    }
}

fn not_decided(id: &str, why: &str) -> Answer {
    Answer::undecided("application", &format!("application {} cannot be decided: {why}", quoted(id)))
}

/// Returns the full path of the queue with this name, ignoring case.
///
/// # Errors
/// The reason why no such queue can exist, so that nobody can have a right on it.
pub fn path_of<'q>(tree: &Tree, queue: &'q str) -> Result<Cow<'q, str>, String> {
    if tree.find_exact(queue).is_some() {
        return Ok(Cow::Borrowed(queue));
    }
    match QueuePath::parse(&queue::lowered(queue)) {
        Ok(path) => Ok(Cow::Owned(path.as_str().to_owned())),
        Err(wrong) => Err(format!("{} is not a queue: {}", quoted(queue), wrong.without_code())),
    }
}

fn in_queue(tree: &Tree, right: Right, queue: &str, identity: &Identity) -> Answer {
    let path = match path_of(tree, queue) {
        Ok(path) => path,
        Err(why) => return Answer::deny("no_queue", &why),
    };
    match granted(tree, right, &path, identity) {
        Some((granting, why)) => allowed(tree, &granting, &why),
        None => denied(tree, &explain(tree, right, &path, identity)),
    }
}

/// Returns the entry that grants a right, and the reason; `None` if it is denied.
fn granted<'t>(
    tree: &'t Tree,
    right: Right,
    path: &str,
    identity: &Identity,
) -> Option<(GrantingEntry<'t>, String)> {
    let verdict = decide(tree, right, path, identity);
    let granting = verdict.granting?;
    let mut why = yes(tree, right, path, verdict.located, &granting);
    add_objects(&mut why, tree, &granting);
    Some((granting, why))
}

/// Decides about all queues. A grant at the root reaches every queue. A user who currently has the right on
/// each queue may lack it on the next one that is created. The answer is then not a yes but, because each
/// queue can be queried, also not a definite no.
fn in_all_queues(tree: &Tree, right: Right, identity: &Identity) -> Answer {
    if let Some((granting, why)) = granted(tree, right, queue::ROOT, identity) {
        return allowed(tree, &granting, &format!("in all queues: {why}"));
    }
    let why = sentence(tree, &explain(tree, right, queue::ROOT, identity));
    let ask = format!("{} queues.{GROUP}/root.prod", right.verb());
    let why = format!(
        "the request names no queue and so refers to all queues: {why}; to ask about one queue: {ask}"
    );
    Answer::no_opinion("no_queue_named", &why)
}

fn denied(tree: &Tree, decision: &Decision) -> Answer {
    let why = sentence(tree, decision);
    let near = decision.steps.iter().find_map(|step| {
        let miss = &step.near_misses.first()?.message;
        Some(format!("; about the {} of {}: {miss}", step.acl.key(), step.queue))
    });
    let remedy = remedies(tree, decision).next();
    let remedy = remedy.map(|remedy| format!("; what would help: {}", remedy.message));
    let why = format!("{why}{}{}", near.unwrap_or_default(), remedy.unwrap_or_default());
    Answer::deny(decision.clause(), &why)
}

/// Appends the objects that wrote the granting entry: ` (QueueAcl/prod)`.
fn add_objects(why: &mut String, tree: &Tree, granting: &GrantingEntry<'_>) {
    let origins = granting.origins(tree);
    let mut before = " (";
    for object in origins.iter().filter(|origin| matches!(origin, Origin::Object { .. })) {
        // Writing to a string cannot fail.
        _ = write!(why, "{before}{object}");
        before = ", ";
    }
    if before == ", " {
        why.push(')');
    }
}

impl Application {
    /// Decides about an action on the application according to its dialect. A target is the queue to move it
    /// to.
    pub(crate) fn answer(&self, tree: &Tree, (verb, target): (Verb, &str), identity: &Identity) -> Answer {
        let Self { acl, queue } = self;
        let request = application::Request { tree, identity, verb, target, application: acl, queue };
        let decision = application::decide(request);
        let sentence = application::sentence(tree, &decision);
        let why = format!("the application of {} in {queue}: {sentence}", acl.owner);
        let clause = decision.clause();
        if decision.allowed() { Answer::allow(clause, &why) } else { Answer::deny(clause, &why) }
    }
}

/// Returns a yes that results from an ACL entry.
fn allowed(tree: &Tree, granting: &GrantingEntry<'_>, why: &str) -> Answer {
    Answer { entry: Some(granting.subject(tree)), ..Answer::allow(granting.acl.key(), why) }
}

fn unknown(namespace: &str, id: &str) -> String {
    match namespace {
        "" => format!("there is no application {}", quoted(id)),
        namespace => format!("there is no application {} in namespace {}", quoted(id), quoted(namespace)),
    }
}
