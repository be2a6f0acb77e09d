//! The HTTPS endpoints for Kubernetes and its users: webhooks, the authorizer and the aggregated API.
//!
//! An endpoint only translates between HTTP with JSON and plain data. The pure core decides the answers, from
//! the state that the reconciler observed last (`controller::published`).
//!
//! * [`caller`]: authentication; [`permission`]: what Kubernetes allows callers to do, and how much of an
//!   answer they get; [`api_error`]: error responses, and panics; [`audit`]: the log of decisions.
//! * [`certificates`]: the source of the server certificate.
//! * [`open`]: starts the endpoints, and the probes, which do not use TLS.
//! * [`listener`]: connections, their number, their time and their end; [`bounds`]: the limits on one
//!   request; `room`: requests that wait for memory, and the memory of each client.
//! * [`tls`]: the certificate in use, which may change while connections are open.
//! * [`authorize`]: access reviews, for the API server as an authorizer and for callers in the cluster.
//! * [`aggregated_api`]: `queues` and reviews behind the API server's aggregator.
//! * [`validating`]: decides on changes to queuewarden's objects and to `YuniKorn`'s ConfigMaps before they
//!   are stored.
//! * [`submission`]: reports pods and workloads that `YuniKorn` would reject.
//! * [`user_info`]: decides as which user pods and workloads run.
//! * `applications`: the running applications, for queries about them.
//! * [`lookups`]: lookups at the API server, their client and caches.
//!
//! # Authentication of callers
//! [`authorize`] and [`aggregated_api`] authenticate their callers, and answer each only the part that
//! concerns them. The admission webhooks ([`validating`], [`submission`], [`user_info`]) do not: API servers
//! send no certificate to webhooks unless each of them gets one in a file
//! (`--admission-control-config-file`), which is not possible on managed clusters. A webhook that refused
//! them would, if its rule is `Fail`, lock administrators out of their own objects. If you can configure
//! certificates, `--webhook-client` requires them.
//!
//! Otherwise the webhooks trust the review as it is written, including the name of the requester. Every
//! client that can reach the port can fabricate reviews. This changes nothing: the client only gets an
//! answer, and the API server never reads it. But answers reveal data:
//! * `/validate` reveals who would gain and lose access through a fabricated change, and so everything in the
//!   ACLs; with delegation it also reveals which users may `escalate`.
//! * `/submission` reveals whether a fabricated user may submit to a queue, and why, which includes names of
//!   queues, users and groups in ACLs.
//! * `/user-info` reveals whether the lists of the `AdmissionPolicy` let a fabricated user set names, and
//!   which change would.
//! * `/configmaps` reveals whether `YuniKorn` would accept a fabricated text, and quotes the keys and errors
//!   of the current one.
//!
//! Except for `escalate`, the scheduler's own REST service reveals as much to every client that can reach it
//! (`GET /ws/v1/config` is the whole configuration). Requests are bounded in number and size ([`bounds`], the
//! warnings of [`queuewarden_plan::admit`]). If pods must not read ACLs, a network policy has to protect both
//! services.

mod admission_review;
#[cfg(feature = "access-api")]
pub mod aggregated_api;
pub mod api_error;
mod applications;
mod audit;
pub mod authorize;
pub mod bounds;
pub mod caller;
pub mod certificates;
pub mod listener;
pub mod lookups;
pub mod open;
pub mod permission;
pub mod room;
pub mod submission;
#[cfg(test)]
pub(crate) mod testing;
pub mod tls;
pub mod user_info;
pub mod validating;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use crate::controller::health::Health;
use crate::controller::published::{Published, PublishedReceiver};
use crate::memory::{Budget, MIB};
use applications::Applications;
use bounds::{RequestLimits, bound};
use caller::{Callers, only_webhook_clients};
use lookups::Lookups;
use permission::Permissions;
use room::Requests;

/// The state of all endpoints. Their routers share one, because a request clones its handler and the state
/// with it.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct ServerState {
    /// Reads the current state.
    pub knows: PublishedReceiver,
    /// Lookups that callers cause.
    pub lookups: Lookups,
    /// Permissions of callers.
    pub permissions: Permissions,
    /// The health of the process, with its metrics.
    pub health: Arc<Health>,
    /// Authenticates callers.
    pub callers: Callers,
    /// Names in client certificates that webhooks accept; if empty, any client is accepted.
    pub webhook_clients: Vec<String>,
    /// The applications that run.
    pub applications: Applications,
    /// The memory for decoded objects and plans.
    pub decoded: Arc<Budget>,
}

