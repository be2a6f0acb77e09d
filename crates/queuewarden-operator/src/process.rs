//! The process of `queuewarden run`: the operator and the HTTPS endpoints, which answer from what it saw.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgAction;
use futures::FutureExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::controller;
use crate::controller::cluster_watches::ClusterWatches;
use crate::controller::events::Events;
use crate::controller::health::Health;
use crate::controller::history::History;
use crate::controller::last_base::LastBaseStore;
use crate::controller::leader::{Candidate, Leadership};
use crate::controller::published::Publisher;
use crate::controller::read_back::ReadBack;
use crate::controller::reconcile::{self, Functions, Left, Reconciler};
use crate::memory::Budget;
use crate::server::open::{Https, Open, OpenError};
use crate::server::tls::ServerCertificate;
use crate::server::{lookups, probes};
use crate::telemetry::{Format, Logging};
use queuewarden_client::scheduler::Connector;
use queuewarden_plan::machine::State;

/// The name of the Lease.
const LEASE: &str = "queuewarden";
/// Longest time after the last run for publishing the last events, recording the last revisions and releasing
/// the Lease.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The options of the process: the flags of `queuewarden run`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Address of /livez, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// Elect the replica that writes by a Lease
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    leader_elect: bool,
    /// Unique name of this replica
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    identity: Option<String>,
    /// Namespace of the Lease, instead of the kubeconfig's or the pod's
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    https: Https,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: Format,
    /// Log filter: error, warn, info, debug or trace, also by module, as in info,queuewarden=debug; the
    /// YuniKornConfig's annotation queuewarden.dev/log-level changes it while it runs
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    pub log_level: String,
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
    Https(#[from] OpenError),
}

/// Runs until the process receives a signal to end.
///
/// # Errors
/// When it cannot start; later problems are logged and tried again.
pub async fn run(options: Options, logging: Logging) -> Result<(), Error> {
    let name = options.identity.clone().unwrap_or_else(random_name);
    let config = controller::config().await?;
    let lookups = controller::made(lookups::client(config.clone()))?;
    let client = controller::made(Client::try_from(config))?;
    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| Error::Listen(options.listen, error))?;
    let stop = controller::terminated().map_err(controller::Error::Signal)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, identity = name, listen = %options.listen, "Starting");
    let health = Arc::new(Health::default());
    let read_back = ReadBack::new(Connector::new(client.clone()), Arc::clone(&health));
    let identity = options.https.address.map(|_| ServerCertificate::default());
    let memory = Budget::of_process();
    let probes = probes::serve(listener, Arc::clone(&health), Arc::clone(&memory), identity.clone());
    let endpoints = tokio::spawn(probes);
    let (leadership, candidate) = elect(&client, &options, &name);
    let (end, ended) = oneshot::channel::<()>();
    let election = candidate.map(|candidate| tokio::spawn(candidate.run(ended.map(drop))));
    let (events, publishing) = Events::start(client.clone(), name);
    let (history, recording) = History::start(client.clone(), Arc::clone(&health));
    let changed = Arc::new(Notify::new());
    let publisher = Publisher::new(None);
    let server = match options.https.address.zip(identity) {
        Some((address, identity)) => {
            let (https, namespace, knows) =
                ((address, &options.https), options.namespace.as_deref(), publisher.subscribe());
            Some(Open::start(https, namespace, &client, lookups, knows, (&health, &memory), identity).await?)
        }
        None => None,
    };
    let reconciler = Reconciler {
        watches: ClusterWatches::start(client.clone(), Arc::clone(&changed)),
        last_base: LastBaseStore::new(client.clone(), options.namespace.as_deref()),
        client,
        leadership,
        read_back,
        events,
        history,
        health,
        publisher,
        own_namespace: options.namespace,
        logging,
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
        let _ = tokio::join!(publishing, recording);
    };
    // The HTTPS endpoints close when their running requests are answered.
    let closing = async {
        if let Some(server) = server {
            server.close().await;
        }
    };
    if let (Err(_), ()) = tokio::join!(timeout(SHUTDOWN_GRACE, shutdown), closing) {
        tracing::warn!("The last events were not published, or the last revisions not recorded, in time");
    }
    endpoints.abort();
    tracing::info!("Stopped");
    Ok(())
}

/// Returns whether this replica leads, and the candidate if a Lease decides that.
fn elect(client: &Client, options: &Options, name: &str) -> (Leadership, Option<Candidate>) {
    if !options.leader_elect {
        return (Leadership::unconditional(), None);
    }
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let (candidate, leadership) = Candidate::new(leases, LEASE, name);
    (leadership, Some(candidate))
}

/// Generates a name for a replica outside a pod, where nothing else provides one.
fn random_name() -> String {
    format!("queuewarden-{:08x}", fastrand::u32(..))
}
