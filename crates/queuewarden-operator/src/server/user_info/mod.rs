//! The user-info webhook: `/user-info` adds the annotation `yunikorn.apache.org/user.info` where it is
//! missing and refuses it where the requester may not set it; `/user-info/check` evaluates the same after
//! all mutating webhooks, and changes nothing.
//!
//! [`user_info::decide`] decides the answer, or [`yunikorn::admission::evaluate`] in profile yunikorn; the
//! `AdmissionPolicy` in force decides whether it counts. Unreadable requests are refused. Missing state is
//! an error, so that `failurePolicy` decides.

mod owners;
mod parity;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::ServerState;
use super::admission_review::AdmissionReview;
use super::api_error::ApiError;
use super::audit::{Audit, AuditRecord};
use crate::controller::published::{LEFT_ALONE, Published};
use go_compat::diag::Diagnostic;
use queuewarden_api::review::envelope::{self, AdmissionRequest};
use queuewarden_api::review::user_info::{UserInfoContent, read, response};
use yunikorn_access::user_info::{self, Decision, Given, Mode, Moment, Outcome, Profile};

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    Router::new()
        .route("/user-info", post(answer).layer(Extension(Moment::Mutating)))
        .route("/user-info/check", post(answer).layer(Extension(Moment::Final)))
        .layer(Extension(Audit::new("user-info")))
}

/// Evaluates a request. The second time is after all mutating webhooks: what was reported the first time is
/// not reported again.
async fn answer(
    State(state): State<Arc<ServerState>>,
    audit: Extension<Audit>,
    Extension(moment): Extension<Moment>,
    review: AdmissionReview,
) -> Result<Json<Value>, ApiError> {
    let request = &review.request;
    let allowed_silently = || Ok(Json(envelope::response(&request.uid, None, &[])));
    let Some(known) = looked_at(&state, request, moment)? else { return allowed_silently() };
    let settings = &known.user_info;
    let content = match review.read(|request| read(request, &settings.templates)) {
        Ok(content) => content,
        Err(why) => return Ok(Json(refused(&audit, &state, request, &why, settings.mode))),
    };
    // In these namespaces the API server checks everything else itself: it cannot compute aliases, and does
    // not know the names that pods and operators pass on.
    let is_passed_on = settings.is_operator(&request.by.user) && content.is_named_anew();
    let is_by_pod = request.creator().is_some();
    let is_left_to_it =
        |given: &Given| given.may_have_aliases() || is_by_pod && matches!(given, Given::Text(_));
    if known.leaves_alone(&request.namespace)
        && !is_passed_on
        && !content.sites.iter().any(|site| is_left_to_it(&site.given))
    {
        return allowed_silently();
    }
    if settings.profile == Profile::YuniKorn {
        return parity::answer(&state, &known, &audit, request).await.map(Json);
    }
    let wanted = content.wanted(request, &known.conf.access);
    let running = state.applications.running(&wanted, &known).await.map_err(ApiError::unavailable)?;
    let owners = owners::owners(&state, settings, request, &content).await;
    let evaluated = content.at(request, &running, known.granted_aliases(), moment);
    let evaluated = user_info::Request { owners: &owners, ..evaluated };
    let mut decision = user_info::decide(&evaluated, &known.conf.access);
    if moment == Moment::Final {
        decision.warnings.clear();
    }
    if moment == Moment::Mutating || decision.outcome == Outcome::Refused {
        note(&audit, &state, request, &decision, settings.mode);
    }
    Ok(Json(response(&request.uid, &content, &decision, settings.mode)))
}

/// Returns the state for a request; `None` where it is not evaluated. It is not evaluated a second time in
/// mode Audit, where nothing was added, and the refusal is already in the log; nor in profile yunikorn,
/// because `YuniKorn` has no second check. In `YuniKorn`'s namespace and queuewarden's only the second
/// evaluation takes place, for texts that the policy of the API server leaves to the webhook.
fn looked_at(
    state: &ServerState,
    request: &AdmissionRequest,
    moment: Moment,
) -> Result<Option<Arc<Published>>, ApiError> {
    let known = state.published().ok_or_else(|| ApiError::unavailable("not everything was read yet"))?;
    let user_info::Settings { mode, profile, .. } = &known.user_info;
    let at_this_moment = match moment {
        Moment::Mutating => *mode != Mode::Off,
        Moment::Final => *mode == Mode::Enforce && *profile == Profile::Strict,
    };
    let is_left_alone = match moment {
        Moment::Mutating => known.leaves_alone(&request.namespace),
        Moment::Final => request.namespace == LEFT_ALONE,
    };
    let is_looked_at = at_this_moment && !is_left_alone;
    Ok(is_looked_at.then_some(known))
}

/// Logs the decision, unless it changes nothing and has no warnings.
fn note(audit: &Audit, state: &ServerState, request: &AdmissionRequest, decision: &Decision, mode: Mode) {
    if decision.outcome <= Outcome::Unchanged && decision.warnings.is_empty() {
        return;
    }
    let warnings = decision.warnings.join("; ");
    let decision = AuditRecord {
        verb: "user_info",
        decision: decision.outcome.as_str(),
        clause: decision.clause,
        refused: decision.refusal(mode).is_some(),
        by: &request.by.user,
        user: &decision.user,
        object: &format!("{} {}/{}", request.kind, request.namespace, request.name),
        reason: if decision.reason.is_empty() { &warnings } else { &decision.reason },
        ..AuditRecord::default()
    };
    audit.note(&state.health, &decision);
}

/// Refuses a request that cannot be read.
fn refused(
    audit: &Audit,
    state: &ServerState,
    request: &AdmissionRequest,
    why: &Diagnostic,
    mode: Mode,
) -> Value {
    let decision = Decision::unreadable(&why.to_string(), &request.by.user);
    note(audit, state, request, &decision, mode);
    response(&request.uid, &UserInfoContent::default(), &decision, mode)
}
