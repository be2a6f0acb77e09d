//! The webhook `/submission`: evaluates pods and workloads, when they are applied, for whether `YuniKorn`
//! would reject them.
//!
//! [`submission::evaluate`] decides the answer; the `AdmissionPolicy` in force decides whether it denies or
//! warns. Unreadable requests are treated as a no. Every other failure lets the request pass, because the
//! scheduler decides in any case.
//!
//! The sender of a review is not authenticated; [`super`] explains what answers reveal.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::ServerState;
use super::admission_review::AdmissionReview;
use super::api_error::contained;
use super::audit::{Audit, AuditRecord};
use crate::controller::published::Published;
use queuewarden_api::review::envelope::{self, AdmissionRequest};
use queuewarden_api::review::submission::{SubmissionRequest, read, response};
use yunikorn::admission::{Kind, Surroundings};
use yunikorn_access::running::joins::Wanted;
use yunikorn_access::submission::{self, Applied, Decision, Mode, Outcome, PARTITION, World};

/// Returns the route.
pub fn router() -> Router<Arc<ServerState>> {
    Router::new().route("/submission", post(submit)).layer(Extension(Audit::new("submission")))
}

async fn submit(
    State(state): State<Arc<ServerState>>,
    audit: Extension<Audit>,
    review: AdmissionReview,
) -> Json<Value> {
    let request = &review.request;
    let silent = || Json(envelope::response(&request.uid, None, &[]));
    let Some(known) = state.published() else { return silent() };
    let mode = queuewarden_plan::submission(&known.snapshot);
    let is_other = matches!(Kind::parse(&request.group, &request.kind), Kind::Other(_));
    if mode == Mode::Off || is_other || known.leaves_alone(&request.namespace) {
        return silent();
    }
    let decision = match review.read(read) {
        Ok(content) => {
            let decision = contained(decided(&state, &known, request, &content)).await;
            decision
                .unwrap_or_else(|fault| Err(("fault", fault.to_string())))
                .unwrap_or_else(|(clause, why)| Decision::undecided(clause, &why))
        }
        Err(why) => Decision::unreadable(&why.to_string()),
    };
    note(&audit, &state, request, &decision, mode);
    Json(response(&request.uid, &decision, mode))
}

/// Logs and counts the decision. A request that needs no evaluation is only counted.
fn note(audit: &Audit, state: &ServerState, request: &AdmissionRequest, decision: &Decision, mode: Mode) {
    let Decision { outcome, clause, reason, user, queue } = decision;
    if *outcome == Outcome::NotApplicable {
        state.health.metrics.decided("submit", outcome.as_str(), clause);
        return;
    }
    let decision = AuditRecord {
        verb: "submit",
        decision: outcome.as_str(),
        clause,
        refused: decision.refusal(mode).is_some(),
        by: &request.by.user,
        user,
        queue,
        object: &request.object_name(),
        reason,
    };
    audit.note(&state.health, &decision);
}

/// Decides a request. The error contains the clause that leaves it undecided, and why.
async fn decided(
    state: &ServerState,
    known: &Published,
    request: &AdmissionRequest,
    content: &SubmissionRequest,
) -> Result<Decision, (&'static str, String)> {
    let queues = known.queues.as_deref().map_err(|why| ("configuration", why.clone()))?;
    let no_partition = || ("configuration", "the configuration has no partition `default`".to_owned());
    let tree = queues.tree(PARTITION).ok_or_else(no_partition)?;
    let namespace = content.request.namespace();
    let annotations = state.lookups.namespace(namespace).await;
    let namespace_annotations = annotations
        .and_then(|annotations| annotations.ok_or_else(|| format!("namespace {namespace} does not exist")))
        .map_err(|why| ("namespace", why))?;
    let surroundings = Surroundings { namespace_annotations, ..Surroundings::default() };
    let applied = Applied {
        request: &content.request,
        surroundings: &surroundings,
        owned: content.owned,
        node_name: &content.node_name,
        image_pull_secrets: &content.image_pull_secrets,
    };
    let id = submission::application(&applied);
    let mut wanted = Wanted {
        applications: Some(&*id).filter(|id| !id.is_empty()).into_iter().collect(),
        creator: request.creator(),
        ..Wanted::default()
    };
    if submission::is_placeholder(&content.request, &known.conf) {
        wanted.owners = content.owners.iter().map(|owner| owner.within(namespace)).collect();
    }
    let running = state.applications.running(&wanted, known).await;
    let running = running.map_err(|why| ("application", why))?;
    let resolver = queues.resolver;
    let world = World { conf: &known.conf, tree, resolver: &resolver, running: &running };
    Ok(submission::evaluate(&applied, world))
}
