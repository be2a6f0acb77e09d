//! The operator: the thin shell around [`queuewarden_plan`] that gathers a snapshot and carries a plan out.
//!
//! * [`reconcile`]: the controller, on `kube::runtime`, around the state machine [`queuewarden_plan::machine`].
//! * [`world`], [`watch`], [`cache`], [`standing`]: what the API server holds.
//! * [`served`], [`apply`], [`last_base`], [`status`], [`events`]: whether to write, and the writes, bounded by [`call`].
//! * [`mirror`]: the RBAC mirror, watched and written.
//! * [`read_back`], [`asking`]: what the scheduler runs.
//! * [`applications`]: which run, for questions about them.
//! * [`leader`]: which replica writes.
//! * [`health`], [`metrics`]: what is told about it; [`clock`]: when.

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

/// Name of the Lease.
const LEASE: &str = "queuewarden";
/// How long what comes after the last run may take: the last events, and the Lease.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Address of `/livez`, `/readyz` and `/metrics`.
    pub listen: SocketAddr,
    /// Whether a Lease decides which replica writes.
    pub leader_elect: bool,
    /// Name of this replica, which differs from that of every other.
    pub identity: String,
    /// Namespace of the Lease; `None`: the client's own.
    pub namespace: Option<String>,
    /// The endpoints, if they are open.
    pub https: Option<Https>,
    /// How much is logged.
    pub logging: Logging,
}

/// Why the operator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a kubeconfig nor a service account.
    #[error("no way to the API server: {0}")]
    Client(#[source] Box<kube::Error>),
    /// As above.
    #[error("no way to the API server: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// The address is taken.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// No HTTP client for the scheduler.
    #[error("cannot make an HTTP client: {0}")]
    Http(#[from] reqwest::Error),
    /// The endpoints cannot be opened.
    #[error(transparent)]
    Https(#[from] server::open::Error),
    /// No signals.
    #[error("cannot wait for signals: {0}")]
    Signal(#[source] io::Error),
}

/// Runs until the process is told to end.
///
/// # Errors
/// When it cannot begin; later problems are logged and tried again.
pub async fn run(options: Options) -> Result<(), Error> {
    let config = config().await?;
    let lookups = made(lookups::client(config.clone()))?;
    let client = made(Client::try_from(config))?;
    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| Error::Listen(options.listen, error))?;
    let stop = terminated().map_err(Error::Signal)?;
    Box::pin(serve(client, lookups, listener, options, stop)).await
}

/// Returns a client of the API server that the environment names.
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
    // Two crates bring rustls; one of them must say with which cryptography. It was said already when this fails.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut config = kube::Config::infer().await?;
    // An answer that begins and does not go on; the longest that nothing is said by one that is well is a watch of nothing.
    config.read_timeout = Some(watch::SILENCE);
    // Counted from the request: the connection may have been idle before.
    config.reset_reader_on_write = true;
    Ok(config)
}

/// Returns what completes when the process is told to end.
///
/// # Errors
/// When there are no signals.
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

/// Runs until `stop` completes. What callers of the endpoints cause to be looked up goes by the client `lookups`.
///
/// # Errors
/// When no HTTP client can be made.
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
    // The endpoints take as long as what was asked there.
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

/// A task that runs until it is told to end.
struct Running {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// Ends it, and waits for what it does last: it gives the Lease up.
    async fn end(self) {
        drop(self.end);
        // A task that panicked holds nothing any more.
        let _ = self.task.await;
    }
}

/// Begins to compete for the Lease, where that decides who writes.
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
