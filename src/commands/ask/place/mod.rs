//! `queuewarden place`: shows the queue and the placement rule of an application, or `YuniKorn`'s rejection.
//!
//! * [`workload`]: the pod of the question, from the command line or a manifest.
//! * [`operators`]: the pods that operators make of custom resources.
//! * [`submitter`]: who submits the pod.
//! * [`answer`]: output for programs and for people.

pub mod answer;
pub mod operators;
pub mod submitter;
pub mod workload;

use crate::output::format::AnswerFormat;
use crate::output::{Console, Exit, Failure};
use crate::source::identity::{IdentityArgs, unresolved};
use crate::source::session::{Session, SourceArgs, reads_standard_input_once};
use answer::Context;
use submitter::{Denied, Mended, Named, Question, SubmitterCheck, note_resolver};
use workload::{Submitted, WorkloadArgs};
use yunikorn::identity::{Claim, GroupResolver, Refusal, identify};
use yunikorn_access::alias;
use yunikorn_access::placement::{Live, Outcome, Placement, Placer, Submission, Workload, advice};

/// Maximum number of remedies.
const MAX_REMEDIES: usize = 5;

/// Exit codes, for `--help`.
const EXIT_CODES: &str = "\
Exit codes: 0 placed, 1 rejected, 2 the command line is invalid, 3 undecided.";

/// Show the queue of an application, and why: all placement rules in YuniKorn's order, and the message of a
/// rejection
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct PlaceArgs {
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
pub fn run(args: &PlaceArgs, console: Console) -> Result<Exit, Failure> {
    let SourceArgs { filename, files, cluster, .. } = &args.source;
    reads_standard_input_once(filename.iter().chain(&files.base).chain(&args.workload.workload))?;
    let mut submitted = args.workload.read(console)?;
    let session = args.source.open(console)?;
    annotate(&mut submitted.workload, &session, console);
    let (identity, submitted, session) = (&args.identity, &submitted, &session);
    let question = Question { identity, workload: &args.workload, submitted, session, cluster, console };
    let SubmitterCheck { named, denied, mended, passed_on } = question.answer()?;
    let kind = session.configuration.view.resolver;
    note_resolver(kind, &named, console);
    let answers = session.answers()?;
    // The queues that the scheduler has in addition to its configuration, if it is queried at all.
    let live = match session.cluster().filter(|_| cluster.live) {
        Some(connected) => connected.live_queues(cluster, answers.tree.partition())?,
        None => Live::default(),
    };
    let placer = Placer::with_live(answers.tree, live.clone());
    let resolver = args.identity.source.resolver(kind, console)?;
    let world = World { session, submitted, placer, live, resolver };
    let (of_user, refusal, remedies) = if let Some(Denied { reason, message }) = denied {
        let submission = submitted.submission(named.identity);
        let placement = Placement::rejected(message);
        (Placed { submission, placement, is_refused: false }, Some(reason), world.mended(&mended))
    } else {
        let of_user = world.place(&named)?;
        let remedies = match (mended.first(), of_user.placement.queue()) {
            (None, _) => world.remedies(&of_user),
            // The application runs, by a group or for everyone, although its user is not the one meant.
            (Some(mended), Some(_)) => {
                console.note(&format!("to submit as {}, {}", mended.named.identity.user, mended.words));
                Vec::new()
            }
            (Some(_), None) => world.mended(&mended),
        };
        (of_user, None, remedies)
    };
    let Placed { submission, placement, .. } = of_user;
    // It is only suggested if it is sufficient.
    let passed_on = passed_on.filter(|passed_on| {
        let fits = world.place(&passed_on.named).map(|placed| placed.placement.queue().is_some());
        placement.queue().is_none() && fits.unwrap_or(false)
    });
    let remedies = passed_on.map(|passed_on| passed_on.words).into_iter().chain(remedies);
    let remedies = remedies.take(MAX_REMEDIES).collect();
    let text = &session.configuration.rendered.text;
    let context =
        Context { answers, text, submission: &submission, placement: &placement, refusal, remedies };
    let shown = args.format.show(|| context.text(console.look_out().width), || context.answer())?;
    console.out(&shown)?;
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

/// The configuration and the pod, to place it for any user.
struct World<'a> {
    session: &'a Session,
    submitted: &'a Submitted,
    placer: Placer<'a>,
    live: Live,
    resolver: Box<dyn GroupResolver + Sync>,
}

/// The result for one user.
struct Placed {
    submission: Submission,
    placement: Placement,
    /// True if the scheduler refuses the name.
    is_refused: bool,
}

impl World<'_> {
    /// Places the pod of a user as the scheduler sees the user.
    ///
    /// # Errors
    /// When the user's groups cannot be resolved.
    fn place(&self, named: &Named) -> Result<Placed, Failure> {
        let configuration = &self.session.configuration;
        let forced = !self.submitted.workload.node_name.is_empty();
        let identity = if named.by_pod || forced {
            let claim = Claim { forced, ..Claim::from(&named.identity) };
            identify(claim, &*self.resolver, configuration.view.version).map(alias::of_pod)
        } else {
            configuration.identify(&named.identity, &*self.resolver)
        };
        match identity {
            Ok(identity) => {
                let submission = self.submitted.submission(identity);
                let placement = self.placer.place(&submission);
                Ok(Placed { submission, placement, is_refused: false })
            }
            Err(Refusal::Undecided(why)) if named.by_pod => Err(unresolved(&why)),
            Err(Refusal::Undecided(why)) => {
                let why = format!(
                    "{why} (with YuniKorn's admission controller each pod carries the groups of the requester, and no \
                     resolver is asked)"
                );
                Err(unresolved(&why))
            }
            Err(refusal) => {
                let submission = self.submitted.submission(named.identity.clone());
                let placement = Placement::rejected(refusal.to_string());
                Ok(Placed { submission, placement, is_refused: refusal == Refusal::InvalidUser })
            }
        }
    }

    /// Returns the changes that place the application of this user.
    fn remedies(&self, Placed { submission, placement, is_refused }: &Placed) -> Vec<String> {
        let Ok(tree) = self.session.tree() else { return Vec::new() };
        let question = advice::Question::new(tree, &self.live, submission, placement);
        let question = if *is_refused { question.of_refused_user() } else { question };
        question.advice().into_iter().map(|advice| advice.words).collect()
    }

    /// Returns each change of the submitting user, with the changes that then place the application.
    fn mended(&self, mended: &[Mended]) -> Vec<String> {
        let words = |Mended { words, named }: &Mended| match self.place(named) {
            Err(_) => Vec::new(),
            Ok(placed) if placed.placement.queue().is_some() => vec![words.clone()],
            Ok(placed) => {
                let more = self.remedies(&placed).into_iter().take(2);
                more.map(|more| format!("{words}, and {more}")).collect()
            }
        };
        mended.iter().flat_map(words).collect()
    }
}
