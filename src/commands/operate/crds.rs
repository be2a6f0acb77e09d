//! `queuewarden crds`: prints the custom resource definitions, for `kubectl apply`, or writes them into the
//! folder that a kustomization refers to.

use std::path::PathBuf;

use crate::output::{Console, Exit, Failure, file};
use queuewarden_api::crd_yaml;

/// Print the custom resource definitions
#[derive(Debug, Clone, clap::Args)]
pub struct CrdsArgs {
    /// Write one file for each definition into DIR instead. If DIR has a symbolic link of that name, its
    /// target is written
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When the folder or standard output cannot be written to.
pub fn run(args: &CrdsArgs, console: Console) -> Result<Exit, Failure> {
    let files = crd_yaml().map_err(|error| Failure::Output(error.to_string()))?;
    let Some(dir) = &args.dir else {
        let texts: Vec<String> = files.into_iter().map(|(_, text)| text).collect();
        console.out(&texts.join("---\n"))?;
        return Ok(Exit::Clean);
    };
    file::write_all(dir, files)?;
    Ok(Exit::Clean)
}
