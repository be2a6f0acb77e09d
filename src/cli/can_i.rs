//! `queuewarden can-i`: yes or no.

use super::ask::answers::Answers;
use super::ask::identity::IdentityArgs;
use super::ask::output::{self, AnswerFormat};
use super::ask::{EXIT_CODES, SourceArgs, question};
use super::console::Console;
use super::{Exit, Failure};
use crate::access::check::decide;
use crate::model::right::Right;

/// Tells whether a user may submit to a queue, or administer it: `yes`, or `no` and why.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// submit or administer
    #[arg(value_parser = question::verb)]
    verb: Right,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = question::queue)]
    queue: String,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// How to show it
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
    /// Print nothing: the exit code is the answer
    #[arg(short, long, conflicts_with = "format")]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or nobody takes the output.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let asked = args.source.open(console)?;
    let identity = args.identity.resolve(&asked)?;
    let tree = asked.tree()?;
    let decision = decide(tree, args.verb, &args.queue, &identity);
    let answers = Answers { configuration: &asked.configuration, tree };
    let allowed = decision.allowed();
    if !args.quiet {
        if let Some(note) = question::unknown(tree, &args.queue) {
            console.note(&note);
        }
        console.out(&match args.format {
            AnswerFormat::Text if allowed => "yes\n".to_owned(),
            AnswerFormat::Text => format!("no - {}\n", output::visible(&answers.reason(&decision))),
            AnswerFormat::Json => output::json(&answers.decision(&decision))?,
            AnswerFormat::Yaml => output::yaml(&answers.decision(&decision))?,
        })?;
    }
    Ok(Exit::yes(allowed))
}
