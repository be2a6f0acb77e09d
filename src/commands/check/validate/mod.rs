//! `queuewarden validate`, also called `lint`: reports everything that is wrong with files or a cluster, and
//! every setting that does not work as it appears to, at its location.
//!
//! * [`fix`]: the changes to files that findings ask for.

pub mod fix;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::output::console::{Look, wrapped};
use crate::output::findings::{self, Count, Format, Summary, ValidateAnswer, by_cause, plural, sort};
use crate::output::format::visible;
use crate::output::manifest::DEFAULT_PARTITION;
use crate::output::text::{self, Source, SourceDiagnostic};
use crate::output::{Console, Exit, Failure, sarif};
use crate::source::cluster::ClusterArgs;
use crate::source::files::FileSource;
use crate::source::input::object::Kind;
use crate::source::input::source;
use crate::source::session::{FileArgs, SourceArgs};
use crate::source::suppressions::Suppressions;
use crate::source::times::{Typed, clock};
use crate::source::validate::{each, objects, trees};
use go_compat::diag::{Severity, listed};
use go_compat::go_regex::GoRegex;
use queuewarden_plan::simulate::settle;
use queuewarden_plan::snapshot::{Snapshot, YUNIKORN_CONFIGS};
use queuewarden_plan::time::{Ahead, Moment, ahead};
use queuewarden_plan::{ResourceKind, config_map_of};
use yunikorn::config::codes::DEFAULT_CONFIG;
use yunikorn::config::keys;
use yunikorn_access::decide::in_words;
use yunikorn_access::lint::codes::{NAME_UNKNOWN, ROOT_EVERYONE};
use yunikorn_access::lint::{CODES as LINTED, Known, Population};

/// Help text on the scope, comments, files of names, and exit codes.
const HELP: &str = "\
Without -f, the command checks the cluster. `queuewarden lint` is the same command.

A file of names has one name per line, or a regular expression between slashes, such as /^svc-/; # starts a \
comment.

With --until, the output also contains new findings at later times, when a QueueAcl begins or ends.

A comment `# queuewarden:ignore CODE REASON` ignores the warning with this code on its line, or on the line below \
if the comment is on a separate line. Errors cannot be ignored.

Exit codes: 0 no errors, 1 errors were found, or warnings with --strict, also later, 2 the command line is invalid, \
3 the cluster cannot be read.";

/// Check manifests, queues.yaml files or a cluster as YuniKorn and queuewarden read them
/// Finds errors, grants without effect, names that are likely wrong, and settings that let users submit as
/// others.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct ValidateArgs {
    /// Files or folders with manifests (.yaml, .yml, .json), or - for standard input
    #[arg(
        short = 'f', long = "filename", value_name = "PATH", num_args = 1..,
        conflicts_with_all = ["kubeconfig", "context"]
    )]
    filename: Vec<PathBuf>,
    /// The reading of the files.
    #[command(flatten)]
    files: FileArgs,
    /// File with all existing users; other names in ACLs are reported
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// File with all existing groups; other names in ACLs are reported
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
    /// Apply exact fixes to the files, then check them
    #[arg(long, requires = "filename")]
    fix: bool,
    /// Print what --fix would change as a diff instead, and exit with 1 if there is something
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Omit the warnings in this file, which is the output of an earlier run with -o sarif
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Also report new findings until this time, such as 2026-12-01T18:00:00Z, 2026-12-01, friday or 7d, when
    /// a QueueAcl begins or ends
    #[arg(long, value_name = "TIME", value_parser = Typed::parse, conflicts_with = "live")]
    until: Option<Typed>,
    /// The cluster, if no file is given.
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl ValidateArgs {
    fn read(&self, console: Console) -> Result<FileSource, Failure> {
        self.files.read(&self.filename, self.cluster.cluster_namespace.as_deref(), None, console)
    }
}

/// The result of a check.
struct Checked {
    /// The texts that findings are located in.
    sources: Vec<Source>,
    found: Vec<SourceDiagnostic>,
    ahead: Ahead<SourceDiagnostic>,
    /// What was looked at.
    summary: Summary,
    /// The same in words.
    words: String,
    /// True if nothing was there to look at.
    is_empty: bool,
    /// The part of the summary with the number of ignored warnings.
    ignored: String,
}

