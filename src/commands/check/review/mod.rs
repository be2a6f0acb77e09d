//! `queuewarden review`: answers the reviews that an API server sends, from files.
//!
//! * `sorted`: separates the reviews from the configuration, and reads one JSON object per line.
//! * `evaluator`: the answers.

mod evaluator;
mod sorted;

use std::io::ErrorKind;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::output::findings::plural;
use crate::output::format::{self, Table};
use crate::output::text::Source;
use crate::output::{Console, Exit, Failure, diagnostic};
use crate::source::files::{FileSource, choose_base};
use crate::source::identity::IdentityArgs;
use crate::source::input::Inputs;
use crate::source::times;
use evaluator::{Answered, Evaluator};
use sorted::{Batch, ReviewDocument, ReviewForm, Sorted};
use yunikorn_access::expect::Tally;

/// Maximum number of rows that are buffered for the widths of columns; a longer stream makes several tables.
const ROWS: usize = 1000;

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
pub struct ReviewArgs {
    /// File or folder with reviews, the configuration, or both; - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    filename: Vec<PathBuf>,
    /// Read subfolders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// File with the queue tree that replaces the base ConfigMap's: a queues.yaml, Helm values or a ConfigMap
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Time to evaluate at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = times::now)]
    now: Option<Timestamp>,
    /// Partition to read
    #[arg(long, value_name = "NAME", default_value = "default")]
    partition: String,
    /// The user who sends `SelfSubjectAccessReviews`
    #[command(flatten)]
    caller: IdentityArgs,
    /// Output format of the reviews; by default that of the input
    #[arg(short = 'o', long = "output", value_enum)]
    format: Option<Format>,
    /// Exit with 1 if a review is not allowed
    #[arg(long)]
    exit_code: bool,
}

/// Output format of reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One JSON object after another.
    Json,
    /// YAML documents.
    Yaml,
    /// A row for each review.
    Table,
}

/// Runs the command.
///
/// # Errors
/// When the configuration or a review cannot be read or decided, or the output cannot be written.
pub fn run(args: &ReviewArgs, console: Console) -> Result<Exit, Failure> {
    let Sorted { batches, configuration, cluster } = sorted::read(&args.filename, args.recursive, console)?;
    let given = args.configuration(configuration, console)?;
    // Only now, because a review that cannot be read is reported with the configuration.
    if batches.is_empty() {
        return Err(Failure::Usage("there is no review in the files".to_owned()));
    }
    let evaluator = Evaluator::new(given.as_ref(), &args.partition, &args.caller, cluster, console)?;
    // With --exit-code all reviews are evaluated, even if nobody reads the output.
    let console = if args.exit_code { console } else { console.endless() };
    let table = Table::new(["USER", "ASKS TO", "ANSWER", "REASON"]);
    let mut printer = Printer { format: args.format, console, table, printed: false };
    let mut tally = Tally::default();
    match answer_all(batches, &evaluator, &mut printer, &mut tally) {
        Err(Failure::Stream(error)) if error.kind() == ErrorKind::BrokenPipe => exit(tally, false),
        ended => ended.and_then(|()| exit(tally, args.exit_code)),
    }
}

impl ReviewArgs {
    /// Reads the configuration; `None` if there is none among the files.
    fn configuration(&self, sources: Vec<Source>, console: Console) -> Result<Option<FileSource>, Failure> {
        if sources.is_empty() && self.base.is_none() {
            return Ok(None);
        }
        let mut inputs = Inputs::new(sources);
        choose_base(&mut inputs, self.base.as_deref())?;
        FileSource::new(inputs, self.now).checked(console).map(Some)
    }
}

/// Answers and counts the reviews; one is passed if it is allowed, and failed if it is not.
fn answer_all(
    batches: Vec<Batch>,
    evaluator: &Evaluator,
    printer: &mut Printer,
    tally: &mut Tally,
) -> Result<(), Failure> {
    for document in batches.into_iter().flatten() {
        let ReviewDocument { review, form, location } = document?;
        let answered = review.and_then(|(kind, review)| evaluator.answer(kind, review));
        let count = match answered.as_ref().ok().and_then(|answered| answered.allowed) {
            None => &mut tally.undecided,
            Some(true) => &mut tally.passed,
            Some(false) => &mut tally.failed,
        };
        *count = count.saturating_add(1);
        match answered {
            Ok(answered) => printer.print(answered, form)?,
            Err(diagnostic) => {
                let (at, console) = (format!("at {location}"), printer.console);
                console.err(&diagnostic::draw(&diagnostic, None, Some(&at), console.look_err()));
            }
        }
    }
    printer.finish()
}

fn exit(tally: Tally, strict: bool) -> Result<Exit, Failure> {
    if tally.undecided > 0 {
        let all = plural(tally.all(), "review");
        return Err(Failure::Undecided(format!("{} of {all} could not be decided", tally.undecided)));
    }
    Ok(Exit::yes(!strict || tally.failed == 0))
}

/// Prints reviews as they are answered.
struct Printer {
    format: Option<Format>,
    console: Console,
    table: Table,
    /// True if the next YAML document needs a marker.
    printed: bool,
}

impl Printer {
    /// Prints a review in its own form, or in the requested format.
    fn print(&mut self, answered: Answered, form: ReviewForm) -> Result<(), Failure> {
        let Answered { review, row, .. } = answered;
        let text = match (self.format, form) {
            (Some(Format::Table), _) => {
                self.table.row(row);
                return if self.table.len() == ROWS { self.finish() } else { Ok(()) };
            }
            (Some(Format::Yaml), _) | (None, ReviewForm::Yaml) => {
                let marker = if self.printed { "---\n" } else { "" };
                format!("{marker}{}", format::yaml(&review)?)
            }
            (Some(Format::Json), _) | (None, ReviewForm::Json) => format::json(&review)?,
            (None, ReviewForm::Line) => format::escaped_json(&format!("{review}\n")),
        };
        self.printed = true;
        Ok(self.console.out(&text)?)
    }

    /// Prints the buffered rows.
    fn finish(&mut self) -> Result<(), Failure> {
        if !self.table.is_empty() {
            self.console.out(&self.table.text(true, self.console.look_out().width))?;
            self.table.clear();
        }
        Ok(())
    }
}
