//! `queuewarden can-i` answers yes or no; `queuewarden explain` answers with every step of the decision.

pub mod application;

use crate::output::console::{Emphasis, Look};
use crate::output::explanation::{AFTERWARDS, WEBHOOK, cells, groups, location, page, visible_lines};
use crate::output::format::{AnswerFormat, Table, UNTIL, visible};
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::Cluster;
use crate::source::identity::IdentityArgs;
use crate::source::request::{self, AnyVerb};
use crate::source::session::{EXIT_CODES, PastArgs, SourceArgs};
use application::ApplicationArgs;
use queuewarden_api::answer::Answers;
use yunikorn::right::Right;
use yunikorn_access::decide::{self, Decision, Denial, in_words};
use yunikorn_access::remedies;
use yunikorn_access::remedy::RemedyKind;

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

/// A question about one queue or one application; `explain` answers it with every ACL that YuniKorn
/// evaluates, in order, or with every clause of the rules about an application.
#[derive(Debug, Clone, clap::Args)]
pub struct RequestArgs {
    /// submit or administer, for a queue; view, modify, kill, logs or move, for an application
    #[arg(value_parser = request::any_verb)]
    pub(crate) verb: AnyVerb,
    /// The queue's full path, such as root.prod; or an application's name, together with --queue
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) application: ApplicationArgs,
    #[command(flatten)]
    pub(crate) source: PastArgs,
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
/// When the question is incomplete or cannot be decided, or the output cannot be written.
pub fn run(args: &CanIArgs, console: Console) -> Result<Exit, Failure> {
    answer(&args.request, if args.quiet { Show::Nothing } else { Show::Line }, console)
}

/// Answers a question.
///
/// # Errors
/// As [`run`].
pub fn answer(request: &RequestArgs, show: Show, console: Console) -> Result<Exit, Failure> {
    match request.verb {
        AnyVerb::Right(right) => request.about_queue(right, show, console),
        AnyVerb::Action(action) => application::run(request, action, show, console),
    }
}

impl RequestArgs {
    fn about_queue(&self, right: Right, show: Show, console: Console) -> Result<Exit, Failure> {
        if self.application != ApplicationArgs::default() {
            let words = "--owner, --queue, --to, --dialect and settings are for questions about an application: \
                view, modify, kill, logs, move";
            return Err(Failure::Usage(words.to_owned()));
        }
        let queue = request::queue(&self.target).map_err(Failure::Usage)?;
        let session = match self.source.open(console) {
            Err(failure @ Failure::Forbidden(_)) if !self.source.is_past() => {
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
            // For a queue that cannot exist, the reason already contains this.
            let unknown = request::unknown(tree, &queue).filter(|_| decision.denial != Some(Denial::NoQueue));
            let parent = request::parent(tree, right, &queue).filter(|_| allowed);
            let end = answers.until(&decision).map(|end| format!("the right ends at {}", in_words(end)));
            unknown.iter().chain(&parent).chain(&end).for_each(|note| console.note(note));
        }
        if show != Show::Nothing {
            let text = || match show {
                Show::Everything => self.every_step(&answers, &decision, console.look_out().width),
                _ => line(allowed, &answers.reason(&decision), console.look_out()),
            };
            console.out(&self.format.show(text, || answers.decision(&decision))?)?;
        }
        Ok(Exit::yes(allowed))
    }

    /// Formats a decision for people: the reason, the question, each ACL, and changes that would allow it,
    /// with the command that makes the first grant among them.
    fn every_step(&self, answers: &Answers<'_>, decision: &Decision, width: Option<usize>) -> String {
        let verdict = if decision.allowed() { "yes" } else { "no" };
        let reason = visible_lines(&format!("{verdict}: {}", answers.reason(decision)), 0, width);
        let remedies: Vec<_> = remedies(answers.tree, decision).collect();
        let mut numbered = (1..).zip(&remedies);
        let grant = numbered.find(|(_, remedy)| remedy.kind == RemedyKind::Grant);
        let command = grant.and_then(|(number, grant)| {
            let webhook = if grant.needs_webhook() { WEBHOOK } else { "" };
            Some(format!("\n`{}` does number {number}.\n{webhook}", grant.command()?))
        });
        let (facts, steps) = (self.facts(answers, decision), steps(answers, decision));
        let messages = remedies.iter().map(|remedy| &remedy.message);
        let rejected = !remedies.is_empty() && decision.right == Right::Submit;
        let after = if rejected { visible_lines(AFTERWARDS, 0, width) } else { String::new() };
        page(&reason, &facts, &steps, messages, width) + &command.unwrap_or_default() + &after
    }

    /// Formats the question: the user, the right and the queue.
    fn facts(&self, answers: &Answers<'_>, decision: &Decision) -> Table {
        let Decision { identity, right, path, .. } = decision;
        let mut table = Table::new(["", ""]);
        table.row(["user", &identity.user]);
        let mut named = groups(&identity.groups);
        if self.identity.groups.is_empty() && identity.groups == [identity.user.as_str()] {
            named.push_str(" (YuniKorn's default: a group of the user's name)");
        }
        table.row(["groups", &named]);
        table.row(["asks to", right.verb()]);
        let unknown = request::unknown(answers.tree, path);
        let note = unknown.or_else(|| request::parent(answers.tree, *right, path));
        table.row(["queue", note.as_ref().unwrap_or(path)]);
        table.row(["in", &location(&answers.about())]);
        table
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
        let SourceArgs { cluster, files, partition, .. } = &self.source.source;
        let other = cluster.live || files.now.is_some() || self.format != AnswerFormat::default();
        if other || self.identity != IdentityArgs::default() || show == Show::Everything {
            return Err(failure);
        }
        let answer = Cluster::connect(&cluster.server)?.own_access(right, &self.target, partition);
        let Some((allowed, reason)) = answer else { return Err(failure) };
        if show == Show::Line {
            console.note(
                "answered by queuewarden in the cluster, because you have no permission to read the ACLs",
            );
            console.out(&line(allowed, &reason, console.look_out()))?;
        }
        Ok(Exit::yes(allowed))
    }
}

/// Builds a row for each ACL, and shows each queue once.
fn steps(answers: &Answers<'_>, decision: &Decision) -> Table {
    let mut table = Table::new(["QUEUE", "ACL", "SAYS", "RESULT", "WRITTEN IN", UNTIL]);
    let mut named = None;
    for step in &decision.steps {
        let queue = if named == Some(&step.queue) { "" } else { step.queue.as_str() };
        named = Some(&step.queue);
        let [says, result, written, until] = cells(answers, step);
        table.row([queue, step.acl.key(), &says, &result, &written, &until]);
    }
    table
}

/// Returns `yes`, or `no` and the reason.
pub(crate) fn line(allowed: bool, reason: &str, look: Look) -> String {
    if allowed {
        return look.emphasize(Emphasis::Yes, "yes") + "\n";
    }
    format!("{} - {}\n", look.emphasize(Emphasis::No, "no"), visible(reason))
}
