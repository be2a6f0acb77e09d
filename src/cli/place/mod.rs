//! `queuewarden place`: where an application would land, and by which rule; or how `YuniKorn` would reject it.
//!
//! * [`workload`]: the pod that is asked about, from the command line or a manifest.
//! * [`answer`]: what programs get; [`words`] has its sentences, [`remedies`] what would change it.
//! * [`text`]: what people get.

pub mod answer;
pub mod remedies;
pub mod text;
pub mod words;
pub mod workload;

use super::ask::answers::Answers;
use super::ask::identity::IdentityArgs;
use super::ask::output::{self, AnswerFormat};
use super::ask::{Asked, SourceArgs};
use super::console::Console;
use super::{Exit, Failure};
use crate::access::placement::{Naming, Outcome, Placement, Placer};
use crate::model::config::names::is_user;
use crate::model::identity::Identity;
use answer::Asking;
use workload::WorkloadArgs;

/// How the answer ends, for `--help`.
const EXIT_CODES: &str = "\
Exit codes: 0 it is placed, 1 it is rejected, 2 the command line is wrong, 3 it could not be decided.";

/// What `YuniKorn` says about a user's name that it does not take (yunikorn-core `pkg/common/security/usergroup.go:170`).
const INVALID_USER: &str = "invalid username, it contains invalid characters";

/// Tells in which queue an application would run, and why: each placement rule in the order in which YuniKorn tries them, and the words
/// of a rejection.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// How to show it
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or nobody takes the output.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let workload = args.workload.read(console)?;
    let asked = args.source.open(console)?;
    let identity = args.identity.resolve(&asked)?;
    let mut submission = workload.submission(identity, Naming::default());
    submission.tags.extend(args.workload.tags());
    let tree = asked.tree()?;
    let placement = match refused(&submission.identity, args, &asked) {
        Some(message) => Placement { outcome: Outcome::Rejected { message }, ..Placement::default() },
        None => Placer::new(tree).place(&submission),
    };
    let answers = Answers { configuration: &asked.configuration, tree };
    let answer = Asking { answers, submission: &submission, placement: &placement }.answer();
    console.out(&match args.format {
        AnswerFormat::Text => text::text(&answer),
        AnswerFormat::Json => output::json(&answer)?,
        AnswerFormat::Yaml => output::yaml(&answer)?,
    })?;
    match placement.outcome {
        Outcome::Placed { .. } => Ok(Exit::Clean),
        Outcome::Rejected { .. } | Outcome::Crashes { .. } => Ok(Exit::Findings),
        Outcome::Undecided { reason } => Err(Failure::Undecided(reason)),
    }
}

/// Names are looked at where groups come with them, before any rule is (`usergroup.go:168`).
fn refused(identity: &Identity, args: &Args, asked: &Asked) -> Option<String> {
    let groups_are_given = !args.identity.groups.is_empty() || asked.cluster.is_some();
    (groups_are_given && !is_user(&identity.user)).then(|| INVALID_USER.to_owned())
}
