//! `queuewarden run`: runs the operator.

use std::time::Duration;

use crate::output::{Exit, Failure};
use queuewarden_operator::process::{self, Options};
use queuewarden_operator::telemetry;

/// Runs until the process receives a signal to end.
///
/// # Errors
/// When the operator cannot start.
pub fn run(options: &Options) -> Result<Exit, Failure> {
    let logging = telemetry::start(options.log_format, &options.log_level)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Output(format!("cannot start threads: {error}")))?;
    let ended = runtime.block_on(process::run(options.clone(), logging.clone()));
    // Does not wait for a plan that is still being made.
    runtime.shutdown_timeout(Duration::from_secs(1));
    logging.end();
    ended.map_err(|error| Failure::Output(error.to_string()))?;
    Ok(Exit::Clean)
}
