//! Spark's ACLs: read, carried over, compared, printed.

use std::io;
use std::path::PathBuf;

use super::arguments::{Accepted, NameArgs, texts};
use super::manifests::{self, Granted};
use super::{compared, told};
use crate::cli::ask::DEFAULT_PARTITION;
use crate::cli::console::Console;
use crate::cli::{Exit, Failure};
use crate::import::Finding;
use crate::import::proof::Direction;
use crate::import::spark::{Carried, Options, Spark, carry, prove};
use crate::model::queue::QueuePath;

/// What to import, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// spark-defaults.conf, or - for standard input; of several, a later file counts before an earlier one
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// The queue that those who administer Spark are to administer, by a QueueAcl; they may then also submit to it
    #[arg(long, value_name = "QUEUE", value_parser = queue)]
    queue: Option<QueuePath>,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    accepted: Accepted,
}

/// Runs the command.
pub(super) fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let options = Options { names: args.names.read()?, queue: args.queue.clone() };
    let texts = texts(args.file.iter())?;
    let (mut findings, mut outcome) = (Vec::new(), None);
    let files: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    if let Some(spark) = Spark::read(&files, &mut findings) {
        let carried = carry(&spark, &options, &mut findings);
        match prove(&spark, &carried, &options) {
            Ok(proof) => outcome = Some((carried, proof)),
            Err(error) => findings.push(Finding { file: None, diagnostic: error }),
        }
    }
    args.accepted.acknowledge(&mut findings);
    let count = told::tell(&texts, &findings, console);
    let Some((carried, proof)) = outcome else { return Ok(Exit::Findings) };
    console.err(&compared::spark(&proof, &texts));
    let leaks = args.accepted.leaks(proof.of(Direction::Wider).map(|difference| difference.code));
    told::refuse(&leaks, console);
    if count.errors > 0 || !leaks.is_empty() {
        return Ok(Exit::Findings);
    }
    print(&carried, console)?;
    Ok(Exit::Clean)
}

/// The `QueueAcl` if there is a queue, and the settings beside it; else the settings.
fn print(carried: &Carried, console: Console) -> io::Result<()> {
    let settings = carried.properties();
    let Some((path, acl)) = &carried.administrators else { return console.out(&settings) };
    let granted = Granted {
        partition: DEFAULT_PARTITION.to_owned(),
        path: path.clone(),
        submit: None,
        admin: Some(acl.clone()),
    };
    console
        .err(&format!("Everything else goes with each application, in its spark-defaults.conf:\n{settings}"));
    console.out(&manifests::text(&manifests::queue_acls(&[granted])))
}

fn queue(text: &str) -> Result<QueuePath, String> {
    QueuePath::parse(text).map_err(|error| error.to_string())
}
