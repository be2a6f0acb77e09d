//! `queuewarden review`: answers the reviews that an API server sends, from files.
//!
//! * [`sorted`]: separates the reviews from the configuration.
//! * [`lines`]: reviews as one JSON object per line, answered as they come.
//! * [`judge`]: the answers; [`output`]: the output.

pub mod judge;
pub mod lines;
pub mod output;
pub mod sorted;

use std::io::ErrorKind;
use std::path::PathBuf;

use jiff::Timestamp;

use super::ask::files::Given;
use super::ask::identity::IdentityArgs;
use super::console::Console;
use super::findings::plural;
use super::input::Inputs;
use super::input::source::Source;
use super::{Exit, Failure, moment, report};
use go_compat::diag::Diagnostic;
use judge::Judge;
use output::{Format, Printer};
use sorted::{Batch, Sorted};

/// Help text on kinds of reviews, answers, and exit codes.
const HELP: &str = "\
Reviews are SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview of \
authorization.k8s.io and AdmissionReview of admission.k8s.io, v1 or v1beta1, in any number of files, as \
YAML, JSON or one JSON object a line; everything else in the files is the configuration they are asked \
about. A file that begins with a review on one line is answered line by line. Namespaces and PriorityClasses \
among the files are known to AdmissionReviews.

Not allowed comes in two kinds: `denied` when YuniKorn would refuse it, and neither allowed nor denied, no \
opinion, for what others answer or what cannot be decided; then evaluationError says why.

Exit codes: 0 everything was answered, 1 something was not allowed and --exit-code is given, 2 the command \
line is wrong or a file cannot be read, 3 a review could not be decided.";

/// Answer SubjectAccessReviews and AdmissionReviews as the cluster would, and print them filled in
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// File or folder with reviews, the configuration, or both; - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    filename: Vec<PathBuf>,
    /// Read subfolders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// A bare queues.yaml that replaces the base ConfigMap's
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Time to evaluate at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<Timestamp>,
    /// Partition to read
    #[arg(long, value_name = "NAME", default_value = "default")]
    partition: String,
    /// The user who sends `SelfSubjectAccessReviews`
    #[command(flatten)]
    asker: IdentityArgs,
    /// Output format of the reviews; by default that of the input
    #[arg(short = 'o', long = "output", value_enum)]
    format: Option<Format>,
    /// Exit with 1 if a review is not allowed
    #[arg(long)]
    exit_code: bool,
}

/// Number of reviews by result.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    all: usize,
    not_allowed: usize,
    undecided: usize,
}

/// Runs the command.
///
/// # Errors
/// When the configuration or a review cannot be read or decided, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let Sorted { batches, configuration, cluster } = sorted::read(&args.filename, args.recursive)?;
    let given = args.configuration(configuration, console)?;
    // Only now, because a review that cannot be read is reported with the configuration.
    if batches.is_empty() {
        return Err(Failure::Usage("there is no review in the files".to_owned()));
    }
    let judge = Judge::new(given.as_ref(), &args.partition, &args.asker, cluster, console)?;
    // With --exit-code all reviews are evaluated, even if nobody reads the output.
    let console = if args.exit_code { console } else { console.endless() };
    let mut session =
        Session { judge, printer: Printer::new(args.format, console), console, tally: Tally::default() };
    match session.all(batches) {
        Err(Failure::Stream(error)) if error.kind() == ErrorKind::BrokenPipe => session.tally.exit(false),
        ended => ended.and_then(|()| session.tally.exit(args.exit_code)),
    }
}

impl Args {
    /// Reads the configuration; `None` if there is none among the files.
    fn configuration(&self, sources: Vec<Source>, console: Console) -> Result<Option<Given>, Failure> {
        if sources.is_empty() && self.base.is_none() {
            return Ok(None);
        }
        let mut inputs = Inputs::of(sources);
        inputs.choose_base(self.base.as_deref())?;
        Given::of(inputs, self.now, console).map(Some)
    }
}

struct Session {
    judge: Judge,
    printer: Printer,
    console: Console,
    tally: Tally,
}

impl Session {
    fn all(&mut self, batches: Vec<Batch>) -> Result<(), Failure> {
        for batch in batches {
            match batch {
                Batch::Document(document) => self.answer(document)?,
                Batch::Lines(lines) => {
                    for line in lines {
                        self.answer(line?)?;
                    }
                }
            }
        }
        self.printer.finish()
    }

    fn answer(&mut self, document: sorted::Document) -> Result<(), Failure> {
        self.tally.all = self.tally.all.saturating_add(1);
        let sorted::Document { review, form, place } = document;
        let answered = review.and_then(|(kind, review)| self.judge.answer(kind, review));
        match answered {
            Ok(answered) => {
                if answered.undecided {
                    self.tally.undecided = self.tally.undecided.saturating_add(1);
                } else if !answered.allowed {
                    self.tally.not_allowed = self.tally.not_allowed.saturating_add(1);
                }
                self.printer.print(answered, form)
            }
            Err(diagnostic) => {
                self.tally.undecided = self.tally.undecided.saturating_add(1);
                self.tell(&diagnostic, &place);
                Ok(())
            }
        }
    }

    fn tell(&self, diagnostic: &Diagnostic, place: &str) {
        let at = format!("at {place}");
        self.console.err(&report::draw(diagnostic, None, Some(&at), self.console.color_err()));
    }
}

impl Tally {
    fn exit(self, strict: bool) -> Result<Exit, Failure> {
        if self.undecided > 0 {
            let all = plural(self.all, "review");
            return Err(Failure::Undecided(format!("{} of {all} could not be decided", self.undecided)));
        }
        Ok(Exit::yes(!strict || self.not_allowed == 0))
    }
}
