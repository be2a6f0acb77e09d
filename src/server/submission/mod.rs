//! The webhook `/submission`: pods and workloads that `YuniKorn` would reject, judged while they are applied.
//!
//! What is said is decided by [`submission::judge`]; how loudly, by the `AdmissionPolicy` in force. Whatever goes wrong here lets the
//! request pass: the scheduler decides in any case.

mod audit;
#[cfg(test)]
mod tests;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::knowledge::Knowledge;
use super::{Doors, surroundings};
use crate::access::submission::{self, Applied, Judgement, Mode, PARTITION, World};
use crate::api::review::submission::{Asked, read, response, silent, uid};
use crate::model::admission::{Kind, Surroundings};
use crate::plan;
use audit::Audit;

/// The route.
pub fn router() -> Router<Doors> {
    Router::new().route("/submission", post(submit)).layer(Extension(Audit::default()))
}

async fn submit(
    State(doors): State<Doors>,
    audit: Extension<Audit>,
    Json(review): Json<Value>,
) -> Json<Value> {
    let Some(known) = doors.knowledge() else { return Json(silent(uid(&review))) };
    let mode = plan::submission(&known.snapshot.policies);
    let asked = match read(&review) {
        Ok(asked) if mode != Mode::Off && is_looked_at(&known, &asked) => asked,
        _ => return Json(silent(uid(&review))),
    };
    let judgement = judged(&doors, &known, &asked).await;
    doors.health.metrics.doors.decided("submit", judgement.verdict.as_str(), judgement.clause);
    audit.note(&asked, &judgement, mode);
    Json(response(&asked.uid, &judgement, mode))
}

fn is_looked_at(known: &Knowledge, asked: &Asked) -> bool {
    !known.leaves_alone(asked.request.namespace()) && !matches!(asked.request.kind, Kind::Other(_))
}

async fn judged(doors: &Doors, known: &Knowledge, asked: &Asked) -> Judgement {
    let queues = match &known.queues {
        Ok(queues) => queues,
        Err(why) => return Judgement::undecided("configuration", why),
    };
    let Some(tree) = queues.tree(PARTITION) else {
        return Judgement::undecided("configuration", "the configuration has no partition `default`");
    };
    let namespace = asked.request.namespace();
    let namespace_annotations = match surroundings::of_namespace(doors, namespace).await {
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
    let resolver = queues.resolver();
    submission::judge(&applied, World { conf: &known.conf, tree, resolver: resolver.here() })
}
