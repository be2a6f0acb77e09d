//! The served resources (`access.queuewarden.dev/v1alpha1`), behind the API server's aggregator: `kubectl get
//! queues`, and reviews that explain.
//!
//! A request comes either from the API server, which names its user in headers and proves by its certificate
//! that it may do so ([`front_proxy`]), or directly from a caller who authenticates ([`super::caller`]).
//! Kubernetes then checks the caller's permission ([`super::permission`]). All callers may read the discovery
//! documents ([`documents`]): they are the same for all clusters, and an API server that cannot discover a
//! group stops deleting namespaces.
//!
//! * [`queues`]: `get` and `list`, including queues that exist only in the scheduler.
//! * [`reviews`]: `create`, which answers and stores nothing.
//!
//! The client chooses the format of the response (`Accept`;
//! `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`). kubectl asks for tables, with objects as the
//! alternative: `application/json;as=Table;v=v1;g=meta.k8s.io,application/json`.

mod documents;
mod front_proxy;
mod queues;
mod reviews;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tokio::sync::Semaphore;

use super::ServerState;
use super::api_error::ApiError;
use super::audit::Audit;
use super::caller::{Caller, Unauthenticated};
use super::listener::Peer;
use front_proxy::ProxyTrust;
use go_compat::diag::show;
use queues::{LiveQueues, live_queues};
use queuewarden_api::aggregated_api::ROOT;
use queuewarden_api::aggregated_api::review::QueueAccessReviewKind;

/// The maximum size of a review in bytes, enough for many groups and a long path.
pub(super) const MAX_BODY: usize = 64 * 1024;
/// The maximum number of warnings in one response, and of characters in one warning.
const MAX_WARNINGS: usize = 8;
const MAX_WARNING: usize = 240;
/// Lists that are made at once.
const LISTS: usize = 2;

/// The state that these endpoints have between requests.
#[derive(Debug)]
struct Memory {
    trust: ProxyTrust,
    live: LiveQueues,
    /// Permits for concurrent lists.
    lists: Arc<Semaphore>,
    audit: Audit,
}

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    let memory = Memory {
        trust: ProxyTrust::default(),
        live: live_queues(),
        lists: Arc::new(Semaphore::new(LISTS)),
        audit: Audit::new("queueaccessreviews"),
    };
    let at = |path: &str| format!("{ROOT}/{path}");
    Router::new()
        .merge(documents::router())
        .route(&at("queues"), get(queues::list))
        .route(&at("queues/{*name}"), get(queues::get))
        .route(
            &at("queueaccessreviews"),
            post(reviews::create).layer(Extension(QueueAccessReviewKind::Named)),
        )
        .route(
            &at("selfqueueaccessreviews"),
            post(reviews::create).layer(Extension(QueueAccessReviewKind::Own)),
        )
        .route(&at("queueaccessreviews/{*name}"), any(async || wrong_method()))
        .route(&at("selfqueueaccessreviews/{*name}"), any(async || wrong_method()))
        .route(
            &at("{*rest}"),
            any(async || ApiError::not_found("the server could not find the requested resource")),
        )
        .method_not_allowed_fallback(async || wrong_method())
        .layer(Extension(Arc::new(memory)))
}

fn wrong_method() -> ApiError {
    let message = "the server does not allow this method on the requested resource: \
                   queues can be read, and reviews created";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
}

/// Returns the user of a request. A certificate that is not the API server's may belong to the user.
async fn caller(state: &ServerState, memory: &Memory, parts: &Parts) -> Result<Arc<Caller>, Unauthenticated> {
    let shown = parts.extensions.get::<Peer>().is_some_and(|peer| !peer.certificates.is_empty());
    if !shown {
        return state.callers.authenticate(parts).await;
    }
    match memory.trust.caller(&state.lookups.client, parts).await {
        Err(refused @ Unauthenticated::Refused(_)) => match state.callers.authenticate(parts).await {
            Err(Unauthenticated::Missing) => Err(refused),
            known => known,
        },
        known => known,
    }
}

/// Adds headers that kubectl prints as `Warning:` (RFC 7234 §5.5;
/// `k8s.io/apimachinery/pkg/util/net/http.go`, `NewWarningHeader`).
fn warn(response: &mut Response, warnings: &[String]) {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        let mut text = String::new();
        warning.chars().take(MAX_WARNING).for_each(|c| match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_ascii() => show(&mut text, c),
            _ => text.push('?'),
        });
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// The maximum number of media ranges, more than any real client lists.
const MAX_RANGES: usize = 16;

/// The format of a response: the kind, the API group and the version in a media range. All are empty for
/// plain objects.
pub(super) type AnswerFormat<'a> = [&'a str; 3];

/// Objects as they are.
pub(super) const OBJECT: AnswerFormat<'_> = [""; 3];

/// Parses a media range; `None` if it is not JSON.
fn read(range: &str) -> Option<AnswerFormat<'_>> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    if !["application/json", "application/*", "*/*"].contains(&media) {
        return None;
    }
    let parameters: HashMap<_, _> = parts.filter_map(|part| part.split_once('=')).collect();
    let format = ["as", "g", "v"].map(|name| parameters.get(name).copied().unwrap_or_default());
    Some(if format.first() == Some(&"") { OBJECT } else { format })
}

/// Returns the offer for the client's first format that is available. Like API servers, it ignores quality
/// values (`q`).
///
/// # Errors
/// When none of the formats is offered.
pub(super) fn accepted<'o, T>(
    headers: &HeaderMap,
    offered: &'o [(AnswerFormat<'_>, T)],
) -> Result<&'o T, ApiError> {
    let mut values =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let all = values.peek().is_none().then_some("*/*");
    let ranges = all.into_iter().chain(values).flat_map(|value| value.split(',')).take(MAX_RANGES);
    let offer = |shape| offered.iter().find(|(offer, _)| *offer == shape).map(|(_, what)| what);
    ranges.filter_map(read).find_map(offer).ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        ApiError::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    })
}
