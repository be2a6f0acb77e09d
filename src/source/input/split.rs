//! Finds the start and end of each document of a text.
//!
//! A line that starts with `---` is a document marker in every position, also inside a block scalar, so only
//! lines are examined. JSON is a stream of values without markers.

use serde::de::IgnoredAny;

use go_compat::diag::Span;

/// Syntax of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// One JSON value after another.
    Json,
    /// YAML documents, markers and directives included. Some may be empty.
    Yaml,
}

/// Splits a text. A text that starts with `{` and is JSON throughout is treated as JSON, as in kubectl.
pub fn split(text: &str) -> (Syntax, Vec<Span>) {
    match json(text) {
        Some(spans) => (Syntax::Json, spans),
        None => (Syntax::Yaml, yaml(text)),
    }
}

fn json(text: &str) -> Option<Vec<Span>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(value) = values.next() {
        value.ok()?;
        let end = values.byte_offset();
        let space = text.get(from..end).map_or(0, |part| part.len() - part.trim_start().len());
        spans.push(Span::new(from.saturating_add(space), end));
        from = end;
    }
    Some(spans)
}

fn yaml(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    let mut content = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_prefix('\u{feff}').unwrap_or(line);
        if is_marker(bare, "---") {
            // Directives and comments before a marker belong to the document it opens.
            if content {
                spans.push(Span::new(start, at));
                start = at;
            }
            content = true;
        } else if is_marker(bare, "...") {
            spans.push(Span::new(start, at.saturating_add(line.len())));
            start = at.saturating_add(line.len());
            content = false;
        } else {
            content |= !bare.trim().is_empty() && !bare.starts_with(['#', '%']);
        }
        at = at.saturating_add(line.len());
    }
    if content {
        spans.push(Span::new(start, at));
    }
    spans
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        let (_, spans) = split(text);
        spans.iter().map(|span| text.get(span.start..span.end).unwrap()).collect()
    }

    #[test]
    fn yaml_splits_at_markers_only() {
        let cases: [(&str, &[&str]); 9] = [
            ("a: 1\n---\nb: 2\n", &["a: 1\n", "---\nb: 2\n"]),
            ("# first\n---\na: 1\n", &["# first\n---\na: 1\n"]),
            ("%YAML 1.1\n---\na: 1\n...\n# x\n", &["%YAML 1.1\n---\na: 1\n...\n"]),
            ("a: |\n  ---\n  x\n--- # two\nb: 1", &["a: |\n  ---\n  x\n", "--- # two\nb: 1"]),
            ("a: ----\n----\n", &["a: ----\n----\n"]),
            ("\u{feff}---\r\na: 1\r\n---\r\nb: 2\r\n", &["\u{feff}---\r\na: 1\r\n", "---\r\nb: 2\r\n"]),
            ("---\n---\n", &["---\n", "---\n"]),
            ("# nothing\n\n", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(parts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_is_a_stream_of_values() {
        assert_eq!(parts(" {\"a\": 1}\n{\"b\":\n2} "), ["{\"a\": 1}", "{\"b\":\n2}"]);
        assert!(matches!(split("{\"a\": 1}"), (Syntax::Json, _)));
        // Flow style is YAML, and so is JSON with a mistake in it: YAML's message is as good.
        assert!(matches!(split("{a: 1}"), (Syntax::Yaml, _)));
        assert!(matches!(split("{\"a\": 1"), (Syntax::Yaml, _)));
    }
}
