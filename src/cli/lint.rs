//! `queuewarden lint`: finds problems that only the whole tree of queues shows.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::console::Look;
use super::findings::{self, Format, by_cause, plural};
use super::input::SourceDiagnostic;
use super::input::object::{Kind, Object};
use super::input::source::{self, Source};
use super::query::output::{visible, wrapped};
use super::query::{self, Session, SourceArgs};
use super::suppressions::{self, Suppressions};
use super::{Console, Exit, Failure};
use go_compat::go_regex::GoRegex;
use queuewarden_api::answer::{About, AclKey, Answers, WrittenIn};
use queuewarden_report::linted;
use yunikorn::admission;
use yunikorn_access::lint::codes::NAME_UNKNOWN;
use yunikorn_access::lint::{CODES, Finding, Known, Population};
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
    /// The queue it is about; null when it is about the settings of the admission controller, or about a
    /// comment that ignores a finding which is not there.
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
    let (sources, mut found) = placed(&session, findings);
    let (all, mut suppressed) = (found.len(), 0);
    if session.cluster().is_none() {
        let named = known.users.is_some() && known.groups.is_some();
        let whole = session.configuration.trees().len() == 1;
        let looked_for = |code| whole && CODES.contains(&code) && (named || code != NAME_UNKNOWN);
        let (mut comments, _) = Suppressions::read(&sources);
        found.retain(|(shown, _)| !comments.covers(&sources, shown));
        suppressed = all.saturating_sub(found.len());
        found.extend(comments.unused(looked_for).into_iter().map(|unused| (unused, None)));
    }
    let (shown, findings): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    // Findings of a kind that one remedy mends have one cause.
    let cause = |shown: &SourceDiagnostic| (shown.diagnostic.code, shown.diagnostic.help.clone());
    let draw = |alike: &Vec<&SourceDiagnostic>| draw_all(&sources, alike, console.look_out());
    let text = || by_cause(&shown, cause).iter().map(draw).collect();
    let answer = || answer(&answers, &sources, &shown, &findings);
    console.out(&args.format.show(&sources, &shown, text, answer)?)?;
    if args.format == Format::Text {
        let count = plural(shown.len(), "warning") + &suppressions::counted(suppressed);
        console.err(&format!("{count}; {} checked\n", plural(tree.queues().len(), "queue")));
    }
    Ok(Exit::yes(!args.strict || shown.is_empty()))
}

/// Finds the text that each finding is about: a queues.yaml, or the file with the object that wrote it.
fn placed(
    session: &Session,
    findings: Vec<Finding>,
) -> (Vec<Source>, Vec<(SourceDiagnostic, Option<Finding>)>) {
    let inputs = match &session.source {
        query::Source::Files(given) => Some(&given.inputs),
        query::Source::Cluster(_) => None,
    };
    let mut sources = inputs.map(|inputs| inputs.sources.clone()).unwrap_or_default();
    let mut place = |finding: Finding| {
        let diagnostic = finding.diagnostic.clone().at(None);
        let mut shown = SourceDiagnostic { source: None, object: None, diagnostic };
        match &finding.origin {
            Some(Origin::Object { kind, name, .. }) => {
                let label = format!("{kind}/{name}");
                let mut objects = inputs.into_iter().flat_map(|inputs| &inputs.objects);
                if let Some(object) = objects.find(|object| object.label() == label) {
                    let document = &object.document;
                    shown.source = Some(document.source);
                    shown.diagnostic.span = Some(document.span_of_key(&field_of(object, &finding)));
                }
                shown.object = Some(label);
            }
            Some(origin) => {
                if let Some((source, span)) = session.configuration.shown(origin) {
                    let known = sources.iter().position(|known| known.name == source.name);
                    shown.source = Some(known.unwrap_or(sources.len()));
                    shown.diagnostic.span = span;
                    if known.is_none() {
                        sources.push(source);
                    }
                }
            }
            None => {}
        }
        (shown, Some(finding))
    };
    let placed = findings.into_iter().map(&mut place).collect();
    (sources, placed)
}

/// Draws the first of findings that are alike, and lists the others below it.
fn draw_all(sources: &[Source], alike: &[&SourceDiagnostic], look: Look) -> String {
    let Some((first, others)) = alike.split_first() else { return String::new() };
    let first = findings::text(sources, [*first], look);
    if others.is_empty() {
        return first;
    }
    let line = |finding: &&SourceDiagnostic| {
        let source = finding.source.and_then(|index| sources.get(index));
        let place = source.map(|source| {
            let position = finding.diagnostic.span.map(|span| source.position(span.start));
            WrittenIn::text(&source.name, position).words()
        });
        let place = finding.object.clone().or(place);
        let words: Vec<String> = place.into_iter().chain([finding.diagnostic.message.clone()]).collect();
        format!("  {}\n", wrapped(&visible(&words.join(": ")), 2, look.width))
    };
    let lines: String = others.iter().map(line).collect();
    format!("{}\n\nand {} more like it:\n{lines}\n", first.trim_end(), others.len())
}

/// Returns the JSON pointer of the field that a finding is about: its right, or the setting that its message
/// begins with.
fn field_of(object: &Object, finding: &Finding) -> String {
    let setting = finding.diagnostic.message.split_once(": ").map_or("", |(setting, _)| setting);
    match (finding.right, object.kind) {
        (Some(right), _) => format!("/spec/{}", right.field()),
        (None, Kind::ConfigMap) => {
            let key = admission::KEYS.iter().find(|key| key.rsplit('.').next() == Some(setting));
            format!("/data/{}", key.unwrap_or(&setting))
        }
        (None, _) => format!("/spec/{setting}"),
    }
}

fn answer(
    answers: &Answers<'_>,
    sources: &[Source],
    shown: &[SourceDiagnostic],
    findings: &[Option<Finding>],
) -> LintAnswer {
    let finding = |(shown, finding): (&SourceDiagnostic, &Option<Finding>)| {
        let SourceDiagnostic { source, diagnostic, .. } = shown;
        let finding = finding.as_ref();
        let in_text = || {
            let source = sources.get((*source)?)?;
            Some(WrittenIn::text(&source.name, diagnostic.span.map(|span| source.position(span.start))))
        };
        let origin = finding.and_then(|finding| finding.origin.as_ref());
        FindingAnswer {
            code: diagnostic.code.to_string(),
            title: diagnostic.code.title.to_owned(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            queue: finding.and_then(|finding| finding.queue).map(|id| answers.path(id)),
            acl: finding.and_then(|finding| finding.right).map(Into::into),
            written_in: answers.origins(origin).pop().or_else(in_text),
        }
    };
    LintAnswer { about: answers.about(), findings: shown.iter().zip(findings).map(finding).collect() }
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