/// Runs the command.
///
/// # Errors
/// When an input cannot be read, or the output cannot be written.
pub fn run(args: &ValidateArgs, console: Console) -> Result<Exit, Failure> {
    let [users, groups] = [&args.users, &args.groups].map(|path| population(path.as_deref()));
    let known = Known { users: users?, groups: groups? };
    if args.fix
        && let Some(exit) = fix(args, console)?
    {
        return Ok(exit);
    }
    let checked = if args.filename.is_empty() {
        of_cluster(args, &known, console)
    } else {
        of_files(args, &known, console)
    };
    finish(args, checked?, console)
}

/// Applies exact fixes to the files. Returns the result of the command if it is complete.
fn fix(args: &ValidateArgs, console: Console) -> Result<Option<Exit>, Failure> {
    if args.filename.iter().chain(&args.files.base).any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("--fix writes files, so it does not support standard input".to_owned()));
    }
    let given = args.read(if args.dry_run { console } else { Console::silent() })?;
    let sources = &given.inputs.sources;
    let (mut comments, _) = Suppressions::read(sources);
    let mut found = [given.findings.clone(), each(&given)].concat();
    comments.remove(sources, &mut found);
    let (changes, left) = fix::changes(sources, &found);
    console.notes(&left);
    if args.dry_run {
        console.out(&changes.iter().map(fix::FileFix::diff).collect::<String>())?;
        return Ok(Some(Exit::yes(changes.is_empty())));
    }
    for change in changes {
        change.write()?;
        console.err(&change.list());
    }
    Ok(None)
}

fn of_files(args: &ValidateArgs, known: &Known, console: Console) -> Result<Checked, Failure> {
    let given = args.read(console)?;
    let (inputs, now) = (&given.inputs, given.snapshot.now);
    let alone = [given.findings.clone(), each(&given)].concat();
    let ours = inputs.objects.iter().any(|object| object.kind != Kind::ConfigMap);
    let several = inputs.in_environments(|environment| {
        let given = FileSource::new(environment, Some(now));
        objects::together(&given, &settle(given.snapshot.clone()), &alone)
    });
    if ours && !given.has_tree && inputs.alternatives.is_empty() {
        console.note(
            "no queues were given, so it is not checked whether they exist: add the ConfigMap with \
            queues.yaml, or --base FILE",
        );
    }
    let mut sources = inputs.sources.clone();
    let mut queues = 0;
    let mut later = |now| {
        let given = given.with(Snapshot { now, ..given.snapshot.clone() });
        let (of_trees, count) = trees::of_files(&given, known, &mut sources);
        queues = count;
        let together = ours.then(|| objects::together(&given, &settle(given.snapshot.clone()), &alone));
        without_repetition(together.into_iter().flatten().chain(of_trees).collect(), &alone)
    };
    let of_all = later(now);
    let mut ahead = look_ahead(args.until, now, |until| ahead(&given.snapshot, until, |at| Ok(later(at))))?;
    let mut found = [alone, several, of_all].concat();
    let errors = Count::from_findings(&found).errors;
    let named = known.users.is_some() && known.groups.is_some();
    let looked_for = |code| {
        // Errors hide other findings, and some are found only among the queues.
        let of_queues = objects::CODES.contains(&code) || LINTED.contains(&code);
        errors == 0 && (queues > 0 || !of_queues) && (named || code != NAME_UNKNOWN)
    };
    let (mut comments, malformed) = Suppressions::read(&inputs.sources);
    for list in ahead.lists(&mut found) {
        comments.remove(&inputs.sources, list);
    }
    found.extend(malformed.into_iter().chain(comments.unused(looked_for)));
    let trees = plural(inputs.bare.len(), "queue tree");
    let objects = match (inputs.objects.len(), inputs.bare.len()) {
        (0, 1..) => trees,
        (count, 0) => plural(count, "object"),
        (count, _) => format!("{} and {trees}", plural(count, "object")),
    };
    let files = plural(inputs.sources.len(), "file");
    let others = match inputs.ignored {
        0 => String::new(),
        ignored => format!(", {ignored} of other kinds ignored"),
    };
    let summary = Summary {
        files: inputs.sources.len(),
        objects: inputs.objects.len(),
        ignored: inputs.ignored,
        skipped: inputs.skipped,
        queues,
        ..Summary::default()
    };
    let nothing = inputs.objects.is_empty() && inputs.bare.is_empty() && !given.has_tree;
    Ok(Checked {
        is_empty: nothing && inputs.ignored == 0 && found.is_empty(),
        words: format!("{objects} in {files} checked{others}"),
        ignored: comments.summary(),
        sources,
        found,
        ahead,
        summary,
    })
}

