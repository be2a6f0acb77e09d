//! The validating webhooks: `/validate` for our own kinds, `/guard` for `YuniKorn`'s ConfigMaps.
//!
//! What is said is decided by [`plan::admit`]. On our own kinds a doubt is a no (`failurePolicy: Fail`): nobody needs to write them for a
//! cluster to run. On ConfigMaps a doubt is a yes: a guard that is down or in error is never in the way.
//!
//! Who sends a review is not asked, and what that lets them learn is said in [`super`].

mod authority;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::routing::post;
use axum::{Extension, Json, Router, extract::State};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Doors;
use super::audit::{Audit, Decision, OTHER};
use super::fault::{Fault, contained};
use super::knowledge::Knowledge;
use crate::api::review::change::{Asked, read, response};
use crate::api::{GROUP, access_test, config_map, convert};
use crate::plan::admit::{self, Answer, Change, Versions};

/// Plans made at once: each takes one thread for as long as a round of the reconciler plans.
const AT_ONCE: usize = 2;
/// What decides where it cannot be judged.
const DOUBT: &str = "unknown";

/// What a door remembers between requests; clones are the same.
#[derive(Debug, Clone)]
struct Memory {
    places: Arc<Semaphore>,
    audit: Audit,
}

/// The routes.
pub fn router() -> Router<Doors> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let memory = |door| Extension(Memory { places: Arc::clone(&places), audit: Audit::of(door) });
    Router::new()
        .route("/validate", post(validate).layer(memory("validate")))
        .route("/guard", post(guard).layer(memory("guard")))
}

async fn validate(
    State(doors): State<Doors>,
    Extension(memory): Extension<Memory>,
    Json(review): Json<Value>,
) -> Json<Value> {
    let (uid, answer) = match read(&review) {
        Ok(asked) => {
            let found = contained(own(&doors, &memory.places, &asked)).await;
            let answer = found.unwrap_or_else(|fault| Err(fault.to_string())).map_err(|why| refused(&why));
            note(&memory.audit, &doors, &asked, answer.as_ref());
            (asked.uid, answer.unwrap_or_else(|doubt| doubt))
        }
        Err(finding) => (String::new(), refused(&finding.to_string())),
    };
    Json(response(&uid, answer.refusal.as_deref(), &answer.warnings))
}

async fn guard(
    State(doors): State<Doors>,
    Extension(memory): Extension<Memory>,
    Json(review): Json<Value>,
) -> Json<Value> {
    let (uid, answer) = match read(&review) {
        Ok(asked) => {
            let found = contained(guarded(&doors, &memory.places, &asked)).await;
            let answer = found.unwrap_or_else(|fault| Err(fault.to_string())).map_err(|why| Answer {
                clause: DOUBT,
                refusal: None,
                warnings: vec![format!("queuewarden cannot judge this: {why}")],
            });
            note(&memory.audit, &doors, &asked, answer.as_ref());
            (asked.uid, answer.unwrap_or_else(|doubt| doubt))
        }
        Err(_) => (String::new(), Answer::default()),
    };
    Json(response(&uid, answer.refusal.as_deref(), &answer.warnings))
}

fn refused(why: &str) -> Answer {
    Answer { clause: DOUBT, refusal: Some(why.to_owned()), warnings: Vec::new() }
}

/// Writes down what was said to a change; an error is what was said in doubt.
fn note(audit: &Audit, doors: &Doors, asked: &Asked, answer: Result<&Answer, &Answer>) {
    let said = match answer {
        Ok(Answer { refusal: None, .. }) => "accepted",
        Ok(_) => "refused",
        Err(_) => "undecided",
    };
    let (Ok(answer) | Err(answer)) = answer;
    let place = if asked.namespace.is_empty() { String::new() } else { format!("{}/", asked.namespace) };
    let decision = Decision {
        verb: verb(&asked.operation),
        said,
        clause: answer.clause,
        refused: answer.refusal.is_some(),
        by: &asked.by.user,
        user: "",
        queue: "",
        object: &format!("{} {place}{}", asked.kind, asked.name),
        reason: answer.refusal.as_ref().or(answer.warnings.first()).map_or("", String::as_str),
    };
    audit.note(&doors.health, &decision);
}

