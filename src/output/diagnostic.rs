//! Draws diagnostics as rustc does, and converts them to JSON.
//!
//! The span of a diagnostic may be wrong, and a text may be megabytes on one line: in any case only the line
//! of the span is drawn, and only a part of a long line.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::console::Look;
use crate::output::console::wrapped;
use crate::output::text::Source;
use go_compat::diag::{Diagnostic, Severity, Span};

/// Maximum length of a line, in bytes; longer ones are cut.
const MAX_LINE: usize = 1000;
/// Columns before a message: `warning[QW1001]: `, the widest label.
const LABEL: usize = 17;
/// Length of the part of a cut line on either side of the span, in bytes.
const NEAR: usize = 200;

/// Draws one diagnostic: the line with the span underlined, its object (`note`), and the fix. Without a
/// source, draws only the texts. Ends with an empty line.
pub fn draw(diagnostic: &Diagnostic, source: Option<&Source>, note: Option<&str>, look: Look) -> String {
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = look.width.map_or(renderer.clone(), |width| renderer.term_width(width));
    let room = look.width.map(|width| width.saturating_sub(LABEL));
    let broken = |text: &str| {
        text.trim_end().split('\n').map(|line| wrapped(line, 0, room)).collect::<Vec<_>>().join("\n")
    };
    let mut elements: Vec<Element<'_>> = Vec::new();
    if let Some(source) = source {
        elements.extend(excerpt(source, diagnostic.span.unwrap_or_default()));
    }
    elements.extend(note.map(|note| Level::NOTE.message(broken(note)).into()));
    elements.extend(diagnostic.help.as_deref().map(|help| Level::HELP.message(broken(help)).into()));
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(broken(&diagnostic.message)).id(diagnostic.code.to_string());
    format!("{}\n\n", renderer.render(&[Group::with_title(title).elements(elements)]))
}

/// Returns the line of the span, or the part near the span in a long one. Without a part that may be quoted,
/// returns only the location.
fn excerpt(source: &Source, span: Span) -> Vec<Element<'_>> {
    let text = source.text.as_str();
    let (line, marked) = first_line(source, span);
    let (number, column) = source.position(marked.start);
    let origin = || Origin::path(&source.name).line(number).char_column(column);
    let Some(part) = source.quotable(marked.start) else { return vec![origin().into()] };
    let clipped = Span::new(line.start.max(part.start), line.end.min(part.end));
    let marked = Span::new(marked.start, marked.end.min(clipped.end));
    let (shown, marked) = near(text, clipped, marked);
    let annotation = AnnotationKind::Primary.span(marked.start - shown.start..marked.end - shown.start);
    // The renderer passes these on to the terminal, which may interpret them. The replacement has as many
    // bytes, so spans stay valid.
    let words = text.get(shown.start..shown.end).unwrap_or_default();
    let words = words.replace(|c: char| ('\u{80}'..='\u{9f}').contains(&c), "\u{b7}");
    let words = words.replace(['\u{2028}', '\u{2029}'], "\u{fffd}");
    let snippet = Snippet::source(words).line_start(number).annotation(annotation);
    if shown == line {
        return vec![snippet.path(&source.name).into()];
    }
    // The renderer would count columns from the cut.
    vec![origin().into(), snippet.into()]
}

/// Returns the line that a span begins in, and the span cut to it and to whole characters: a finding about
/// twenty lines is shown at the first.
fn first_line(source: &Source, span: Span) -> (Span, Span) {
    let (text, lines) = (source.text.as_str(), source.lines());
    let start = text.floor_char_boundary(span.start);
    // Something missing at the end is shown after the last text, not on an empty line after it.
    let is_empty = lines.end() < lines.line(text, start).start;
    let start = if is_empty { lines.end() } else { start };
    let line = lines.line(text, start);
    // A carriage return before the line break is not shown.
    let behind = text.get(start..line.end).unwrap_or_default();
    let line = Span::new(line.start, start + behind.trim_end_matches('\r').len());
    let end = text.ceil_char_boundary(span.end).clamp(start, line.end);
    (line, Span::new(start, end))
}

/// Returns the part of `line` to draw, and the span cut to it.
fn near(text: &str, line: Span, marked: Span) -> (Span, Span) {
    if line.end - line.start <= MAX_LINE {
        return (line, marked);
    }
    let boundary = |at: usize| text.ceil_char_boundary(at).min(line.end);
    let marked = Span::new(marked.start, boundary(marked.end.min(marked.start.saturating_add(NEAR))));
    let start = boundary(marked.start.saturating_sub(NEAR)).max(line.start);
    (Span::new(start, boundary(marked.end.saturating_add(NEAR))), marked)
}

/// Returns the part of a text that a finding replaces, and its replacement; `None` if the finding has no
/// exact replacement.
pub fn edit<'a>(source: &Source, diagnostic: &'a Diagnostic) -> Option<(Span, &'a str)> {
    let (span, replacement) = (diagnostic.span?, diagnostic.replacement.as_deref()?);
    let written = source.text.get(span.start..span.end)?;
    (written == replacement.written).then_some((span, replacement.instead.as_str()))
}

