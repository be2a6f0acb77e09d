//! The answer of the evaluator to a review, and its form in a `SubjectAccessReview`'s status.

use std::borrow::Cow;
use std::fmt;

use super::request::{NotRecognized, Request, read};
use super::{GROUP, Review};
use crate::application::{self, Verb};
use crate::check::{Decision, Subject, decide, explain};
use crate::near_miss::near_misses;
use crate::reach::Way;
use crate::remedy::first_remedy;
use crate::sentence::{sentence, yes};
use crate::tree::{Origin, Tree};
use go_compat::diag::{quoted, show};
use yunikorn::application::ApplicationAcl;
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};
use yunikorn::queue::{self, QueuePath};
use yunikorn::right::Right;
use yunikorn::version::Version;

/// The longest reason, in characters. Longer ones are cut, because they go into logs, audit events and
/// terminals.
const MAX_REASON: usize = 1024;

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

/// Finds applications by their IDs.
pub trait Applications {
    /// The application with this ID; in this namespace, if that is not empty.
    fn find(&self, namespace: &str, id: &str) -> Lookup;
}

/// A source without applications, such as where only files are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApplications;

impl Applications for NoApplications {
    fn find(&self, _: &str, _: &str) -> Lookup {
        Lookup::Undecided("applications are not known here, only queues".to_owned())
    }
}

/// The context in which reviews are answered.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The queues of the partition in question.
    pub tree: &'a Tree,
    /// The resolver of groups when a review names none.
    pub resolver: &'a dyn GroupResolver,
    /// The version of `YuniKorn`.
    pub version: Version,
    /// The source of applications.
    pub applications: &'a dyn Applications,
}

impl fmt::Debug for World<'_> {
    /// Leaves out the fields behind traits, because they may contain a cluster.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Opinion {
    /// The opinion in one word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::NoOpinion => "no_opinion",
            Self::Deny => "denied",
        }
    }
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
        if self.evaluation_error.is_some() { "undecided" } else { self.opinion.as_str() }
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

impl From<NotRecognized> for Answer {
    fn from(none: NotRecognized) -> Self {
        match none {
            NotRecognized::Malformed(why) => Self::undecided(none.clause(), why),
            other => Self::no_opinion(other.clause(), &other.to_string()),
        }
    }
}

/// Answers a review.
pub fn answer(review: &Review, world: World<'_>) -> Answer {
    let question = match read(review) {
        Ok(question) => question,
        Err(none) => return Answer::from(none),
    };
    let claim = Claim::from(&review.identity);
    match identify(claim, world.resolver, world.version) {
        Ok(identity) => world.answer(question, &identity),
        Err(Refusal::Undecided(why)) => Answer::undecided("identity", &why),
        Err(refusal) => Answer::deny("identity", &refusal.describe(&review.identity.user)),
    }
}

/// The full path of the queue that a name stands for, in any case.
///
/// # Errors
/// The reason why there can be no queue of this name; nobody may do anything in it.
pub fn path_of<'q>(tree: &Tree, queue: &'q str) -> Result<Cow<'q, str>, String> {
    if tree.has(queue) {
        return Ok(Cow::Borrowed(queue));
    }
    match QueuePath::parse(&queue::lowered(queue)) {
        Ok(path) => Ok(Cow::Owned(path.as_str().to_owned())),
        Err(wrong) => {
            let help = wrong.help.map(|help| format!("; {help}")).unwrap_or_default();
            Err(format!("{} is no queue: {}{help}", quoted(queue), wrong.message))
        }
    }
}

impl<'a> World<'a> {
    fn answer(self, question: Request<'_>, identity: &Identity) -> Answer {
        match question {
            Request::Queue { right, queue } => self.in_queue(right, queue, identity),
            Request::AllQueues { right } => self.in_all_queues(right, identity),
            Request::Application { verb, namespace, id } => {
                self.with_application(verb, namespace, id, identity)
            }
        }
    }

    fn in_queue(self, right: Right, queue: &str, identity: &Identity) -> Answer {
        let path = match path_of(self.tree, queue) {
            Ok(path) => path,
            Err(why) => return Answer::deny("no_queue", &why),
        };
        match self.granted(right, &path, identity) {
            Some((way, why)) => allowed(&way, &why),
            None => self.denied(&explain(self.tree, right, &path, identity)),
        }
    }

