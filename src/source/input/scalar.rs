//! Maps spans inside a string to spans in the file that holds it.
//!
//! An ACL is a string in a manifest, a queues.yaml is a block scalar in a ConfigMap: a finding inside is
//! shown where it was written, through quotes, escapes and indentation. If that cannot be traced (folded
//! text), the span is the whole scalar.

use go_compat::diag::Span;
use go_compat::yaml::{Kind, Node, Style};

/// Location of each byte of a scalar's content in the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentSpans {
    /// For each byte of the content the bytes of the text it came from, and one empty span for the end. Empty
    /// if it cannot be traced.
    bytes: Vec<Span>,
    whole: Span,
}

impl ContentSpans {
    /// Traces the content of `node`, which was read from the part of `text` that begins at `start`; a node
    /// that is no scalar has one span.
    pub fn trace(text: &str, start: usize, node: &Node) -> Self {
        let whole = node.span.shifted(start);
        let bytes = match &node.kind {
            Kind::Scalar { value, style } if !node.shared => trace(text, whole, value, *style),
            _ => None,
        };
        Self { bytes: bytes.unwrap_or_default(), whole }
    }

    /// Creates the spans of a content that cannot be traced.
    pub fn whole(whole: Span) -> Self {
        Self { bytes: Vec::new(), whole }
    }

