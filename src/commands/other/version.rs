//! `queuewarden version`: prints the versions for a bug report.

use crate::output::{Console, Exit, Failure};

/// The release whose behaviour `model` reproduces.
const YUNIKORN: &str = "1.8.0";

/// Print the version, and the tested versions of YuniKorn
#[derive(Debug, Clone, clap::Args)]
pub struct VersionArgs {}

/// Runs the command.
///
/// # Errors
/// When the output cannot be written.
pub fn run(_: &VersionArgs, console: Console) -> Result<Exit, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    console.out(&format!(
        "queuewarden {version}\napi {}/{}\nyunikorn {YUNIKORN}\n",
        queuewarden_api::GROUP,
        queuewarden_api::VERSION
    ))?;
    Ok(Exit::Clean)
}
