//! The webhook `/submission`: pods and workloads that `YuniKorn` would reject, judged while they are applied.
//!
//! What is said is decided by [`submission::judge`]; how loudly, by the `AdmissionPolicy` in force. Whatever goes wrong here lets the
//! request pass: the scheduler decides in any case.
//!
//! Who sends a review is not asked, and what that lets them learn is said in [`super`].

#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use serde_json::Value;
use tokio::time::timeout;

use super::Doors;
use super::audit::{Audit, Decision};
use super::fault::contained;
use super::knowledge::Knowledge;
use crate::access::submission::{self, Applied, Judgement, Mode, PARTITION, Verdict, World};
use crate::api::review::submission::{Asked, read, response, silent, uid};
use crate::model::admission::request::Texts;
use crate::model::admission::{Kind, Surroundings};
use crate::plan;

/// How long the API server may take to tell of a namespace; the whole answer has 3 seconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where nothing is ever said, whatever the webhook's own selector lets through: a cluster heals itself there.
const NEVER: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "queuewarden-system"];

/// The route.
pub fn router() -> Router<Doors> {
    Router::new().route("/submission", post(submit)).layer(Extension(Audit::of("submission")))
}

async fn submit(
    State(doors): State<Doors>,
    audit: Extension<Audit>,
    Json(review): Json<Value>,
) -> Json<Value> {
    let Some(known) = doors.knowledge() else { return Json(silent(uid(&review))) };
    let mode = plan::submission(&known.snapshot);
    let asked = match read(&review) {
        Ok(asked) if mode != Mode::Off && is_looked_at(&known, &asked) => asked,
        _ => return Json(silent(uid(&review))),
    };
    let judgement = contained(judged(&doors, &known, &asked)).await;
    let judgement = judgement.unwrap_or_else(|fault| Judgement::undecided("fault", &fault.to_string()));
    note(&audit, &doors, &asked, &judgement, mode);
    Json(response(&asked.uid, &judgement, mode))
}

/// Where nobody asked there is nothing to write down.
fn note(audit: &Audit, doors: &Doors, asked: &Asked, judgement: &Judgement, mode: Mode) {
    let Judgement { verdict, clause, reason, user, queue } = judgement;
    if *verdict == Verdict::NotAsked {
        doors.health.metrics.doors.decided("submit", verdict.as_str(), clause);
        return;
    }
    let request = &asked.request;
    let decision = Decision {
        verb: "submit",
        said: verdict.as_str(),
        clause,
        refused: judgement.refusal(mode).is_some(),
        by: &request.user,
        user,
        queue,
        object: &format!("{} {}/{}", request.kind, request.namespace(), asked.name),
        reason,
    };
    audit.note(&doors.health, &decision);
}

/// Not `YuniKorn`'s own namespace, nor those of the cluster.
fn is_looked_at(known: &Knowledge, asked: &Asked) -> bool {
    let namespace = asked.request.namespace();
    let config = known.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
    let yunikorn = config.is_some_and(|config| config.namespace == namespace);
    !yunikorn && !NEVER.contains(&namespace) && !matches!(asked.request.kind, Kind::Other(_))
}

async fn judged(doors: &Doors, known: &Knowledge, asked: &Asked) -> Judgement {
    let queues = match &known.queues {
        Ok(queues) => queues,
        Err(why) => return Judgement::undecided("configuration", why),
    };
    let Some(tree) = queues.tree(PARTITION) else {
        return Judgement::undecided("configuration", "the configuration has no partition `default`");
    };
    let namespace_annotations = match annotations(doors, asked.request.namespace()).await {
        Ok(annotations) => annotations,
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

/// The annotations of a namespace, by which it is sent to `YuniKorn` and placed.
async fn annotations(doors: &Doors, name: &str) -> Result<Texts, String> {
    let namespaces: Api<Namespace> = Api::all(doors.client.clone());
    match timeout(PATIENCE, namespaces.get_metadata(name)).await {
        Ok(Ok(namespace)) => Ok(namespace.metadata.annotations.unwrap_or_default()),
        Ok(Err(error)) => Err(format!("namespace {name} cannot be read: {error}")),
        Err(_) => Err(format!("namespace {name} was not told in time")),
    }
}
