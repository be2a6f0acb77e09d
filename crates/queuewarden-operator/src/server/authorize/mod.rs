//! Access reviews: may this user do this in that queue, or with that application?
//!
//! Two addresses give the same answer:
//! * `POST /authorize` is an authorization webhook of the API server (`--authorization-config`), in
//!   `authorization.k8s.io/v1` and `v1beta1`. The API server sends requests about any user, for `kubectl auth
//!   can-i` and everything else that it authorizes.
//! * `POST /apis/authorization.k8s.io/…` behaves like the API server's own endpoint, for clients in the
//!   cluster that ask directly.
//!
//! Callers are always authenticated ([`super::caller`]). All users may ask about themselves. Administrators
//! of the queue may ask about others, and so may users with Kubernetes' permission to create
//! `subjectaccessreviews`, such as the API server itself. [`permission`](super::permission) decides how much
//! of the answer they get.
//!
//! An authorizer that does not answer delays every request in the cluster for seconds, because the API server
//! repeats a request five times after a 5xx. If a review cannot be decided, the response is therefore no
//! opinion, with the reason: there is no state yet, the API server cannot authenticate the caller, or the
//! queues cannot be read.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;

use super::ServerState;
use super::api_error::{ApiError, contained};
use super::audit::{Audit, AuditRecord, OTHER};
use super::caller::{Caller, Unauthenticated};
use super::permission::Scope;
use crate::controller::published::Published;
use go_compat::diag::{Diagnostic, quoted};
use queuewarden_api::review::ReviewKind;
use queuewarden_api::review::access::{SubjectAccessReview, filled, only_status};
use yunikorn::queue;
use yunikorn_access::review::{AccessAction, AccessRequest, Answer, Lookup, answer};
use yunikorn_access::tree::Scheduler;

/// The maximum size of a review in bytes. The API server's own limit for the parts that its callers control
/// is 10 kB, and users may be in thousands of groups.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// The partition of every review. A review does not name a partition, so it is the one that `YuniKorn` uses
/// on Kubernetes (k8shim `pkg/common/constants/constants.go:53`).
const PARTITION: &str = "default";

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    let reviews = Router::new()
        .route("/subjectaccessreviews", post(review).layer(Extension(ReviewKind::Subject)))
        .route("/selfsubjectaccessreviews", post(review).layer(Extension(ReviewKind::Own)))
        .route(
            "/namespaces/{namespace}/localsubjectaccessreviews",
            post(review).layer(Extension(ReviewKind::Local)),
        )
        .layer(Extension(Audit::new("subjectaccessreviews")));
    // Captured rather than added as an extension, because each layer around the busiest route costs a
    // microsecond.
    let audit = Audit::new("authorize");
    let authorize = move |State(state): State<Arc<ServerState>>, request: Request| {
        authorize(state, audit.clone(), request)
    };
    Router::new()
        .route("/authorize", post(authorize))
        .nest("/apis/authorization.k8s.io/v1", reviews.clone())
        .nest("/apis/authorization.k8s.io/v1beta1", reviews)
}

/// `POST /authorize`, from the API server, which treats 200 and 201 the same and reads only the status of the
/// response (`k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go`).
async fn authorize(state: Arc<ServerState>, audit: Audit, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = received(request).await?;
    let review = read(ReviewKind::Subject, &body)?;
    let answer = answered(&state, &audit, ReviewKind::Subject, &review, &parts).await?;
    let version = review.as_ref().map_or("", |review| &review.api_version);
    Ok(Json(only_status(version, ReviewKind::Subject, &answer)).into_response())
}

/// Handles a review created by a client. A namespace in the path must match the review.
async fn review(
    State(state): State<Arc<ServerState>>,
    Extension(audit): Extension<Audit>,
    Extension(kind): Extension<ReviewKind>,
    namespace: Option<Path<String>>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = received(request).await?;
    let review = read(kind, &body)?;
    if let (Some(Path(namespace)), Ok(review)) = (namespace, &review)
        && review.namespace != namespace
    {
        let message = format!(
            "the namespace in the path is {}, but metadata.namespace is {}: use the same in both",
            quoted(&namespace),
            quoted(&review.namespace)
        );
        return Err(ApiError::bad_request(message));
    }
    let answer = answered(&state, &audit, kind, &review, &parts).await?;
    let document = serde_json::from_slice(&body).unwrap_or_default();
    Ok((StatusCode::CREATED, Json(filled(document, &answer))).into_response())
}

/// Splits a request, which extractors cannot do without copying its headers.
async fn received(request: Request) -> Result<(Parts, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await;
    Ok((parts, body.map_err(|error| ApiError::bad_request(error.to_string()))?))
}

/// Parses a review of this kind. The inner error may only be shown to authenticated callers.
fn read(kind: ReviewKind, body: &[u8]) -> Result<Result<SubjectAccessReview, Diagnostic>, ApiError> {
    if let Some(review) = SubjectAccessReview::read_json(body)
        && review.kind() == Some(Ok(kind))
    {
        return Ok(Ok(review));
    }
    // This parser reports errors by field and, like the API server, uses the last of duplicate fields.
    let document: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))?;
    match ReviewKind::from_document(&document) {
        Some(Ok(named)) if named == kind => Ok(SubjectAccessReview::read(&document)),
        Some(Err(unknown)) => Err(refused(&unknown)),
        _ => {
            let kind = kind.as_str();
            let message = format!(
                "the body is not a {kind}: write apiVersion: authorization.k8s.io/v1 and kind: {kind}"
            );
            Err(ApiError::bad_request(message))
        }
    }
}

