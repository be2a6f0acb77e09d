//! Starts the HTTPS endpoints: the certificate, the callers, the address, and the tasks that keep them up to
//! date. Also serves the probes, without TLS: `/livez`, `/readyz` and `/metrics`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::routing::get;
use futures::FutureExt as _;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::applications::{Applications, ApplicationsMode};
use super::bounds::{RequestLimits, bound};
use super::caller::Callers;
use super::certificates::loader::{CertificateFiles, Follower};
use super::listener::{ConnectionLimits, Server};
use super::lookups::Lookups;
use super::permission::Permissions;
use super::room::Requests;
use super::tls::{self, ServerCertificate};
use super::{Endpoint, ServerState};
use crate::controller::health::Health;
use crate::controller::published::PublishedReceiver;
use crate::memory::{Budget, MIB};

/// How long the endpoints stay open after the signal to stop. Nodes and API servers still connect until they
/// learn that this replica is not ready.
const LINGER: Duration = Duration::from_secs(3);

/// Flags for the HTTPS endpoints.
#[derive(Debug, Clone, clap::Args)]
pub struct Https {
    /// Serve the webhooks and the aggregated API at this address, such as 0.0.0.0:8443
    #[arg(long = "https", value_name = "ADDRESS", requires = "endpoints")]
    pub address: Option<SocketAddr>,
    /// Serve this certificate, in PEM with its issuers, instead of queuewarden's own; read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires_all = ["address", "tls_private_key_file"])]
    tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["address", "tls_cert_file"])]
    tls_private_key_file: Option<PathBuf>,
    /// Secret of queuewarden's own certificate, which queuewarden certificates renews
    #[arg(long, value_name = "NAME", default_value = "queuewarden-tls", conflicts_with = "tls_cert_file")]
    tls_secret: String,
    /// Accept client certificates signed by these authorities, in PEM; read again when the file changes
    #[arg(long, value_name = "FILE", requires = "address")]
    client_ca_file: Option<PathBuf>,
    /// Let webhooks answer only clients whose certificate has this name; the API server needs one
    /// (--admission-control-config-file); may be repeated
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    webhook_client: Vec<String>,
    /// Serve these endpoints, and no others: access, authorize, configmaps, submission, user-info, validate;
    /// may be repeated
    #[arg(long, value_name = "NAME", requires = "address", value_delimiter = ',', value_parser = endpoint)]
    endpoints: Vec<Endpoint>,
    /// Watch the pods that YuniKorn schedules, to answer questions about applications and to decide which of
    /// them a new pod may name; with pods, also to decide who may read the logs of those pods, or delete them
    #[arg(long, value_enum, default_value_t, value_name = "MODE", requires = "address")]
    applications: ApplicationsMode,
    /// Accept only tokens for this audience, instead of the API server's; may be repeated
    #[arg(long, value_name = "NAME", requires = "address")]
    token_audience: Vec<String>,
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    let endpoint = Endpoint::ALL.iter().find(|endpoint| endpoint.name == text).copied();
    let names = || Endpoint::ALL.iter().map(|endpoint| endpoint.name).collect::<Vec<_>>();
    endpoint.ok_or_else(|| format!("it must be one of {}", names().join(", ")))
}

/// Why the endpoints cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is taken.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// A certificate cannot be used, or TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
}

/// Endpoints that are open.
#[derive(Debug)]
pub struct Open {
    end: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    /// Tasks that keep certificates up to date; they end when this is dropped.
    keeping: JoinSet<()>,
}

