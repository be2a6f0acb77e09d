//! `queuewarden test`: checks a configuration against the access it is meant to give.
//!
//! * `suite`: the tests among the files.
//! * [`answer`]: their results, as output for programs; `formats`: for people and CI systems.

pub mod answer;
mod formats;
mod suite;

use super::findings::plural;
use super::query::files::Given;
use super::query::identity::GroupsArgs;
use super::query::output;
use super::{Console, Exit, Failure, InputArgs};
use answer::TestAnswer;
use yunikorn::identity::ResolverKind;

/// Help text on files and exit codes.
const HELP: &str = "\
Tests are QueueAccessTest objects in any of the files; everything else in them is the configuration: a \
queues.yaml, or YuniKorn's ConfigMaps, with QueueAcls as the operator would render them. No cluster is asked.

Exit codes: 0 every check holds, 1 a check does not hold, 2 the command line is wrong or there is no test, 3 \
a check cannot be decided, or a file cannot be read.";

/// Run access tests: check a configuration against the access it is meant to give
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// The source of groups that a test does not name.
    #[command(flatten)]
    groups: GroupsArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: Format,
    /// Show passing checks too, in plain output
    #[arg(short, long)]
    verbose: bool,
}

/// Output format of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people: a line for each test, and one for each failing check.
    #[default]
    Plain,
    /// Test Anything Protocol, version 14.
    Tap,
    /// `JUnit`'s XML, as CI systems read it.
    Junit,
    /// For programs; docs/schema describes the fields.
    Json,
}

/// Runs the command.
///
/// # Errors
/// When there is no test, or one cannot be decided, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let inputs = args.input.read(None)?;
    let suites = suite::read(&inputs, console)?;
    let configuration = Given::from_inputs(inputs, args.input.files.now, console)?.configuration(console)?;
    let groups = args.groups.resolver(ResolverKind::in_force(&configuration.config), console)?;
    let answer = TestAnswer::new(&suites, &configuration, &*groups);
    console.out(&match args.format {
        Format::Plain => formats::text(&answer, args.verbose),
        Format::Tap => formats::tap(&answer),
        Format::Junit => formats::junit(&answer),
        Format::Json => output::json(&answer)?,
    })?;
    let tally = answer.tally;
    if tally.failed == 0 && tally.undecided > 0 {
        let checks = plural(tally.all(), "check");
        return Err(Failure::Undecided(format!("{} of {checks} cannot be decided", tally.undecided)));
    }
    Ok(Exit::yes(tally.failed == 0))
}
