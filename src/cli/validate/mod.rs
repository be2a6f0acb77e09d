//! `queuewarden validate`: reports every error, and everything that does not do what it seems to say, at its
//! location.
//!
//! * [`schema`]: queuewarden's objects against their schema.
//! * [`objects`]: queuewarden's objects by what they mean.
//! * [`config_maps`]: queues.yaml and the admission controller's keys.
//! * [`cross`]: findings that need all objects together.
//! * [`fix`]: the changes to files that findings ask for.

pub mod config_maps;
pub mod cross;
pub mod fix;
pub mod objects;
pub mod schema;

use super::ahead::{self, AheadArgs};
use super::baseline::BaselineArgs;
use super::findings::{self, Count, Format, plural};
use super::input::object::Kind;
use super::input::{Inputs, SourceDiagnostic};
use super::suppressions::Suppressions;
use super::{Console, Exit, Failure, InputArgs};
use queuewarden_plan::ahead::ahead;
use queuewarden_plan::simulate::settle;
use queuewarden_plan::snapshot::Snapshot;
use yunikorn::version::Version;
use yunikorn_access::lint::CODES as LINTED;

/// Help text on comments and exit codes.
const HELP: &str = "\
A comment `# queuewarden:ignore CODE REASON` ignores the warning with this code on its line; on a line of its \
own, on the line below. Errors cannot be ignored.

Exit codes: 0 no errors, 1 errors were found, or warnings with --strict, 2 the command line is wrong.";

/// Check manifests and queues.yaml files as YuniKorn and queuewarden would, without a cluster
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Exit with 1 on warnings too
    #[arg(long)]
    strict: bool,
    /// Write into the files what findings say to write, where that is exact; then check them
    #[arg(long)]
    fix: bool,
    /// Print what --fix would change as a diff instead, and exit with 1 if there is something
    #[arg(long, requires = "fix")]
    dry_run: bool,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    ahead: AheadArgs,
}

/// Runs the command.
///
/// # Errors
/// When an input cannot be read, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    if args.fix {
        if args.input.paths().any(|path| path.as_os_str() == "-") {
            return Err(Failure::Usage("--fix writes files, and standard input is none".to_owned()));
        }
        let inputs = args.input.read(None, if args.dry_run { console } else { Console::silent() })?;
        let assembled = args.input.assemble(&inputs);
        let (mut comments, _) = Suppressions::read(&inputs.sources);
        let mut found = assembled.findings;
        found.extend(each(&inputs, assembled.snapshot.version()));
        comments.remove(&inputs.sources, &mut found, |finding| finding);
        let (changes, left) = fix::changes(&inputs, &found);
        console.notes(&left);
        if args.dry_run {
            console.out(&changes.iter().map(fix::Change::diff).collect::<String>())?;
            return Ok(Exit::yes(changes.is_empty()));
        }
        for change in changes {
            change.write()?;
            console.err(&change.list());
        }
    }
    let inputs = args.input.read(None, console)?;
    let assembled = args.input.assemble(&inputs);
    let mut found = assembled.findings.clone();
    found.extend(each(&inputs, assembled.snapshot.version()));
    let ours = inputs.objects.iter().any(|object| object.kind != Kind::ConfigMap);
    let several = inputs.in_environments(|environment| {
        let assembled = args.input.assemble(environment);
        cross::check(environment, &settle(assembled.snapshot), assembled.has_tree, &found)
    });
    found.extend(several);
    if ours && !assembled.has_tree && inputs.alternatives.is_empty() {
        console.note(
            "no queues were given, so it is not checked whether they exist: add the ConfigMap with \
            queues.yaml, or --base FILE",
        );
    }
    let later = |now| {
        let settled = settle(Snapshot { now, ..assembled.snapshot.clone() });
        cross::check(&inputs, &settled, assembled.has_tree, &found)
    };
    let snapshot = &assembled.snapshot;
    let mut ahead = args.ahead.look(snapshot.now, |until| ahead(snapshot, until, |at| Ok(later(at))))?;
    if ours {
        let of_all = later(snapshot.now);
        found.extend(of_all);
    }
    let errors = Count::from_findings(&found).errors;
    let looked_for = |code| {
        // Errors hide other findings, and some are found only among the queues.
        errors == 0 && !LINTED.contains(&code) && (assembled.has_tree || !cross::CODES.contains(&code))
    };
    let (mut comments, malformed) = Suppressions::read(&inputs.sources);
    for list in ahead.lists(&mut found) {
        comments.remove(&inputs.sources, list, |finding| finding);
    }
    found.extend(malformed.into_iter().chain(comments.unused(looked_for)));
    sort(&mut found);
    let lists = ahead.lists(&mut found);
    let known_before = args.baseline.apply(&inputs.sources, lists, |finding| finding, console)?;
    let count = Count::from_findings(&found);
    let draw = |found: &[SourceDiagnostic]| findings::text(&inputs.sources, found, console.look_out());
    let text = || draw(&found) + &ahead::text(&ahead, draw);
    let answer = || findings::to_json(&inputs, &found, &ahead);
    console.out(&args.format.show(&inputs.sources, &found, text, answer)?)?;
    if args.format == Format::Text {
        let trees = plural(inputs.bare.len(), "queue tree");
        let objects = match (inputs.objects.len(), inputs.bare.len()) {
            (0, 1..) => trees,
            (count, 0) => plural(count, "object"),
            (count, _) => format!("{} and {trees}", plural(count, "object")),
        };
        let files = plural(inputs.sources.len(), "file");
        let ignored = match inputs.ignored {
            0 => String::new(),
            ignored => format!(", {ignored} of other kinds ignored"),
        };
        let (later, suppressed) = (ahead::later(&ahead), comments.summary() + &known_before);
        let checked = format!("{objects} in {files} checked{ignored}");
        console.err(&format!("{}{later}{suppressed}; {checked}\n", count.text()));
    }
    if inputs.objects.is_empty()
        && inputs.bare.is_empty()
        && !assembled.has_tree
        && inputs.ignored == 0
        && found.is_empty()
    {
        // As in kubectl, a wrong path must not look like a passed check.
        console.note("nothing was checked: there is no object and no queue tree in the input");
        return Ok(Exit::yes(inputs.skipped > 0));
    }
    Ok(Exit::from_count(Count::from_findings(found.iter().chain(ahead.findings())), args.strict))
}

