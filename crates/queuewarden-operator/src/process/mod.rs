//! The processes that run in a cluster, with their entry points.
//!
//! * [`run`]: `queuewarden run`, the operator and the HTTPS endpoints, which answer from its observations.
//! * [`keep_certificates`]: `queuewarden certificates`, which issues and renews the certificate of the HTTPS
//!   endpoints.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::ArgAction;
use futures::FutureExt as _;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, Config};
use rustls::pki_types::ServerName;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::controller::cluster_watches::ClusterWatches;
use crate::controller::events::Events;
use crate::controller::health::Health;
use crate::controller::history::History;
use crate::controller::last_base::LastBaseStore;
use crate::controller::leader::{Candidate, Leadership};
use crate::controller::published::Publisher;
use crate::controller::read_back::ReadBack;
use crate::controller::reconcile::{self, Functions, Reconciler, RunCarryover};
use crate::controller::watch::SILENCE;
use crate::memory::Budget;
use crate::server::certificates::keeper::Keeper;
use crate::server::certificates::material::Terms;
use crate::server::lookups;
use crate::server::open::{Https, Open, OpenError, serve_probes};
use crate::server::tls::ServerCertificate;
use crate::telemetry::{self, LogFormat, Logging};
use queuewarden_client::scheduler::Connector;
use queuewarden_plan::machine::State;

/// The name of the Lease.
const LEASE: &str = "queuewarden";
/// Time limit after the last run for publishing the last events, recording the last revisions and releasing
/// the Lease.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The options of the process: the flags of `queuewarden run`.
#[derive(Debug, Clone, clap::Args)]
pub struct RunOptions {
    /// Address of /livez, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// Use a Lease to elect the replica that writes
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
    log_format: LogFormat,
    /// Log filter: error, warn, info, debug or trace, also by module, as in info,queuewarden=debug; the
    /// YuniKornConfig's annotation queuewarden.dev/log-level changes it while it runs
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    log_level: String,
}

/// Why a process cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// An option has an unusable value.
    #[error("{0}")]
    Usage(String),
    /// The process cannot log.
    #[error(transparent)]
    Logging(#[from] telemetry::LoggingError),
    /// No thread can be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// No client for the API server could be created.
    #[error("cannot connect to the API server: {0}")]
    Client(#[source] Box<kube::Error>),
    /// Neither a kubeconfig nor a service account.
    #[error("cannot connect to the API server: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// The signals of the process cannot be received.
    #[error("cannot wait for signals: {0}")]
    Signal(#[source] io::Error),
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The HTTPS endpoints cannot be served.
    #[error(transparent)]
    Https(#[from] OpenError),
}

/// Runs the operator until the process receives a signal to end.
///
/// # Errors
/// When it cannot start; later problems are logged and tried again.
pub fn run(options: &RunOptions) -> Result<(), ProcessError> {
    let log = (options.log_format, &*options.log_level);
    process(log, Builder::new_multi_thread().worker_threads(2), async |logging| {
        operate(options, logging).await
    })
}

/// Issues and renews the certificate of the HTTPS endpoints until the process receives a signal to end.
///
/// # Errors
/// When it cannot start.
pub fn keep_certificates(options: &CertificatesOptions) -> Result<(), ProcessError> {
    options.check()?;
    let log = (options.log_format, &*options.log_level);
    process(log, &mut Builder::new_current_thread(), async |_| keep(options).await)
}

/// Logs while `work` runs.
fn process(
    (format, filter): (LogFormat, &str),
    threads: &mut Builder,
    work: impl AsyncFnOnce(Logging) -> Result<(), ProcessError>,
) -> Result<(), ProcessError> {
    let logging = telemetry::start(format, filter)?;
    let runtime = threads.enable_all().build().map_err(ProcessError::Threads)?;
    let ended = runtime.block_on(work(logging.clone()));
    // Does not wait for a plan in progress.
    runtime.shutdown_timeout(Duration::from_secs(1));
    logging.end();
    ended
}

async fn operate(options: &RunOptions, logging: Logging) -> Result<(), ProcessError> {
    // Outside of a pod nothing else provides a name.
    let random_name = || format!("queuewarden-{:08x}", fastrand::u32(..));
    let name = options.identity.clone().unwrap_or_else(random_name);
    let config = config().await?;
    let lookups = lookups::client(config.clone()).map_err(|error| ProcessError::Client(Box::new(error)))?;
    let client = connect(config)?;
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|error| ProcessError::Listen(options.listen, error))?;
    let stop = terminated().map_err(ProcessError::Signal)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, identity = name, listen = %options.listen, "Starting");
    let health = Arc::new(Health::default());
    let read_back = ReadBack::new(Connector::new(client.clone()), Arc::clone(&health));
    let identity = options.https.address.map(|_| ServerCertificate::default());
    let memory = Budget::of_process();
    let probes = serve_probes(listener, Arc::clone(&health), Arc::clone(&memory), identity.clone());
    let endpoints = tokio::spawn(probes);
    let (leadership, candidate) = elect(&client, options, &name);
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
        own_namespace: options.namespace.clone(),
        logging,
        changed,
        state: State::new(fastrand::u64(..)),
        functions: Functions::default(),
        carryover: RunCarryover::default(),
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
    // The HTTPS endpoints close after answering their current requests.
    let closing = async {
        if let Some(server) = server {
            server.close().await;
        }
    };
    if let (Err(_), ()) = tokio::join!(timeout(SHUTDOWN_GRACE, shutdown), closing) {
        tracing::warn!("Could not publish the last events or record the last revisions in time");
    }
    endpoints.abort();
    tracing::info!("Stopped");
    Ok(())
}

/// Returns a client for the API server.
fn connect(config: Config) -> Result<Client, ProcessError> {
    Client::try_from(config).map_err(|error| ProcessError::Client(Box::new(error)))
}

/// Returns the API server that the environment names.
async fn config() -> Result<Config, ProcessError> {
    // Two crates use rustls, so the cryptography provider must be chosen. This fails if it was chosen
    // already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut config = Config::infer().await?;
    // Limits a response that begins and does not continue. The longest silence of a healthy response is that
    // of a watch without changes.
    config.read_timeout = Some(SILENCE);
    // The time starts with the request, because the connection may have been idle before.
    config.reset_reader_on_write = true;
    Ok(config)
}

/// Returns a future that completes when the process receives a signal to end.
#[cfg(unix)]
fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Returns a future that completes when Ctrl+C is pressed.
#[cfg(windows)]
fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}

