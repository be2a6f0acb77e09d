//! Findings on the way out: as rustc shows them, and as JSON.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

use super::input::source::Source;
use super::input::{Finding, Inputs};
use crate::text::diag::{Diagnostic, Severity, Span};

/// The version of the JSON below; raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// How much was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// What is refused.
    pub errors: usize,
    /// What is accepted, but not what was meant.
    pub warnings: usize,
}

impl Count {
    /// Counts findings.
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        findings.into_iter().fold(Self::default(), |count, finding| count.with(finding.diagnostic.severity))
    }

    /// One more of this severity.
    #[must_use]
    pub fn with(mut self, severity: Severity) -> Self {
        match severity {
            Severity::Error => self.errors = self.errors.saturating_add(1),
            Severity::Warning => self.warnings = self.warnings.saturating_add(1),
        }
        self
    }

    /// `1 error, 2 warnings`
    pub fn text(self) -> String {
        format!("{}, {}", plural(self.errors, "error"), plural(self.warnings, "warning"))
    }
}

/// `1 file`, `2 files`
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// All findings for people, each with its line and what to write instead.
pub fn text(inputs: &Inputs, findings: &[Finding], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for finding in findings {
        let source = finding.source.and_then(|index| inputs.sources.get(index));
        let groups = groups(&finding.diagnostic, source, finding.object.as_deref());
        out.push_str(&renderer.render(&groups));
        out.push_str("\n\n");
    }
    out
}

fn groups<'a>(
    diagnostic: &'a Diagnostic,
    source: Option<&'a Source>,
    object: Option<&'a str>,
) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.trim_end()).id(diagnostic.code.to_string());
    let mut elements: Vec<Element<'a>> = Vec::new();
    if let Some(source) = source {
        let line = Line::of(source, diagnostic.span.unwrap_or_default());
        let annotation = AnnotationKind::Primary.span(line.marked.start..line.marked.end);
        let snippet = Snippet::source(line.text).path(&source.name).line_start(line.number);
        elements.push(snippet.annotation(annotation).into());
    }
    if let Some(object) = object {
        elements.push(Level::NOTE.message(format!("in {object}")).into());
    }
    if let Some(help) = &diagnostic.help {
        elements.push(Level::HELP.message(help).into());
    }
    vec![Group::with_title(title).elements(elements)]
}

/// The line of a text that a span starts in: a finding about twenty lines is shown at the first.
struct Line<'a> {
    text: &'a str,
    /// One-based.
    number: usize,
    /// The part of the line, in whole characters.
    marked: Span,
}

impl<'a> Line<'a> {
    fn of(source: &'a Source, span: Span) -> Self {
        let text = source.text.as_str();
        let start = text.floor_char_boundary(span.start);
        // What is missing at the end is missing behind the last thing that was written.
        let (written, rest) = text.split_at_checked(start).unwrap_or((text, ""));
        let start = if rest.trim().is_empty() { written.trim_end().len() } else { start };
        let end = text.ceil_char_boundary(span.end).max(start);
        let (before, after) = text.split_at_checked(start).unwrap_or((text, ""));
        let begin = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let rest = after.find('\n').map_or(text.len(), |newline| start.saturating_add(newline));
        Self {
            text: text.get(begin..rest).unwrap_or_default().trim_end_matches('\r'),
            number: source.position(start).0,
            marked: Span::new(start.saturating_sub(begin), end.min(rest).saturating_sub(begin)),
        }
    }
}

/// `{version, diagnostics: [...], summary}`; README.md describes every field.
pub fn to_json(inputs: &Inputs, findings: &[Finding]) -> Value {
    let diagnostics: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let Diagnostic { code, severity, message, span, help } = &finding.diagnostic;
            let source = finding.source.and_then(|index| inputs.sources.get(index));
            json!({
                "code": code.to_string(),
                "title": code.title,
                "severity": match severity { Severity::Error => "error", Severity::Warning => "warning" },
                "message": message,
                "help": help,
                "object": finding.object,
                "source": source.map(|source| place(source, *span)),
            })
        })
        .collect();
    let Count { errors, warnings } = Count::of(findings);
    json!({
        "version": VERSION,
        "diagnostics": diagnostics,
        "summary": {
            "errors": errors,
            "warnings": warnings,
            "files": inputs.sources.len(),
            "objects": inputs.objects.len(),
            "ignored": inputs.ignored,
        },
    })
}

fn place(source: &Source, span: Option<Span>) -> Value {
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
    use crate::text::diag::Code;

    fn inputs(text: &str) -> Inputs {
        Inputs {
            sources: vec![Source { name: "a.yaml".into(), file_name: "a.yaml".into(), text: text.into() }],
            ..Inputs::default()
        }
    }

    fn finding(span: Option<Span>) -> Finding {
        let diagnostic = Diagnostic {
            span,
            ..Diagnostic::error(Code::new(9999, "test"), "it is wrong").help("write it right")
        };
        Finding { source: Some(0), object: Some("QueueAcl/a".into()), diagnostic }
    }

    #[test]
    fn people_see_the_line() {
        let shown = text(&inputs("a: 1\nb: ü x\n"), &[finding(Some(Span::new(8, 12)))], false);
        let expected = "error[QW9999]: it is wrong\n --> a.yaml:2:4\n  |\n2 | b: ü x\n  |    ^^^\n  |\n  = note: in QueueAcl/a\n  = help: write it right\n\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn no_place_in_the_text_breaks_the_drawing() {
        let words = "a: ü\n\n";
        for start in 0..=10 {
            for end in start..=10 {
                let shown = text(&inputs(words), &[finding(Some(Span::new(start, end)))], false);
                assert!(shown.starts_with("error[QW9999]: it is wrong\n"), "{start}..{end}: {shown}");
            }
        }
        assert!(text(&inputs(""), &[finding(None)], false).contains("a.yaml"));
    }

    #[test]
    fn programs_get_places_in_lines_and_bytes() {
        let value = to_json(&inputs("a: 1\nb: ü x\n"), &[finding(Some(Span::new(8, 12)))]);
        let expected = json!({"file": "a.yaml", "line": 2, "column": 4, "endLine": 2, "endColumn": 7, "offset": 8, "length": 4});
        assert_eq!(value.pointer("/diagnostics/0/source"), Some(&expected));
        assert_eq!(value.pointer("/summary/errors"), Some(&json!(1)));
    }
}
