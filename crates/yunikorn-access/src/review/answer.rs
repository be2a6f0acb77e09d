//! The answer of the evaluator to a request about access, and its short form for users who ask about
//! themselves and may not read the queue.
//!
//! The short answer depends on the request, on the user, and on the entry that names the user. It contains
//! nothing else of the configuration, and a missing object gets the same answer as a denial, so that names
//! cannot be tried out.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::GROUP;
use super::request::{AccessAction, AccessRequest};
use crate::application::{self, Verb};
use crate::decide::{Decision, decide, explain, sentence, visible, yes};
use crate::remedy::remedies;
use crate::subject::Subject;
use crate::tree::{GrantingEntry, Origin, Scheduler, Tree};
use go_compat::diag::quoted;
use yunikorn::application::ApplicationAcl;
use yunikorn::identity::{Identity, Refusal};
use yunikorn::queue::{self, QueuePath};
use yunikorn::right::Right;

/// The short answer while the ACLs are not known.
pub const UNKNOWN: &str =
    "the ACLs are not known now: ask again later, or ask an administrator of the cluster";

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

/// An application, as far as it decides about access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// The owner and the rules of its dialect.
    pub acl: ApplicationAcl,
    /// The full path of the queue it is in.
    pub queue: String,
}

/// The result of a search for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The application exists.
    Application(Box<Application>),
    /// There is none with this ID.
    Unknown,
    /// It cannot be known, with the reason.
    Undecided(String),
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

/// Answers a request. `found` is the application that it is about; `None` if applications are not known.
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
                None => not_decided(id, "applications are not known here, only queues"),
            })
        }
        AccessAction::Pod { verb, .. } => about_pod(user, verb, found, scheduler),
    }
}

/// Decides about a user whom `YuniKorn` accepts.
fn identified(user: &Identity, scheduler: Scheduler<'_>, decide: impl FnOnce(&Identity) -> Answer) -> Answer {
    match scheduler.tree.identify(user, scheduler.resolver, scheduler.version) {
        Ok(identity) => decide(&identity),
        Err(Refusal::Undecided(why)) => Answer::undecided("identity", &why),
        Err(refusal) => Answer::deny("identity", &refusal.describe(&user.user)),
    }
}

/// Answers yes if the ACLs grant an action on a pod. The rest is left to RBAC, to which the authorizer only
/// adds here.
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

/// The full path of the queue that a name stands for, in any case.
///
/// # Errors
/// The reason why there can be no queue of this name; nobody may do anything in it.
pub fn path_of<'q>(tree: &Tree, queue: &'q str) -> Result<Cow<'q, str>, String> {
    if tree.find_exact(queue).is_some() {
        return Ok(Cow::Borrowed(queue));
    }
    match QueuePath::parse(&queue::lowered(queue)) {
        Ok(path) => Ok(Cow::Owned(path.as_str().to_owned())),
        Err(wrong) => Err(format!("{} is no queue: {}", quoted(queue), wrong.without_code())),
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

/// Returns the entry that grants a right, and the reason of the yes; `None` for a no.
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

/// Decides for all queues. A grant at the root reaches every queue. A user who has the right in each
/// queue by itself may not have it in the next one that is made: that is not a yes and, because each
/// queue can be queried, no final no.
fn in_all_queues(tree: &Tree, right: Right, identity: &Identity) -> Answer {
    if let Some((granting, why)) = granted(tree, right, queue::ROOT, identity) {
        return allowed(tree, &granting, &format!("in all queues: {why}"));
    }
    let why = sentence(tree, &explain(tree, right, queue::ROOT, identity));
    let ask = format!("{} queues.{GROUP}/root.prod", right.verb());
    let why =
        format!("the question names no queue, and so is about all of them: {why}; to ask about one: {ask}");
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

/// Appends the objects that wrote the entry that grants: ` (QueueAcl/prod)`.
fn add_objects(why: &mut String, tree: &Tree, granting: &GrantingEntry<'_>) {
    let origins = granting.origins(tree);
    let mut before = " (";
    for object in origins.iter().filter(|origin| matches!(origin, Origin::Object { .. })) {
        // Writing into a text does not fail.
        _ = write!(why, "{before}{object}");
        before = ", ";
    }
    if before == ", " {
        why.push(')');
    }
}

impl Application {
    /// Decides about an action on it by the rules of its dialect; a target is the queue to move it to.
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

/// A yes by an entry of an ACL.
fn allowed(tree: &Tree, granting: &GrantingEntry<'_>, why: &str) -> Answer {
    Answer { entry: Some(granting.subject(tree)), ..Answer::allow(granting.acl.key(), why) }
}

fn unknown(namespace: &str, id: &str) -> String {
    match namespace {
        "" => format!("there is no application {}", quoted(id)),
        namespace => format!("there is no application {} in namespace {}", quoted(id), quoted(namespace)),
    }
}
