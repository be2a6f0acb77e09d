//! The identity guard: `/user-info` adds the annotation `yunikorn.apache.org/user.info` where it is missing and refuses it where the
//! requester may not set it; `/user-info/check` judges the same when all mutating webhooks are through, and changes nothing.
//!
//! What is said is decided by [`guard::judge`], or by [`crate::model::admission::evaluate`] in profile yunikorn; whether it counts, by the
//! `AdmissionPolicy` in force. What cannot be answered is an error, so that `failurePolicy` decides.

mod audit;
mod beside;
mod parity;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::Doors;
use super::audit::Audit;
use super::knowledge::Knowledge;
use super::refusal::Refusal;
use crate::access::guard::{self, Judgement, Mode, Moment, Profile, Verdict};
use crate::api::review::change;
use crate::api::review::user_info::{Asked, read, response};
use audit::note;
use beside::Beside;

/// The routes.
pub fn router() -> Router<Doors> {
    Router::new()
        .route("/user-info", post(add))
        .route("/user-info/check", post(check))
        .layer(Extension(Audit::of("user-info")))
        .layer(Extension(Beside::default()))
}

type Answer = Result<Json<Value>, Refusal>;

async fn add(
    State(doors): State<Doors>,
    audit: Extension<Audit>,
    beside: Extension<Beside>,
    Json(review): Json<Value>,
) -> Answer {
    let Some((known, asked)) = looked_at(&doors, &review)? else { return Ok(silent(&review)) };
    if known.user_info.profile == Profile::YuniKorn {
        return parity::answer(&doors, &known, &beside, &audit, &review, asked).await.map(Json);
    }
    let mode = known.user_info.mode;
    let judgement = judged(&known, &asked, Moment::Mutating);
    note(&audit, &doors, &asked, &judgement, mode);
    Ok(Json(response(&asked, &judgement, mode)))
}

/// In mode Audit nothing was added, and what would be refused was written down before; `YuniKorn` has nobody who looks again.
async fn check(State(doors): State<Doors>, audit: Extension<Audit>, Json(review): Json<Value>) -> Answer {
    let Some((known, asked)) = looked_at(&doors, &review)? else { return Ok(silent(&review)) };
    let mode = known.user_info.mode;
    if mode == Mode::Audit || known.user_info.profile == Profile::YuniKorn {
        return Ok(silent(&review));
    }
    let mut judgement = judged(&known, &asked, Moment::Final);
    // Said before.
    judgement.warnings.clear();
    if judgement.verdict == Verdict::Refused {
        note(&audit, &doors, &asked, &judgement, mode);
    }
    Ok(Json(response(&asked, &judgement, mode)))
}

/// What is asked, where anybody looks, and what is known: by one state of it a request is judged.
fn looked_at(doors: &Doors, review: &Value) -> Result<Option<(Arc<Knowledge>, Asked)>, Refusal> {
    let known = doors.knowledge().ok_or_else(|| Refusal::unavailable("not everything was read yet"))?;
    let settings = &known.user_info;
    let namespace = review.pointer("/request/namespace").and_then(Value::as_str).unwrap_or_default();
    if settings.mode == Mode::Off || known.leaves_alone(namespace) {
        return Ok(None);
    }
    let asked = read(review, &settings.templates).map_err(|why| Refusal::bad_request(why.to_string()))?;
    Ok(Some((known, asked)))
}

fn judged(known: &Knowledge, asked: &Asked, moment: Moment) -> Judgement {
    guard::judge(&asked.at(moment), &known.conf.access)
}

/// Lets it pass, and says nothing.
fn silent(review: &Value) -> Json<Value> {
    let uid = review.pointer("/request/uid").and_then(Value::as_str).unwrap_or_default();
    Json(change::response(uid, None, &[]))
}
