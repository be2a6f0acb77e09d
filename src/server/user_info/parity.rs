//! Profile yunikorn: what `YuniKorn`'s admission controller answers, decision for decision and patch for patch.

use serde_json::{Value, json};

use super::audit::Audit;
use super::beside::Beside;
use crate::access::guard::{Judgement, Mode};
use crate::api::review::admission;
use crate::api::review::change;
use crate::api::review::user_info::{Asked, notes};
use crate::model::admission::request::USER_INFO;
use crate::model::admission::{self as model, Evaluation, Outcome, Request, Surroundings, UserInfo};
use crate::server::refusal::Refusal;
use crate::server::{Doors, surroundings};

/// The response.
pub(super) async fn answer(
    doors: &Doors,
    beside: &Beside,
    audit: &Audit,
    review: &Value,
    (asked, mode): (Asked, Mode),
) -> Result<Value, Refusal> {
    let request = admission::read(review).map_err(|why| Refusal::bad_request(why.to_string()))?.request;
    let evaluation = evaluated(doors, &request).await.map_err(Refusal::unavailable)?;
    let user = evaluation.submitter.as_ref().map_or(&*request.user, |submitter| &*submitter.user);
    let judgement = match &evaluation.outcome {
        // Here a name of the requester's own is the work of YuniKorn's controller, which comes first.
        Outcome::Denied(_) if is_own(&request) && beside.is_registered(doors).await => {
            Judgement::of_yunikorn(None, false, &request.user)
        }
        Outcome::Denied(message) => Judgement::of_yunikorn(Some(message), false, user),
        Outcome::Allowed => Judgement::of_yunikorn(None, !evaluation.patches.is_empty(), user),
        Outcome::Unknown(key) => {
            let why = format!("{key} decides, and what it holds is not known");
            return Err(Refusal::unavailable(why));
        }
    };
    audit.note(doors, &asked, &judgement, mode);
    // Byte for byte what YuniKorn's controller says; only what is written down is made visible, and bounded.
    let refusal = match &evaluation.outcome {
        Outcome::Denied(message) if judgement.refusal(mode).is_some() => Some(message.as_str()),
        _ => None,
    };
    let mut answered = change::response(&asked.uid, refusal, &[]);
    if let Some(response) = answered.get_mut("response").and_then(Value::as_object_mut) {
        if mode == Mode::Enforce && !evaluation.patches.is_empty() {
            let patch = admission::encoded(&evaluation.patches);
            response.insert("patch".to_owned(), patch);
            response.insert("patchType".to_owned(), json!("JSONPatch"));
        }
        response.insert("auditAnnotations".to_owned(), notes(&judgement));
    }
    Ok(answered)
}

async fn evaluated(doors: &Doors, request: &Request) -> Result<Evaluation, String> {
    let known = doors.knowledge().ok_or("not everything was read yet")?;
    // As YuniKorn takes it, of whose cache it may be missing.
    let namespace = surroundings::of_namespace(doors, request.namespace()).await?;
    let surroundings = Surroundings {
        namespace_annotations: namespace.unwrap_or_default(),
        priority_class_annotations: surroundings::of_priority_class(doors, &request.pod.priority_class)
            .await?,
    };
    Ok(model::evaluate(request, &surroundings, &known.conf))
}

/// Whether the annotation is what the admission controller writes for this requester, byte for byte.
fn is_own(request: &Request) -> bool {
    let own = UserInfo { user: request.user.clone(), groups: request.groups.clone() };
    request.pod.annotation(USER_INFO) == own.write()
}
