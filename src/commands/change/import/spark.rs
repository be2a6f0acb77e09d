//! Imports Spark's ACLs.

use std::path::PathBuf;

use serde_json::Value;

use super::answer::{ImportAnswer, SparkSetting};
use super::arguments::{Accepted, NameArgs, texts};
use super::manifests::{self, Granted};
use super::report::{messages, report};
use crate::output::format::AnswerFormat;
use crate::output::manifest::{DEFAULT_PARTITION, to_yaml};
use crate::output::{Console, Exit, Failure};
use queuewarden_import::spark::{Carried, Options, Spark, carry, prove};
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::queue::QueuePath;

/// Options of the import from Spark.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ImportSparkArgs {
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
pub(super) fn run(args: &ImportSparkArgs, console: Console) -> Result<Exit, Failure> {
    let options = Options { names: args.names.read()?, queue: args.queue.clone() };
    let texts = texts(args.file.iter())?;
    let mut findings = Vec::new();
    let files: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    let carried = Spark::read(&files, &mut findings).map(|spark| {
        let carried = carry(&spark, &options, &mut findings);
        let proof = prove(&spark, &carried, &options);
        (carried, proof)
    });
    let carried = report(&texts, findings, carried, &args.accepted, args.format, console)?;
    let Some((carried, answer)) = carried else { return Ok(Exit::Findings) };
    let manifests = manifests(&carried);
    if !manifests.is_empty() {
        messages(args.format, console).err(&format!(
            "Everything else goes with each application, in its spark-defaults.conf:\n{}",
            carried.properties()
        ));
    }
    let settings = carried.settings.iter().map(|(key, value)| SparkSetting { key, value: value.clone() });
    let answer = ImportAnswer { imported: true, manifests, settings: settings.collect(), ..answer };
    let text = || match answer.manifests.as_slice() {
        [] => carried.properties(),
        manifests => to_yaml(manifests),
    };
    console.out(&args.format.show(text, || &answer)?)?;
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
