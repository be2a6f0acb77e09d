//! The text around a node: spaces, comments, line ends and the indicators between nodes, which no node's span
//! covers.
//!
//! Only LF and CR LF end a line: the reader refuses a text with other breaks.

use super::Pair;
use crate::diag::Span;

const BREAKS: [char; 2] = ['\n', '\r'];
const SPACES: [char; 2] = [' ', '\t'];

/// Moves behind the spaces, line ends and comments at `at`.
fn skip_space(text: &str, at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(|c| SPACES.contains(&c) || BREAKS.contains(&c));
        if !rest.starts_with('#') {
            return text.len() - rest.len();
        }
        rest = rest.trim_start_matches(|c| !BREAKS.contains(&c));
    }
}

/// Returns the end of the indicator, if it is what comes next after `at`.
pub(super) fn indicator(text: &str, at: usize, indicator: char) -> Option<usize> {
    let at = skip_space(text, at);
    text.get(at..)?.starts_with(indicator).then_some(at + 1)
}

/// Returns the end of the line, if nothing but spaces and a comment comes between `at` and it.
pub(super) fn line_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.split(BREAKS).next()?;
    let content = rest.trim_start_matches(SPACES);
    (content.is_empty() || content.starts_with('#')).then_some(at + rest.len())
}

/// Returns the line break of the text.
pub(super) fn newline(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// Returns what stands in front of `at` on its line.
pub(super) fn before(text: &str, at: usize) -> &str {
    let before = text.get(..at).and_then(|before| before.rsplit(BREAKS).next()).unwrap_or_default();
    before.trim_start_matches('\u{feff}')
}

/// Returns the start of a node behind its anchor.
pub(super) fn content(text: &str, span: Span) -> usize {
    let written = text.get(span.start..span.end).unwrap_or_default();
    let is_space = |c| SPACES.contains(&c) || BREAKS.contains(&c);
    let anchor = if written.starts_with('&') { written.find(is_space) } else { None };
    skip_space(text, span.start + anchor.unwrap_or_default())
}

/// Returns the end of a pair: behind its value, or behind the colon or the key when the value is empty.
pub(super) fn pair_end(text: &str, (key, value): &Pair<'_>) -> usize {
    if value.span.start < value.span.end {
        return value.span.end;
    }
    indicator(text, key.span.end, ':').unwrap_or(key.span.end)
}
