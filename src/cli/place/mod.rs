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
use crate::access::placement::{Naming, Outcome, Placement, Placer, Workload};
use crate::model::admission::request::{Pod, USER_INFO, USERNAME};
use crate::model::admission::user_info::{Source, Submitter};
use crate::model::config::names::is_user;
use crate::model::identity::Identity;
use crate::model::version::Version;
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
    let mut workload = args.workload.read(console)?;
    let asked = args.source.open(console)?;
    if let Some(cluster) = &asked.cluster {
        // What is given counts more.
        let mut annotations = cluster.namespace_annotations(&workload.namespace, console);
        annotations.append(&mut workload.namespace_annotations);
        workload.namespace_annotations = annotations;
    }
    let user = user(args, &workload, &asked, console)?;
    let refused = user.refusal();
    let mut submission = workload.submission(user.identity, Naming::default());
    submission.tags.extend(args.workload.tags());
    let tree = asked.tree()?;
    let placer = Placer::new(tree);
    let placement = match refused {
        Some(message) => Placement { outcome: Outcome::Rejected { message }, ..Placement::default() },
        None => placer.place(&submission),
    };
    let answers = Answers { configuration: &asked.configuration, tree };
    let answer = Asking { answers, placer: &placer, submission: &submission, placement: &placement }.answer();
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

/// Who submits, and whether groups came with the name or were made up for it.
struct User {
    identity: Identity,
    has_groups: bool,
}

impl User {
    /// Names are looked at where groups come with them, before any rule is (`usergroup.go:168`).
    fn refusal(&self) -> Option<String> {
        (self.has_groups && !is_user(&self.identity.user)).then(|| INVALID_USER.to_owned())
    }
}

/// Who is named on the command line, or else in the pod, or else whoever asks a cluster.
fn user(args: &Args, workload: &Workload, asked: &Asked, console: Console) -> Result<User, Failure> {
    let pod =
        Pod { labels: workload.labels.clone(), annotations: workload.annotations.clone(), ..Pod::default() };
    let submitter = Submitter::of(&pod, Version::default());
    if args.identity.user.is_some() || submitter.source == Source::Nothing {
        let has_groups = !args.identity.groups.is_empty() || args.identity.user.is_none();
        return Ok(User { identity: args.identity.resolve(asked)?, has_groups });
    }
    console.note(&match &submitter.source {
        Source::Label => format!("the user is {}, by the pod's label {USERNAME}", submitter.user),
        Source::AnnotationUnreadable(error) => {
            format!(
                "the user is {}: the pod's annotation {USER_INFO} cannot be read ({error})",
                submitter.user
            )
        }
        _ => format!("the user is {}, by the pod's annotation {USER_INFO}", submitter.user),
    });
    let has_groups = !submitter.groups.is_empty();
    // Without a resolver a user is in the group of its own name.
    let groups = if has_groups { submitter.groups } else { vec![submitter.user.clone()] };
    Ok(User { identity: Identity { user: submitter.user, groups }, has_groups })
}
