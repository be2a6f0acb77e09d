//! Serves `/livez`, `/readyz` and `/metrics`.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::bounds::{RequestLimits, bound};
use super::listener::{self, ConnectionLimits, RequestMemory};
use super::room::Requests;
use super::tls::ServerCertificate;
use crate::controller::health::Health;
use crate::memory::{Budget, MIB};

/// Limits of connections: there are only a few regular clients, but anybody in the cluster can connect.
const CONNECTIONS: ConnectionLimits = ConnectionLimits {
    connections: 64,
    streams: 8,
    window: 8 * 1024,
    headers: Duration::from_secs(5),
    header_bytes: 8 * 1024,
    arrivals: 2 * MIB,
    idle: Duration::from_secs(30),
};

/// Serves the endpoints and never returns. Where there is an `identity`, the process is not ready before it
/// has a certificate to show.
pub async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    memory: Arc<Budget>,
    identity: Option<ServerCertificate>,
) {
    // Only connections and requests of the HTTPS endpoints are counted.
    let uncounted = Arc::new(Health::default());
    let requests = Requests::new(&memory);
    let router = bound(router(health, identity), RequestLimits::NO_BODIES, &requests, &uncounted);
    let memory = RequestMemory { requests, is_api_server: None };
    listener::serve(listener, None, router, CONNECTIONS, memory, uncounted, std::future::pending()).await;
}

fn router(health: Arc<Health>, identity: Option<ServerCertificate>) -> Router {
    let without_certificate = move || {
        let lacks = identity.as_ref().is_some_and(|identity| !identity.is_ready());
        lacks.then_some("there is no certificate to show yet; the log says why")
    };
    let ready =
        async move |State(health): State<Arc<Health>>| answer(health.unready().or_else(&without_certificate));
    Router::new()
        .route("/livez", get(async |State(health): State<Arc<Health>>| answer(health.dead())))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(health)
}

async fn metrics(State(health): State<Arc<Health>>) -> impl IntoResponse {
    let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, openmetrics)], health.text())
}

fn answer(problem: Option<impl Into<String>>) -> (StatusCode, String) {
    match problem {
        None => (StatusCode::OK, "ok\n".into()),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem.into() + "\n"),
    }
}