fn of_cluster(args: &ValidateArgs, known: &Known, console: Console) -> Result<Checked, Failure> {
    let source = SourceArgs {
        filename: Vec::new(),
        files: args.files.clone(),
        partition: DEFAULT_PARTITION.to_owned(),
        cluster: args.cluster.clone(),
    };
    let session = source.open(console)?;
    let mut sources = Vec::new();
    let mut found = trees::of_cluster(&session.configuration, known, &mut sources);
    if !args.cluster.live {
        let flat = session.merged(&args.cluster)?;
        for keys::KeyFinding { origin, diagnostic } in
            keys::findings(&flat, session.configuration.view.version)
        {
            let map = origin.map_or(YUNIKORN_CONFIGS, |origin| config_map_of(origin.source));
            let value = origin.filter(|_| diagnostic.span.is_some()).and_then(|origin| {
                let value = flat.values().find(|(_, value)| value.origin == *origin)?.1;
                Some(Source::new(format!("{map}/{}", origin.key), value.text.as_str()))
            });
            let source = value.map(|value| trees::added(&mut sources, &value));
            let object = Some(format!("ConfigMap/{map}"));
            found.push(SourceDiagnostic { object, ..SourceDiagnostic::new(source, diagnostic) });
        }
    }
    let now = args.files.now.unwrap_or_else(clock);
    let found = without_repetition(found, &[]);
    let ahead = look_ahead(args.until, now, |until| {
        session.ahead(&source, until, |configuration| {
            Ok(without_repetition(trees::of_cluster(configuration, known, &mut sources), &[]))
        })
    })?;
    let queues = session.configuration.view.trees.iter().map(|tree| tree.queues().len()).sum();
    Ok(Checked {
        sources,
        found,
        ahead,
        summary: Summary { queues, ..Summary::default() },
        words: format!("{} checked", plural(queues, "queue")),
        is_empty: false,
        ignored: String::new(),
    })
}

/// Leaves out that everyone may submit everywhere where the cause of it is found, too.
fn without_repetition(
    mut found: Vec<SourceDiagnostic>,
    others: &[SourceDiagnostic],
) -> Vec<SourceDiagnostic> {
    let mut codes = found.iter().chain(others).map(|finding| finding.diagnostic.code);
    if codes.any(|code| [ROOT_EVERYONE, DEFAULT_CONFIG].contains(&code)) {
        found.retain(|finding| finding.diagnostic.code != objects::FAIL_OPEN);
    }
    found
}

/// Prints the findings, and returns the result of the command.
fn finish(args: &ValidateArgs, checked: Checked, console: Console) -> Result<Exit, Failure> {
    let Checked { sources, mut found, mut ahead, summary, words, is_empty, ignored } = checked;
    sort(&mut found);
    let lists = ahead.lists(&mut found);
    let known_before = without_known(args.baseline.as_deref(), &sources, lists, console)?;
    let count = Count::from_findings(&found);
    let draw = |found: &[SourceDiagnostic]| draw(&sources, found, console.look_out());
    let text = || draw(&found) + &text_ahead(&ahead, draw);
    let answer = || ValidateAnswer::new(&sources, &found, &ahead, &summary);
    console.out(&args.format.show(&sources, &found, text, answer)?)?;
    if args.format == Format::Text {
        let later = later(&ahead);
        console.err(&format!("{}{later}{ignored}{known_before}; {words}\n", count.text()));
    }
    if is_empty {
        // As in kubectl, a wrong path must not look like a passed check.
        console.note("nothing was checked: there is no object and no queue tree in the input");
        return Ok(Exit::yes(summary.skipped > 0));
    }
    Ok(Exit::from_count(Count::from_findings(found.iter().chain(ahead.findings())), args.strict))
}

/// Draws findings. Of warnings about a tree that one remedy mends, which have one cause, the first is drawn
/// and the others are listed below it.
fn draw(sources: &[Source], found: &[SourceDiagnostic], look: Look) -> String {
    let cause = |(number, SourceDiagnostic { diagnostic, .. }): &(usize, &SourceDiagnostic)| {
        let alike = diagnostic.severity == Severity::Warning && LINTED.contains(&diagnostic.code);
        (diagnostic.code, diagnostic.help.clone(), (!alike).then_some(*number))
    };
    let numbered: Vec<_> = found.iter().enumerate().collect();
    let groups = by_cause(&numbered, cause);
    groups.iter().filter_map(|alike| Some(draw_all(sources, alike.split_first()?, look))).collect()
}