/// The operation as Kubernetes' authorizers call it.
fn verb(operation: &str) -> &'static str {
    match operation {
        "CREATE" => "create",
        "UPDATE" => "update",
        "DELETE" => "delete",
        _ => OTHER,
    }
}

/// What is said to a change of one of our kinds; an error is a doubt.
async fn own(doors: &Doors, places: &Arc<Semaphore>, asked: &Asked) -> Result<Answer, String> {
    let change = change(asked)?;
    let known = doors.knowledge();
    // Who may do everything is let through while nothing is known, so that a new installation can be set up.
    let depends = known.is_none() || admit::depends_on_who(&change);
    let may_escalate = !depends
        || authority::is_housekeeping(asked)
        || authority::may_escalate(&doors.client, asked).await.map_err(|refusal| refusal.message)?;
    let Some(known) = known else {
        return if may_escalate {
            let warning =
                "queuewarden has not read the cluster yet, and says nothing about this change".to_owned();
            Ok(Answer { warnings: vec![warning], ..Answer::default() })
        } else {
            Err("queuewarden has not read the cluster yet: try again in a moment".to_owned())
        };
    };
    let asked = admit::Asked { by: asked.by.clone(), may_escalate, change };
    planned(places, known, move |known| admit::admit(&known.snapshot, &asked)).await
}

/// What is said to a change of a `ConfigMap`.
async fn guarded(doors: &Doors, places: &Arc<Semaphore>, asked: &Asked) -> Result<Answer, String> {
    if !asked.group.is_empty() || asked.kind != "ConfigMap" {
        return Ok(Answer::default());
    }
    let known = doors.knowledge().ok_or("it has not read the cluster yet")?;
    let new: Option<ConfigMap> =
        asked.object.clone().map(serde_json::from_value).transpose().map_err(|error| error.to_string())?;
    let (namespace, name) = (asked.namespace.clone(), asked.name.clone());
    planned(places, known, move |known| {
        let new = new.as_ref().map(config_map::state);
        admit::config_map::admit(&known.snapshot, &namespace, &name, new.as_ref())
    })
    .await
}

/// Works where it is in nobody's way.
async fn planned(
    places: &Arc<Semaphore>,
    known: Arc<Knowledge>,
    work: impl FnOnce(&Knowledge) -> Answer + Send + 'static,
) -> Result<Answer, String> {
    let place = Arc::clone(places).acquire_owned().await.map_err(|error| error.to_string())?;
    let judged = spawn_blocking(move || {
        // Held by the work itself, which goes on when nobody waits for it any more.
        let _place = place;
        work(&known)
    });
    judged.await.map_err(|error| {
        tracing::error!(%error, "A change could not be judged");
        Fault.to_string()
    })
}

/// The change as the plan sees it.
fn change(asked: &Asked) -> Result<Change, String> {
    if asked.group != GROUP {
        return Err(format!("{} of group {:?} is not judged here", asked.kind, asked.group));
    }
    let object = |value: &Option<Value>| -> Result<Option<DynamicObject>, String> {
        value
            .clone()
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error: serde_json::Error| error.to_string())
    };
    let (old, new) = (object(&asked.old)?, object(&asked.object)?);
    let (old, new) = (old.as_ref(), new.as_ref());
    Ok(match asked.kind.as_str() {
        "QueueAcl" => Change::QueueAcl(versions(old, new, |object| Arc::new(convert::queue_acl(object)))),
        "AdmissionPolicy" => Change::AdmissionPolicy(Box::new(versions(old, new, convert::admission_policy))),
        "YuniKornConfig" => Change::YuniKornConfig(Box::new(versions(old, new, convert::yunikorn_config))),
        "QueueAccessTest" => Change::QueueAccessTest(Box::new(versions(old, new, access_test::access_test))),
        kind => return Err(format!("kind {kind} is not judged here")),
    })
}

fn versions<T>(
    old: Option<&DynamicObject>,
    new: Option<&DynamicObject>,
    convert: impl Fn(&DynamicObject) -> T,
) -> Versions<T> {
    Versions { old: old.map(&convert), new: new.map(convert) }
}
