//! `queuewarden can-i`: yes or no.

use super::ask::identity::IdentityArgs;
use super::ask::{EXIT_CODES, SourceArgs, question};
use super::console::Console;
use super::{Exit, Failure};
use crate::access::check::decide;
use crate::model::right::Right;

/// Tells whether a user may submit to a queue, or administer it.
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
    /// Print nothing: the exit code is the answer
    #[arg(short, long)]
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
    if !args.quiet {
        console.out(if decision.allowed() { "yes\n" } else { "no\n" })?;
    }
    Ok(if decision.allowed() { Exit::Clean } else { Exit::Findings })
}