fn draw_all(
    sources: &[Source],
    ((_, first), others): (&&(usize, &SourceDiagnostic), &[&(usize, &SourceDiagnostic)]),
    look: Look,
) -> String {
    let first = findings::text(sources, [*first], look);
    if others.is_empty() {
        return first;
    }
    let line = |(_, shown): &&(usize, &SourceDiagnostic)| {
        let source = shown.source.and_then(|index| sources.get(index));
        let location = source.zip(shown.diagnostic.span).map(|(source, span)| source.at(span.start));
        let location = shown.object.clone().or(location);
        let words: Vec<String> = location.into_iter().chain([shown.diagnostic.message.clone()]).collect();
        format!("  {}\n", wrapped(&visible(&words.join(": ")), 2, look.width))
    };
    let lines: String = others.iter().map(line).collect();
    format!("{}\n\nand {} more like it:\n{lines}\n", first.trim_end(), others.len())
}

/// Maximum number of objects that are listed at one moment; more are counted.
const MAX_LISTED: usize = 6;

/// Looks ahead from a time, if that is wanted.
///
/// # Errors
/// When the end is no time after it, or `look` fails.
fn look_ahead<T>(
    until: Option<Typed>,
    now: Timestamp,
    look: impl FnOnce(Timestamp) -> Result<Ahead<T>, Failure>,
) -> Result<Ahead<T>, Failure> {
    let Some(until) = until else { return Ok(Ahead::default()) };
    look(until.end(now).map_err(|why| Failure::Usage(format!("--until: {why}")))?)
}

/// Returns the number of later findings, to append to the number of current ones, or an empty text.
fn later<T>(ahead: &Ahead<T>) -> String {
    match ahead.findings().count() {
        0 => String::new(),
        count => format!(", {count} later"),
    }
}

/// Formats each time with the objects that begin or end and the new findings.
fn text_ahead<T>(ahead: &Ahead<T>, draw: impl Fn(&[T]) -> String) -> String {
    let moment = |Moment { at, begin, end, findings }: &Moment<T>| {
        let reported = |names: &[String], what: &str| -> Vec<String> {
            names
                .iter()
                .map(|name| {
                    format!("{} {what}", visible(&ResourceKind::QueueAcl.object(&**name).to_string()))
                })
                .collect()
        };
        let reported = [reported(begin, "begins"), reported(end, "ends")].concat();
        format!(
            "from {}: {}\n\n{}",
            in_words(*at),
            listed(&reported, MAX_LISTED, reported.len()),
            draw(findings)
        )
    };
    let more = match ahead.more {
        0 => String::new(),
        more => format!("and {}, which are not checked\n", plural(more, "more moment")),
    };
    ahead.moments.iter().map(moment).collect::<String>() + &more
}

/// Maximum number of expressions in a file of names, because each is matched against each unlisted name.
const MAX_EXPRESSIONS: usize = 1000;

/// Reads the names in a file.
///
/// # Errors
/// When it cannot be read, or has an expression that Go does not compile.
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

/// The identity of a finding: its code, its object or file, and its message.
type Key = [String; 3];

/// The number of equal findings: of the former run, and the most in one list of this run.
type Counts = [usize; 2];

/// Removes the warnings of an earlier run, whose output with `-o sarif` is in the file, from each list,
/// independent of their location, and prints a note about findings that no longer occur. Returns the part of
/// a summary with their number: `, 2 in the baseline`.
///
/// # Errors
/// When the file cannot be read, or is no SARIF.
fn without_known<'l>(
    baseline: Option<&Path>,
    sources: &[Source],
    lists: impl IntoIterator<Item = &'l mut Vec<SourceDiagnostic>>,
    console: Console,
) -> Result<String, Failure> {
    let Some(path) = baseline else { return Ok(String::new()) };
    let (mut known, folder) = (known_findings(path)?, sarif::folder()?);
    let mut removed = 0_usize;
    for list in lists {
        let (all, mut counts) = (list.len(), BTreeMap::<Key, usize>::new());
        list.retain(|finding| {
            let key = key(&sarif::result(sources, finding, &folder));
            let Some([before, now]) = known.get_mut(&key) else { return true };
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(1);
            *now = (*now).max(*count);
            *count > *before || finding.diagnostic.severity == Severity::Error
        });
        removed = removed.saturating_add(all.saturating_sub(list.len()));
    }
    if let Some(note) = stale(&known) {
        console.note(&note);
    }
    Ok(if removed == 0 { String::new() } else { format!(", {removed} in the baseline") })
}

