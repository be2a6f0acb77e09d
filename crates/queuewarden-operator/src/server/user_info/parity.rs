//! Profile yunikorn: the answers of `YuniKorn`'s admission controller, decision for decision and patch for
//! patch.

use serde_json::Value;

use super::note;
use crate::controller::published::Published;
use crate::server::ServerState;
use crate::server::api_error::ApiError;
use crate::server::audit::Audit;
use queuewarden_api::review::admission;
use queuewarden_api::review::envelope::{AdmissionRequest, AdmissionResponse};
use queuewarden_api::review::user_info::notes;
use yunikorn::admission::request::USER_INFO;
use yunikorn::admission::{self as model, Evaluation, Outcome, Request, Surroundings, UserInfo};
use yunikorn_access::user_info::{Decision, Mode};

/// Returns the response.
pub(super) async fn answer(
    state: &ServerState,
    known: &Published,
    audit: &Audit,
    review: &AdmissionRequest,
) -> Result<Value, ApiError> {
    let mode = known.user_info.mode;
    let request = match admission::read(review) {
        Ok(request) => request,
        Err(why) => return Ok(super::refused(audit, state, review, &why, mode)),
    };
    // YuniKorn's own admission controller adds a name, and refuses every name that it finds, unless the
    // requester may set names. A webhook that does the same after it would refuse the name that it has just
    // added. No other annotation can be its work.
    let registered = async { if is_own(&request) { state.lookups.has_yunikorn().await } else { Ok(false) } };
    // One after the other they could take all the time that the API server waits for the answer.
    let (evaluation, registered) = tokio::join!(evaluated(state, known, &request), registered);
    let evaluation = evaluation.map_err(ApiError::unavailable)?;
    // The admission controller's own message: only the logged copy is escaped and bounded.
    let denied = match &evaluation.outcome {
        Outcome::Denied(message) => Some(message.as_str()),
        Outcome::Allowed => None,
        Outcome::Unknown(key) => {
            return Err(ApiError::unavailable(format!("{key} decides, and what it holds is not known")));
        }
    };
    let decision = if denied.is_some() && registered.map_err(ApiError::unavailable)? {
        // Here a name of the requester's own is the work of YuniKorn's controller, which comes first.
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
        // Neither code nor reason: so kubectl prints what it prints of YuniKorn's.
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
        // YuniKorn does the same where its cache lacks the namespace.
        namespace_annotations: namespace.unwrap_or_default(),
        priority_class_annotations,
    };
    Ok(model::evaluate(request, &surroundings, &known.conf))
}

/// Returns whether the annotation is exactly the one that the admission controller writes for this
/// requester.
fn is_own(request: &Request) -> bool {
    let own = UserInfo { user: request.user.clone(), groups: request.groups.clone() };
    request.pod.annotation(USER_INFO) == own.write()
}