/// Returns a diagnostic for programs, with `span`: `start` and `end` in bytes from zero, `line` and `column`
/// of the start in characters from one; null for a diagnostic about the whole.
pub fn to_json(diagnostic: &Diagnostic, source: &Source) -> Value {
    let span = diagnostic.span.map(|Span { start, end }| {
        let (line, column) = source.position(start);
        json!({"start": start, "end": end, "line": line, "column": column})
    });
    let mut value = json!(diagnostic);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("span".to_owned(), json!(span));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use go_compat::diag::Code;
    use proptest::prelude::*;

    fn source(text: &str) -> Source {
        Source::new("a.yaml", text)
    }

    fn diagnostic(span: Option<Span>) -> Diagnostic {
        let wrong = Diagnostic::error(Code::new(9999, "test"), "it is wrong").help("write it right");
        Diagnostic { span, ..wrong }
    }

    fn drawn(text: &str, start: usize, end: usize) -> String {
        draw(&diagnostic(Some(Span::new(start, end))), Some(&source(text)), None, Look::default())
    }

    #[test]
    fn people_see_the_line() {
        let shown = draw(
            &diagnostic(Some(Span::new(8, 12))),
            Some(&source("a: 1\nb: ü x\n")),
            Some("in QueueAcl/a"),
            Look::default(),
        );
        let expected = "error[QW9999]: it is wrong\n --> a.yaml:2:4\n  |\n2 | b: ü x\n  |    ^^^\n  |\n  = note: in QueueAcl/a\n  = help: write it right\n\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_end_is_on_the_last_line() {
        for text in ["a: [", "a: [\n", "a: [\r\n", "a: [\n\n  \n"] {
            let shown = drawn(text, text.len(), text.len());
            assert!(shown.contains(" --> a.yaml:1:5\n  |\n1 | a: [\n  |     ^\n"), "{text:?}: {shown}");
        }
    }

    #[test]
    fn without_a_text_it_is_the_message_and_the_help() {
        let shown = draw(&diagnostic(None), None, None, Look::default());
        assert_eq!(shown, "error[QW9999]: it is wrong\n |\n = help: write it right\n\n");
    }

    #[test]
    fn messages_are_broken_between_words() {
        let found =
            Diagnostic::warning(Code::new(9998, "test"), "`submitacl` of `root.prod` changes nothing");
        let shown = draw(&found, None, Some("in QueueAcl/prod"), Look { color: false, width: Some(45) });
        let expected = "warning[QW9998]: `submitacl` of `root.prod`\n                 changes nothing\n |\n = note: in QueueAcl/prod\n\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        let warning = Diagnostic::warning(Code::new(9998, "test"), "look");
        assert!(!draw(&warning, None, None, Look::default()).contains('\u{1b}'));
        assert!(draw(&warning, None, None, Look { color: true, width: None }).contains('\u{1b}'));
    }

    /// A text must not control the terminal it is shown on.
    #[test]
    fn control_characters_are_drawn_and_not_sent() {
        let shown = drawn("a\u{1b}[2Jb\u{7}\u{9b}\u{202e}c", 0, 3);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{shown:?}");
    }

    #[test]
    fn only_what_is_near_is_drawn_of_a_long_line() {
        let text = format!("x\n{}WRONG{}\ny", "a".repeat(500_000), "é".repeat(300_000));
        let shown = drawn(&text, 500_002, 500_007);
        assert!(shown.contains(" --> a.yaml:2:500001\n"), "{shown}");
        assert!(shown.contains("WRONG") && shown.len() < 2000, "{shown}");
        let all = drawn(&text, 2, text.len());
        assert!(all.contains(" --> a.yaml:2:1\n") && all.len() < 4000, "{all}");
    }

    #[test]
    fn programs_get_the_place_in_bytes_and_in_lines() {
        let value = to_json(&diagnostic(Some(Span::new(8, 12))), &source("a: 1\nb: ü x\n"));
        let expected = json!({
            "code": "QW9999", "title": "test", "severity": "error", "message": "it is wrong", "help": "write it right",
            "span": {"start": 8, "end": 12, "line": 2, "column": 4},
        });
        assert_eq!(value, expected);
        assert_eq!(to_json(&diagnostic(None), &source(""))["span"], Value::Null);
    }

    proptest! {
        #[test]
        fn no_place_in_no_text_breaks_the_drawing(
            text in "[a\t\r\n é\u{200b}\u{1b}]{0,30}",
            repeated in 0_usize..200,
            start in 0_usize..5000,
            length in 0_usize..5000,
        ) {
            let shown = drawn(&format!("{}{text}", text.repeat(repeated)), start, start + length);
            prop_assert!(shown.starts_with("error[QW9999]: it is wrong\n"), "{}", shown);
            prop_assert!(shown.contains("help: write it right") && shown.contains("a.yaml"), "{}", shown);
        }
    }
}
