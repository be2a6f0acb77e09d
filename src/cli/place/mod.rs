//! `queuewarden place`: shows in which queue an application would run, and by which rule; or how `YuniKorn`
//! would reject it.
//!
//! * [`workload`]: the pod of the question, from the command line or a manifest.
//! * [`answer`]: output for programs; [`words`] has its sentences, [`remedies`] the changes to another
//!   outcome.
//! * [`text`]: output for people.

pub mod answer;
pub mod remedies;
pub mod text;
pub mod words;
pub mod workload;

use super::query::identity::{IdentityArgs, unresolved};
use super::query::output::AnswerFormat;
use super::query::{Session, SourceArgs};
use super::{Console, Exit, Failure, reads_standard_input_once};
use answer::Context;
use workload::WorkloadArgs;
use yunikorn::admission::request::{USER_INFO, USERNAME};
use yunikorn::admission::user_info::{Source, Submitter};
use yunikorn::identity::{Claim, Identity, Refusal, ResolverKind, identify};
use yunikorn_access::alias;
use yunikorn_access::placement::{Live, Naming, Outcome, Placement, Placer, Workload};

/// Exit codes, for `--help`.
const EXIT_CODES: &str = "\
Exit codes: 0 it is placed, 1 it is rejected, 2 the command line is wrong, 3 it could not be decided.";

/// Show in which queue an application would run, and why: each placement rule in the order in which YuniKorn
/// tries them, and the message of a rejection
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Runs the command.
///
/// # Errors
/// When the question cannot be decided, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let SourceArgs { filename, files, .. } = &args.source;
    reads_standard_input_once(filename.iter().chain(&files.base).chain(&args.workload.workload))?;
    let mut workload = args.workload.read(console)?;
    let session = args.source.open(console)?;
    annotate(&mut workload, &session, console);
    let (identity, refused) = user(&args.identity, &workload, &session, console)?;
    let mut submission = workload.submission(identity, Naming::default());
    submission.tags.extend(args.workload.tags.iter().cloned());
    let answers = session.answers()?;
    // The queues that the scheduler has in addition to its configuration, if it is queried at all.
    let live = match session.cluster().filter(|_| args.source.cluster.live) {
        Some(cluster) => cluster.live_queues(&args.source.cluster, answers.tree.partition())?,
        None => Live::default(),
    };
    let placer = Placer::with_live(answers.tree, live);
    let placement = match refused {
        Some(message) => Placement::rejected(message),
        None => placer.place(&submission),
    };
    let answer =
        Context { answers, placer: &placer, submission: &submission, placement: &placement }.answer();
    let text = || text::text(&answer, &placement.steps, console.look_out().width);
    console.out(&args.format.show(text, || &answer)?)?;
    match placement.outcome {
        Outcome::Placed(_) => Ok(Exit::Clean),
        Outcome::Rejected(_) | Outcome::Crashes(_) => Ok(Exit::Findings),
        Outcome::Undecided(reason) => Err(Failure::Undecided(reason)),
    }
}

/// Adds the namespace's annotations from the cluster; given ones take precedence.
fn annotate(workload: &mut Workload, session: &Session, console: Console) {
    if let Some(cluster) = session.cluster() {
        let mut annotations = cluster.namespace_annotations(&workload.namespace, console);
        annotations.append(&mut workload.namespace_annotations);
        workload.namespace_annotations = annotations;
    }
}

/// Determines the submitter as the scheduler sees it, and the message with which it rejects that one.
///
/// # Errors
/// When no user is given, or the user's groups cannot be resolved.
fn user(
    args: &IdentityArgs,
    workload: &Workload,
    session: &Session,
    console: Console,
) -> Result<(Identity, Option<String>), Failure> {
    let claimed = claimed(args, workload, session, console)?;
    let claim = Claim { forced: !workload.node_name.is_empty(), ..Claim::from(&claimed) };
    let resolver = args.source.resolver(ResolverKind::in_force(&session.configuration.config), console)?;
    let identity = if args.user.is_some() && !claim.forced {
        session.configuration.identify(&claimed, &*resolver)
    } else {
        identify(claim, &*resolver, session.configuration.version).map(alias::of_pod)
    };
    match identity {
        Ok(identity) => Ok((identity, None)),
        Err(Refusal::Undecided(why)) => Err(unresolved(&why)),
        Err(refusal) => {
            let message = refusal.to_string();
            Ok((claimed, Some(message)))
        }
    }
}

/// Returns the claimed name, and the groups that come with it.
fn claimed(
    args: &IdentityArgs,
    workload: &Workload,
    session: &Session,
    console: Console,
) -> Result<Identity, Failure> {
    let version = session.configuration.version;
    let Submitter { user, groups, source } = Submitter::from_pod(&workload.pod, version);
    if args.user.is_some() || source == Source::Nothing {
        return args.claimed(&session.source);
    }
    console.note(&match &source {
        Source::Label => format!("the user is {user}, by the pod's label {USERNAME}"),
        Source::AnnotationUnreadable(error) => {
            format!("the user is {user}: the pod's annotation {USER_INFO} cannot be read ({error})")
        }
        _ => format!("the user is {user}, by the pod's annotation {USER_INFO}"),
    });
    Ok(Identity { user, groups })
}
