//! `queuewarden can-i`: answers yes or no.

use super::application;
use super::explain;
use crate::output::console::{Emphasis, Look};
use crate::output::format::{self, AnswerFormat};
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::Cluster;
use crate::source::identity::IdentityArgs;
use crate::source::past::PastArgs;
use crate::source::request::{self, AnyVerb};
use crate::source::session::{EXIT_CODES, SourceArgs};
use application::ApplicationArgs;
use yunikorn::right::Right;
use yunikorn_access::decide::in_words;
use yunikorn_access::decide::{self, Denial};

/// Check whether a user may submit to a queue, administer it, or act on an application; prints yes, or no and
/// the reason
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    request: RequestArgs,
    /// Print nothing: the exit code is the answer
    #[arg(short, long, conflicts_with = "format")]
    quiet: bool,
}

/// A question about one queue or one application.
#[derive(Debug, Clone, clap::Args)]
pub struct RequestArgs {
    /// submit or administer, for a queue; view, modify, kill, logs or move, for an application
    #[arg(value_parser = request::any_verb)]
    verb: AnyVerb,
    /// The queue's full path, such as root.prod; or an application's name, together with --queue
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) application: ApplicationArgs,
    #[command(flatten)]
    pub(crate) past: PastArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    pub(crate) format: AnswerFormat,
}

/// Extent of an answer for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Nothing: the exit code is the answer.
    Nothing,
    /// One line.
    Line,
    /// Every step of the decision.
    Everything,
}

/// Runs the command.
///
/// # Errors
/// As [`RequestArgs::answer`].
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    args.request.answer(if args.quiet { Show::Nothing } else { Show::Line }, console)
}

impl RequestArgs {
    /// Answers the question.
    ///
    /// # Errors
    /// When it is incomplete or cannot be decided, or the output cannot be written.
    pub fn answer(&self, show: Show, console: Console) -> Result<Exit, Failure> {
        match self.verb {
            AnyVerb::Right(right) => self.about_queue(right, show, console),
            AnyVerb::Action(action) => application::run(self, action, show, console),
        }
    }

    fn about_queue(&self, right: Right, show: Show, console: Console) -> Result<Exit, Failure> {
        if self.application.is_given() {
            let words = "--owner, --queue, --to, --dialect and settings are for questions about an application: \
                view, modify, kill, logs, move";
            return Err(Failure::Usage(words.to_owned()));
        }
        let queue = request::queue(&self.target).map_err(Failure::Usage)?;
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
                    explain::text(&answers, &decision, (&answer(), resolved), console.look_out().width)
                }
                _ => line(allowed, &answers.reason(&decision), console.look_out()),
            };
            console.out(&self.format.show(text, answer)?)?;
        }
        Ok(Exit::yes(allowed))
    }
}

impl RequestArgs {
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

/// Returns `yes`, or `no` and the reason.
pub(crate) fn line(allowed: bool, reason: &str, look: Look) -> String {
    if allowed {
        return look.emphasize(Emphasis::Yes, "yes") + "\n";
    }
    format!("{} - {}\n", look.emphasize(Emphasis::No, "no"), format::visible(reason))
}
