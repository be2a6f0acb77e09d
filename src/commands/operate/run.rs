//! `queuewarden run` and `queuewarden certificates`: the processes in the cluster.

use crate::output::{Exit, Failure};
use queuewarden_operator::process::{self, CertificatesOptions, ProcessError, RunOptions};

/// Runs the operator until the process receives a signal to end.
///
/// # Errors
/// When the operator cannot start.
pub fn run(options: &RunOptions) -> Result<Exit, Failure> {
    process::run(options).map(|()| Exit::Clean).map_err(|error| failure(&error))
}

/// Issues and renews certificates until the process receives a signal to end.
///
/// # Errors
/// When it cannot begin.
pub fn certificates(options: &CertificatesOptions) -> Result<Exit, Failure> {
    process::keep_certificates(options).map(|()| Exit::Clean).map_err(|error| failure(&error))
}

fn failure(error: &ProcessError) -> Failure {
    match error {
        ProcessError::Usage(_) | ProcessError::Logging(_) => Failure::Usage(error.to_string()),
        _ => Failure::Output(error.to_string()),
    }
}
