//! `queuewarden configure`: applies a `YuniKornConfig` as the hook of the Helm chart. Helm itself cannot,
//! because the definition is part of the same release, and a webhook refuses the object until a replica
//! answers.

use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::Value;

use crate::output::{Console, Exit, Failure};
use crate::source::apply;
use crate::source::cluster::{Cluster, ServerArgs};
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_client::call::CallError;
use queuewarden_plan::{ObjectRef, ResourceKind};

/// The time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// The field manager of Helm 4: the values of the release own these fields.
const HELM: &str = "helm";

/// Exit codes of the command.
const CODES: &str = "\
Exit codes: 0 applied, 1 the API server refuses it, 2 the command line is invalid, 3 the cluster cannot be reached.";

/// Apply the YuniKornConfig of a Helm release: tries until its definition is installed and the webhooks
/// answer
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct ConfigureArgs {
    /// The API server.
    #[command(flatten)]
    server: ServerArgs,
    /// The YuniKornConfig, in YAML or JSON
    #[arg(value_name = "OBJECT", value_parser = |text: &str| serde_saphyr::from_str::<Value>(text))]
    object: Value,
    /// How long to try
    #[arg(long, value_name = "DURATION", default_value = "4m")]
    wait: SignedDuration,
}

/// Runs the command.
///
/// # Errors
/// When the API server refuses the object for good, or until the time is over.
pub fn run(args: &ConfigureArgs, console: Console) -> Result<Exit, Failure> {
    let cluster = Cluster::connect(&args.server)?;
    let object = ObjectRef { kind: ResourceKind::YuniKornConfig, name: SINGLETON.into() };
    let wait = args.wait.unsigned_abs();
    let (begin, mut last) = (Instant::now(), String::new());
    let done = loop {
        match apply::apply_as(HELM, &cluster, &object, &args.object) {
            Err(error) if !is_final(&error) && begin.elapsed() < wait => {
                let why = error.to_string();
                if why != last {
                    console.note(&format!("it is not applied yet: {why}"));
                    last = why;
                }
                sleep(PAUSE);
            }
            done => break done,
        }
    };
    apply::applied(&object, done, console)?;
    Ok(Exit::Clean)
}

/// Returns whether another attempt would have the same end. Rights, a definition and webhooks may still come.
fn is_final(error: &CallError) -> bool {
    matches!(error, CallError::Refused { code: 400 | 409 | 422, .. })
}
