//! A proxy between the operator and the API server that simulates faults of networks and API servers: it
//! answers in the server's place, delays, loses responses, hangs, cuts connections, and falls silent.
//!
//! It speaks plain HTTP/1.1 on loopback and forwards the caller's token. A [function](FaultProxy::inject)
//! decides what happens to a call; it sees every call with its number. Running watches are
//! [disturbed](FaultProxy::disturb) all at once.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, body};
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderMap, Method, StatusCode, header};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use crate::kubeconfig;
use crate::operator::{NAME, NAMESPACE};
use crate::test_cluster::TestCluster;

/// Maximum size of a forwarded request, which is more than the API server's own limit.
const MAX_REQUEST: usize = 8 << 20;

/// One request of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The number of the call, counted from 1 since the proxy started, or since [`FaultProxy::forget`].
    pub number: usize,
    /// `GET`, `PATCH`, …
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// True when it begins a watch.
    pub watch: bool,
}

impl Call {
    /// Returns a text that distinguishes calls by purpose: `PATCH /api/v1/…/configmaps/x`, `WATCH
    /// /api/v1/…/configmaps`.
    #[must_use]
    pub fn purpose(&self) -> String {
        let verb = if self.watch { "WATCH" } else { self.method.as_str() };
        format!("{verb} {}", self.path)
    }

    /// Returns whether the call is to this resource, such as `leases`.
    #[must_use]
    pub fn is_about(&self, resource: &str) -> bool {
        self.path.split('/').any(|part| part == resource)
    }
}

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The API server never sees the call; the response is this status.
    Refuse(u16),
    /// The API server executes the call, but the response is this status, as from a gateway that times out.
    Mask(u16),
    /// The API server never sees the call; the response is an HTML page with a success status, as from a
    /// captive portal.
    Garble,
    /// The call is forwarded after this delay.
    Delay(Duration),
    /// The API server never sees the call, and there is no response.
    Hang,
    /// The API server executes the call, but there is no response.
    Withhold,
    /// The API server executes the call; the connection breaks in the middle of the response.
    Cut,
}

/// A fault of all running watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// The connection breaks.
    Cut,
    /// The server ends it.
    End,
    /// No more data arrives, but the connection stays open.
    Silence,
}

type Inject = Box<dyn FnMut(&Call) -> Option<Fault> + Send>;
type Rewrite = Box<dyn Fn(&Call, &mut Value) + Send>;

/// The proxy. Dropping it ends it.
pub struct FaultProxy {
    address: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    client: Client,
    state: Mutex<Rules>,
    /// Number of the last completed call, including failed ones.
    done: watch::Sender<usize>,
    disturbances: broadcast::Sender<Disturbance>,
}

