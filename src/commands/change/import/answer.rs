//! What an import found: for programs as one answer, and for people as messages with the findings, the
//! comparison and the reason for a refusal.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::output::findings::{self, Count, plural};
use crate::output::format::{AnswerFormat, Table};
use crate::output::text::{Source, SourceDiagnostic};
use crate::output::{Console, Failure};
use crate::source::catalog;
use go_compat::diag::{Code, Diagnostic, Severity, listed};
use queuewarden_api::answer::VERSION;
use queuewarden_import::{Compared, Difference, Direction, FileDiagnostic, Location, Proof, codes};
use yunikorn_access::subject::Subject;

/// The answer to `import`; from files of Hadoop or Spark also if the import is refused.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// True if it is imported, because no finding is an error and nobody gains access without
    /// acknowledgement.
    pub imported: bool,
    /// The findings on the files.
    pub findings: Vec<ImportFinding>,
    /// The extent of the comparison; null where nothing could be read, and for a queues.yaml, which is
    /// compared as a whole and is imported when nothing differs.
    pub compared: Option<Compared>,
    /// All differences: wider access first.
    pub differences: Vec<ImportDifference>,
    /// The codes of wider access that `--accept` does not name.
    pub unacknowledged: Vec<String>,
    /// The objects to apply; empty if the import is refused.
    pub manifests: Vec<Value>,
    /// The text of a queues.yaml with the queues and their ACLs, from `YuniKorn` without the ACLs that
    /// became objects; null for Spark, and if the import is refused.
    pub queues: Option<String>,
    /// The settings for spark-defaults.conf, in order. Empty for other sources, and if the import is refused.
    pub settings: Vec<SparkSetting>,
    /// The migration steps as a text for people, for a queues.yaml.
    pub steps: Option<String>,
}

/// A finding on a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFinding {
    /// The code, which docs/codes.md explains: `QW7517`.
    pub code: String,
    /// Its name.
    pub title: String,
    /// True if it stops the import: an error that is not acknowledged.
    pub is_error: bool,
    /// The message.
    pub message: String,
    /// The fix.
    pub help: Option<String>,
    /// The location; null if there is no single location.
    pub written_in: Option<FileLocation>,
}

/// A location in one of the files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileLocation {
    /// The file as it was given.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The column in it in characters, from 1.
    pub column: usize,
}

/// A difference for one subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportDifference {
    /// Wider or narrower access.
    pub access: Direction,
    /// The subject as the files name it.
    pub subject: Subject,
    /// The subject as Kubernetes names it.
    pub identity: Subject,
    /// The action: `submit` or `administer` in queues, `view`, `modify`, `kill` and `submit` for Spark.
    pub verb: &'static str,
    /// The topmost of the queues, as the files name them; empty for Spark.
    pub queues: Vec<String>,
    /// The number of queues including those below; 0 for Spark.
    pub queue_count: usize,
    /// The code of the reason.
    pub code: String,
    /// The title of the code.
    pub title: String,
    /// The location of the entry that granted access before.
    pub written_in: Option<FileLocation>,
}

/// A setting of Spark.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SparkSetting {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
}

impl ImportAnswer {
    /// Creates an answer with these findings, and the comparison if there is one.
    pub(super) fn new(
        texts: &[Source],
        findings: &[FileDiagnostic],
        proof: Option<&Proof>,
        accepted: &Accepted,
    ) -> Self {
        let differences = || proof.iter().flat_map(|proof| &proof.differences);
        Self {
            version: VERSION,
            findings: findings.iter().map(|finding| ImportFinding::new(texts, finding)).collect(),
            compared: proof.map(|proof| proof.compared),
            differences: differences().map(|difference| ImportDifference::new(texts, difference)).collect(),
            unacknowledged: accepted.leaks(differences()),
            ..Self::default()
        }
    }

    /// Returns whether the import is refused.
    pub(super) fn is_refused(&self) -> bool {
        !self.unacknowledged.is_empty() || self.findings.iter().any(|finding| finding.is_error)
    }
}

impl ImportFinding {
    fn new(texts: &[Source], FileDiagnostic { file, diagnostic }: &FileDiagnostic) -> Self {
        let location = file.zip(diagnostic.span).map(|(file, span)| Location { file, span });
        Self {
            code: diagnostic.code.to_string(),
            title: diagnostic.code.title.to_owned(),
            is_error: diagnostic.is_error(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            written_in: written_in(texts, location),
        }
    }
}

impl ImportDifference {
    fn new(texts: &[Source], difference: &Difference) -> Self {
        Self {
            access: difference.direction,
            subject: difference.subject.clone(),
            identity: difference.identity.clone(),
            verb: difference.verb,
            queues: difference.queues.clone(),
            queue_count: difference.count,
            code: difference.code.to_string(),
            title: difference.code.title.to_owned(),
            written_in: written_in(texts, difference.location),
        }
    }
}

fn written_in(texts: &[Source], location: Option<Location>) -> Option<FileLocation> {
    let location = location?;
    let text = texts.get(location.file)?;
    let (line, column) = text.position(location.span.start);
    Some(FileLocation { file: text.name.clone(), line, column })
}

/// Option for acknowledged codes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Accepted {
    /// Continue despite this code of an error or of wider access; may be repeated
    #[arg(long, value_name = "CODE", value_parser = catalog::code)]
    accept: Vec<Code>,
}

