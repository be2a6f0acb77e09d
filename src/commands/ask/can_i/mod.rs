//! `queuewarden can-i` answers yes or no; `queuewarden explain` answers with every step of the decision.

pub mod application;
pub mod question;
mod text;

use crate::output::format::AnswerFormat;
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::Cluster;
use crate::source::identity::IdentityArgs;
use crate::source::request::{self, AnyVerb};
use crate::source::session::{EXIT_CODES, SourceArgs};
use question::{ApplicationArgs, RequestArgs, Show, line};
use yunikorn::right::Right;
use yunikorn_access::decide::{self, Denial, in_words};

/// Check whether a user may submit to a queue, administer it, or act on an application; prints yes, or no and
/// the reason
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct CanIArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// Print nothing: the exit code is the answer
    #[arg(short, long, conflicts_with = "format")]
    quiet: bool,
}

/// Explain why a user may, or may not, submit to a queue or administer it: every ACL that YuniKorn evaluates,
/// in order; or why a user may act on an application: every clause of the rules
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct ExplainArgs {
    #[command(flatten)]
    request: RequestArgs,
}

/// Runs the command.
///
/// # Errors
/// When the question is incomplete or cannot be decided, or the output cannot be written.
pub fn run(args: &CanIArgs, console: Console) -> Result<Exit, Failure> {
    answer(&args.request, if args.quiet { Show::Nothing } else { Show::Line }, console)
}

/// Runs `explain`.
///
/// # Errors
/// As [`run`].
pub fn explain(args: &ExplainArgs, console: Console) -> Result<Exit, Failure> {
    answer(&args.request, Show::Everything, console)
}

fn answer(request: &RequestArgs, show: Show, console: Console) -> Result<Exit, Failure> {
    match request.verb {
        AnyVerb::Right(right) => request.about_queue(right, show, console),
        AnyVerb::Action(action) => application::run(request, action, show, console),
    }
}

/// Parses the queue of a question about a right, and rejects options about applications.
///
/// # Errors
/// When the path is invalid, or an option about an application is given.
fn only_queue(target: &str, application: &ApplicationArgs) -> Result<String, Failure> {
    if application.is_given() {
        let words = "--owner, --queue, --to, --dialect and settings are for questions about an application: \
            view, modify, kill, logs, move";
        return Err(Failure::Usage(words.to_owned()));
    }
    request::queue(target).map_err(Failure::Usage)
}

impl RequestArgs {
    fn about_queue(&self, right: Right, show: Show, console: Console) -> Result<Exit, Failure> {
        let queue = only_queue(&self.target, &self.application)?;
        let session = match self.past.open(&self.source, console) {
            Err(failure @ Failure::Forbidden(_)) if !self.past.is_given() => {
                return self.about_oneself(right, failure, show, console);
            }
            session => session?,
        };
        let identity = match self.identity.resolve(&session, console) {
            Err(Failure::Refused(_)) if show == Show::Nothing => return Ok(Exit::yes(false)),
            resolved => resolved?,
        };
        let answers = session.answers()?;
        let tree = answers.tree;
        let decision = decide::explain(tree, right, &queue, &identity);
        let allowed = decision.allowed();
        if show == Show::Line {
            // The reason says it of a queue that cannot exist.
            let unknown = request::unknown(tree, &queue).filter(|_| decision.denial != Some(Denial::NoQueue));
            let parent = request::parent(tree, right, &queue).filter(|_| allowed);
            unknown.iter().chain(&parent).for_each(|note| console.note(note));
        }
        if show != Show::Nothing {
            if let Some(end) = answers.until(&decision).filter(|_| show == Show::Line) {
                console.note(&format!("the right ends at {}", in_words(end)));
            }
            let answer = || answers.decision(&decision);
            let text = || match show {
                Show::Everything => {
                    let resolved = self.identity.groups.is_empty();
                    text::text(&answers, &decision, (&answer(), resolved), console.look_out().width)
                }
                _ => line(allowed, &answers.reason(&decision), console.look_out()),
            };
            console.out(&self.format.show(text, answer)?)?;
        }
        Ok(Exit::yes(allowed))
    }

    /// Answers a question about oneself without the right to read the ACLs: queuewarden's served API answers
    /// it. Returns `failure` if that is not possible.
    fn about_oneself(
        &self,
        right: Right,
        failure: Failure,
        show: Show,
        console: Console,
    ) -> Result<Exit, Failure> {
        let SourceArgs { cluster, files, partition, .. } = &self.source;
        let other = cluster.live || files.now.is_some() || self.format != AnswerFormat::default();
        if other || self.identity != IdentityArgs::default() || show == Show::Everything {
            return Err(failure);
        }
        let answer = Cluster::connect(&cluster.server)?.own_access(right, &self.target, partition);
        let Some((allowed, reason)) = answer else { return Err(failure) };
        if show == Show::Line {
            console.note("answered by queuewarden in the cluster: the ACLs may not be read by you");
            console.out(&line(allowed, &reason, console.look_out()))?;
        }
        Ok(Exit::yes(allowed))
    }
}
