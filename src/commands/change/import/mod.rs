//! `queuewarden import`: converts access rules of other systems to manifests, with the proof that nobody may
//! do more than before.

pub mod answer;
mod manifests;
mod names;
mod steps;
mod yunikorn;

use clap::Subcommand;

use crate::output::{Console, Exit, Failure};
use queuewarden_import::Source;

/// Help text with the exit codes of all imports.
const EXIT_CODES: &str = "\
Exit codes: 0 imported, 1 refused, 2 the command line is invalid or a file cannot be read, 3 from YuniKorn: \
refused, or undecided.";

/// Help text with output and exit codes of the import from `YuniKorn`.
const YUNIKORN_HELP: &str = "\
Results go to standard output, and the migration steps to standard error. If the import is refused, nothing is \
printed to standard output.

Exit codes: 0 imported, 2 the command line is invalid or a file cannot be read, 3 refused, because the objects \
would differ from the queues.yaml, or undecided.";

/// Help text with output and exit codes of the other imports.
const HELP: &str = "\
Results go to standard output. Everything that cannot be converted, and all differences, go to standard error. If \
the import is refused, nothing is printed to standard output, except with -o json and -o yaml, which print all \
findings.

Exit codes: 0 imported; 1 refused, because there are errors or someone could do more than before, and --accept \
does not name the code; 2 the command line is invalid or a file cannot be read.";

/// Convert the access rules of YARN, Spark or a queues.yaml to QueueAcls, and verify that nobody can do more
/// than before
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Clone, Subcommand)]
enum From {
    /// Import the ACLs in a queues.yaml, in ConfigMaps, or in the cluster
    #[command(after_help = YUNIKORN_HELP)]
    Yunikorn(Box<yunikorn::ImportYunikornArgs>),
    /// Import the allocation file of YARN's fair scheduler, fair-scheduler.xml
    #[command(after_help = HELP)]
    YarnFair(names::ImportYarnArgs),
    /// Import the configuration of YARN's capacity scheduler, capacity-scheduler.xml
    #[command(after_help = HELP)]
    YarnCapacity(names::ImportYarnArgs),
    /// Import the lists of Spark's applications, spark-defaults.conf
    #[command(after_help = HELP)]
    Spark(names::ImportSparkArgs),
}

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, or the output cannot be written.
pub fn run(args: &ImportArgs, console: Console) -> Result<Exit, Failure> {
    match &args.from {
        From::Yunikorn(args) => yunikorn::run(args, console),
        From::YarnFair(args) => names::yarn(args, Source::fair, console),
        From::YarnCapacity(args) => names::yarn(args, Source::capacity, console),
        From::Spark(args) => names::spark(args, console),
    }
}
