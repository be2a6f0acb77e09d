//! `queuewarden lint`: finds problems that only the whole tree of queues shows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::ahead::{self, AheadArgs};
use super::baseline::BaselineArgs;
use super::console::Look;
use super::findings::{self, Format, by_cause, plural};
use super::input::SourceDiagnostic;
use super::input::object::{Kind, Object};
use super::input::source::{self, Source};
use super::query::configuration::Configuration;
use super::query::output::{visible, wrapped};
use super::query::{self, SourceArgs};
use super::suppressions::Suppressions;
use super::{Console, Exit, Failure, clock};
use go_compat::go_regex::GoRegex;
use queuewarden_api::answer::{About, AclKey, Answers, WrittenIn};
use queuewarden_plan::ahead::Ahead;
use queuewarden_plan::field_of as setting_of;
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

With --until, what is found later and not before follows, with the times at which a QueueAcl begins or ends.

Exit codes: 0 unless --strict is given, 1 something was found, also later, 2 the command line is wrong, 3 it \
could not be decided.";

/// Find grants that change nothing or that nobody can use, names that are likely wrong, and settings by which
/// people submit as others
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP, mut_arg("until", |arg| arg.conflicts_with("live")))]
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
    baseline: BaselineArgs,
    #[command(flatten)]
    ahead: AheadArgs,
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
    /// The findings of later moments that are not found before, with `--until`.
    pub ahead: Ahead<FindingAnswer>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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

/// A finding, as it is shown and as it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    shown: SourceDiagnostic,
    answer: FindingAnswer,
}

/// Runs the command.
///
/// # Errors
/// When there is no configuration, a file of names cannot be read, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let known =
        Known { users: population(args.users.as_deref())?, groups: population(args.groups.as_deref())? };
    let session = args.source.open(console)?;
    let inputs = match &session.source {
        query::Source::Files(given) => Some(&given.inputs),
        query::Source::Cluster(_) => None,
    };
    let mut sources = inputs.map(|inputs| inputs.sources.clone()).unwrap_or_default();
    let objects: HashMap<String, &Object> =
        inputs.iter().flat_map(|inputs| &inputs.objects).map(|object| (object.label(), object)).collect();
    let mut find = |configuration: &Configuration| -> Result<Vec<Found>, Failure> {
        let answers = Answers { configuration, tree: configuration.tree(&args.source.partition)? };
        let found = linted(answers.tree, &known, &configuration.around.risks);
        let found = found.iter().map(|finding| {
            let shown = placed(&objects, &mut sources, configuration, finding);
            Found { answer: answer(&sources, &shown, Some((&answers, finding))), shown }
        });
        Ok(found.collect())
    };
    let mut findings = find(&session.configuration)?;
    let now = args.source.files.now.unwrap_or_else(clock);
    let mut ahead = args.ahead.look(now, |until| session.ahead(&args.source, until, find))?;
    let mut comments = Suppressions::default();
    if inputs.is_some() {
        comments = Suppressions::read(&sources).0;
        for list in ahead.lists(&mut findings) {
            comments.remove(&sources, list, |found| &found.shown);
        }
        let named = known.users.is_some() && known.groups.is_some();
        let whole = session.configuration.trees().len() == 1;
        let looked_for = |code| whole && CODES.contains(&code) && (named || code != NAME_UNKNOWN);
        let unused = comments.unused(looked_for).into_iter();
        findings.extend(unused.map(|shown| Found { answer: answer(&sources, &shown, None), shown }));
    }
    let lists = ahead.lists(&mut findings);
    let known_before = args.baseline.apply(&sources, lists, |found| &found.shown, console)?;
    let answers = session.answers()?;
    let tree = answers.tree;
    for other in session.configuration.trees().iter().filter(|other| other.partition() != tree.partition()) {
        console.note(&format!("partition {0} is not looked at: --partition {0}", other.partition()));
    }
    let draw = |findings: &[Found]| draw(&sources, findings, console.look_out());
    let text = || draw(&findings) + &ahead::text(&ahead, draw);
    let of = |found: &Found| found.answer.clone();
    let answer = || LintAnswer {
        about: answers.about(),
        findings: findings.iter().map(of).collect(),
        ahead: ahead.map(of),
    };
    let shown: Vec<_> = findings.iter().map(|found| found.shown.clone()).collect();
    console.out(&args.format.show(&sources, &shown, text, answer)?)?;
    if args.format == Format::Text {
        let (count, later) = (plural(findings.len(), "warning"), ahead::later(&ahead));
        let checked = plural(tree.queues().len(), "queue");
        console.err(&format!("{count}{later}{}{known_before}; {checked} checked\n", comments.summary()));
    }
    Ok(Exit::yes(!args.strict || (findings.is_empty() && ahead.findings().next().is_none())))
}

