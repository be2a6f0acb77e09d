//! Output of the findings of `validate` and `render`, as text, as one JSON object, or as [`sarif`].

use std::collections::HashMap;
use std::hash::Hash;

use schemars::JsonSchema;
use serde::Serialize;

use super::console::Look;
use super::{Failure, sarif};
use crate::output::diagnostic;
use crate::output::format::AnswerFormat;
use crate::output::text::{Source, SourceDiagnostic};
pub use go_compat::diag::plural;
use go_compat::diag::{Code, Diagnostic, Severity, Span};
use queuewarden_api::answer::VERSION;
use queuewarden_plan::time::Ahead;
use yunikorn::right::AclKey;

/// More was found in the file than is listed of one.
///
/// It is an error if an unlisted finding is one.
pub const TOO_MANY_FINDINGS: Code = Code::new(6009, "too-many-findings");

/// Maximum number of findings that are listed of a file.
pub const MAX_FINDINGS: usize = 1000;

/// Output format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people, with the lines in question.
    #[default]
    Text,
    /// For programs.
    Json,
    /// The same as YAML.
    Yaml,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

impl Format {
    /// Formats findings as `text` for people, or as `answer` in JSON and YAML.
    ///
    /// # Errors
    /// When there is no working directory, which SARIF needs for file names.
    pub fn show<A: Serialize>(
        self,
        sources: &[Source],
        findings: &[SourceDiagnostic],
        text: impl FnOnce() -> String,
        answer: impl FnOnce() -> A,
    ) -> Result<String, Failure> {
        let format = match self {
            Self::Text => AnswerFormat::Text,
            Self::Json => AnswerFormat::Json,
            Self::Yaml => AnswerFormat::Yaml,
            Self::Sarif => {
                let folder = sarif::folder()?;
                return AnswerFormat::Json.show(String::new, || sarif::log(sources, findings, &folder));
            }
        };
        format.show(text, answer)
    }
}

/// Number of findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Findings that make the input invalid.
    pub errors: usize,
    /// Findings on input that is accepted, but probably not as meant.
    pub warnings: usize,
}

impl Count {
    /// Counts findings.
    pub fn from_findings<'a>(findings: impl IntoIterator<Item = &'a SourceDiagnostic>) -> Self {
        findings.into_iter().fold(Self::default(), |count, finding| count.with(finding.diagnostic.severity))
    }

    /// Adds a finding of this severity.
    #[must_use]
    pub fn with(mut self, severity: Severity) -> Self {
        match severity {
            Severity::Error => self.errors = self.errors.saturating_add(1),
            Severity::Warning => self.warnings = self.warnings.saturating_add(1),
        }
        self
    }

    /// Formats the counts: `1 error, 2 warnings`.
    pub fn text(self) -> String {
        format!("{}, {}", plural(self.errors, "error"), plural(self.warnings, "warning"))
    }
}

/// Groups items that have a cause in common, in the order of the first of each.
pub fn by_cause<'i, T, C: Eq + Hash>(items: &'i [T], cause: impl Fn(&'i T) -> C) -> Vec<Vec<&'i T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    let mut numbers = HashMap::new();
    for item in items {
        let number = *numbers.entry(cause(item)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Sorts findings in the order of the texts; findings without a text come last. Duplicates are removed, and
/// of a text with very many the first are kept.
pub fn sort(found: &mut Vec<SourceDiagnostic>) {
    found.sort_by_key(|SourceDiagnostic { source, diagnostic, .. }| {
        (source.unwrap_or(usize::MAX), diagnostic.span.map_or(usize::MAX, |span| span.start))
    });
    found.dedup();
    *found = bounded(found);
}

/// Returns the first findings of each text, and one for all others. They are in the order of the texts.
pub fn bounded(found: &[SourceDiagnostic]) -> Vec<SourceDiagnostic> {
    let mut listed = Vec::with_capacity(found.len());
    for of_text in found.chunk_by(|one, next| one.source == next.source) {
        let (first, others) = of_text.split_at_checked(MAX_FINDINGS).unwrap_or((of_text, &[]));
        listed.extend_from_slice(first);
        listed.extend(others.first().map(|first| unlisted(first.source, others)));
    }
    listed
}

/// Returns the finding with the number of other findings about the same text, and their worst severity.
fn unlisted(source: Option<usize>, others: &[SourceDiagnostic]) -> SourceDiagnostic {
    let severity = others.iter().map(|other| other.diagnostic.severity).max().unwrap_or(Severity::Error);
    let count = plural(others.len(), "more finding");
    let message = format!("{count} in this file that are not listed");
    let help = "fix the listed ones first";
    let diagnostic = Diagnostic { severity, ..Diagnostic::error(TOO_MANY_FINDINGS, message).help(help) };
    SourceDiagnostic::new(source, diagnostic)
}

/// Formats all findings for people, each with its line and its fix.
pub fn text<'a>(
    sources: &[Source],
    findings: impl IntoIterator<Item = &'a SourceDiagnostic>,
    look: Look,
) -> String {
    findings
        .into_iter()
        .map(|finding| {
            let source = finding.source.and_then(|index| sources.get(index));
            let object = finding.object.as_ref().map(|object| format!("in {object}"));
            diagnostic::draw(&finding.diagnostic, source, object.as_deref(), look)
        })
        .collect()
}

/// The answer to `validate`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ValidateAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The findings, in the order of the texts.
    pub diagnostics: Vec<LocatedFinding>,
    /// The findings of later moments that are not found before, with `--until`.
    pub ahead: Ahead<LocatedFinding>,
    /// The numbers of findings and of checked items.
    pub summary: Summary,
}

/// A finding.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "FindingAnswer")]
pub struct LocatedFinding {
    /// The finding.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// The affected object, as `Kind/name`; null if there is none.
    pub object: Option<String>,
    /// The affected queue; null if there is none.
    pub queue: Option<String>,
    /// The affected ACL of the queue; null if there is none.
    pub acl: Option<AclKey>,
    /// Its location; null without a location in a text.
    pub source: Option<Location>,
}

/// A location in a text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Location {
    /// The file, or `ConfigMap/key`.
    pub file: String,
    /// The affected part; absent if the whole file is affected.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// A part of a text. Lines and columns are counted from 1, columns in characters.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The line of the first character.
    pub line: usize,
    /// The column of the first character.
    pub column: usize,
    /// The line of the end.
    pub end_line: usize,
    /// The column after the last character.
    pub end_column: usize,
    /// The number of bytes before it.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
}