/// Answers a review. An internal error gives no opinion, like every other reason that leaves a review
/// undecided.
async fn answered(
    state: &ServerState,
    audit: &Audit,
    kind: ReviewKind,
    review: &Result<SubjectAccessReview, Diagnostic>,
    parts: &Parts,
) -> Result<Answer, ApiError> {
    let undecided = |clause: &'static str| {
        state.health.metrics.decided(OTHER, "undecided", clause);
    };
    let answer = contained(async {
        match state.callers.authenticate(parts).await {
            Ok(caller) => decided(state, audit, kind, review, &caller).await,
            Err(Unauthenticated::Unchecked(why)) => {
                undecided("asker");
                Ok(unknown_caller(&why))
            }
            Err(stranger) => Err(stranger.into()),
        }
    });
    answer.await.unwrap_or_else(|fault| {
        undecided("fault");
        Ok(Answer::undecided("fault", &fault.to_string()))
    })
}

/// Answers the review of a caller and logs the decision.
///
/// # Errors
/// When the review cannot be read, or the caller may not ask about this user.
async fn decided(
    state: &ServerState,
    audit: &Audit,
    kind: ReviewKind,
    review: &Result<SubjectAccessReview, Diagnostic>,
    caller: &Arc<Caller>,
) -> Result<Answer, ApiError> {
    let review = review.as_ref().map_err(refused)?;
    let user = review.user(kind, Some(&caller.identity)).map_err(|wrong| refused(&wrong))?;
    let action = match review.action(state.applications.answers_pods()) {
        Ok(action) => action,
        // A review that is not for queuewarden needs no permission and no line in the log.
        Err(answer) => {
            state.health.metrics.decided(OTHER, answer.decision(), answer.clause);
            return Ok(answer);
        }
    };
    let request = AccessRequest { partition: PARTITION, user, action };
    let published = state.published();
    let scheduler = scheduler(published.as_deref());
    let application = match &scheduler {
        Ok(scheduler) => find(state, action, *scheduler).await,
        Err(_) => None,
    };
    let queue = queue_of(action, application.as_ref());
    let tree = scheduler.as_ref().ok().map(|scheduler| scheduler.tree);
    let scope = state.permissions.scope(caller, &request, (tree, queue), ReviewKind::Own.as_str()).await;
    let answer = match (&scope, scheduler) {
        (Err(error), _) if error.code == StatusCode::FORBIDDEN => Err(error.clone()),
        (Err(unknown), _) => Ok(unknown_caller(&unknown.message)),
        (Ok(_), Err(why)) => Ok(Answer::undecided("configuration", &why)),
        (Ok(_), Ok(scheduler)) => Ok(answer(&request, application.as_ref(), scheduler)),
    };
    let record = AuditRecord {
        verb: action.verb(),
        by: &caller.identity.user,
        user: &user.user,
        queue,
        object: &action.object(),
        ..AuditRecord::of(answer.as_ref())
    };
    audit.note(&state.health, &record);
    match scope {
        Ok(Scope::Own) => answer.map(|answer| answer.brief(&request)),
        _ => answer,
    }
}

/// Returns the queues that the scheduler runs, and its rules.
fn scheduler(published: Option<&Published>) -> Result<Scheduler<'_>, String> {
    let published = published.ok_or("queuewarden has not read everything yet")?;
    let queues = published.queues.as_deref().map_err(Clone::clone)?;
    let tree =
        queues.tree(PARTITION).ok_or_else(|| format!("there is no partition {}", quoted(PARTITION)))?;
    Ok(Scheduler { tree, resolver: &queues.resolver, version: published.conf.version })
}

/// Looks up the application of a request; `None` if it is not about one.
async fn find(state: &ServerState, action: AccessAction<'_>, scheduler: Scheduler<'_>) -> Option<Lookup> {
    // Boxed, because the future would otherwise increase the size of requests about queues.
    match action {
        AccessAction::Application { namespace, id, .. } => {
            Some(Box::pin(state.applications.find(namespace, id, scheduler)).await)
        }
        AccessAction::Pod { namespace, name, .. } => {
            Some(Box::pin(state.applications.of_pod(namespace, name, scheduler)).await)
        }
        AccessAction::Queue { .. } | AccessAction::AllQueues { .. } => None,
    }
}

/// Returns the queue of a request, whose administrators may ask about others.
fn queue_of<'a>(action: AccessAction<'a>, application: Option<&'a Lookup>) -> &'a str {
    match (action, application) {
        (AccessAction::Queue { queue, .. }, _) => queue,
        (AccessAction::AllQueues { .. }, _) => queue::ROOT,
        (_, Some(Lookup::Application(application))) => &application.queue,
        // Without a state the queue is unknown; an unprivileged caller does not learn whether an object
        // exists.
        _ => "",
    }
}

/// Returns the answer for callers who cannot be authenticated now. It reveals nothing about users or queues.
fn unknown_caller(why: &str) -> Answer {
    Answer::undecided("asker", &format!("queuewarden cannot identify the caller at the moment: {why}"))
}

fn refused(wrong: &Diagnostic) -> ApiError {
    let help = wrong.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    ApiError::bad_request(format!("{} ({}){help}", wrong.message, wrong.code))
}
