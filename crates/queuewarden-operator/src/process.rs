//! The process of `queuewarden run`: the operator and the HTTPS endpoints, which answer from what it saw.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::controller::connect::Connector;
use crate::controller::counted_scheduler::CountedScheduler;
use crate::controller::events::Events;
use crate::controller::health::Health;
use crate::controller::leader::{Candidate, Leadership};
use crate::controller::published::Publisher;
use crate::controller::reconcile::{self, Functions, Left, Reconciler};
use crate::controller::world::World;
use crate::controller::{self, last_base};
use crate::server::open::{self, Https, Open};
use crate::server::tls::Identity;
use crate::server::{lookups, probes};
use crate::telemetry::Logging;
use queuewarden_plan::machine::State;

/// The name of the Lease.
const LEASE: &str = "queuewarden";
/// Longest time after the last run for publishing the last events and releasing the Lease.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The options of the process.
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

/// The reasons why the process cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no way to the API server, or no signals.
    #[error(transparent)]
    Operator(#[from] controller::Error),
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The HTTPS endpoints cannot be served.
    #[error(transparent)]
    Https(#[from] open::Error),
}

/// Runs until the process receives a signal to end.
///
/// # Errors
/// When it cannot start; later problems are logged and tried again.
pub async fn run(options: Options) -> Result<(), Error> {
    let config = controller::config().await?;
    let lookups = controller::made(lookups::client(config.clone()))?;
    let client = controller::made(Client::try_from(config))?;
    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| Error::Listen(options.listen, error))?;
    let stop = controller::terminated().map_err(controller::Error::Signal)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, identity = options.identity, listen = %options.listen, "Starting");
    let health = Arc::new(Health::default());
    let scheduler = CountedScheduler::new(Connector::new(client.clone()), Arc::clone(&health));
    let identity = options.https.as_ref().map(|_| Identity::default());
    let endpoints = tokio::spawn(probes::serve(listener, Arc::clone(&health), identity.clone()));
    let (leadership, candidate) = elect(&client, &options);
    let (end, ended) = oneshot::channel::<()>();
    let election = candidate.map(|candidate| tokio::spawn(candidate.run(ended.map(drop))));
    let (events, publishing) = Events::start(client.clone(), options.identity);
    let changed = Arc::new(Notify::new());
    let publisher = Publisher::new(None);
    let server = match options.https.as_ref().zip(identity) {
        Some((https, identity)) => {
            Some(Open::start(https, &client, lookups, publisher.subscribe(), &health, identity).await?)
        }
        None => None,
    };
    let reconciler = Reconciler {
        world: World::start(client.clone(), Arc::clone(&changed)),
        last_base: last_base::Store::new(client.clone(), options.namespace.as_deref()),
        client,
        leadership,
        scheduler,
        events,
        health,
        publisher,
        own_namespace: options.namespace,
        logging: options.logging,
        changed,
        state: State::new(fastrand::u64(..)),
        functions: Functions::default(),
        left: Left::default(),
    };
    Box::pin(reconcile::run(reconciler, stop)).await;
    let shutdown = async {
        drop(end);
        if let Some(election) = election {
            // Its last step is to release the Lease. A task that panicked holds nothing any more.
            let _ = election.await;
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

/// Returns whether this replica leads, and the candidate if a Lease decides that.
fn elect(client: &Client, options: &Options) -> (Leadership, Option<Candidate>) {
    if !options.leader_elect {
        return (Leadership::unconditional(), None);
    }
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let (candidate, leadership) = Candidate::new(leases, LEASE, &options.identity);
    (leadership, Some(candidate))
}
