//! Output of the findings of `validate`, `lint` and `render`: each drawn by [`report`], as one JSON object,
//! or as [`sarif`].

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;
use serde_json::{Value, json};

use super::console::Look;
use super::input::source::Source;
use super::input::{Inputs, MAX_FINDINGS, SourceDiagnostic, TOO_MANY_FINDINGS};
use super::query::output::AnswerFormat;
use super::{Failure, report, sarif};
pub use go_compat::diag::plural;
use go_compat::diag::{Diagnostic, Severity, Span};
use queuewarden_api::answer::VERSION;
use queuewarden_plan::ahead::Ahead;

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
    /// Formats findings; `text` is what people read, `answer` what JSON and YAML have.
    ///
    /// # Errors
    /// When there is no working directory from which SARIF could name files.
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

/// Returns the first findings of each text, and one for all others. They are in the order of the texts.
pub fn bounded(found: &[SourceDiagnostic]) -> Vec<SourceDiagnostic> {
    let mut listed = Vec::with_capacity(found.len());
    for of_text in found.chunk_by(|one, next| one.source == next.source) {
        let (first, others) = of_text.split_at_checked(MAX_FINDINGS).unwrap_or((of_text, &[]));
        listed.extend_from_slice(first);
        listed.extend((!others.is_empty()).then(|| unlisted(others)));
    }
    listed
}

/// Returns the finding that counts others about the same text, with the worst severity among them.
fn unlisted(others: &[SourceDiagnostic]) -> SourceDiagnostic {
    let severity = others.iter().map(|other| other.diagnostic.severity).max().unwrap_or(Severity::Error);
    let message = format!("{} in this file, which are not listed", plural(others.len(), "more finding"));
    let help = "correct the listed ones first";
    let diagnostic = Diagnostic { severity, ..Diagnostic::error(TOO_MANY_FINDINGS, message).help(help) };
    SourceDiagnostic { source: others.first().and_then(|first| first.source), object: None, diagnostic }
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
            report::draw(&finding.diagnostic, source, object.as_deref(), look)
        })
        .collect()
}

/// Returns `{version, diagnostics: [...], ahead: {moments: [...], more}, summary}`.
pub fn to_json(inputs: &Inputs, findings: &[SourceDiagnostic], ahead: &Ahead<SourceDiagnostic>) -> Value {
    let diagnostic = |finding: &SourceDiagnostic| {
        let source = finding.source.and_then(|index| inputs.sources.get(index));
        let mut fields = report::fields(&finding.diagnostic);
        fields.insert("object".to_owned(), json!(finding.object));
        fields.insert(
            "source".to_owned(),
            json!(source.map(|source| location(source, finding.diagnostic.span))),
        );
        Value::Object(fields)
    };
    let Count { errors, warnings } = Count::from_findings(findings);
    json!({
        "version": VERSION,
        "diagnostics": findings.iter().map(diagnostic).collect::<Vec<_>>(),
        "ahead": ahead.map(diagnostic),
        "summary": {
            "errors": errors,
            "warnings": warnings,
            "files": inputs.sources.len(),
            "objects": inputs.objects.len(),
            "ignored": inputs.ignored,
            "skipped": inputs.skipped,
        },
    })
}

fn location(source: &Source, span: Option<Span>) -> Value {
    let Some(span) = span else {
        return json!({"file": source.name});
    };
    let (line, column) = source.position(span.start);
    let (end_line, end_column) = source.position(span.end);
    json!({
        "file": source.name,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "offset": span.start,
        "length": span.end.saturating_sub(span.start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::input::NOT_AN_OBJECT;
    use go_compat::diag::Code;

    #[test]
    fn findings_of_a_file_are_bounded() {
        let warning = |source, start| {
            let diagnostic = Diagnostic::warning(NOT_AN_OBJECT, "odd").at(Span::new(start, start));
            SourceDiagnostic { source: Some(source), object: None, diagnostic }
        };
        let mut found: Vec<SourceDiagnostic> =
            (0..MAX_FINDINGS + 2).map(|start| warning(0, start)).chain([warning(1, 0)]).collect();
        found[MAX_FINDINGS + 1].diagnostic.severity = Severity::Error;
        let found = bounded(&found);
        assert_eq!(found.len(), MAX_FINDINGS + 2);
        let SourceDiagnostic { diagnostic, source, .. } = &found[MAX_FINDINGS];
        assert_eq!((diagnostic.code, diagnostic.severity), (TOO_MANY_FINDINGS, Severity::Error));
        assert!(diagnostic.message.starts_with("2 more findings in this file"), "{diagnostic}");
        assert_eq!((*source, found[MAX_FINDINGS + 1].source), (Some(0), Some(1)));
    }

    fn inputs(text: &str) -> Inputs {
        Inputs { sources: vec![Source::new("a.yaml", text)], ..Inputs::default() }
    }

    fn finding(span: Option<Span>) -> SourceDiagnostic {
        let diagnostic = Diagnostic {
            span,
            ..Diagnostic::error(Code::new(9999, "test"), "it is wrong").help("write it right")
        };
        SourceDiagnostic { source: Some(0), object: Some("QueueAcl/a".into()), diagnostic }
    }

    #[test]
    fn people_see_the_line_and_the_object() {
        let shown =
            text(&inputs("a: 1\nb: ü x\n").sources, &[finding(Some(Span::new(8, 12)))], Look::default());
        assert!(shown.starts_with("error[QW9999]: it is wrong\n --> a.yaml:2:4\n"), "{shown}");
        assert!(shown.contains("note: in QueueAcl/a\n"), "{shown}");
    }

    #[test]
    fn programs_get_places_in_lines_and_bytes() {
        let value = to_json(&inputs("a: 1\nb: ü x\n"), &[finding(Some(Span::new(8, 12)))], &Ahead::default());
        let expected = json!({"file": "a.yaml", "line": 2, "column": 4, "endLine": 2, "endColumn": 7, "offset": 8, "length": 4});
        assert_eq!(value.pointer("/diagnostics/0/source"), Some(&expected));
        assert_eq!(value.pointer("/summary/errors"), Some(&json!(1)));
    }
}