    /// Returns the way to a yes, and its reason; `None` for a no.
    fn granted(self, right: Right, path: &str, identity: &Identity) -> Option<(Way<'a>, String)> {
        let verdict = decide(self.tree, right, path, identity);
        let way = verdict.way?;
        let why = yes(self.tree, right, path, verdict.located, &way);
        Some((way, format!("{why}{}", self.written_in(&way))))
    }

    /// Decides for all queues. A grant at the root reaches every queue. A user who has the right in each
    /// queue by itself may not have it in the next one that is made: that is not a yes and, because each
    /// queue can be queried, no final no.
    fn in_all_queues(self, right: Right, identity: &Identity) -> Answer {
        if let Some((way, why)) = self.granted(right, queue::ROOT, identity) {
            return allowed(&way, &format!("in all queues: {why}"));
        }
        let why = sentence(self.tree, &explain(self.tree, right, queue::ROOT, identity));
        let ask = format!("{} queues.{GROUP}/root.prod", right.verb());
        let why = format!(
            "the question names no queue, and so is about all of them: {why}; to ask about one: {ask}"
        );
        Answer::no_opinion("no_queue_named", &why)
    }

    fn denied(self, decision: &Decision) -> Answer {
        let why = sentence(self.tree, decision);
        let near = decision.steps.iter().find_map(|step| {
            let miss = near_misses(step, &decision.identity).into_iter().next()?.message;
            Some(format!("; about the {} of {}: {miss}", step.right.key(), step.queue))
        });
        let remedy = first_remedy(self.tree, decision).map(|remedy| format!("; what would help: {remedy}"));
        let why = format!("{why}{}{}", near.unwrap_or_default(), remedy.unwrap_or_default());
        Answer::deny(decision.clause(), &why)
    }

    /// The objects that wrote the entry that grants: ` (QueueAcl/prod)`.
    fn written_in(self, way: &Way<'_>) -> String {
        let origins = way.written(self.tree).origins;
        let objects: Vec<String> = origins
            .iter()
            .filter(|origin| matches!(origin, Origin::Object { .. }))
            .map(ToString::to_string)
            .collect();
        if objects.is_empty() { String::new() } else { format!(" ({})", objects.join(", ")) }
    }

    fn with_application(self, verb: Verb<'_>, namespace: &str, id: &str, identity: &Identity) -> Answer {
        let application = match self.applications.find(namespace, id) {
            Lookup::Application(application) => application,
            Lookup::Unknown => return Answer::undecided("no_application", &unknown(namespace, id)),
            Lookup::Undecided(why) => {
                let why = format!("application {} cannot be judged: {why}", quoted(id));
                return Answer::undecided("application", &why);
            }
        };
        application.answer(self.tree, verb, identity)
    }
}

impl Application {
    /// Decides about an action on it by the rules of its dialect.
    pub(crate) fn answer(&self, tree: &Tree, verb: Verb<'_>, identity: &Identity) -> Answer {
        let Self { acl, queue } = self;
        let question = application::Request { verb, application: acl, queue };
        let decision = application::decide(tree, question, identity);
        let sentence = application::sentence(tree, &decision);
        let why = format!("the application of {} in {queue}: {sentence}", acl.owner);
        let clause = decision.clause();
        if decision.allowed() { Answer::allow(clause, &why) } else { Answer::deny(clause, &why) }
    }
}

/// A yes by an entry of an ACL.
fn allowed(way: &Way<'_>, why: &str) -> Answer {
    Answer { entry: Some(way.entry.into()), ..Answer::allow(way.acl.key(), why) }
}

fn unknown(namespace: &str, id: &str) -> String {
    match namespace {
        "" => format!("there is no application {}", quoted(id)),
        namespace => format!("there is no application {} in namespace {}", quoted(id), quoted(namespace)),
    }
}

/// Escapes invisible characters and cuts a long text, because the requester chooses the names in it.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars();
    rest.by_ref().take(MAX_REASON.saturating_sub(1)).for_each(|c| show(&mut shown, c));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}
