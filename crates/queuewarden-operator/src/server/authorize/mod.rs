//! Access reviews: may this user do this in that queue, or with that application?
//!
//! Two addresses, one answer:
//! * `POST /authorize` is an authorization webhook of the API server (`--authorization-config`), in
//!   `authorization.k8s.io/v1` and `v1beta1`. It asks about everybody, on behalf of `kubectl auth can-i`
//!   and of whatever else is authorized.
//! * `POST /apis/authorization.k8s.io/…` speaks as the API server does to its clients, for those in the
//!   cluster who ask directly.
//!
//! Callers are always authenticated ([`super::caller`]). All users may ask about themselves. The
//! administrators of the queue, and users whom Kubernetes lets create `subjectaccessreviews`, may ask about
//! others: the API server's own identity is one of them. [`scope`](super::scope) decides how much of the
//! answer they get.
//!
//! An authorizer that does not answer delays every request of the cluster for seconds (after a 5xx the API
//! server repeats the request five times). So an undecided review gets no opinion, with the reason: there
//! is no state yet, the API server cannot authenticate the caller, the queues cannot be read.
//!
//! * [`decide`]: the step from a review to its answer.

mod decide;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::ServerState;
use super::audit::{Audit, OTHER};
use super::caller::{Credentials, Unauthenticated};
use super::internal_error::contained;
use super::refusal::Refusal;
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::Kind;
use queuewarden_api::review::access::{self, Sent};
use yunikorn_access::review::Answer;

/// The largest review that is read, in bytes: the API server's own limit for the parts that its callers
/// control is 10 kB, and users may be in thousands of groups.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    let reviews = Router::new()
        .route("/subjectaccessreviews", post(review).layer(Extension(Kind::Subject)))
        .route("/selfsubjectaccessreviews", post(review).layer(Extension(Kind::Own)))
        .route(
            "/namespaces/{namespace}/localsubjectaccessreviews",
            post(review).layer(Extension(Kind::Local)),
        )
        .layer(Extension(Audit::new("subjectaccessreviews")));
    // Not an extension of the request: each layer around the busiest route costs a microsecond.
    let audit = Audit::new("authorize");
    let authorize = move |State(state): State<Arc<ServerState>>, shown: Credentials, body: Bytes| {
        authorize(state, audit.clone(), shown, body)
    };
    Router::new()
        .route("/authorize", post(authorize))
        .nest("/apis/authorization.k8s.io/v1", reviews.clone())
        .nest("/apis/authorization.k8s.io/v1beta1", reviews)
}

/// `POST /authorize`, from the API server; it takes 200 and 201 alike, and reads the status alone of what
/// comes back (`k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go`).
async fn authorize(
    state: Arc<ServerState>,
    audit: Audit,
    shown: Credentials,
    body: Bytes,
) -> Result<Response, Refusal> {
    let (version, sent) = read(Kind::Subject, &body)?;
    let answer = answered(&state, &audit, Kind::Subject, sent, &shown).await?;
    Ok(Json(access::only_status(&version, Kind::Subject, &answer)).into_response())
}

/// `POST` of a review, answered as the API server answers the client that creates one; with a namespace in
/// the path the review is about that namespace.
async fn review(
    State(state): State<Arc<ServerState>>,
    Extension(audit): Extension<Audit>,
    Extension(kind): Extension<Kind>,
    namespace: Option<Path<String>>,
    shown: Credentials,
    body: Bytes,
) -> Result<Response, Refusal> {
    let (_, sent) = read(kind, &body)?;
    if let (Some(Path(namespace)), Ok(sent)) = (namespace, &sent)
        && sent.namespace() != namespace
    {
        let message = format!(
            "the path says namespace {}, metadata.namespace {}: write the same in both",
            quoted(&namespace),
            quoted(sent.namespace())
        );
        return Err(Refusal::bad_request(message));
    }
    let answer = answered(&state, &audit, kind, sent, &shown).await?;
    let review = serde_json::from_slice(&body).unwrap_or_default();
    Ok((StatusCode::CREATED, Json(access::filled(review, &answer))).into_response())
}

/// Returns the `apiVersion` of a review of this kind, and the review: callers with the permission learn why
/// it cannot be read.
fn read(kind: Kind, body: &[u8]) -> Result<(String, Result<Sent, Diagnostic>), Refusal> {
    if let Some(sent) = Sent::read_json(body)
        && sent.kind() == Some(Ok(kind))
    {
        return Ok((sent.api_version().to_owned(), Ok(sent)));
    }
    // Reports errors by field; and of duplicate fields the last counts, as for the API server.
    let document: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the body is no JSON: {error}")))?;
    match Kind::from_document(&document) {
        Some(Ok(found)) if found == kind => {
            let version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
            Ok((version, Sent::read(&document)))
        }
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

/// Answers a review. An internal error is no opinion, like every other reason that leaves a review
/// undecided.
async fn answered(
    state: &ServerState,
    audit: &Audit,
    kind: Kind,
    sent: Result<Sent, Diagnostic>,
    shown: &Credentials,
) -> Result<Answer, Refusal> {
    let undecided = |clause: &'static str| {
        state.health.metrics.endpoints.decided(OTHER, "undecided", clause);
    };
    let answer = contained(async {
        match state.callers.know(shown).await {
            Ok(caller) => decide::answer(state, audit, kind, &caller, sent).await,
            Err(Unauthenticated::Unchecked(why)) => {
                undecided("asker");
                Ok(decide::unknown_asker(&why))
            }
            Err(stranger) => Err(stranger.into()),
        }
    });
    answer.await.unwrap_or_else(|fault| {
        undecided("fault");
        Ok(Answer::undecided("fault", &fault.to_string()))
    })
}

fn refused(wrong: &Diagnostic) -> Refusal {
    let help = wrong.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    Refusal::bad_request(format!("{} ({}){help}", wrong.message, wrong.code))
}