/// The numbers of findings and of checked items.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The number of files.
    pub files: usize,
    /// The number of objects in them.
    pub objects: usize,
    /// The number of objects of other kinds, which are ignored.
    pub ignored: usize,
    /// The number of files in folders that hold nothing for queuewarden or `YuniKorn`.
    pub skipped: usize,
    /// The number of queues.
    pub queues: usize,
}

impl ValidateAnswer {
    /// Creates the answer with the numbers of checked items.
    pub fn new(
        sources: &[Source],
        found: &[SourceDiagnostic],
        ahead: &Ahead<SourceDiagnostic>,
        checked: &Summary,
    ) -> Self {
        let Count { errors, warnings } = Count::from_findings(found);
        let answer = |found: &SourceDiagnostic| LocatedFinding::new(sources, found);
        Self {
            version: VERSION,
            diagnostics: found.iter().map(answer).collect(),
            ahead: ahead.map(answer),
            summary: Summary { errors, warnings, ..checked.clone() },
        }
    }
}

impl LocatedFinding {
    fn new(sources: &[Source], found: &SourceDiagnostic) -> Self {
        let SourceDiagnostic { source, object, queue, acl, diagnostic } = found.clone();
        let source = source.and_then(|index| sources.get(index)).map(|source| Location {
            file: source.name.clone(),
            part: diagnostic.span.map(|span| Part::new(source, span)),
        });
        Self { diagnostic, object, queue, acl, source }
    }
}

impl Part {
    fn new(source: &Source, span: Span) -> Self {
        let (line, column) = source.position(span.start);
        let (end_line, end_column) = source.position(span.end);
        let length = span.end.saturating_sub(span.start);
        Self { line, column, end_line, end_column, offset: span.start, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::NOT_AN_OBJECT;
    use go_compat::diag::Code;
    use serde_json::json;

    #[test]
    fn findings_of_a_file_are_bounded() {
        let warning = |source, start| {
            let diagnostic = Diagnostic::warning(NOT_AN_OBJECT, "odd").at(Span::new(start, start));
            SourceDiagnostic::new(source, diagnostic)
        };
        let mut found: Vec<SourceDiagnostic> =
            (0..MAX_FINDINGS + 2).map(|start| warning(0, start)).chain([warning(1, 0)]).collect();
        found[MAX_FINDINGS + 1].diagnostic.severity = Severity::Error;
        sort(&mut found);
        assert_eq!(found.len(), MAX_FINDINGS + 2);
        let SourceDiagnostic { diagnostic, source, .. } = &found[MAX_FINDINGS];
        assert_eq!((diagnostic.code, diagnostic.severity), (TOO_MANY_FINDINGS, Severity::Error));
        assert!(diagnostic.message.starts_with("2 more findings in this file"), "{diagnostic}");
        assert_eq!((*source, found[MAX_FINDINGS + 1].source), (Some(0), Some(1)));
    }

    fn sources(text: &str) -> Vec<Source> {
        vec![Source::new("a.yaml", text)]
    }

    fn finding(span: Option<Span>) -> SourceDiagnostic {
        let diagnostic = Diagnostic {
            span,
            ..Diagnostic::error(Code::new(9999, "test"), "it is wrong").help("write it right")
        };
        SourceDiagnostic { object: Some("QueueAcl/a".into()), ..SourceDiagnostic::new(0, diagnostic) }
    }

    #[test]
    fn people_see_the_line_and_the_object() {
        let shown = text(&sources("a: 1\nb: ü x\n"), &[finding(Some(Span::new(8, 12)))], Look::default());
        assert!(shown.starts_with("error[QW9999]: it is wrong\n --> a.yaml:2:4\n"), "{shown}");
        assert!(shown.contains("note: in QueueAcl/a\n"), "{shown}");
    }

    #[test]
    fn programs_get_places_in_lines_and_bytes() {
        let found = [finding(Some(Span::new(8, 12)))];
        let sources = sources("a: 1\nb: ü x\n");
        let answer = ValidateAnswer::new(&sources, &found, &Ahead::default(), &Summary::default());
        let value = serde_json::to_value(answer).unwrap();
        let expected = json!({"file": "a.yaml", "line": 2, "column": 4, "endLine": 2, "endColumn": 7, "offset": 8, "length": 4});
        assert_eq!(value.pointer("/diagnostics/0/source"), Some(&expected));
        assert_eq!(value.pointer("/summary/errors"), Some(&json!(1)));
    }
}
