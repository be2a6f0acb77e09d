//! The step from a review to its answer: the permission of the caller, and the result of the evaluator.

use std::sync::Arc;

use axum::http::StatusCode;

use super::refused;
use crate::controller::published::Published;
use crate::server::ServerState;
use crate::server::audit::{Audit, AuditRecord, OTHER};
use crate::server::caller::Caller;
use crate::server::refusal::Refusal;
use crate::server::scope::{self, Scope, scope};
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::Kind;
use queuewarden_api::review::access::Sent;
use yunikorn::queue;
use yunikorn_access::review::{self, Answer, Lookup, Request, RequestedAction, Review};
use yunikorn_access::running::pods::{self, PodRequest};
use yunikorn_access::tree::Scheduler;

/// The partition of every review: a review does not name one, so it is the one that `YuniKorn` has on
/// Kubernetes
/// (k8shim `pkg/common/constants/constants.go:53`).
const PARTITION: &str = "default";

/// Returns the answer for callers who cannot be authenticated now. It reveals nothing about users or
/// queues.
pub(super) fn unknown_asker(why: &str) -> Answer {
    Answer::undecided("asker", &format!("queuewarden cannot check now who asks: {why}"))
}

/// A request that is answered here.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    /// A request about a queue or application, in queuewarden's own words.
    Ours(Request<'a>),
    /// A request about a pod, in the words of Kubernetes.
    Pod(PodRequest<'a>),
}

impl Target<'_> {
    fn verb(self) -> &'static str {
        match self {
            Self::Ours(question) => question.verb(),
            Self::Pod(pod) => pod.verb.as_str(),
        }
    }

    /// Returns the request for the evaluator.
    fn action(self) -> RequestedAction {
        match self {
            Self::Ours(question) => question.into(),
            Self::Pod(PodRequest { verb, namespace, name }) => {
                RequestedAction::with_pod(verb.as_str(), namespace, name)
            }
        }
    }

    /// Returns its subject besides a queue.
    fn object(self) -> String {
        match self {
            Self::Ours(Request::Application { namespace: "", id, .. }) => format!("application {id}"),
            Self::Ours(Request::Application { namespace, id, .. }) => {
                format!("application {namespace}/{id}")
            }
            Self::Ours(Request::Queue { .. } | Request::AllQueues { .. }) => String::new(),
            Self::Pod(PodRequest { namespace, name, .. }) => format!("pod {namespace}/{name}"),
        }
    }
}

/// Answers a review and logs the decision.
///
/// # Errors
/// When the review cannot be read, or the caller may not ask about this user.
pub(super) async fn answer(
    state: &ServerState,
    audit: &Audit,
    kind: Kind,
    caller: &Arc<Caller>,
    sent: Result<Sent, Diagnostic>,
) -> Result<Answer, Refusal> {
    let review =
        sent.and_then(|sent| sent.review(kind, Some(&caller.identity))).map_err(|wrong| refused(&wrong))?;
    let pod = pods::read(&review).filter(|_| state.applications.answers_pods());
    let target = match (review::read(&review), pod) {
        (Ok(question), _) => Target::Ours(question),
        (Err(_), Some(pod)) => Target::Pod(pod),
        // A review that is not for queuewarden needs no permission, and no line in the log.
        (Err(answer), None) => {
            state.health.metrics.endpoints.decided(OTHER, answer.decision(), answer.clause);
            return Ok(answer);
        }
    };
    let published = state.published();
    let scheduler = scheduler(published.as_deref());
    let found = match &scheduler {
        Ok(scheduler) => find(state, target, *scheduler).await,
        Err(_) => None,
    };
    let queue = place(target, found.as_ref()).to_owned();
    let question = scope::AccessRequest {
        partition: PARTITION,
        tree: scheduler.as_ref().ok().map(|scheduler| scheduler.tree),
        queue: &queue,
        about: &review.identity,
        own_review: Kind::Own.as_str(),
    };
    let scope = scope(&state.lookups, caller, question).await;
    let answer = match (&scope, scheduler) {
        (Err(refusal), _) if refusal.code == StatusCode::FORBIDDEN => Err(refusal.clone()),
        (Err(unknown), _) => Ok(unknown_asker(&unknown.message)),
        (Ok(_), Err(why)) => Ok(Answer::undecided("configuration", &why)),
        (Ok(_), Ok(scheduler)) => Ok(evaluate(&review, target, found, scheduler)),
    };
    let (said, clause, reason) = match &answer {
        Ok(answer) => (answer.decision(), answer.clause, &answer.reason),
        Err(refusal) => ("forbidden", "asker", &refusal.message),
    };
    let decided = AuditRecord {
        verb: target.verb(),
        decision: said,
        clause,
        refused: answer.is_err(),
        by: &caller.identity.user,
        user: &review.identity.user,
        queue: &queue,
        object: &target.object(),
        reason,
    };
    audit.note(&state.health, &decided);
    match scope {
        Ok(Scope::Own) => answer.map(|answer| answer.brief(&target.action(), &review.identity.user)),
        _ => answer,
    }
}

/// Returns the queues that the scheduler runs, and its rules.
fn scheduler(published: Option<&Published>) -> Result<Scheduler<'_>, String> {
    let published = published.ok_or("queuewarden has not read everything yet")?;
    let queues = published.queues.as_deref().map_err(Clone::clone)?;
    let tree =
        queues.tree(PARTITION).ok_or_else(|| format!("there is no partition {}", quoted(PARTITION)))?;
    Ok(Scheduler { tree, resolver: queues.resolver.here(), version: published.conf.version })
}

/// Looks up the application of a request; `None` where it has none.
async fn find(state: &ServerState, target: Target<'_>, scheduler: Scheduler<'_>) -> Option<Lookup> {
    // Boxed, because requests about queues would have their size, too.
    match target {
        Target::Ours(Request::Application { namespace, id, .. }) => {
            Some(Box::pin(state.applications.find(namespace, id, scheduler)).await)
        }
        Target::Pod(pod) => Some(Box::pin(state.applications.of_pod(pod, scheduler)).await),
        Target::Ours(Request::Queue { .. } | Request::AllQueues { .. }) => None,
    }
}

/// Returns the queue of a request: its administrators may ask about others.
fn place<'a>(target: Target<'a>, found: Option<&'a Lookup>) -> &'a str {
    match (target, found) {
        (Target::Ours(Request::Queue { queue, .. }), _) => queue,
        (Target::Ours(Request::AllQueues { .. }), _) => queue::ROOT,
        (_, Some(Lookup::Application(application))) => &application.queue,
        // Without a state there is no queue; an unprivileged caller does not learn whether an object
        // exists.
        _ => "",
    }
}

fn evaluate(review: &Review, target: Target<'_>, found: Option<Lookup>, scheduler: Scheduler<'_>) -> Answer {
    match (target, found) {
        (Target::Ours(question), found) => review::answer(review, question, found.as_ref(), scheduler),
        (Target::Pod(pod), Some(Lookup::Application(application))) => {
            pods::answer(review, pod, &application, scheduler)
        }
        (Target::Pod(_), Some(Lookup::Undecided(why))) => Answer::undecided("application", &why),
        (Target::Pod(_), _) => Answer::no_opinion("elsewhere", "YuniKorn schedules no such pod"),
    }
}
