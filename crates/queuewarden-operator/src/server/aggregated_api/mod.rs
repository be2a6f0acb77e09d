//! The served resources (`access.queuewarden.dev/v1alpha1`), behind the API server's aggregator: `kubectl
//! get queues`, and reviews that explain.
//!
//! A request comes from the API server, which names its user in headers and proves by its certificate that
//! it may do so ([`front_proxy`]); or directly, from a caller who authenticates ([`super::caller`]). Then
//! Kubernetes decides on the permission ([`super::permission`]). All callers may read the discovery
//! documents ([`documents`]): they are the same for all clusters, and an API server that cannot discover
//! one group no longer deletes namespaces.
//!
//! * [`queues`]: `get` and `list`, with the queues that the scheduler has beside its configuration
//!   ([`live`]).
//! * [`reviews`]: `create`, which answers and stores nothing.
//! * [`accept`]: the format of the answer.

mod accept;
mod documents;
mod front_proxy;
mod live;
mod queues;
mod reviews;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trust;

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tokio::sync::Semaphore;

use super::ServerState;
use super::api_error::ApiError;
use super::audit::Audit;
use super::caller::{Caller, Unauthenticated};
use super::listener::Peer;
use go_compat::diag::show;
use live::LiveQueues;
use queuewarden_api::aggregated_api::ROOT;
use queuewarden_api::aggregated_api::review::QueueAccessReviewKind;
use trust::ProxyTrust;

/// The largest review that is read, in bytes: many groups, and a long path.
pub(super) const MAX_BODY: usize = 64 * 1024;
/// The largest number of warnings in one answer, and of characters in one.
const MAX_WARNINGS: usize = 8;
const MAX_WARNING: usize = 240;
/// Lists that are made at once.
const LISTS: usize = 2;

/// The state that these endpoints have between requests.
#[derive(Debug)]
struct Memory {
    trust: ProxyTrust,
    live: LiveQueues,
    /// Permits for lists that are being made.
    lists: Arc<Semaphore>,
    audit: Audit,
}

/// Returns the routes.
pub fn router() -> Router<Arc<ServerState>> {
    let memory = Memory {
        trust: ProxyTrust::default(),
        live: LiveQueues::new(),
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

/// Returns the user that a request is for. A certificate that is not the API server's may still be a user's
/// own.
async fn caller(state: &ServerState, memory: &Memory, parts: &Parts) -> Result<Arc<Caller>, Unauthenticated> {
    let shown = parts.extensions.get::<Peer>().is_some_and(|peer| !peer.certificates.is_empty());
    if !shown {
        return state.callers.authenticate(&parts.into()).await;
    }
    match memory.trust.caller(&state.lookups.client, parts).await {
        Err(refused @ Unauthenticated::Refused(_)) => match state.callers.authenticate(&parts.into()).await {
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
