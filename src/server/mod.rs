//! The doors that Kubernetes and its users knock at, over TLS: webhooks and served resources.
//!
//! A door only translates: what is asked comes out of HTTP and JSON, the answer goes back in. What is answered is decided by the pure
//! core, from what the reconciler saw last ([`knowledge`]).
//!
//! * [`caller`]: who asks; [`refusal`]: what they hear when they get no answer.
//! * [`certificates`]: where the certificate comes from.
//! * [`open`]: how they are opened.
//! * [`listener`], [`places`]: connections, their number, their time and their end; [`bounds`]: what one
//!   request may cost; [`metrics`]: what is counted.
//! * [`tls`]: the certificate that is shown, which may change while connections are open.
//! * [`authorize`]: access reviews, for the API server as an authorizer and for callers in the cluster; [`permission`]: what Kubernetes lets
//!   callers do.
//! * [`served`]: `queues` and reviews behind the API server's aggregator.
//! * [`validating`]: what is said to changes of our objects and of `YuniKorn`'s ConfigMaps, before they are stored.
//! * [`submission`]: what is said to pods and workloads that `YuniKorn` would reject.
//! * [`user_info`]: what is done about in whose name pods and workloads run.
//! * [`knowledge`]: what all doors answer from.

mod audit;
pub mod authorize;
pub mod bounds;
pub mod caller;
pub mod certificates;
pub mod knowledge;
pub mod listener;
pub mod metrics;
pub mod open;
mod permission;
pub mod places;
pub mod refusal;
pub mod served;
pub mod submission;
mod surroundings;
pub mod tls;
pub mod user_info;
pub mod validating;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use kube::Client;

use crate::operator::applications::Applications;
use crate::operator::health::Health;
use caller::Callers;
use knowledge::{Knowledge, Knows};

/// What every door needs; the state of their routers.
#[derive(Clone)]
pub struct Doors {
    /// What is known.
    pub knows: Knows,
    /// Speaks to the API server.
    pub client: Client,
    /// Where metrics are counted.
    pub health: Arc<Health>,
    /// Knows who asks.
    pub callers: Callers,
    /// Which applications run.
    pub applications: Applications,
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doors").finish_non_exhaustive()
    }
}

impl Doors {
    /// What is known now; `None` until everything was read once.
    pub fn knowledge(&self) -> Option<Arc<Knowledge>> {
        self.knows.now()
    }
}

/// All doors.
pub fn router(doors: Doors) -> Router {
    let router =
        Router::new().route("/readyz", get(ready)).merge(served::router()).merge(authorize::router());
    let router = router.merge(validating::router()).merge(submission::router()).merge(user_info::router());
    bounds::bound(router, &doors.health).with_state(doors)
}

/// Whether a replica has something to answer from.
async fn ready(State(doors): State<Doors>) -> (StatusCode, &'static str) {
    match doors.knowledge() {
        Some(_) => (StatusCode::OK, "ok\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "not everything was read yet\n"),
    }
}