impl Open {
    /// Opens the endpoints at `address`, which use `identity`. Until it has a certificate, handshakes fail.
    /// Its Secret is in `namespace`, or in the client's own. Lookups caused by callers use the client
    /// `lookups`.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub async fn start(
        (address, https): (SocketAddr, &Https),
        namespace: Option<&str>,
        client: &Client,
        lookups: Client,
        knows: PublishedReceiver,
        (health, memory): (&Arc<Health>, &Arc<Budget>),
        identity: ServerCertificate,
    ) -> Result<Self, OpenError> {
        let mut keeping = JoinSet::new();
        let pair = https.tls_cert_file.clone().zip(https.tls_private_key_file.clone());
        if pair.is_none() {
            let secret = (namespace.unwrap_or(client.default_namespace()), https.tls_secret.as_str());
            keeping.spawn(Follower::new(client, secret, identity.clone(), Arc::clone(health)).run());
        }
        let clients = https.client_ca_file.clone();
        let files = CertificateFiles::begin(pair, clients, identity.clone(), Arc::clone(health))?;
        let callers = Callers::new(lookups.clone(), files.authorities(), https.token_audience.clone());
        let applications = Applications::start(client, https.applications);
        applications.progress().into_iter().for_each(|watch| health.watches(watch));
        keeping.spawn(applications.clone().count_wrong_aliases(knows.clone(), Arc::clone(health)));
        let requests = Requests::new(memory);
        let state = Arc::new(ServerState {
            knows,
            permissions: Permissions::new(lookups.clone()),
            lookups: Lookups::new(lookups),
            health: Arc::clone(health),
            callers,
            webhook_clients: https.webhook_client.clone(),
            applications,
            decoded: requests.decoded(),
        });
        let router = super::router(Arc::clone(&state), &https.endpoints, &requests);
        let server = Server {
            tls: Some(tls::server_config(identity)?),
            router,
            limits: ConnectionLimits::DEFAULT,
            requests,
            is_api_server: Some(Arc::new(move |peer| {
                state.callers.webhook_client(peer, &state.webhook_clients).is_ok()
            })),
            health: Arc::clone(health),
        };
        let listener = TcpListener::bind(address).await.map_err(|error| OpenError::Listen(address, error))?;
        tracing::info!(listen = %address, "Serving HTTPS");
        let (end, ended) = oneshot::channel::<()>();
        keeping.spawn(files.run());
        Ok(Self { end, serving: tokio::spawn(server.serve(listener, ended.map(drop))), keeping })
    }

    /// Closes the endpoints once no new connections arrive, and waits for requests in progress.
    pub async fn close(self) {
        sleep(LINGER).await;
        drop(self.keeping);
        drop(self.end);
        // A task that panicked serves no requests any more.
        let _ = self.serving.await;
    }
}

/// Limits of connections to the probes: there are only a few regular clients, but anyone in the cluster can
/// connect.
const PROBES: ConnectionLimits = ConnectionLimits {
    connections: 64,
    streams: 8,
    window: 8 * 1024,
    headers: Duration::from_secs(5),
    header_bytes: 8 * 1024,
    arrivals: 2 * MIB,
    idle: Duration::from_secs(30),
};

/// Serves the probes and never returns. If there is an `identity`, the process is not ready until it has a
/// certificate to show.
pub async fn serve_probes(
    listener: TcpListener,
    health: Arc<Health>,
    memory: Arc<Budget>,
    identity: Option<ServerCertificate>,
) {
    // Only connections and requests of the HTTPS endpoints are counted.
    let uncounted = Arc::new(Health::default());
    let requests = Requests::new(&memory);
    let router = bound(probes(health, identity), RequestLimits::NO_BODIES, &requests, &uncounted);
    let server =
        Server { tls: None, router, limits: PROBES, requests, is_api_server: None, health: uncounted };
    server.serve(listener, std::future::pending()).await;
}

fn probes(health: Arc<Health>, identity: Option<ServerCertificate>) -> Router {
    let without_certificate = move || {
        let lacks = identity.as_ref().is_some_and(|identity| !identity.is_ready());
        lacks.then_some("there is no certificate to show yet; see the log")
    };
    let ready =
        async move |State(health): State<Arc<Health>>| answer(health.unready().or_else(&without_certificate));
    let openmetrics = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    Router::new()
        .route("/livez", get(async |State(health): State<Arc<Health>>| answer(health.dead())))
        .route("/readyz", get(ready))
        .route("/metrics", get(async move |State(health): State<Arc<Health>>| (openmetrics, health.text())))
        .with_state(health)
}

fn answer(problem: Option<impl Into<String>>) -> (StatusCode, String) {
    match problem {
        None => (StatusCode::OK, "ok\n".into()),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem.into() + "\n"),
    }
}