/// Finds the text that a finding is about: a queues.yaml, or the file with the object that wrote it. A text
/// that is not among the sources is added to them.
fn placed(
    objects: &HashMap<String, &Object>,
    sources: &mut Vec<Source>,
    configuration: &Configuration,
    finding: &Finding,
) -> SourceDiagnostic {
    let diagnostic = finding.diagnostic.clone().at(None);
    let mut shown = SourceDiagnostic { source: None, object: None, diagnostic };
    match &finding.origin {
        Some(Origin::Object { kind, name, .. }) => {
            let label = format!("{kind}/{name}");
            if let Some(object) = objects.get(&label) {
                let document = &object.document;
                shown.source = Some(document.source);
                shown.diagnostic.span = Some(document.span_of_key(&field_of(object, finding)));
            }
            shown.object = Some(label);
        }
        Some(origin) => {
            if let Some((source, span)) = configuration.shown(origin) {
                let known = sources.iter().position(|known| known.name == source.name);
                shown.source = Some(known.unwrap_or(sources.len()));
                shown.diagnostic.span = span;
                if known.is_none() {
                    sources.push(source.clone());
                }
            }
        }
        None => {}
    }
    shown
}

/// Draws findings. Of those of a kind that one remedy mends, which have one cause, the first is drawn and the
/// others are listed below it.
fn draw(sources: &[Source], findings: &[Found], look: Look) -> String {
    let cause = |found: &Found| (found.shown.diagnostic.code, found.shown.diagnostic.help.clone());
    let groups = by_cause(findings, cause);
    groups.iter().filter_map(|alike| Some(draw_all(sources, alike.split_first()?, look))).collect()
}

fn draw_all(sources: &[Source], (first, others): (&&Found, &[&Found]), look: Look) -> String {
    let first = findings::text(sources, [&first.shown], look);
    if others.is_empty() {
        return first;
    }
    let line = |Found { shown, answer }: &&Found| {
        let location = shown.object.clone().or_else(|| answer.written_in.as_ref().map(WrittenIn::words));
        let words: Vec<String> = location.into_iter().chain([answer.message.clone()]).collect();
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
            let key = admission::KEYS.iter().find(|key| setting_of(key) == setting);
            format!("/data/{}", key.unwrap_or(&setting))
        }
        (None, _) => format!("/spec/{setting}"),
    }
}

/// Returns the answer of a finding; without one, of a comment.
fn answer(
    sources: &[Source],
    shown: &SourceDiagnostic,
    of: Option<(&Answers<'_>, &Finding)>,
) -> FindingAnswer {
    let SourceDiagnostic { source, diagnostic, .. } = shown;
    let in_text = || {
        let source = sources.get((*source)?)?;
        Some(WrittenIn::text(&source.name, diagnostic.span.map(|span| source.position(span.start))))
    };
    FindingAnswer {
        code: diagnostic.code.to_string(),
        title: diagnostic.code.title.to_owned(),
        message: diagnostic.message.clone(),
        help: diagnostic.help.clone(),
        queue: of.and_then(|(answers, finding)| Some(answers.path(finding.queue?))),
        acl: of.and_then(|(_, finding)| finding.right).map(Into::into),
        written_in: of.and_then(|(answers, finding)| answers.origins(&finding.origin).pop()).or_else(in_text),
    }
}

/// Maximum number of expressions in a file of names: each is tried on each name that is not listed.
const MAX_EXPRESSIONS: usize = 1000;

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
                if population.patterns.len() > MAX_EXPRESSIONS {
                    let name = &source.name;
                    return Err(Failure::Usage(format!(
                        "{name}: more than {MAX_EXPRESSIONS} expressions; join some with `|`"
                    )));
                }
            }
            None if line.is_empty() => {}
            None => {
                population.names.insert(line.to_owned());
            }
        }
    }
    Ok(Some(population))
}