#[derive(Default)]
struct Rules {
    calls: Vec<Call>,
    inject: Option<Inject>,
    rewrite: Option<Rewrite>,
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FaultProxy {
    /// Starts to forward everything to the test cluster's API server.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(cluster: &TestCluster) -> Result<Self> {
        let shared = Arc::new(Shared {
            client: unauthenticated(&cluster.admin)?,
            state: Mutex::default(),
            done: watch::Sender::new(0),
            disturbances: broadcast::channel(16).0,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            // The server ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, shared, task })
    }

    /// Returns a kubeconfig of the operator's `ServiceAccount` that uses the proxy.
    ///
    /// # Errors
    /// When the API server issues no token.
    pub async fn kubeconfig(&self, cluster: &TestCluster) -> Result<PathBuf> {
        self.kubeconfig_of(cluster, NAME).await
    }

    /// Returns such a kubeconfig of another `ServiceAccount` of the same namespace.
    ///
    /// # Errors
    /// As [`Self::kubeconfig`].
    pub async fn kubeconfig_of(&self, cluster: &TestCluster, account: &str) -> Result<PathBuf> {
        cluster.sa_kubeconfig_at(&self.address, NAMESPACE, account).await
    }

    /// Sets the function that decides on each call, replacing an earlier one.
    pub fn inject(&self, inject: impl FnMut(&Call) -> Option<Fault> + Send + 'static) {
        self.rules().inject = Some(Box::new(inject));
    }

    /// Sets the function that may change requests by modifying the JSON of their bodies.
    pub fn rewrite(&self, rewrite: impl Fn(&Call, &mut Value) + Send + 'static) {
        self.rules().rewrite = Some(Box::new(rewrite));
    }

    /// Ends all faults. Calls that hang continue to hang.
    pub fn heal(&self) {
        self.rules().inject = None;
    }

    /// Disturbs the running watches.
    pub fn disturb(&self, what: Disturbance) {
        // There may be no watches.
        let _ = self.shared.disturbances.send(what);
    }

    /// Returns all calls since the beginning, or since they were forgotten.
    pub fn calls(&self) -> Vec<Call> {
        self.rules().calls.clone()
    }

    /// Counts from 1 again.
    pub fn forget(&self) {
        let mut rules = self.rules();
        rules.calls.clear();
        self.shared.done.send_replace(0);
    }

    /// Returns once the API server has executed the call with this number, or a later one.
    ///
    /// # Errors
    /// When the proxy has ended.
    pub async fn done(&self, number: usize) -> Result<()> {
        self.shared.done.subscribe().wait_for(|done| *done >= number).await.context("the proxy ended")?;
        Ok(())
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.shared.rules()
    }
}

impl Shared {
    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the call, and returns the fault to inject, if any.
    fn decided(&self, request: &Request) -> (Call, Option<Fault>) {
        let query = request.uri().query().unwrap_or_default();
        let mut rules = self.rules();
        let call = Call {
            number: rules.calls.len() + 1,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            watch: query.split('&').any(|pair| pair == "watch=true"),
        };
        rules.calls.push(call.clone());
        let fault = rules.inject.as_mut().and_then(|inject| inject(&call));
        (call, fault)
    }

    fn rewritten(&self, call: &Call, bytes: Bytes) -> Bytes {
        let rules = self.rules();
        let Some(rewrite) = &rules.rewrite else { return bytes };
        let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else { return bytes };
        rewrite(call, &mut value);
        value.to_string().into()
    }

    /// Returns the API server's response. A stopped API server looks the same as behind a load balancer.
    async fn pass_on(&self, call: &Call, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        let Ok(bytes) = body::to_bytes(body, MAX_REQUEST).await else {
            return status(413);
        };
        let bytes = self.rewritten(call, bytes);
        strip(&mut parts.headers);
        let disturbances = self.disturbances.subscribe();
        let answer = self
            .client
            .send(http::Request::from_parts(parts, kube::client::Body::from(bytes.to_vec())))
            .await;
        self.done.send_if_modified(|done| {
            let later = call.number > *done;
            *done = call.number.max(*done);
            later
        });
        let Ok(answer) = answer else { return broken() };
        let (mut parts, body) = answer.into_parts();
        let length = parts.headers.remove(header::CONTENT_LENGTH);
        strip(&mut parts.headers);
        let mut body = Body::new(body);
        if call.watch {
            body = Body::from_stream(disturbed(body.into_data_stream(), disturbances));
        } else if let Some(length) = length {
            parts.headers.insert(header::CONTENT_LENGTH, length);
        }
        Response::from_parts(parts, body)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (call, fault) = shared.decided(&request);
    match fault {
        None => shared.pass_on(&call, request).await,
        Some(Fault::Refuse(code)) => status(code),
        Some(Fault::Mask(code)) => {
            shared.pass_on(&call, request).await;
            status(code)
        }
        Some(Fault::Garble) => {
            ([(header::CONTENT_TYPE, "text/html")], "<html><body>Please log in</body></html>").into_response()
        }
        Some(Fault::Delay(time)) => {
            tokio::time::sleep(time).await;
            shared.pass_on(&call, request).await
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Withhold) => {
            let _kept = shared.pass_on(&call, request).await;
            std::future::pending().await
        }
        Some(Fault::Cut) => {
            shared.pass_on(&call, request).await;
            broken()
        }
    }
}

/// Returns a client of `config` that adds no credentials and no retries, because those are up to the caller.
fn unauthenticated(config: &Config) -> Result<Client> {
    let mut config = config.clone();
    config.auth_info = kube::config::AuthInfo::default();
    config.default_retry = false;
    kubeconfig::client(&config)
}

/// Returns the stream of a watch, until it is disturbed.
fn disturbed<E: std::error::Error + Send + Sync + 'static>(
    data: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    disturbances: broadcast::Receiver<Disturbance>,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    stream::unfold((Box::pin(data), disturbances), async |(mut data, mut disturbances)| {
        let chunk = tokio::select! {
            biased;
            what = disturbances.recv() => match what {
                Ok(Disturbance::Silence) => std::future::pending().await,
                Ok(Disturbance::Cut) => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
                Ok(Disturbance::End) | Err(_) => return None,
            },
            chunk = data.next() => chunk?.map_err(std::io::Error::other),
        };
        Some((chunk, (data, disturbances)))
    })
}

/// Returns a response whose connection breaks in the middle.
fn broken() -> Response {
    let pieces =
        [Ok(Bytes::from_static(b"{")), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))];
    Body::from_stream(stream::iter(pieces)).into_response()
}

/// Returns an error response as worded by the API server.
fn status(code: u16) -> Response {
    let reason = match code {
        403 => "Forbidden",
        409 => "Conflict",
        429 => "TooManyRequests",
        504 => "Timeout",
        _ => "InternalError",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": reason, "message": format!("{reason}, says the proxy in the middle")});
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (code, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    if code == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

/// Removes the headers that only concern one connection.
fn strip(headers: &mut HeaderMap) {
    for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
}
