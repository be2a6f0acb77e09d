//! From a review to its answer: whether this caller may ask, and what the evaluator says.

use super::refused;
use super::trusted::Trusted;
use crate::access::review::{self, Answer, Applications, Found, Question, Review, World, may_ask};
use crate::access::running::Scheduler;
use crate::access::running::pods::{self, PodQuestion};
use crate::access::tree::Tree;
use crate::api::review::{Kind, access};
use crate::model::identity::Identity;
use crate::model::queue;
use crate::model::version::Version;
use crate::server::Doors;
use crate::server::caller::Caller;
use crate::server::knowledge::{Knowledge, Queues};
use crate::server::refusal::Refusal;
use crate::text::diag::quoted;

/// A review does not say which partition it asks about: the one that `YuniKorn` has on Kubernetes
/// (k8shim `pkg/common/constants/constants.go:53`).
const PARTITION: &str = "default";

/// What is said to who cannot be told from strangers now. It says nothing about anybody.
pub(super) fn unknown_asker(why: &str) -> Answer {
    Answer::undecided(&format!("queuewarden cannot check now who asks: {why}"))
}

/// What is asked, and is for us to answer.
#[derive(Debug, Clone, Copy)]
enum Asked<'a> {
    /// In our own words.
    Ours(Question<'a>),
    /// About a pod, in those of Kubernetes.
    Pod(PodQuestion<'a>),
}

/// The answer to a review.
///
/// # Errors
/// When the review is none, or the caller may not ask about this user.
pub(super) async fn answer(
    doors: &Doors,
    trusted: &Trusted,
    kind: Kind,
    caller: &Caller,
    document: &serde_json::Value,
) -> Result<Answer, Refusal> {
    let curious = Identity { user: caller.user.clone(), groups: caller.groups.clone() };
    let review = access::read(kind, document, Some(&curious)).map_err(|wrong| refused(&wrong))?;
    let pod = pods::read(&review).filter(|_| doors.applications.answers_pods());
    let asked = match (review::read(&review), pod) {
        (Ok(question), _) => Asked::Ours(question),
        (Err(_), Some(pod)) => Asked::Pod(pod),
        // What is not asked of us needs no leave to be asked.
        (Err(none), None) => return Ok(Answer::from(none)),
    };
    let knowledge = doors.knowledge();
    let queues = queues(knowledge.as_deref());
    let found = match &queues {
        Ok((queues, tree)) => find(doors, asked, scheduler(queues, tree)).await,
        Err(_) => None,
    };
    if kind != Kind::Own && !trusted.knows(caller) {
        let about = Identity { user: review.user.clone(), groups: review.groups.clone() };
        let tree = queues.as_ref().ok().map(|(_, tree)| *tree);
        if !may_ask(tree, &curious, &about, place(asked, found.as_ref())) {
            match trusted.ask(&doors.client, caller).await {
                Ok(None) => {}
                Ok(Some(refusal)) => return Err(refusal),
                Err(why) => return Ok(unknown_asker(&why)),
            }
        }
    }
    Ok(match queues {
        Ok((queues, tree)) => evaluate(&review, asked, found, scheduler(queues, tree)),
        Err(why) => Answer::undecided(&why),
    })
}

/// The queues that the scheduler runs.
fn queues(knowledge: Option<&Knowledge>) -> Result<(&Queues, &Tree), String> {
    let knowledge = knowledge.ok_or("queuewarden has not read everything yet")?;
    let queues = knowledge.queues.as_deref().map_err(Clone::clone)?;
    let tree = queues.tree(PARTITION);
    tree.map(|tree| (queues, tree)).ok_or_else(|| format!("there is no partition {}", quoted(PARTITION)))
}

fn scheduler<'a>(queues: &Queues, tree: &'a Tree) -> Scheduler<'a> {
    Scheduler { tree, resolver: queues.resolver().here(), version: Version::default() }
}

/// The application that is asked about; `None` where none is.
async fn find(doors: &Doors, asked: Asked<'_>, scheduler: Scheduler<'_>) -> Option<Found> {
    match asked {
        Asked::Ours(Question::Application { namespace, id, .. }) => {
            Some(doors.applications.find(namespace, id, scheduler).await)
        }
        Asked::Pod(pod) => Some(doors.applications.of_pod(pod, scheduler).await),
        Asked::Ours(Question::Queue { .. } | Question::AllQueues { .. }) => None,
    }
}

/// Whoever administers this queue may ask about others.
fn place<'a>(asked: Asked<'a>, found: Option<&'a Found>) -> &'a str {
    match (asked, found) {
        (Asked::Ours(Question::Queue { queue, .. }), _) => queue,
        (Asked::Ours(Question::AllQueues { .. }), _) => queue::ROOT,
        (_, Some(Found::Application(application))) => &application.queue,
        // Where nothing is known there is nobody's queue; whether there is something is not told to everyone either.
        _ => "",
    }
}

fn evaluate(review: &Review, asked: Asked<'_>, found: Option<Found>, scheduler: Scheduler<'_>) -> Answer {
    let Scheduler { tree, resolver, version } = scheduler;
    match (asked, found) {
        (Asked::Ours(_), found) => {
            let applications = Looked(found);
            review::answer(review, World { tree, resolver, version, applications: &applications })
        }
        (Asked::Pod(pod), Some(Found::Application(application))) => {
            pods::answer(review, pod, &application, tree, resolver)
        }
        (Asked::Pod(_), Some(Found::Undecided(why))) => Answer::undecided(&why),
        (Asked::Pod(_), _) => Answer::no_opinion("YuniKorn schedules no such pod"),
    }
}

/// The one application that was looked for.
struct Looked(Option<Found>);

impl Applications for Looked {
    fn find(&self, _: &str, _: &str) -> Found {
        self.0.clone().unwrap_or(Found::Unknown)
    }
}