impl Accepted {
    /// Turns acknowledged findings into warnings.
    pub(super) fn acknowledge(&self, findings: &mut [FileDiagnostic]) {
        for finding in findings {
            if self.accept.contains(&finding.diagnostic.code) {
                finding.diagnostic.severity = Severity::Warning;
            }
        }
    }

    /// Returns the codes of wider access that are not acknowledged.
    pub(super) fn leaks<'a>(&self, differences: impl Iterator<Item = &'a Difference>) -> Vec<String> {
        let wider = differences.filter(|difference| difference.direction == Direction::Wider);
        let codes: BTreeSet<Code> = wider.map(|difference| difference.code).collect();
        codes.iter().filter(|code| !self.accept.contains(code)).map(ToString::to_string).collect()
    }
}

/// Maximum number of rows; more are counted.
const MAX_ROWS: usize = 200;
/// Maximum number of queues in one cell; more are counted.
const MAX_QUEUES: usize = 3;
/// Minimum number of names for a comparison to show its progress.
const MANY: usize = 500;

/// Codes of findings that make the ACLs ineffective, or not decisive on their own.
const NOT_ALONE: [Code; 6] = [
    codes::SWITCHED_OFF,
    codes::OTHER_AUTHORIZER,
    codes::OTHER_SCHEDULER,
    codes::OTHER_STORE,
    codes::SERVICE_ACL,
    codes::STOPPED,
];

/// Prints the findings in the order of their locations, then the comparison and the reason for a refusal;
/// for programs everything is in the answer. Acknowledged errors are warnings. Returns an import that is
/// not refused, with its answer.
pub(super) fn report<T>(
    texts: &[Source],
    mut findings: Vec<FileDiagnostic>,
    imported: Option<(T, Result<Proof, Diagnostic>)>,
    accepted: &Accepted,
    format: AnswerFormat,
    console: Console,
) -> Result<Option<(T, ImportAnswer)>, Failure> {
    let imported = imported.and_then(|(imported, proof)| {
        let proof = proof.map_err(|error| findings.push(FileDiagnostic::at(None, error)));
        Some((imported, proof.ok()?))
    });
    accepted.acknowledge(&mut findings);
    let answer = ImportAnswer::new(texts, &findings, imported.as_ref().map(|(_, proof)| proof), accepted);
    let messages = messages(format, console);
    show(texts, findings, messages);
    messages.err(&comparison(&answer, messages.look_err().width));
    if !answer.unacknowledged.is_empty() {
        messages.err(&format!(
            "error: refused, because access would be wider: change the map or the files, or --accept {}\n",
            answer.unacknowledged.join(" --accept ")
        ));
    }
    if let Some((imported, _)) = imported.filter(|_| !answer.is_refused()) {
        return Ok(Some((imported, answer)));
    }
    console.out(&format.show(String::new, || &answer)?)?;
    Ok(None)
}

/// Prints the findings in the order of their locations, and counts them.
pub(super) fn show(texts: &[Source], mut findings: Vec<FileDiagnostic>, messages: Console) {
    findings.sort_by_key(|finding| (finding.file, finding.diagnostic.span.map(|span| span.start)));
    // A file that is not the expected one may be any by mistake, which messages must not quote.
    let unexpected = [codes::XML, codes::EXTERNAL, codes::NOT_THIS_FILE, codes::EXPORT];
    let is_other = |file| {
        let mut of_file = findings.iter().filter(|found| found.file == Some(file));
        of_file.any(|found| unexpected.contains(&found.diagnostic.code))
    };
    let texts = texts.iter().cloned().enumerate();
    let texts: Vec<Source> =
        texts.map(|(file, text)| if is_other(file) { text.unquoted() } else { text }).collect();
    let shown = findings.into_iter();
    let shown = shown.map(|FileDiagnostic { file, diagnostic }| SourceDiagnostic::new(file, diagnostic));
    let shown = findings::bounded(&shown.collect::<Vec<_>>());
    messages.err(&findings::text(&texts, &shown, messages.look_err()));
    let count = Count::from_findings(&shown);
    if count != Count::default() {
        messages.err(&format!("{} in {}\n", count.text(), plural(texts.len(), "file")));
    }
}

/// Returns the console for messages.
pub(super) fn messages(format: AnswerFormat, console: Console) -> Console {
    if format == AnswerFormat::Text { console } else { Console::silent() }
}

