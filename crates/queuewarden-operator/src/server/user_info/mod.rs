//! The user-info webhook: `/user-info` adds the annotation `yunikorn.apache.org/user.info` if it is missing
//! and refuses it if the requester may not set it; `/user-info/check` evaluates the same after all mutating
//! webhooks, and changes nothing.
//!
//! [`user_info::decide`] decides the answer, or [`yunikorn::admission::evaluate`] in profile yunikorn; the
//! `AdmissionPolicy` in force decides whether it is enforced. Unreadable requests are refused. Missing state
//! is an error, so that `failurePolicy` decides.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::ServerState;
use super::admission_review::AdmissionReview;
use super::api_error::ApiError;
use super::audit::{Audit, AuditRecord};
use super::lookups::PATIENCE;
use crate::controller::published::{LEFT_ALONE, Published};
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::admission;
use queuewarden_api::review::envelope::{self, AdmissionRequest, AdmissionResponse};
use queuewarden_api::review::user_info::{
    OwnerReference, UserInfoContent, notes, owner_references, read, response,
};
use yunikorn::admission::request::USER_INFO;
use yunikorn::admission::{self as model, Evaluation, Request, Surroundings, UserInfo};
use yunikorn_access::user_info::{
    self, Decision, Given, Mode, Moment, Outcome, Owner, Owners, Profile, Settings,
};

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    Router::new()
        .route("/user-info", post(answer).layer(Extension(Moment::Mutating)))
        .route("/user-info/check", post(answer).layer(Extension(Moment::Final)))
        .layer(Extension(Audit::new("user-info")))
}

/// Evaluates a request. The second evaluation comes after all mutating webhooks and does not repeat findings
/// of the first one.
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
    // In these namespaces the API server checks everything else itself. It cannot compute aliases, and does
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
        return answer_of_yunikorn(&state, &known, &audit, request).await.map(Json);
    }
    let wanted = content.wanted(request, &known.conf.access);
    let running = state.applications.running(&wanted, &known).await.map_err(ApiError::unavailable)?;
    let owners = owners(&state, settings, request, &content).await;
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