impl ServerState {
    /// Returns the current state; `None` until everything was read once.
    pub fn published(&self) -> Option<Arc<Published>> {
        self.knows.borrow().clone()
    }
}

/// Endpoints that are served together. Only endpoints named on the command line are served.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint {
    /// The name on the command line.
    pub name: &'static str,
    routes: fn() -> Router<Arc<ServerState>>,
    limits: RequestLimits,
}

impl Endpoint {
    /// All endpoints.
    pub const ALL: &[Self] = &[
        // `/apis/access.queuewarden.dev`: queues and reviews, behind the API server's aggregator.
        #[cfg(feature = "access-api")]
        Self::authenticated("access", aggregated_api::router, aggregated_api::MAX_BODY),
        // `/authorize` and `/apis/authorization.k8s.io`: access reviews.
        Self::authenticated("authorize", authorize::router, authorize::MAX_BODY),
        // `/configmaps`: changes of `YuniKorn`'s ConfigMaps.
        Self::webhook("configmaps", validating::config_map_router),
        // `/submission`: pods and workloads that `YuniKorn` would reject.
        Self::webhook("submission", submission::router),
        // `/user-info` and `/user-info/check`: the users that pods and workloads run as.
        Self::webhook("user-info", user_info::router),
        // `/validate`: changes to our own kinds.
        Self::webhook("validate", validating::router),
    ];

    /// Returns endpoints whose callers authenticate themselves. Each byte of their small reviews may be a
    /// value.
    const fn authenticated(
        name: &'static str,
        routes: fn() -> Router<Arc<ServerState>>,
        body: usize,
    ) -> Self {
        Self { name, routes, limits: RequestLimits { body, cuts: false, all: 20 * MIB, cost: 32 } }
    }

    /// Returns endpoints that the API server calls without authenticating itself. They read at most the limit
    /// of a larger body, and answer. The body and a copy of its objects are in memory. Each endpoint limits
    /// the size of decoded data.
    const fn webhook(name: &'static str, routes: fn() -> Router<Arc<ServerState>>) -> Self {
        let limits = RequestLimits { body: bounds::BODY, cuts: true, all: 28 * MIB, cost: 2 };
        Self { name, routes, limits }
    }
}

/// Serves these endpoints, and `/readyz`.
pub fn router(state: Arc<ServerState>, endpoints: &[Endpoint], requests: &Requests) -> Router {
    let health = Arc::clone(&state.health);
    // Its limits also apply to unknown paths.
    let ready =
        bound(Router::new().route("/readyz", get(ready)), RequestLimits::NO_BODIES, requests, &health);
    let all = endpoints.iter().fold(ready, |all, endpoint| {
        let router = bound((endpoint.routes)(), endpoint.limits, requests, &health);
        let only = from_fn_with_state(Arc::clone(&state), only_webhook_clients);
        all.merge(if endpoint.limits.cuts { router.layer(only) } else { router })
    });
    all.with_state(state)
}

/// Reports whether this replica has a state to answer from.
async fn ready(State(state): State<Arc<ServerState>>) -> (StatusCode, &'static str) {
    match state.published() {
        Some(_) => (StatusCode::OK, "ok\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "not everything was read yet\n"),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;

    use super::*;
    use testing::{TestService, client, not_found};

    #[tokio::test]
    async fn bodies_beyond_the_limit_are_refused() {
        for (name, path) in [
            #[cfg(feature = "access-api")]
            ("access", "/apis/access.queuewarden.dev/v1alpha1/queueaccessreviews"),
            ("authorize", "/authorize"),
            ("authorize", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ] {
            let endpoint = Endpoint::ALL.iter().find(|endpoint| endpoint.name == name).unwrap();
            let limits = endpoint.limits;
            let routes = bound((endpoint.routes)(), limits, &testing::requests(), &Arc::default());
            let service = TestService::closed(routes, client(async |_| not_found()));
            for (more, refused) in [(0, false), (1, true)] {
                let request = Request::post(path).body(Body::from(vec![b' '; limits.body + more])).unwrap();
                let code = service.send(request).await.code;
                assert_eq!(code == StatusCode::PAYLOAD_TOO_LARGE, refused, "{path}: {code}");
            }
        }
    }
}
