//! `queuewarden can-i`: answers yes or no.

use super::application::{self, ApplicationArgs, Asking, Show};
use super::ask::identity::IdentityArgs;
use super::ask::output::{self, AnswerFormat};
use super::ask::question::{self, AnyVerb};
use super::ask::{EXIT_CODES, SourceArgs};
use super::console::Console;
use super::{Exit, Failure};
use queuewarden_api::answer::Answers;
use yunikorn_access::check::explain;

/// Check whether a user may submit to a queue, administer it, or act on an application; prints yes, or no and
/// the reason
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// submit or administer, for a queue; view, modify, kill, logs or move, for an application
    #[arg(value_parser = question::any_verb)]
    verb: AnyVerb,
    /// The queue's full path, such as root.prod; or an application's name, together with --queue
    target: String,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    application: ApplicationArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
    /// Print nothing: the exit code is the answer
    #[arg(short, long, conflicts_with = "format")]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let (right, queue) = match args.verb {
        AnyVerb::Right(right) => (right, question::only_queue(&args.target, &args.application)?),
        AnyVerb::Action(action) => {
            let Args { target, application, identity, source, .. } = args;
            let asking = Asking { action, target, application, identity, source };
            let show = if args.quiet { Show::Nothing } else { Show::Line(args.format) };
            return application::run(asking, show, console);
        }
    };
    let asked = args.source.open(console)?;
    let identity = match args.identity.resolve(&asked, console) {
        Err(Failure::Refused(_)) if args.quiet => return Ok(Exit::yes(false)),
        resolved => resolved?,
    };
    let tree = asked.tree()?;
    let decision = explain(tree, right, &queue, &identity);
    let answers = Answers { configuration: &asked.configuration, tree };
    let allowed = decision.allowed();
    if !args.quiet {
        let unknown = question::unknown(tree, &queue);
        let parent = question::parent(tree, right, &queue).filter(|_| allowed);
        unknown.iter().chain(&parent).for_each(|note| console.note(note));
        let line = || {
            if allowed {
                return "yes\n".to_owned();
            }
            format!("no - {}\n", output::visible(&answers.reason(&decision)))
        };
        console.out(&args.format.show(line, || answers.decision(&decision))?)?;
    }
    Ok(Exit::yes(allowed))
}