    /// Returns whether each part of the content can be located.
    pub fn is_exact(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Converts spans in a text that is itself the content of `outer` to spans in the outer text.
    #[must_use]
    pub fn through(self, outer: &Self) -> Self {
        let bytes = if outer.bytes.is_empty() { Vec::new() } else { self.bytes };
        let bytes = bytes.into_iter().map(|byte| outer.span(byte)).collect();
        Self { bytes, whole: outer.span(self.whole) }
    }

    /// Returns the spans of the contents one after another, each with its end.
    pub fn joined(parts: impl IntoIterator<Item = (usize, Self)>) -> Self {
        let mut all = Self::default();
        for (length, part) in parts {
            let bytes = (0..=length).map(|at| part.span(Span::new(at, at.saturating_add(1))));
            all.bytes.extend(bytes);
            all.whole = if all.whole == Span::default() { part.whole } else { all.whole };
        }
        all
    }

    /// Returns the span of a part of the content.
    pub fn span(&self, part: Span) -> Span {
        let first = self.bytes.get(part.start);
        // Uses the last byte, not the next one, because the next may be on another line, after its
        // indentation.
        let last =
            part.end.checked_sub(1).filter(|last| *last >= part.start).map(|last| self.bytes.get(last));
        match (first, last) {
            (Some(first), None) => Span::new(first.start, first.start),
            (Some(first), Some(Some(last))) => Span::new(first.start, last.end),
            _ => self.whole,
        }
    }
}

fn trace(text: &str, span: Span, value: &str, style: Style) -> Option<Vec<Span>> {
    let raw = text.get(span.start..span.end)?;
    let bytes = match style {
        Style::Plain => plain(raw, value),
        Style::SingleQuoted => quoted(raw, value, '\''),
        Style::DoubleQuoted => quoted(raw, value, '"'),
        // The text goes on after the node: the last line may lack its line break.
        Style::Literal => literal(text.get(span.start..)?, value),
        Style::Folded => None,
    }?;
    Some(bytes.into_iter().map(|byte| byte.shifted(span.start)).collect())
}

/// Returns a span for each byte from `start` to `end`.
fn each(start: usize, end: usize) -> impl Iterator<Item = Span> {
    (start..end).map(|at| Span::new(at, at.saturating_add(1)))
}

fn plain(raw: &str, value: &str) -> Option<Vec<Span>> {
    let start = raw.strip_suffix(value)?.len();
    Some(each(start, raw.len()).chain([Span::new(raw.len(), raw.len())]).collect())
}

fn quoted(raw: &str, value: &str, quote: char) -> Option<Vec<Span>> {
    let mut at = raw.find(quote)?.saturating_add(quote.len_utf8());
    let mut bytes = Vec::with_capacity(value.len().saturating_add(1));
    for meant in value.chars() {
        let span = Span::new(at, at.saturating_add(length(raw.get(at..)?, quote, meant)?));
        bytes.extend(std::iter::repeat_n(span, meant.len_utf8()));
        at = span.end;
    }
    bytes.push(Span::new(at, at));
    Some(bytes)
}

/// Returns the number of bytes that a character of the content takes between quotes; `None` if another one
/// is written, because the scalar spans lines, which are folded.
fn length(raw: &str, quote: char, meant: char) -> Option<usize> {
    let mut chars = raw.chars();
    match (quote, chars.next()?) {
        ('\'', '\'') => Some(2),
        ('"', '\\') => match chars.next()? {
            '\n' | '\r' => None,
            'x' => Some(4),
            'u' => Some(6),
            'U' => Some(10),
            letter => Some(letter.len_utf8().saturating_add(1)),
        },
        (_, written) => (written == meant).then(|| written.len_utf8()),
    }
}

/// Traces a literal block: each line of the content is the end of a line of the text.
fn literal(raw: &str, value: &str) -> Option<Vec<Span>> {
    let header = raw.split_inclusive('\n').next()?;
    let mut at = header.len();
    let mut lines = raw.get(at..)?.split_inclusive('\n');
    let mut bytes = Vec::with_capacity(value.len().saturating_add(1));
    for content in value.split_inclusive('\n') {
        let bare = content.strip_suffix('\n').unwrap_or(content);
        let line = lines.next().unwrap_or("");
        let shown = line.trim_end_matches(['\n', '\r']);
        let indent = shown.strip_suffix(bare)?;
        if indent.contains(|c| c != ' ') {
            return None;
        }
        let start = at.saturating_add(indent.len());
        let end = start.saturating_add(bare.len());
        bytes.extend(each(start, end));
        at = at.saturating_add(line.len());
        if content.len() > bare.len() {
            bytes.push(Span::new(end, at));
        }
    }
    bytes.push(Span::new(at, at));
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use go_compat::yaml::parse;

    /// Returns the text at the span of `part` of the value after the first key.
    fn found<'a>(text: &'a str, part: &str) -> &'a str {
        let root = parse(text).unwrap().unwrap();
        let node = &root.as_mapping().unwrap()[0].1;
        let start = node.as_scalar().unwrap().find(part).expect(part);
        let span = ContentSpans::trace(text, 0, node).span(Span::new(start, start + part.len()));
        text.get(span.start..span.end).unwrap()
    }

    #[test]
    fn parts_are_found_through_every_style() {
        let cases = [
            ("a: sue dev # x\n", "dev", "dev"),
            ("a: &x sue dev\n", "sue dev", "&x sue dev"),
            ("a: 'it''s ok'\n", "ok", "ok"),
            ("a: \"sue\\tdev\"\n", "dev", "dev"),
            ("a: \"\\u00fcx\\x41b\"\n", "b", "b"),
            ("a: |\n  x: 1\n    y: ü\n\n  z: 3\n", "z: 3", "z: 3"),
            ("a: |\n  x: 1\n    y: ü\n\n  z: 3\n", "y: ü", "y: ü"),
            ("a: |2-\n    x: 1\r\n    z: 3", "z", "z"),
            ("{\"a\": \"p:\\n- q\"}", "q", "q"),
        ];
        for (text, part, expected) in cases {
            assert_eq!(found(text, part), expected, "{text:?}");
        }
    }

    #[test]
    fn parts_of_a_text_in_a_text_are_found_in_the_outer_one() {
        for text in [
            "values: |\n  a: |\n    sue dev\n    bob ops\n",
            "values: |\n  a: 'x bob ops'\n",
            "values: \"a: |\\n  sue dev\\n  bob ops\"\n",
            "{\"values\": \"a: \\\"x\\u0041bob ops\\\"\"}",
            "values: >-\n  a: bob ops\n",
        ] {
            let of = |text: &str| parse(text).unwrap().unwrap().as_mapping().unwrap()[0].1.clone();
            let outer = of(text);
            let inner_text = outer.as_scalar().unwrap();
            let spans = ContentSpans::trace(text, 0, &outer);
            let inner = of(inner_text);
            let start = inner.as_scalar().unwrap().find("bob").unwrap();
            let inner = ContentSpans::trace(inner_text, 0, &inner).through(&spans);
            let span = inner.span(Span::new(start, start + "bob ops".len()));
            let shown = text.get(span.start..span.end).unwrap();
            assert!(
                shown == "bob ops" || text.contains('>') && shown.contains("bob ops"),
                "{text:?} gives {shown:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_traced_is_one_place() {
        for text in ["a: >\n  sue\n  dev\n", "a: sue\n  dev\n", "a: \"sue\n  dev\"\n"] {
            let shown = found(text, "dev");
            assert!(shown.contains("sue"), "{text:?} gives {shown:?}");
        }
    }

    #[test]
    fn places_stay_inside_the_text() {
        let text = "a: |\n  x";
        let root = parse(text).unwrap().unwrap();
        let node = &root.as_mapping().unwrap()[0].1;
        let spans = ContentSpans::trace(text, 0, node);
        for start in 0..5 {
            for end in start..5 {
                let span = spans.span(Span::new(start, end));
                assert!(span.end <= text.len() && text.get(span.start..span.end).is_some());
            }
        }
    }
}
