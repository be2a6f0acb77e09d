//! `create` of reviews, which answers and stores nothing.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::Value;

use super::{Memory, caller, warn};
use crate::controller::published::Published;
use crate::server::ServerState;
use crate::server::api_error::ApiError;
use crate::server::audit::AuditRecord;
use crate::server::permission::{Permission, Scope};
use go_compat::diag::quoted;
use queuewarden_api::aggregated_api::review::{
    InvalidReview, QueueAccessReviewKind, QueueAccessReviewStatus, ReviewRequest, answered, read,
};
use queuewarden_api::aggregated_api::{GROUP, VERSION};
use queuewarden_api::answer::Answers;
use yunikorn::identity::{Identity, Refusal};
use yunikorn_access::decide::explain;
use yunikorn_access::review::{Answer, path_of};

/// The supported parameters; `dryRun` is ignored, because nothing is stored anyway.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CreateParameters {
    field_validation: String,
}

/// `POST …/queueaccessreviews` and `POST …/selfqueueaccessreviews`
pub(super) async fn create(
    State(state): State<Arc<ServerState>>,
    Extension(memory): Extension<Arc<Memory>>,
    Extension(kind): Extension<QueueAccessReviewKind>,
    Query(parameters): Query<CreateParameters>,
    parts: Parts,
    body: Bytes,
) -> Result<Response, ApiError> {
    let caller = caller(&state, &memory, &parts).await?;
    let (resource, name) = (kind.plural(), String::new());
    let permission = Permission { verb: "create", group: GROUP, version: VERSION, resource, name };
    state.permissions.demand(&caller, &permission).await?;
    let document = document(&parts, &body)?;
    let request = read(kind, &document).map_err(|wrong| refused(kind, wrong))?;
    let warnings = parameters.unknown(&request)?;
    let published = state.published();
    let access = request.access(&caller.identity);
    let queues = published.as_deref().and_then(|published| published.queues.as_ref().ok());
    let tree = queues.and_then(|queues| queues.tree(access.partition));
    let scope = state
        .permissions
        .scope(&caller, &access, (tree, &request.queue), QueueAccessReviewKind::Own.name())
        .await;
    let answer = scope.map(|scope| (scope, answer(published.as_deref(), &request, access.user)));
    let decision = AuditRecord {
        verb: access.action.verb(),
        by: &caller.identity.user,
        user: &access.user.user,
        queue: &request.queue,
        ..AuditRecord::of(answer.as_ref().map(|(_, status)| &status.answer))
    };
    memory.audit.note(&state.health, &decision);
    let status = match answer? {
        // Only the name decides, not the configuration.
        (Scope::Own, status) if status.answer.clause != IDENTITY => {
            status.brief(&access, request.right, &request.queue)
        }
        (_, status) => status.whole(),
    };
    let mut response = (StatusCode::CREATED, Json(answered(document, status))).into_response();
    warn(&mut response, &warnings);
    Ok(response)
}

fn document(parts: &Parts, body: &[u8]) -> Result<Value, ApiError> {
    let media = parts.headers.get(header::CONTENT_TYPE).map(|media| media.to_str().unwrap_or("?"));
    let media = media.and_then(|media| media.split(';').next()).map(str::trim);
    if media.is_some_and(|media| media != "application/json") {
        let message = "the body of the request must be application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message));
    }
    serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))
}

fn refused(kind: QueueAccessReviewKind, wrong: InvalidReview) -> ApiError {
    match wrong {
        InvalidReview::Malformed(why) => {
            ApiError::bad_request(format!("{} in version {VERSION:?} cannot be handled: {why}", kind.name()))
        }
        InvalidReview::Invalid(field, why) => {
            let message = format!("{}.{GROUP} is invalid: {field} {why}", kind.name());
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
        }
    }
}

impl CreateParameters {
    /// Returns warnings about unknown fields, as the client requests (`fieldValidation` of `CreateOptions`).
    fn unknown(&self, request: &ReviewRequest) -> Result<Vec<String>, ApiError> {
        let unknown = request.unknown.iter().map(|field| format!("unknown field {field:?}"));
        let unknown: Vec<String> = unknown.collect();
        match self.field_validation.as_str() {
            "Ignore" => Ok(Vec::new()),
            "Strict" if !unknown.is_empty() => {
                Err(ApiError::bad_request(format!("strict decoding error: {}", unknown.join(", "))))
            }
            "" | "Warn" | "Strict" => Ok(unknown),
            other => {
                let message =
                    format!("fieldValidation must be Ignore, Warn or Strict, not {}", quoted(other));
                Err(ApiError::bad_request(message))
            }
        }
    }
}

/// The clause of an answer that depends only on the name of the user.
const IDENTITY: &str = "identity";

/// Returns the answer to a review.
fn answer(
    published: Option<&Published>,
    request: &ReviewRequest,
    about: &Identity,
) -> QueueAccessReviewStatus {
    let Some(published) = published else {
        return Answer::undecided("configuration", "queuewarden has not read everything yet; try again")
            .into();
    };
    let queues = match &published.queues {
        Ok(queues) => queues,
        Err(why) => return Answer::undecided("configuration", why).into(),
    };
    let Some(tree) = queues.tree(&request.partition) else {
        let why = format!("there is no partition {}", quoted(&request.partition));
        return Answer::deny("no_queue", &why).into();
    };
    let identity = match tree.identify(about, &queues.resolver, published.conf.version) {
        Ok(identity) => identity,
        Err(Refusal::Undecided(why)) => return Answer::undecided(IDENTITY, &why).into(),
        Err(refusal) => return Answer::deny(IDENTITY, &refusal.describe(&about.user)).into(),
    };
    match path_of(tree, &request.queue) {
        Ok(path) => {
            let decision = explain(tree, request.right, &path, &identity);
            let whole = Answers { source: &published.source, tree }.decision(&decision);
            QueueAccessReviewStatus::decided(decision.clause(), whole)
        }
        Err(why) => Answer::deny("no_queue", &why).into(),
    }
}