/// Returns whether this replica leads, and the candidate if a Lease decides.
fn elect(client: &Client, options: &RunOptions, name: &str) -> (Leadership, Option<Candidate>) {
    if !options.leader_elect {
        return (Leadership::unconditional(), None);
    }
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let (candidate, leadership) = Candidate::new(leases, LEASE, name);
    (leadership, Some(candidate))
}

/// The Service of `manifests/`.
const SERVICE: &str = "queuewarden";
/// Shortest lifetime of a certificate; a shorter one would be renewed constantly.
const SHORTEST: SignedDuration = SignedDuration::from_secs(6);
/// Number of certificate lifetimes that an authority must last, so that there is time to publish the next
/// one.
const OUTLIVES: i32 = 3;
/// Longest lifetime, within the limits of X.509 and of calendars.
const LONGEST: SignedDuration = SignedDuration::from_hours(100 * 365 * 24);

/// The options of the process: the flags of `queuewarden certificates`.
#[derive(Debug, clap::Args)]
pub struct CertificatesOptions {
    /// Namespace of the Secret and the Service, instead of the kubeconfig's or the pod's
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    namespace: Option<String>,
    /// The Secret of the certificate and its authorities
    #[arg(long, value_name = "NAME", default_value = "queuewarden-tls")]
    tls_secret: String,
    /// Name or address for the certificate, in addition to those of the Service; may be repeated
    #[arg(long, value_name = "NAME", value_parser = name)]
    tls_name: Vec<String>,
    /// Lifetime of a certificate; it is renewed when a third of it is left
    #[arg(long, value_name = "DURATION", default_value = "168h")]
    tls_certificate_lifetime: SignedDuration,
    /// Lifetime of an authority; the next one is published when a third of it is left
    #[arg(long, value_name = "DURATION", default_value = "17520h")]
    tls_authority_lifetime: SignedDuration,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
    /// Log filter: error, warn, info, debug or trace, also by module, as in info,queuewarden=debug
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    log_level: String,
}

/// Issues and renews the certificate until the process receives a signal to end.
async fn keep(options: &CertificatesOptions) -> Result<(), ProcessError> {
    let client = connect(config().await?)?;
    let stop = terminated().map_err(ProcessError::Signal)?;
    let namespace = options.namespace.as_deref().unwrap_or(client.default_namespace());
    let names = service_names(namespace).into_iter().chain(options.tls_name.iter().cloned()).collect();
    let terms = Terms {
        authority: options.tls_authority_lifetime,
        certificate: options.tls_certificate_lifetime,
        names,
    };
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, namespace, secret = options.tls_secret, "Starting");
    let keeper = Keeper::new(&client, (namespace, &options.tls_secret), terms);
    tokio::select! {
        () = keeper.run() => {}
        () = stop => {}
    }
    tracing::info!("Stopped");
    Ok(())
}

/// Returns the names of the Service of `manifests/` inside a cluster; the API server requires the first.
fn service_names(namespace: &str) -> [String; 2] {
    let name = format!("{SERVICE}.{namespace}.svc");
    [name.clone(), format!("{name}.cluster.local")]
}

impl CertificatesOptions {
    fn check(&self) -> Result<(), ProcessError> {
        let (certificate, authority) = (self.tls_certificate_lifetime, self.tls_authority_lifetime);
        if certificate < SHORTEST || certificate > LONGEST {
            return Err(ProcessError::Usage(format!(
                "--tls-certificate-lifetime {certificate:#}: at least {SHORTEST:#}, and at most 100 years"
            )));
        }
        if authority > LONGEST || authority / OUTLIVES < certificate {
            return Err(ProcessError::Usage(format!(
                "--tls-authority-lifetime {authority:#}: at least {OUTLIVES} times as long as that of \
                certificates, {certificate:#}, \
                 and at most 100 years"
            )));
        }
        Ok(())
    }
}

/// Parses a name in the form it has in a certificate.
fn name(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(name)) => Ok(name.as_ref().to_lowercase()),
        Ok(ServerName::IpAddress(address)) => Ok(IpAddr::from(address).to_string()),
        _ => Err("not a DNS name or IP address".to_owned()),
    }
}
