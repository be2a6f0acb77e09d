//! From a review to its answer: whether this caller may ask, and what the evaluator says.

use super::refused;
use super::trusted::Trusted;
use crate::access::review::{self, Answer, NoApplications, Question, Review, World, may_ask};
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

/// The answer to a review.
///
/// # Errors
/// When the review is none, or the caller may not ask about this user.
pub(super) async fn answer(
    doors: &Doors,
    trusted: &Trusted,
    kind: Kind,
    asker: &Caller,
    document: &serde_json::Value,
) -> Result<Answer, Refusal> {
    let asker_identity = Identity { user: asker.user.clone(), groups: asker.groups.clone() };
    let review = access::read(kind, document, Some(&asker_identity)).map_err(|wrong| refused(&wrong))?;
    let question = match review::read(&review) {
        Ok(question) => question,
        // What is not asked of us needs no leave to be asked.
        Err(none) => return Ok(Answer::from(none)),
    };
    let knowledge = doors.knowledge();
    let queues = queues(knowledge.as_deref());
    let tree = queues.as_ref().ok().map(|(_, tree)| *tree);
    if kind != Kind::Own && !trusted.knows(asker) {
        let about = Identity { user: review.user.clone(), groups: review.groups.clone() };
        if !may_ask(tree, &asker_identity, &about, place(question)) {
            match trusted.ask(&doors.client, asker).await {
                Ok(None) => {}
                Ok(Some(refusal)) => return Err(refusal),
                Err(why) => return Ok(unknown_asker(&why)),
            }
        }
    }
    Ok(match queues {
        Ok((queues, tree)) => evaluate(&review, queues, tree),
        Err(why) => Answer::undecided(&why),
    })
}

/// Where the question is about: whoever administers this queue may ask it about others.
fn place(question: Question<'_>) -> &str {
    match question {
        Question::Queue { queue, .. } => queue,
        Question::AllQueues { .. } => queue::ROOT,
        Question::Application { .. } => "",
    }
}

/// The queues that the scheduler runs.
fn queues(knowledge: Option<&Knowledge>) -> Result<(&Queues, &Tree), String> {
    let knowledge = knowledge.ok_or("queuewarden has not read everything yet")?;
    let queues = knowledge.queues.as_deref().map_err(Clone::clone)?;
    let tree = queues.tree(PARTITION);
    tree.map(|tree| (queues, tree)).ok_or_else(|| format!("there is no partition {}", quoted(PARTITION)))
}

fn evaluate(review: &Review, queues: &Queues, tree: &Tree) -> Answer {
    let world = World {
        tree,
        resolver: queues.resolver().here(),
        version: Version::default(),
        applications: &NoApplications,
    };
    review::answer(review, world)
}
