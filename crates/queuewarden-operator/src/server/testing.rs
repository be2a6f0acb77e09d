//! Fixtures for the tests of every endpoint: a state, and a way to send requests.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt as _;

use super::ServerState;
use super::applications::Applications;
use super::caller::Callers;
use super::lookups::Lookups;
use super::permission::Permissions;
use super::room::Requests;
use crate::controller::health::Health;
use crate::controller::published::{Published, Publisher};
pub(crate) use crate::controller::testing::{client, not_found, reply};
use crate::memory::{Budget, MIB};
use queuewarden_plan::snapshot::{ConfigMapState, Snapshot, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ParseCache, plan_again};
use yunikorn::version::Version;

/// Returns a snapshot of an empty cluster.
pub(super) fn snapshot() -> Snapshot {
    Snapshot::empty("2026-06-01T12:00:00Z".parse().unwrap())
}

/// Returns the memory of requests of a process with a budget of 176 MiB.
pub(super) fn requests() -> Requests {
    Requests::new(&Budget::new(176 * MIB))
}

/// Returns `yunikorn-defaults` with one key.
pub(super) fn defaults(key: &str, value: &str) -> Arc<ConfigMapState> {
    let data = [(key.to_owned(), value.to_owned())].into();
    Arc::new(ConfigMapState { name: YUNIKORN_DEFAULTS.to_owned(), data, ..ConfigMapState::default() })
}

/// The namespace that queuewarden runs in: an unusual name, so that no default matches it.
pub(super) const OWN_NAMESPACE: &str = "guards";

/// Endpoints, at first without a state.
pub(super) struct TestService {
    router: Router,
    pub(super) publisher: Publisher,
    pub(super) health: Arc<Health>,
}

impl TestService {
    /// Returns endpoints without a state that use this API server.
    pub(super) fn closed(routes: Router<Arc<ServerState>>, client: Client) -> Self {
        let publisher = Publisher::new(None);
        let health = Arc::new(Health::default());
        let state = ServerState {
            knows: publisher.subscribe(),
            lookups: Lookups::new(client.clone()),
            permissions: Permissions::new(client.clone()),
            health: Arc::clone(&health),
            webhook_clients: Vec::new(),
            applications: Applications::default(),
            decoded: requests().decoded(),
            callers: Callers::new(client, watch::channel(None).1, Vec::new()),
        };
        Self { router: routes.with_state(Arc::new(state)), publisher, health }
    }

    /// Returns the same endpoints with this state.
    pub(super) fn knowing(self, snapshot: Snapshot) -> Self {
        self.learn(snapshot);
        self
    }

    /// Replaces the state.
    pub(super) fn learn(&self, snapshot: Snapshot) {
        let mut known = ParseCache::new(Version::V1_8);
        let plan = plan_again(&snapshot, &mut known);
        let published = Published::new(Arc::new(snapshot), &plan, &mut known, None);
        let own_namespace = Some(OWN_NAMESPACE.to_owned());
        self.publisher.send_replace(Some(Arc::new(Published { own_namespace, ..published })));
    }

    /// Sends a request; the body of the response is null if it is not JSON.
    pub(super) async fn send(&self, request: Request<Body>) -> Got {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Got { code: parts.status, headers: parts.headers, body }
    }

    /// Sends an `AdmissionReview` and returns the whole response.
    pub(super) async fn reviewed(&self, path: &str, review: &Value) -> Got {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Body::from(review.to_string())).unwrap()).await
    }

    /// Sends an `AdmissionReview` and returns the `response` of the answer.
    pub(super) async fn ask(&self, path: &str, review: &Value) -> Value {
        let Got { code, body, .. } = self.reviewed(path, review).await;
        assert_eq!(code, 200, "{body}");
        body["response"].clone()
    }

    /// Returns how many decisions of this kind were counted.
    pub(super) fn counted(&self, verb: &str, decision: &str, clause: &str) -> u32 {
        let labels = format!(r#"verb="{verb}",decision="{decision}",clause="{clause}""#);
        let series = format!("queuewarden_decisions_total{{{labels}}} ");
        let text = self.health.metrics.text(&[]);
        text.lines().find_map(|line| line.strip_prefix(&series)).map_or(0, |count| count.parse().unwrap())
    }
}

/// The answer of an endpoint.
pub(super) struct Got {
    pub(super) code: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Got {
    pub(super) fn expect(self, code: u16, part: &str) -> Value {
        let Self { code: got, headers, body } = self;
        assert!(got == code && body.to_string().contains(part), "{code} {part}: {got} {headers:?} {body}");
        body
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.headers.get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }
}
