//! Tests imports: the output of `queuewarden import`, applied to a cluster, and the scheduler's resulting
//! behavior.

mod cloudera;
mod live;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use queuewarden_e2e::assets;

use crate::cli::Ended;

/// Returns a file of the import's own tests.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cli/cases/import.in").join(name)
}

/// Runs `queuewarden import` here.
async fn import(directory: &Path, args: &[&str]) -> Result<Ended> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let output = tokio::process::Command::new(program)
        .arg("import")
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .await
        .context("cannot run queuewarden")?;
    Ended::of(output)
}
