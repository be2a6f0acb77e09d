//! `queuewarden review`: answers the reviews that an API server sends, from files.
//!
//! * `sorted`: separates the reviews from the configuration, and reads one JSON object per line.

mod sorted;

use std::io::ErrorKind;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::output::findings::plural;
use crate::output::format::{self, Table};
use crate::output::text::Source;
use crate::output::{Console, Exit, Failure, diagnostic};
use crate::source::configuration::Configuration;
use crate::source::files::{FileSource, choose_base};
use crate::source::identity::IdentityArgs;
use crate::source::input::Inputs;
use crate::source::times;
use go_compat::diag::Diagnostic;
use queuewarden_api::review::access::{SubjectAccessReview, filled};
use queuewarden_api::review::{ReviewKind, admission, envelope};
use sorted::{Batch, ReviewDocument, ReviewForm, ReviewedCluster, Sorted};
use yunikorn::admission::{Conf, Outcome, Request, Surroundings, evaluate};
use yunikorn::identity::{GroupResolver, Identity, ResolverKind};
use yunikorn::version::Version;
use yunikorn_access::expect::Tally;
use yunikorn_access::review::{AccessRequest, Answer, Opinion, answer};
use yunikorn_access::tree::{Scheduler, Tree};

/// Maximum number of rows that are buffered for the widths of columns; a longer stream makes several tables.
const ROWS: usize = 1000;

/// Help text on kinds of reviews, answers, and exit codes.
const HELP: &str = "\
Reviews are SubjectAccessReviews, LocalSubjectAccessReviews and SelfSubjectAccessReviews of \
authorization.k8s.io, and AdmissionReviews of admission.k8s.io, v1 or v1beta1, in any number of files, as \
YAML, JSON or JSON lines. Everything else in the files is the configuration. A file that starts with a review on \
one line is answered line by line. AdmissionReviews also use Namespaces and PriorityClasses in the files.

A request that is not allowed is `denied` if YuniKorn would refuse it. Otherwise there is no opinion: another \
authorizer decides, or it cannot be decided and evaluationError has the cause.

Exit codes: 0 everything was answered, 1 something was not allowed and --exit-code is given, 2 the command \
line is invalid or a file cannot be read, 3 a review could not be decided.";

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
    /// Output format of the reviews [default: the format of the input]
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
    /// Reads the configuration, if the files contain one.
    fn configuration(&self, sources: Vec<Source>, console: Console) -> Result<Option<FileSource>, Failure> {
        if sources.is_empty() && self.base.is_none() {
            return Ok(None);
        }
        let mut inputs = Inputs::new(sources);
        choose_base(&mut inputs, self.base.as_deref())?;
        FileSource::new(inputs, self.now).checked(console).map(Some)
    }
}

/// Answers and counts the reviews. An allowed review is passed, and any other is failed.
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

/// Answers reviews.
struct Evaluator {
    /// The configuration in the files, or the reason for its absence.
    configuration: Result<Configuration, String>,
    partition: String,
    conf: Conf,
    cluster: ReviewedCluster,
    /// The user who sends `SelfSubjectAccessReview`s.
    caller: Option<Identity>,
    /// The source of groups that a review does not name.
    groups: Box<dyn GroupResolver + Sync>,
}

/// A review with its answer.
struct Answered {
    /// The review, filled in.
    review: Value,
    /// The user, the question, the answer and the reason, for a table.
    row: [String; 4],
    /// True if it is allowed; `None` if it could not be decided.
    allowed: Option<bool>,
}

impl Evaluator {
    /// Creates the evaluator for one partition. Without queues, reviews that need none are still answered.
    ///
    /// # Errors
    /// When the command line is invalid, there is no such partition, or a file of groups cannot be read.
    fn new(
        given: Option<&FileSource>,
        partition: &str,
        caller: &IdentityArgs,
        cluster: ReviewedCluster,
        console: Console,
    ) -> Result<Self, Failure> {
        let version = given.map_or(Version::Unknown, |given| given.snapshot.version());
        let configuration = match given.map(|given| given.configuration(console)) {
            None => Err("no configuration was given: add a queues.yaml or ConfigMaps with -f".to_owned()),
            // Several trees without a choice.
            Some(Err(usage @ Failure::Usage(_))) => return Err(usage),
            Some(Err(other)) => Err(other.to_string()),
            Some(Ok(configuration)) => {
                configuration.note(None, console);
                Ok(configuration)
            }
        };
        let merged = given.map(FileSource::merged).unwrap_or_default();
        let keys = merged.values().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
        let (conf, findings) = Conf::from_keys(&keys, version);
        for finding in findings.iter().filter(|finding| finding.is_error()) {
            // The span is in the value of a key, which has no known line in a file.
            let finding = Diagnostic { span: None, ..finding.clone() };
            console.err(&diagnostic::draw(&finding, None, None, console.look_err()));
        }
        let known = configuration.as_ref().ok();
        let own = known.map(|known| ResolverKind::in_force(&known.config)).unwrap_or_default();
        let groups = caller.source.resolver(own, console)?;
        known.map(|known| known.tree(partition)).transpose()?;
        let IdentityArgs { user, groups: of_user, .. } = caller.clone();
        let caller = user.map(|user| Identity { user, groups: of_user });
        Ok(Self { configuration, partition: partition.to_owned(), conf, cluster, caller, groups })
    }

