//! The operator: a thin layer around [`queuewarden_plan`] that gathers a snapshot and carries a plan out.
//!
//! * [`reconcile`]: the controller, on `kube::runtime`, around the state machine
//!   [`queuewarden_plan::machine`].
//! * [`world`], [`watch`], [`cache`], [`standing`]: the objects in the API server.
//! * [`served`], [`apply`], [`last_base`], [`status`], [`events`]: the writes, and the check before them,
//!   with time limits from [`call`].
//! * [`mirror`]: the RBAC mirror, watched and written.
//! * [`read_back`], [`asking`]: the configuration that the scheduler runs.
//! * [`applications`]: the running applications, for queries about them.
//! * [`leader`]: the election of the replica that writes.
//! * [`health`], [`metrics`]: the state of the operator; [`clock`]: the time.

pub mod applications;
pub mod apply;
pub mod asking;
pub mod cache;
pub mod call;
pub mod clock;
pub mod events;
pub mod health;
pub mod last_base;
pub mod leader;
pub mod metrics;
pub mod mirror;
pub mod read_back;
pub mod reconcile;
pub mod served;
pub mod standing;
pub mod status;
pub mod watch;
pub mod world;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use asking::Asking;
use events::Events;
use health::Health;
use leader::election::Timing;
use leader::{Candidate, Leadership};
use read_back::Scheduler;
use reconcile::{Functions, Left, Reconciler};
use world::World;

use crate::server;
use crate::server::lookups;
use crate::server::open::{Https, Open};
use crate::server::published::Publisher;
use crate::telemetry::Logging;
use queuewarden_plan::ParseCache;
use queuewarden_plan::machine::State;

/// The name of the Lease.
const LEASE: &str = "queuewarden";
/// Longest time after the last run for publishing the last events and releasing the Lease.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The options of the operator.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address of `/livez`, `/readyz` and `/metrics`.
    pub listen: SocketAddr,
    /// True if a Lease decides which replica writes.
    pub leader_elect: bool,
    /// The name of this replica, which differs from that of every other.
    pub identity: String,
    /// The namespace of the Lease; `None`: the client's own.
    pub namespace: Option<String>,
    /// The HTTPS endpoints, if they are enabled.
    pub https: Option<Https>,
    /// The logging settings.
    pub logging: Logging,
}

/// The reasons why the operator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No client for the API server could be created.
    #[error("no way to the API server: {0}")]
    Client(#[source] Box<kube::Error>),
    /// Neither a kubeconfig nor a service account.
    #[error("no way to the API server: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// No HTTP client for the scheduler could be created.
    #[error("cannot make an HTTP client: {0}")]
    Http(#[from] reqwest::Error),
    /// The HTTPS endpoints cannot be served.
    #[error(transparent)]
    Https(#[from] server::open::Error),
    /// The signals of the process cannot be received.
    #[error("cannot wait for signals: {0}")]
    Signal(#[source] io::Error),
}

/// Runs until the process receives a signal to end.
///
/// # Errors
/// When it cannot start; later problems are logged and tried again.
pub async fn run(options: Options) -> Result<(), Error> {
    let config = config().await?;
    let lookups = made(lookups::client(config.clone()))?;
    let client = made(Client::try_from(config))?;
    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| Error::Listen(options.listen, error))?;
    let stop = terminated().map_err(Error::Signal)?;
    Box::pin(serve(client, lookups, listener, options, stop)).await
}

/// Returns a client for the API server that the environment names.
///
/// # Errors
/// When it names none.
pub async fn connect() -> Result<Client, Error> {
    made(Client::try_from(config().await?))
}

fn made(client: Result<Client, kube::Error>) -> Result<Client, Error> {
    client.map_err(|error| Error::Client(Box::new(error)))
}

async fn config() -> Result<kube::Config, Error> {
    // Two crates use rustls, so the cryptography provider must be chosen. This fails if it was chosen
    // already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut config = kube::Config::infer().await?;
    // Limits a response that begins and does not continue. The longest silence of a healthy response is that
    // of a watch without changes.
    config.read_timeout = Some(watch::SILENCE);
    // The time counts from the request, because the connection may have been idle before.
    config.reset_reader_on_write = true;
    Ok(config)
}

/// Returns a future that completes when the process receives a signal to end.
///
/// # Errors
/// When signals cannot be received.
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Runs until `stop` completes. Requests that callers of the endpoints cause use the client `lookups`.
///
/// # Errors
/// When no HTTP client can be created.
pub async fn serve(
    client: Client,
    lookups: Client,
    listener: TcpListener,
    options: Options,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, identity = options.identity, listen = %options.listen, "Starting");
    let health = Arc::new(Health::default());
    let asking = Asking::new(Scheduler::new()?, Arc::clone(&health));
    let endpoints = tokio::spawn(health::serve(listener, Arc::clone(&health)));
    let (leadership, election) = elect(&client, &options);
    let (events, publishing) = Events::start(client.clone(), options.identity);
    let changed = Arc::new(Notify::new());
    let publisher = Publisher::new(options.namespace.clone());
    let server = match &options.https {
        Some(https) => Some(Open::start(https, &client, lookups, publisher.subscribe(), &health).await?),
        None => None,
    };
    let reconciler = Reconciler {
        world: World::start(client.clone(), Arc::clone(&changed)),
        last_base: last_base::Store::new(client.clone(), options.namespace.as_deref()),
        client,
        leadership,
        asking,
        events,
        health,
        publisher,
        logging: options.logging,
        changed,
        state: State::new(fastrand::u64(..)),
        functions: Functions::default(),
        left: Left::default(),
        known: ParseCache::default(),
        failure: None,
        created: false,
    };
    reconcile::run(reconciler, stop).await;
    let shutdown = async {
        if let Some(candidacy) = election {
            candidacy.end().await;
        }
        let _ = publishing.await;
    };
    // The HTTPS endpoints close when their running requests are answered.
    let closing = async {
        if let Some(server) = server {
            server.close().await;
        }
    };
    if let (Err(_), ()) = tokio::join!(timeout(SHUTDOWN_GRACE, shutdown), closing) {
        tracing::warn!("The last events were not published in time");
    }
    endpoints.abort();
    tracing::info!("Stopped");
    Ok(())
}

/// A task that runs until [`Running::end`].
struct Running {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// Ends the task, and waits for its last step: it releases the Lease.
    async fn end(self) {
        drop(self.end);
        // A task that panicked holds nothing any more.
        let _ = self.task.await;
    }
}

/// Starts to compete for the Lease, if a Lease decides which replica writes.
fn elect(client: &Client, options: &Options) -> (Leadership, Option<Running>) {
    if !options.leader_elect {
        return (Leadership::unconditional(), None);
    }
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let (candidate, leadership) = Candidate::new(leases, LEASE, &options.identity, Timing::default());
    let (end, ended) = oneshot::channel::<()>();
    let task = tokio::spawn(candidate.run(async {
        let _ = ended.await;
    }));
    (leadership, Some(Running { end, task }))
}
