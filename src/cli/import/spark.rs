//! Imports Spark's ACLs.

use std::path::PathBuf;

use serde_json::Value;

use super::answer::{ImportAnswer, SparkSetting};
use super::arguments::{Accepted, NameArgs, texts};
use super::manifests::{self, Granted};
use super::report::report;
use crate::cli::manifest::to_yaml;
use crate::cli::query::DEFAULT_PARTITION;
use crate::cli::query::output::AnswerFormat;
use crate::cli::{Console, Exit, Failure};
use queuewarden_import::FileDiagnostic;
use queuewarden_import::spark::{Carried, Options, Spark, carry, prove};
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::queue::QueuePath;

/// Options of the import from Spark.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// The file spark-defaults.conf, or - for standard input; of several, a later file overrides an earlier
    /// one
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// Queue that Spark's administrators are to administer, by a QueueAcl; they may then also submit to it
    #[arg(long, value_name = "QUEUE", value_parser = queue)]
    queue: Option<QueuePath>,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    accepted: Accepted,
    /// Output format: text prints the settings or the manifest, json and yaml all findings and the comparison
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Runs the command.
pub(super) fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let options = Options { names: args.names.read()?, queue: args.queue.clone() };
    let texts = texts(args.file.iter())?;
    // For programs everything is in the answer.
    let messages = if args.format == AnswerFormat::Text { console } else { Console::silent() };
    let mut findings = Vec::new();
    let files: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    let carried = Spark::read(&files, &mut findings).and_then(|spark| {
        let carried = carry(&spark, &options, &mut findings);
        let proof = prove(&spark, &carried, &options);
        Some((carried, proof.map_err(|error| findings.push(FileDiagnostic::at(None, error))).ok()?))
    });
    let proof = carried.as_ref().map(|(_, proof)| proof);
    let answer = report(&texts, findings, proof, &args.accepted, messages);
    let Some((carried, _)) = carried.filter(|_| !answer.is_refused()) else {
        answer.print(args.format, console)?;
        return Ok(Exit::Findings);
    };
    let manifests = manifests(&carried);
    if args.format != AnswerFormat::Text {
        let settings = carried.settings.iter().map(|(key, value)| SparkSetting { key, value: value.clone() });
        ImportAnswer { imported: true, manifests, settings: settings.collect(), ..answer }
            .print(args.format, console)?;
    } else if manifests.is_empty() {
        console.out(&carried.properties())?;
    } else {
        let settings = carried.properties();
        console.err(&format!(
            "Everything else goes with each application, in its spark-defaults.conf:\n{settings}"
        ));
        console.out(&to_yaml(&manifests))?;
    }
    Ok(Exit::Clean)
}

/// Returns the `QueueAcl` of the queue, if there is one.
fn manifests(carried: &Carried) -> Vec<Value> {
    let granted = carried.administrators.as_ref().map(|(path, acl)| Granted {
        partition: DEFAULT_PARTITION.to_owned(),
        path: path.clone(),
        submit: None,
        admin: Some(acl.clone()),
        // Spark has no rules for queues, so the base's ACLs of this queue stay in force.
        base_acl: BaseAcl::Extend,
    });
    manifests::queue_acls(granted.as_slice())
}

fn queue(text: &str) -> Result<QueuePath, String> {
    QueuePath::parse(text).map_err(|error| error.to_string())
}
