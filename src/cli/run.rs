//! `queuewarden run`: runs the operator.

mod https;

use std::net::SocketAddr;
use std::time::Duration;

use clap::ArgAction;

use https::HttpsArgs;

use super::{Exit, Failure};
use queuewarden_operator::process::{self, Options};
use queuewarden_operator::telemetry::{self, Format};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
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
    https: HttpsArgs,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: Format,
    /// Log filter: error, warn, info, debug or trace, also by module, as in info,queuewarden=debug; the
    /// YuniKornConfig's annotation queuewarden.dev/log-level changes it while it runs
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    log_level: String,
}

/// Runs until the process receives a signal to end.
///
/// # Errors
/// When the operator cannot start.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let logging = telemetry::start(args.log_format, &args.log_level)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let options = Options {
        listen: args.listen,
        leader_elect: args.leader_elect,
        identity: args.identity.clone().unwrap_or_else(random_identity),
        namespace: args.namespace.clone(),
        https: args.https.https(args.namespace.as_deref()),
        logging: logging.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Output(format!("cannot start threads: {error}")))?;
    let ended = runtime.block_on(process::run(options));
    // Does not wait for a plan that is still being made.
    runtime.shutdown_timeout(Duration::from_secs(1));
    logging.end();
    ended.map_err(|error| Failure::Output(error.to_string()))?;
    Ok(Exit::Clean)
}

/// Generates a name for a replica outside a pod, where nothing else provides one.
fn random_identity() -> String {
    format!("queuewarden-{:08x}", fastrand::u32(..))
}
