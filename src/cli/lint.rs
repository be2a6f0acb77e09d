//! `queuewarden lint`: finds problems that only the whole tree of queues shows.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::findings::{Format, plural};
use super::input::SourceDiagnostic;
use super::input::source::{self, Source};
use super::query::{self, Session, SourceArgs};
use super::{Console, Exit, Failure};
use go_compat::diag::Diagnostic;
use go_compat::go_regex::GoRegex;
use queuewarden_api::answer::{About, AclKey, Answers, WrittenIn};
use queuewarden_report::linted;
use yunikorn_access::lint::{Finding, Known, Population};
use yunikorn_access::tree::Origin;

/// Help text on the scope, files of names, and exit codes.
const HELP: &str = "\
Everything found here YuniKorn accepts; what is wrong with a text by itself `queuewarden validate` tells. A \
file of names has one name on each line, or a regular expression between slashes, such as /^svc-/; # begins \
a comment.

Exit codes: 0 unless --strict is given, 1 something was found, 2 the command line is wrong, 3 it could not \
be decided.";

/// Find grants that change nothing or that nobody can use, names that are likely wrong, and settings by which
/// people submit as others
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// File with all existing users; other names in ACLs are reported
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// File with all existing groups; other names in ACLs are reported
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: Format,
    /// Exit with 1 if anything is found
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// The answer to `lint`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LintAnswer {
    /// The configuration that was read.
    #[serde(flatten)]
    pub about: About,
    /// The findings, in the order of the queues; behind them those about the settings of the admission
    /// controller.
    pub findings: Vec<FindingAnswer>,
}

/// A finding.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingAnswer {
    /// The code, which docs/codes.md explains: `QW7202`.
    pub code: String,
    /// Its name.
    pub title: String,
    /// The message.
    pub message: String,
    /// The fix.
    pub help: Option<String>,
    /// The queue it is about; null when it is about the settings of the admission controller.
    pub queue: Option<String>,
    /// The ACL it is about; null when it is about the queue, or about none.
    pub acl: Option<AclKey>,
    /// The location of that; null when it is unknown.
    pub written_in: Option<WrittenIn>,
}

/// Runs the command.
///
/// # Errors
/// When there is no configuration, a file of names cannot be read, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let known =
        Known { users: population(args.users.as_deref())?, groups: population(args.groups.as_deref())? };
    let session = args.source.open(console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    let findings = linted(tree, &known, &session.configuration.around.risks);
    for other in session.configuration.trees().iter().filter(|other| other.partition() != tree.partition()) {
        console.note(&format!("partition {0} is not looked at: --partition {0}", other.partition()));
    }
    let (sources, shown) = placed(&session, &findings);
    let answer = || answer(&answers, &findings);
    console.out(&args.format.show(&sources, &shown, console.color_out(), answer)?)?;
    if args.format == Format::Text {
        let count = plural(findings.len(), "warning");
        console.err(&format!("{count}; {} checked\n", plural(tree.queues().len(), "queue")));
    }
    Ok(Exit::yes(!args.strict || findings.is_empty()))
}

/// Finds the text that each finding is about: a queues.yaml, or the file with the object that wrote the entry.
fn placed(session: &Session, findings: &[Finding]) -> (Vec<Source>, Vec<SourceDiagnostic>) {
    let inputs = match &session.source {
        query::Source::Files(given) => Some(&given.inputs),
        query::Source::Cluster(_) => None,
    };
    let mut sources = inputs.map(|inputs| inputs.sources.clone()).unwrap_or_default();
    let mut place = |finding: &Finding| {
        let mut placed = SourceDiagnostic {
            source: None,
            object: None,
            diagnostic: Diagnostic { span: None, ..finding.diagnostic.clone() },
        };
        if let Some(Origin::Object { kind, name, .. }) = &finding.origin {
            let label = format!("{kind}/{name}");
            let object = inputs.and_then(|inputs| inputs.objects.iter().find(|object| object.label() == label));
            let field = finding.right.map(|right| format!("/{}", right.field())).unwrap_or_default();
            placed.source = object.map(|object| object.document.source);
            placed.diagnostic.span = object.map(|object| object.document.span(&format!("/spec{field}")));
            placed.object = Some(label);
        } else if let Some((source, span)) =
            finding.origin.as_ref().and_then(|origin| session.configuration.shown(origin))
        {
            let known = sources.iter().position(|known| known.name == source.name);
            placed.source = Some(known.unwrap_or_else(|| {
                sources.push(source);
                sources.len().saturating_sub(1)
            }));
            placed.diagnostic.span = span;
        }
        placed
    };
    let placed = findings.iter().map(&mut place).collect();
    (sources, placed)
}

fn answer(answers: &Answers<'_>, findings: &[Finding]) -> LintAnswer {
    let finding = |finding: &Finding| FindingAnswer {
        code: finding.diagnostic.code.to_string(),
        title: finding.diagnostic.code.title.to_owned(),
        message: finding.diagnostic.message.clone(),
        help: finding.diagnostic.help.clone(),
        queue: finding.queue.map(|id| answers.path(id)),
        acl: finding.right.map(Into::into),
        written_in: answers.origins(&finding.origin).pop(),
    };
    LintAnswer { about: answers.about(), findings: findings.iter().map(finding).collect() }
}

/// Reads the names in a file.
fn population(path: Option<&Path>) -> Result<Option<Population>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let source = source::read_one(path)?;
    let mut population = Population::default();
    for (number, line) in source.text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) => {
                let expression = GoRegex::new(pattern).map_err(|error| {
                    Failure::Usage(format!("{}:{}: {}", source.name, number + 1, error.message))
                })?;
                population.patterns.push(expression);
            }
            None if line.is_empty() => {}
            None => {
                population.names.insert(line.to_owned());
            }
        }
    }
    Ok(Some(population))
}