/// Returns all findings on each object by itself, in the order of the texts.
pub fn each(inputs: &Inputs, version: Version) -> Vec<SourceDiagnostic> {
    let of_objects = inputs.objects.iter().flat_map(|object| {
        let diagnostics = match object.kind {
            Kind::ConfigMap => config_maps::check(inputs, object, version),
            Kind::Ours(kind) => objects::check(inputs, object, kind),
        };
        diagnostics.into_iter().map(|diagnostic| object.finding(diagnostic))
    });
    let of_bare = inputs.bare.iter().flat_map(|document| {
        let diagnostics = config_maps::check_bare(inputs, document, version).into_iter();
        diagnostics.map(|diagnostic| SourceDiagnostic {
            source: Some(document.source),
            object: None,
            diagnostic,
        })
    });
    of_objects.chain(of_bare).collect()
}

/// Sorts findings in the order of the texts; findings without a text come last. Duplicates are removed, and
/// of a text with very many the first are kept.
pub fn sort(findings: &mut Vec<SourceDiagnostic>) {
    let location = |finding: &SourceDiagnostic| {
        let span = finding.diagnostic.span.map_or(usize::MAX, |span| span.start);
        (finding.source.unwrap_or(usize::MAX), span)
    };
    findings.sort_by_key(location);
    findings.dedup();
    *findings = findings::bounded(findings);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::assemble::assemble;
    use crate::cli::input::source::Source;
    use crate::cli::{findings, statuses};
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
            inputs.choose_base(None).unwrap();
            let assembled = assemble(&inputs, jiff::Timestamp::UNIX_EPOCH);
            let mut found: Vec<SourceDiagnostic> = assembled.findings.clone();
            found.extend(each(&inputs, assembled.snapshot.version()));
            let settled = settle(assembled.snapshot);
            found.extend(cross::check(&inputs, &settled, assembled.has_tree, &found));
            sort(&mut found);
            for finding in &found {
                let text = finding.source.and_then(|index| inputs.sources.get(index)).map_or("", |source| &source.text);
                let location = finding.diagnostic.span.unwrap_or_default();
                prop_assert!(text.get(location.start..location.end).is_some(), "{finding:?}");
                prop_assert!(!finding.diagnostic.message.is_empty());
            }
            findings::text(&inputs.sources, &found, crate::cli::console::Look { color: true, width: Some(80) });
            statuses::show(&settled.plan, statuses::Format::Table, Some(80));
        }
    }
}
