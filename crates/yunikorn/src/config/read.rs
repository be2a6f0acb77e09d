//! Decodes text into the types of the schema, as strictly as yunikorn-core does (`config.go:176-194`).

use super::schema::SchedulerConfig;
use go_compat::diag::{Diagnostic, Span};
use go_compat::yaml::{NodeIn, decode, parse};

/// Decodes the first document. Unknown fields and repeated keys are errors; no document at all is an empty
/// configuration.
///
/// # Errors
/// Each single finding with its span.
pub fn read(text: &str) -> Result<SchedulerConfig, Vec<Diagnostic>> {
    decode::decode(parsed(text)?.as_ref())
}

/// The first document as YAML.
pub(super) fn parsed(text: &str) -> Result<Option<NodeIn<'_>>, Vec<Diagnostic>> {
    parse::parse_in(text).map_err(|diagnostic| vec![diagnostic])
}

/// The text after the first document that seems meaningful to a reader: from the first line after the root,
/// which ends at `end`, that is more than comments and document markers, to the end of the text.
///
/// It need not follow a marker: Go's decoder takes one document, which ends with its root. So another line
/// after the bracket of a root in brackets, and one with less indentation than the root's lines, is neither
/// read nor refused.
pub(super) fn ignored(text: &str, end: usize) -> Option<Span> {
    let mut start = end;
    for line in text.get(end..)?.split_inclusive('\n') {
        let begins_line = text.get(..start)?.chars().next_back().is_none_or(|last| last == '\n');
        let marker = ["---", "..."].iter().any(|marker| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        });
        let is_marker = begins_line && marker;
        let content = if is_marker { line.get(3..).unwrap_or_default() } else { line };
        if !content.trim().is_empty() && !content.trim_start().starts_with('#') {
            return Some(Span::new(start, text.trim_end().len()));
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text that is reported as ignored; an error where the text is not read at all.
    fn beyond(text: &str) -> Result<Option<&str>, Vec<Diagnostic>> {
        let root = parsed(text)?;
        let span = root.as_ref().and_then(|root| ignored(text, root.span.end));
        Ok(span.map(|span| text.get(span.start..span.end).unwrap()))
    }

    /// Each text was given to yaml.v3 3.0.1, which reads the first document of all of them without an error.
    #[test]
    fn text_behind_the_first_document_is_found_with_and_without_a_marker() {
        let cases = [
            ("{a: b}\na: [c]\n", Some("a: [c]")),
            ("{\"a\": \"b\"}\n{\"a\": \"c\"}\n", Some("{\"a\": \"c\"}")),
            ("&x {a: b}\n# c\n\na: [c]\n", Some("a: [c]")),
            ("  a: b\n# c\na: [c]\n", Some("a: [c]")),
            ("~ # c\na: [c]\n", Some("a: [c]")),
            ("a: b\n---\na: c\n", Some("a: c")),
            ("a: b\n--- {a: c}\n", Some("--- {a: c}")),
            ("a: b\n...\na: c\n", Some("a: c")),
            ("{a: b} # c\n\n  # d\n", None),
            ("{a: b}\n--- # c\n...\n", None),
            ("a:\n- b: |\n    c\n\n  # d\n", None),
            ("a:\n  - b: >+\n\n     c\n\n# d\n", None),
            ("a:\n- b\n-\n", None),
            ("# c\n", None),
            ("{a: b}\r\n---\r\n", None),
            ("{a: b}\r\n--- # c\r\na: [c]\r\n", Some("a: [c]")),
        ];
        for (text, expected) in cases {
            assert_eq!(beyond(text).unwrap(), expected, "{text:?}");
        }
    }

    proptest! {
        /// Text that is reported as ignored can be left out.
        #[test]
        fn what_is_ignored_decides_nothing(
            pieces in proptest::collection::vec(
                prop::sample::select(&[
                    "a", "b: ", "c:", "- ", "-", "\n", "\n", "\n  ", "\n ", "\r\n", "    ", "{", "}", "[", "]", ", ", "|", ">+", "'", "\"",
                    " # c", "\n---\n", "\n...\n", "--- ", "&x ", "*x", "~",
                ][..]),
                0..14,
            ),
        ) {
            let text = pieces.concat();
            if let Ok(Some(reported)) = beyond(&text) {
                let kept = text.trim_end().strip_suffix(reported).unwrap();
                let kinds = [&*text, kept].map(|text| parsed(text).expect("read").map(|root| root.kind));
                prop_assert_eq!(&kinds[0], &kinds[1], "{:?}", text);
            }
        }
    }
}