/// Returns the state for a request, or `None` if it is not evaluated. There is no second evaluation in mode
/// Audit, where nothing was added and the refusal is already in the log, or in profile yunikorn, because
/// `YuniKorn` has no second check. In `YuniKorn`'s namespace and queuewarden's there is only the second
/// evaluation, for texts that the policy of the API server leaves to the webhook.
fn looked_at(
    state: &ServerState,
    request: &AdmissionRequest,
    moment: Moment,
) -> Result<Option<Arc<Published>>, ApiError> {
    let known = state.published().ok_or_else(|| {
        ApiError::unavailable(
            "queuewarden has not read everything \
         yet",
        )
    })?;
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
        object: &request.object_name(),
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

/// Returns the owners of a request's object, which are only read if they affect the decision.
async fn owners(
    state: &ServerState,
    settings: &Settings,
    request: &AdmissionRequest,
    content: &UserInfoContent,
) -> Owners {
    if !settings.is_operator(&request.by.user) {
        return Owners::Irrelevant;
    }
    if !content.is_named_anew() {
        return Owners::Read(Vec::new());
    }
    let references = match owner_references(request, &settings.templates) {
        Ok(references) => references,
        Err(why) => return Owners::Unread(why.message),
    };
    let read = async {
        let mut owners = Vec::new();
        for reference in &references {
            owners.push(owner(state, settings, &request.namespace, reference).await?);
        }
        Ok(owners)
    };
    match timeout(PATIENCE, Box::pin(read)).await {
        Ok(owners) => owners.map_or_else(Owners::Unread, Owners::Read),
        Err(_) => Owners::Unread("its owner was not received in time; try again".to_owned()),
    }
}

/// Returns one owner.
///
/// # Errors
/// Explains why it is unknown, as the end of a sentence.
async fn owner(
    state: &ServerState,
    settings: &Settings,
    namespace: &str,
    reference: &OwnerReference,
) -> Result<Owner, String> {
    let OwnerReference { group, kind, name, uid, .. } = reference;
    let object = format!("{kind} {}", quoted(name));
    for resource in reference.resources(&settings.templates) {
        let Some(path) = reference.path(namespace, resource) else { break };
        let read = |object: &RawValue| {
            reference.names_in(object, resource, &settings.templates).map_err(|why| why.message)
        };
        let texts = state.lookups.owner(path, uid, read).await;
        let texts = texts.map_err(|why| format!("{object}, which owns it, {why} ({resource}.{group})"))?;
        if let Some(texts) = texts {
            return Ok(Owner { object, texts: texts.to_vec() });
        }
    }
    Err(format!("its namespace has no {object} with the UID of its owner"))
}

/// Returns the response in profile yunikorn, with exactly the decisions and patches of `YuniKorn`'s admission
/// controller.
async fn answer_of_yunikorn(
    state: &ServerState,
    known: &Published,
    audit: &Audit,
    review: &AdmissionRequest,
) -> Result<Value, ApiError> {
    let mode = known.user_info.mode;
    let request = match admission::read(review) {
        Ok(request) => request,
        Err(why) => return Ok(refused(audit, state, review, &why, mode)),
    };
    // YuniKorn's own admission controller adds a name, and refuses every name that it finds unless the
    // requester may set names. A webhook that does the same after it would refuse the name that it has just
    // added. It cannot have added any other annotation.
    let registered = async { if is_own(&request) { state.lookups.has_yunikorn().await } else { Ok(false) } };
    // Run in sequence, they could take all the time that the API server waits for the answer.
    let (evaluation, registered) = tokio::join!(evaluated(state, known, &request), registered);
    let evaluation = evaluation.map_err(ApiError::unavailable)?;
    // The admission controller's own message. Only the copy in the log is escaped and truncated.
    let denied = match &evaluation.outcome {
        model::Outcome::Denied(message) => Some(message.as_str()),
        model::Outcome::Allowed => None,
        model::Outcome::Unknown(key) => {
            return Err(ApiError::unavailable(format!(
                "the answer depends on {key}, whose content is unknown"
            )));
        }
    };
    let decision = if denied.is_some() && registered.map_err(ApiError::unavailable)? {
        // Here, the requester's own name was added by YuniKorn's controller, which comes first.
        Decision::of_yunikorn(None, false, &request.user)
    } else {
        let user = evaluation.submitter.as_ref().map_or(&*request.user, |submitter| &*submitter.user);
        Decision::of_yunikorn(denied, !evaluation.patches.is_empty(), user)
    };
    note(audit, state, review, &decision, mode);
    let refusal = decision.refusal(mode).and(denied);
    let response = AdmissionResponse {
        uid: review.uid.clone(),
        allowed: refusal.is_none(),
        // There is no code or reason, so kubectl prints the same as for YuniKorn's own webhook.
        status: admission::status(refusal.unwrap_or_default()),
        patch: admission::patch(&evaluation).filter(|_| mode == Mode::Enforce),
        audit_annotations: notes(&decision),
        ..AdmissionResponse::default()
    };
    Ok(response.review())
}

async fn evaluated(state: &ServerState, known: &Published, request: &Request) -> Result<Evaluation, String> {
    let (namespace, priority_class_annotations) = tokio::try_join!(
        state.lookups.namespace(request.namespace()),
        state.lookups.priority_class(&request.pod.priority_class),
    )?;
    let surroundings = Surroundings {
        // YuniKorn does the same if its cache lacks the namespace.
        namespace_annotations: namespace.unwrap_or_default(),
        priority_class_annotations,
    };
    Ok(model::evaluate(request, &surroundings, &known.conf))
}

/// Returns whether the annotation is exactly what the admission controller writes for this requester.
fn is_own(request: &Request) -> bool {
    let own = UserInfo { user: request.user.clone(), groups: request.groups.clone() };
    request.pod.annotation(USER_INFO) == own.write()
}
