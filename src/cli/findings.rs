//! Output of the findings of `validate`, `lint` and `render`: each drawn by [`report`], as one JSON object,
//! or as [`sarif`].

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;
use serde_json::{Value, json};

use super::console::Look;
use super::input::source::Source;
use super::input::{Inputs, SourceDiagnostic};
use super::query::output::AnswerFormat;
use super::{Failure, report, sarif};
pub use go_compat::diag::plural;
use go_compat::diag::{Severity, Span};
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
    use go_compat::diag::{Code, Diagnostic};

    fn inputs(text: &str) -> Inputs {
        Inputs { sources: vec![Source { name: "a.yaml".into(), text: text.into() }], ..Inputs::default() }
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