    fn tree(&self) -> Result<&Tree, String> {
        let configuration = self.configuration.as_ref().map_err(Clone::clone)?;
        configuration.tree(&self.partition).map_err(|failure| failure.to_string())
    }

    /// Answers a review.
    ///
    /// # Errors
    /// When it is not a review that can be answered.
    fn answer(&self, kind: ReviewKind, review: Value) -> Result<Answered, Diagnostic> {
        match kind {
            ReviewKind::Admission => self.admission(review),
            _ => self.access(kind, review),
        }
    }

    fn access(&self, kind: ReviewKind, document: Value) -> Result<Answered, Diagnostic> {
        let review = SubjectAccessReview::read(&document)?;
        let user = review.user(kind, self.caller.as_ref())?;
        let answer = match (review.action(false), self.tree()) {
            (Err(elsewhere), _) => elsewhere,
            (Ok(action), Ok(tree)) => {
                let scheduler = Scheduler { tree, resolver: &*self.groups, version: self.conf.version };
                answer(&AccessRequest { partition: &self.partition, user, action }, None, scheduler)
            }
            (Ok(_), Err(why)) => Answer::undecided("configuration", &why),
        };
        let opinion = match (&answer.evaluation_error, answer.opinion) {
            (Some(_), _) => "undecided",
            (None, Opinion::Allow) => "allowed",
            (None, Opinion::Deny) => "denied",
            (None, Opinion::NoOpinion) => "no opinion",
        };
        Ok(Answered {
            row: [user.user.clone(), words(&review), opinion.to_owned(), answer.reason.clone()],
            allowed: answer.evaluation_error.is_none().then(|| answer.allowed()),
            review: filled(document, &answer),
        })
    }

    fn admission(&self, document: Value) -> Result<Answered, Diagnostic> {
        let envelope = envelope::AdmissionRequest::read(document.to_string().as_bytes());
        let envelope = envelope.map_err(|unreadable| unreadable.why)?;
        let request = admission::read(&envelope)?;
        let evaluation = evaluate(&request, &self.surroundings(&request), &self.conf);
        let (answer, allowed, reason) = match &evaluation.outcome {
            Outcome::Allowed => ("allowed", Some(true), evaluation.steps.join("; ")),
            Outcome::Denied(message) => ("denied", Some(false), message.clone()),
            Outcome::Unknown(key) => {
                ("undecided", None, format!("{key} decides, but its content is unknown"))
            }
        };
        let operation = envelope.operation.to_lowercase();
        let what = format!("{operation} {} {}/{}", request.kind, request.namespace(), envelope.name);
        Ok(Answered {
            row: [request.user.clone(), what, answer.to_owned(), reason],
            allowed,
            review: admission::filled(document, &envelope.uid, &evaluation),
        })
    }

    fn surroundings(&self, request: &Request) -> Surroundings {
        let ReviewedCluster { namespaces, priority_classes } = &self.cluster;
        Surroundings {
            namespace_annotations: namespaces.get(request.namespace()).cloned().unwrap_or_default(),
            priority_class_annotations: priority_classes
                .get(&request.pod.priority_class)
                .cloned()
                .unwrap_or_default(),
        }
    }
}

/// Describes the question as one would type it for `kubectl auth can-i`.
fn words(review: &SubjectAccessReview) -> String {
    match (&review.resource, &review.path) {
        (Some(attributes), _) => {
            let dot = if attributes.group.is_empty() { "" } else { "." };
            let slash = if attributes.name.is_empty() { "" } else { "/" };
            format!(
                "{} {}{dot}{}{slash}{}",
                attributes.verb, attributes.resource, attributes.group, attributes.name
            )
        }
        (None, Some(path)) => format!("{} {}", path.verb, path.path),
        (None, None) => String::new(),
    }
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
