//! The webhook `/submission`: evaluates pods and workloads that `YuniKorn` would reject while they are
//! applied.
//!
//! [`submission::judge`] decides the answer; the `AdmissionPolicy` in force decides whether it denies or
//! warns. Unreadable requests are treated as a no; every other failure here lets the request pass, because
//! the scheduler decides in any case.
//!
//! The sender of a review is not authenticated; [`super`] explains what answers reveal.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::audit::{Audit, AuditRecord};
use super::internal_error::contained;
use super::review::Review;
use super::{ServerState, surroundings};
use crate::controller::published::Published;
use queuewarden_api::review::envelope::{self, Request, Unreadable};
use queuewarden_api::review::submission::{SubmissionRequest, read, response};
use yunikorn::admission::{Kind, Surroundings};
use yunikorn_access::submission::{self, Applied, Judgement, Mode, Outcome, PARTITION, World};

/// Returns the route.
pub fn router() -> Router<Arc<ServerState>> {
    Router::new().route("/submission", post(submit)).layer(Extension(Audit::new("submission")))
}

async fn submit(
    State(state): State<Arc<ServerState>>,
    audit: Extension<Audit>,
    review: Review,
) -> Json<Value> {
    let silent = |request: &Request| Json(envelope::response(&request.uid, None, &[]));
    let Some(known) = state.published() else { return silent(review.request()) };
    let mode = queuewarden_plan::submission(&known.snapshot);
    if mode == Mode::Off || !is_looked_at(&known, review.request()) {
        return silent(review.request());
    }
    let (request, judgement) = match review.and_read(read) {
        Ok((request, asked)) => {
            let judgement = contained(judged(&state, &known, &request, &asked)).await;
            let judgement =
                judgement.unwrap_or_else(|fault| Judgement::undecided("fault", &fault.to_string()));
            (request, judgement)
        }
        Err(unreadable) => {
            let Unreadable { request, why } = *unreadable;
            let judgement = Judgement::unreadable(&why.to_string());
            (request, judgement)
        }
    };
    note(&audit, &state, &request, &judgement, mode);
    Json(response(&request.uid, &judgement, mode))
}

/// Logs and counts the decision; a request that needs no evaluation is only counted.
fn note(audit: &Audit, state: &ServerState, request: &Request, judgement: &Judgement, mode: Mode) {
    let Judgement { verdict, clause, reason, user, queue } = judgement;
    if *verdict == Outcome::NotAsked {
        state.health.metrics.endpoints.decided("submit", verdict.as_str(), clause);
        return;
    }
    let decision = AuditRecord {
        verb: "submit",
        decision: verdict.as_str(),
        clause,
        refused: judgement.refusal(mode).is_some(),
        by: &request.by.user,
        user,
        queue,
        object: &format!("{} {}/{}", request.kind, request.namespace, request.name),
        reason,
    };
    audit.note(&state.health, &decision);
}

fn is_looked_at(known: &Published, request: &Request) -> bool {
    let kind = Kind::parse(&request.group, &request.kind);
    !known.leaves_alone(&request.namespace) && !matches!(kind, Kind::Other(_))
}

async fn judged(
    state: &ServerState,
    known: &Published,
    request: &Request,
    asked: &SubmissionRequest,
) -> Judgement {
    let queues = match &known.queues {
        Ok(queues) => queues,
        Err(why) => return Judgement::undecided("configuration", why),
    };
    let Some(tree) = queues.tree(PARTITION) else {
        return Judgement::undecided("configuration", "the configuration has no partition `default`");
    };
    let namespace = asked.request.namespace();
    let namespace_annotations = match surroundings::of_namespace(&state.lookups, namespace).await {
        Ok(Some(annotations)) => annotations,
        Ok(None) => {
            return Judgement::undecided("namespace", &format!("namespace {namespace} is not there"));
        }
        Err(why) => return Judgement::undecided("namespace", &why),
    };
    let surroundings = Surroundings { namespace_annotations, ..Surroundings::default() };
    let applied = Applied {
        request: &asked.request,
        surroundings: &surroundings,
        owned: asked.owned,
        node_name: &asked.node_name,
        image_pull_secrets: &asked.image_pull_secrets,
    };
    let id = submission::application(&applied);
    let ids = Some(&*id).filter(|id| !id.is_empty()).into_iter().collect();
    let running = match state.applications.running(&ids, request.creator(), known.conf.version) {
        Ok(running) => running,
        Err(why) => return Judgement::undecided("application", &why),
    };
    let resolver = queues.resolver();
    let world = World { conf: &known.conf, tree, resolver: resolver.here(), running: &running };
    submission::judge(&applied, world)
}