/// Formats the differences as a table, and the extent of the comparison.
fn comparison(answer: &ImportAnswer, width: Option<usize>) -> String {
    let Some(Compared { queues, names, questions }) = answer.compared else { return String::new() };
    let columns = ["ACCESS", "WHO", "IN KUBERNETES", "VERB", "QUEUES", "CODE", "WRITTEN IN"];
    let mut table = Table::new(columns.into_iter().filter(|column| queues.is_some() || *column != "QUEUES"));
    for difference in answer.differences.iter().take(MAX_ROWS) {
        let written_in = difference.written_in.as_ref();
        let written_in = written_in.map(|at| format!("{}:{}:{}", at.file, at.line, at.column));
        let mut row = vec![
            word(difference.access).to_owned(),
            difference.subject.to_string(),
            renamed(&difference.subject, &difference.identity),
            difference.verb.to_owned(),
        ];
        row.extend(queues.map(|_| listed(&difference.queues, MAX_QUEUES, difference.queue_count)));
        row.push(format!("{} {}", difference.code, difference.title));
        row.push(written_in.unwrap_or_default());
        table.row(row);
    }
    let mut shown = if table.is_empty() { String::new() } else { table.text(true, width) };
    let more = answer.differences.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        shown.extend(["and ", &more.to_string(), " more\n"]);
    }
    let extent = match queues {
        Some(queues) => format!("{queues} queues, {names} names, both rights"),
        None => format!("{names} names, {} verbs", questions.checked_div(names).unwrap_or_default()),
    };
    let wider = answer.differences.iter().filter(|difference| difference.access == Direction::Wider).count();
    let differ = summary(wider, answer.differences.len().saturating_sub(wider));
    // The comparison knows nothing of what decides besides the ACLs.
    let is_alone = |finding: &ImportFinding| NOT_ALONE.iter().any(|code| finding.code == code.to_string());
    let alone = if answer.findings.iter().any(is_alone) { "by the ACLs alone, " } else { "" };
    format!("{shown}compared: {extent}: {questions} questions; {alone}{differ}\n")
}

fn summary(wider: usize, narrower: usize) -> String {
    let verb = |count, verb: &str| if count == 1 { format!("{verb}s") } else { verb.to_owned() };
    let narrows = verb(narrower, "narrow");
    match (wider, narrower) {
        (0, 0) => "nobody may do more or less than before".to_owned(),
        (0, _) => {
            let differences = plural(narrower, "difference");
            format!("nobody may do more than before; {differences} {narrows} access")
        }
        _ => {
            let (differences, widens) = (plural(wider, "difference"), verb(wider, "widen"));
            format!("{differences} {widens} access, {narrower} {narrows} it")
        }
    }
}

fn word(access: Direction) -> &'static str {
    match access {
        Direction::Wider => "wider",
        Direction::Narrower => "narrower",
    }
}

/// Returns the name in Kubernetes, or nothing if it stays the same. A subject that is left out is not shown
/// as everyone, although it is evaluated as everyone else.
fn renamed(subject: &Subject, identity: &Subject) -> String {
    match identity {
        _ if identity == subject => String::new(),
        Subject::Everyone => "(left out)".to_owned(),
        _ => identity.to_string(),
    }
}

/// Progress of a long comparison, on a terminal.
pub(super) struct ImportProgress {
    console: Console,
    terminal: bool,
    shown: Cell<Option<usize>>,
}

impl ImportProgress {
    pub(super) fn new(console: Console) -> Self {
        Self { console, terminal: io::stderr().is_terminal(), shown: Cell::new(None) }
    }

    /// Overwrites the progress line each time another percent is done.
    pub(super) fn show(&self, done: usize, all: usize) {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or_default();
        if self.terminal && all > MANY && self.shown.get() != Some(percent) {
            self.shown.set(Some(percent));
            self.console.control(&format!("\rcomparing: {percent} % of {all} names"));
        }
    }

    /// Clears the progress line.
    pub(super) fn end(&self) {
        if self.shown.get().is_some() {
            self.console.control("\r\u{1b}[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_left_out_is_not_called_everyone() {
        let bob = || Subject::User("bob".to_owned());
        let cases = [
            (bob(), bob(), ""),
            (Subject::Everyone, Subject::Everyone, ""),
            (bob(), Subject::User("robert".to_owned()), "user robert"),
            (bob(), Subject::Everyone, "(left out)"),
        ];
        for (subject, identity, expected) in cases {
            assert_eq!(renamed(&subject, &identity), expected);
        }
    }

    #[test]
    fn differences_are_counted() {
        assert_eq!(summary(0, 0), "nobody may do more or less than before");
        assert_eq!(summary(0, 1), "nobody may do more than before; 1 difference narrows access");
        assert_eq!(summary(1, 2), "1 difference widens access, 2 narrow it");
        assert_eq!(summary(2, 1), "2 differences widen access, 1 narrows it");
    }
}