/// Counts the findings of a former run.
fn known_findings(path: &Path) -> Result<BTreeMap<Key, Counts>, Failure> {
    let text = source::read_one(path)?.text;
    let log = serde_json::from_str::<Value>(&text).ok();
    let results = log.as_ref().and_then(|log| log.pointer("/runs/0/results")?.as_array());
    let results = results.ok_or_else(|| {
        Failure::Usage(format!("{} is not SARIF: create it with -o sarif", text::shown(path)))
    })?;
    let mut known = BTreeMap::<Key, Counts>::new();
    for result in results {
        let [before, _] = known.entry(key(result)).or_default();
        *before = before.saturating_add(1);
    }
    Ok(known)
}

/// Returns a note about the findings of the former run that are no longer there.
fn stale(known: &BTreeMap<Key, Counts>) -> Option<String> {
    let gone = known.iter().map(|(key, [before, now])| (key, before.saturating_sub(*now)));
    let gone: Vec<(&Key, usize)> = gone.filter(|(_, count)| *count > 0).collect();
    let ([code, location, message], _) = gone.first()?;
    let count = plural(gone.iter().map(|(_, count)| count).sum(), "finding");
    Some(format!(
        "{count} of the baseline no longer there, first {code} in {location}: {message}; create the file again with -o sarif, without --baseline"
    ))
}

/// Returns the identity of a result.
fn key(result: &Value) -> Key {
    let text = |pointer| result.pointer(pointer).and_then(Value::as_str);
    let object = text("/locations/0/logicalLocations/0/fullyQualifiedName");
    let location = object.or_else(|| text("/locations/0/physicalLocation/artifactLocation/uri"));
    [text("/ruleId"), location, text("/message/text")].map(|text| text.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::text::Source;
    use crate::output::{findings, statuses};
    use crate::source::files::choose_base;
    use crate::source::input::Inputs;
    use proptest::prelude::*;
    use queuewarden_plan::simulate::settle;

    const SEED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-defaults}\ndata:\n  queues.yaml: |\n    partitions:\n      - name: default\n        queues:\n          - name: root\n            submitacl: 'sue dev'\n---\napiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\nspec:\n  queue: root\n  submit: {acl: \"bob\\tops\"}\n  admin: {users: [sue], groups: ['a''b']}\n  expiresAt: 2030-01-01\n---\n{\"apiVersion\": \"queuewarden.dev/v1alpha1\", \"kind\": \"AdmissionPolicy\", \"metadata\": {\"name\": \"b\"}, \"spec\": {\"externalUsers\": [\"^a$\"]}}\n";

    fn any_text() -> impl Strategy<Value = String> {
        let change = (
            0..SEED.len(),
            0_usize..4,
            "[ \\n\\t:#'\"{}\\[\\],*&!|>?%@-]{0,3}|ü|\u{feff}|---\\n|null|1e3|<<",
        );
        prop_oneof![
            any::<String>(),
            prop::collection::vec(change, 1..6).prop_map(|changes| {
                changes.into_iter().fold(SEED.to_string(), |text, (at, cut, put)| {
                    let at = text.floor_char_boundary(at);
                    let end = text.ceil_char_boundary(at.saturating_add(cut));
                    let (head, rest) = text.split_at(at);
                    format!("{head}{put}{}", rest.split_at(end - at).1)
                })
            }),
        ]
    }

    proptest! {
        /// Every input gets an answer: nothing panics, every span is inside its text, and every error has a
        /// message.
        #[test]
        fn every_text_is_answered(text in any_text()) {
            let source = Source::new("x.yaml", text);
            let mut inputs = Inputs::new(vec![source]);
            choose_base(&mut inputs, None).unwrap();
            let given = FileSource::new(inputs, Some(jiff::Timestamp::UNIX_EPOCH));
            let mut found = [given.findings.clone(), each(&given)].concat();
            let settled = settle(given.snapshot.clone());
            found.extend(objects::together(&given, &settled, &found));
            let mut sources = given.inputs.sources.clone();
            let (of_trees, _) = trees::of_files(&given, &Known::default(), &mut sources);
            found.extend(of_trees);
            sort(&mut found);
            for finding in &found {
                let text = finding.source.and_then(|index| sources.get(index)).map_or("", |source| &source.text);
                let location = finding.diagnostic.span.unwrap_or_default();
                prop_assert!(text.get(location.start..location.end).is_some(), "{finding:?}");
                prop_assert!(!finding.diagnostic.message.is_empty());
            }
            findings::text(&sources, &found, crate::output::console::Look { color: true, width: Some(80) });
            statuses::show(&settled.plan, statuses::Format::Table, Some(80));
        }
    }
}
