//! The text around a place: blanks, comments, line ends and the indicators between nodes, which no node's span covers.
//!
//! Only LF and CR LF end a line: the reader refuses a text with other breaks.

use super::Pair;
use crate::diag::Span;

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// The first place from `at` on whose byte is not one that `skip` takes.
fn skip_while(text: &str, at: usize, skip: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().position(|&byte| !skip(byte)).map_or(text.len(), |count| at + count)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Behind the blanks at `at`.
pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    skip_while(text, at, is_blank)
}

/// In front of the blanks before `at`.
pub(super) fn skip_blanks_back(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end_matches([' ', '\t']).len())
}

/// Behind the blanks, line ends and comments at `at`.
pub(super) fn skip_space(text: &str, at: usize) -> usize {
    let mut at = skip_while(text, at, |byte| is_blank(byte) || is_break(byte));
    while byte(text, at) == Some(b'#') {
        at = skip_while(text, at, |byte| !is_break(byte));
        at = skip_while(text, at, |byte| is_blank(byte) || is_break(byte));
    }
    at
}

/// Behind the indicator, if it is what comes next after `at`.
pub(super) fn indicator(text: &str, at: usize, indicator: u8) -> Option<usize> {
    let at = skip_space(text, at);
    (byte(text, at) == Some(indicator)).then_some(at + 1)
}

/// The end of the line, if nothing but blanks and a comment comes between `at` and it.
pub(super) fn line_end(text: &str, at: usize) -> Option<usize> {
    let at = skip_blanks(text, at);
    match byte(text, at) {
        None => Some(at),
        Some(byte) if is_break(byte) => Some(at),
        Some(b'#') => Some(skip_while(text, at, |byte| !is_break(byte))),
        Some(_) => None,
    }
}

/// Whether a comment stands between the two places. Only for places with nothing but blanks, line ends, commas and comments
/// between them.
pub(super) fn comment_between(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|between| between.contains('#'))
}

/// The line break at `at`, or nothing.
pub(super) fn line_break(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    ["\r\n", "\n", "\r"].into_iter().find(|found| rest.starts_with(found)).unwrap_or("")
}

/// Behind the break at `at` and the empty lines below it.
pub(super) fn skip_empty_lines(text: &str, mut at: usize) -> usize {
    loop {
        let end = skip_blanks(text, at);
        let found = line_break(text, end).len();
        if found == 0 {
            return if end == text.len() { end } else { at };
        }
        at = end + found;
    }
}

/// What ends the lines of this text: the break at `at`, else the first one, else a newline.
pub(super) fn newline(text: &str, at: usize) -> &str {
    let first = || text.find(['\n', '\r']).map_or("\n", |first| line_break(text, first));
    match line_break(text, at) {
        "" => first(),
        found => found,
    }
}

/// The indentation in front of `at`, if nothing else stands before it in its line.
pub(super) fn indentation(text: &str, at: usize) -> Option<&str> {
    let start = skip_blanks_back(text, at);
    let before = text.get(..start)?;
    let first = before.is_empty() || before.ends_with(['\n', '\r', '\u{feff}']);
    if first { text.get(start..at) } else { None }
}

/// The column of `at`, in characters.
pub(super) fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind(['\n', '\r']).and_then(|end| before.get(end + 1..)).unwrap_or(before);
    line.trim_start_matches('\u{feff}').chars().count()
}

/// The start of a node behind its anchor.
pub(super) fn content(text: &str, span: Span) -> usize {
    let mut at = span.start;
    while at < span.end && matches!(byte(text, at), Some(b'&')) {
        at = skip_space(text, skip_while(text, at, |byte| !is_blank(byte) && !is_break(byte)));
    }
    at
}

/// The byte at `at` is `expected`.
pub(super) fn is(text: &str, at: usize, expected: u8) -> bool {
    byte(text, at) == Some(expected)
}

/// Where a pair ends: behind its value, or behind the colon or the key when the value is empty.
pub(super) fn pair_end(text: &str, (key, value): &Pair<'_>) -> usize {
    if value.span.start < value.span.end {
        return value.span.end;
    }
    indicator(text, key.span.end, b':').unwrap_or(key.span.end)
}
