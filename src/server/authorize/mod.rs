//! Access reviews: may this user do this in that queue, or with that application?
//!
//! Two addresses, one answer:
//! * `POST /authorize` is an authorization webhook of the API server (`--authorization-config`), in `authorization.k8s.io/v1` and
//!   `v1beta1`. It asks about everybody, on behalf of `kubectl auth can-i` and of whatever else is authorized.
//! * `POST /apis/authorization.k8s.io/…` speaks as the API server does to its clients, for those in the cluster who ask directly.
//!
//! Who asks is always known ([`super::caller`]). About themselves everyone may ask; about others the administrators of the queue and
//! whoever Kubernetes lets create `subjectaccessreviews`: the API server's own identity is one of them.
//!
//! An authorizer that does not answer holds up every request of the cluster for seconds (the API server asks again after a 5xx, five
//! times). So whatever keeps a question from being decided is no opinion, with the reason: nothing is known yet, the API server cannot
//! be asked who this is, the queues cannot be read.
//!
//! * [`judge`]: from a review to its answer.
//! * [`trusted`]: who may ask about everybody.

mod judge;
#[cfg(test)]
mod tests;
mod trusted;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::Doors;
use super::caller::{Caller, Unauthenticated};
use super::refusal::Refusal;
use crate::api::review::{Kind, access};
use crate::text::diag::{Diagnostic, quoted};
use trusted::Trusted;

/// Largest review that is read, in bytes: the API server's own limit for what its callers control is 10 kB, and users may be in
/// thousands of groups.
const MAX_BODY: usize = 256 * 1024;

/// Who asks; strangers get an answer that depends on what they ask.
type Asker = Result<Caller, Unauthenticated>;
type Body = Result<Bytes, BytesRejection>;

/// The routes.
pub fn router() -> Router<Doors> {
    let reviews = Router::new()
        .route("/subjectaccessreviews", post(subject))
        .route("/selfsubjectaccessreviews", post(own))
        .route("/namespaces/{namespace}/localsubjectaccessreviews", post(local));
    Router::new()
        .route("/authorize", post(authorize))
        .nest("/apis/authorization.k8s.io/v1", reviews.clone())
        .nest("/apis/authorization.k8s.io/v1beta1", reviews)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(Extension(Arc::new(Trusted::default())))
}

/// `POST /authorize`, from the API server; it takes 200 and 201 alike (`k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go`).
async fn authorize(
    State(doors): State<Doors>,
    Extension(trusted): Extension<Arc<Trusted>>,
    asker: Asker,
    body: Body,
) -> Result<Response, Refusal> {
    let document = document(Kind::Subject, body)?;
    answered(&doors, &trusted, Kind::Subject, asker, document)
        .await
        .map(|review| Json(review).into_response())
}

async fn subject(
    State(doors): State<Doors>,
    Extension(trusted): Extension<Arc<Trusted>>,
    asker: Asker,
    body: Body,
) -> Result<Response, Refusal> {
    let document = document(Kind::Subject, body)?;
    answered(&doors, &trusted, Kind::Subject, asker, document).await.map(created)
}

async fn own(
    State(doors): State<Doors>,
    Extension(trusted): Extension<Arc<Trusted>>,
    asker: Asker,
    body: Body,
) -> Result<Response, Refusal> {
    let document = document(Kind::Own, body)?;
    answered(&doors, &trusted, Kind::Own, asker, document).await.map(created)
}

async fn local(
    State(doors): State<Doors>,
    Extension(trusted): Extension<Arc<Trusted>>,
    Path(namespace): Path<String>,
    asker: Asker,
    body: Body,
) -> Result<Response, Refusal> {
    let document = document(Kind::Local, body)?;
    let written = document.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    if written != namespace {
        let message = format!(
            "the path says namespace {}, metadata.namespace {}: write the same in both",
            quoted(&namespace),
            quoted(written)
        );
        return Err(Refusal::bad_request(message));
    }
    answered(&doors, &trusted, Kind::Local, asker, document).await.map(created)
}

/// The review as the API server gives it back to whoever creates one.
fn created(review: Value) -> Response {
    (StatusCode::CREATED, Json(review)).into_response()
}

/// A review of the kind that is answered here.
fn document(kind: Kind, body: Body) -> Result<Value, Refusal> {
    let body = body.map_err(|error| {
        let reason = match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
            _ => "BadRequest",
        };
        Refusal { code: error.status(), reason, message: error.body_text() }
    })?;
    let document: Value = serde_json::from_slice(&body)
        .map_err(|error| Refusal::bad_request(format!("the body is no JSON: {error}")))?;
    match Kind::of(&document) {
        Some(Ok(found)) if found == kind => Ok(document),
        Some(Err(unknown)) => Err(refused(&unknown)),
        _ => {
            let message = format!(
                "the body is no {}: write apiVersion: authorization.k8s.io/v1 and kind: {}",
                kind.as_str(),
                kind.as_str()
            );
            Err(Refusal::bad_request(message))
        }
    }
}

/// The review with its answer.
async fn answered(
    doors: &Doors,
    trusted: &Trusted,
    kind: Kind,
    asker: Asker,
    document: Value,
) -> Result<Value, Refusal> {
    let answer = match asker {
        Ok(asker) => judge::answer(doors, trusted, kind, &asker, &document).await?,
        Err(Unauthenticated::Unchecked(why)) => judge::unknown_asker(&why),
        Err(stranger) => return Err(stranger.into()),
    };
    Ok(access::filled(document, &answer))
}

fn refused(wrong: &Diagnostic) -> Refusal {
    let help = wrong.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    Refusal::bad_request(format!("{} ({}){help}", wrong.message, wrong.code))
}
