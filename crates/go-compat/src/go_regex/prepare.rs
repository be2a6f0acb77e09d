//! Brackets and braces, which the parser reads otherwise than Go.
//!
//! Inside brackets the parser knows nested ones and the operators `&&`, `--` and `~~`; to Go these are
//! characters. A `{` that begins no count is an error to the parser and a character to Go.

use regex_syntax::ast::ClassAsciiKind;

use super::error::{INVALID_CLASS, READ_DIFFERENTLY, refusal};
use crate::diag::{Diagnostic, Span};

/// A character for the parser in place of a `{` that Go reads as one. It has the same length, so spans stay.
pub(super) const BRACE: char = '\u{1}';

/// Returns the pattern for the parser. Refuses `\Q`, and inside brackets all that the parser and Go may read
/// differently.
pub(super) fn prepare(pattern: &str) -> Result<String, Diagnostic> {
    let mut prepared = String::with_capacity(pattern.len());
    let mut inside = false;
    while let Some((before, rest)) = pattern.split_at_checked(prepared.len()) {
        let Some(c) = rest.chars().next() else { break };
        let next = rest.chars().nth(1);
        let part = match c {
            BRACE => return Err(differently(pattern, before.len())),
            '\\' => escape(rest).ok_or_else(|| differently(pattern, before.len()))?,
            // It may end a range.
            '[' if inside && before.ends_with('-') => return Err(differently(pattern, before.len())),
            '[' if inside => posix_name(pattern, before.len())?,
            '[' => opening(rest).ok_or_else(|| differently(pattern, before.len()))?,
            '&' | '-' | '~' if inside && next == Some(c) => return Err(differently(pattern, before.len())),
            '{' if !inside && !is_count(rest) => {
                prepared.push(BRACE);
                continue;
            }
            _ => c.len_utf8(),
        };
        inside = (inside || c == '[') && c != ']';
        prepared.push_str(rest.get(..part).unwrap_or(rest));
    }
    Ok(prepared)
}

/// The length of `[`, `[^`, `[]` or `[^]`, whose `]` is a character; to Go it may begin a range.
fn opening(rest: &str) -> Option<usize> {
    let opening = ["[^]", "[]", "[^"].into_iter().find(|opening| rest.starts_with(opening)).unwrap_or("[");
    let begins_range = rest.strip_prefix(opening).is_some_and(|behind| behind.starts_with('-'));
    (!opening.ends_with(']') || !begins_range).then_some(opening.len())
}

/// The length of an escape with the brace that belongs to it. `\Q` quotes all that follows.
fn escape(rest: &str) -> Option<usize> {
    match rest.chars().nth(1) {
        Some('Q') => None,
        _ if [r"\x{", r"\p{", r"\P{"].iter().any(|braced| rest.starts_with(braced)) => Some(r"\x{".len()),
        escaped => Some(1 + escaped.map_or(0, char::len_utf8)),
    }
}

/// The length of `[:alpha:]` or `[:^alpha:]`.
fn posix_name(pattern: &str, at: usize) -> Result<usize, Diagnostic> {
    let name = pattern.get(at..).and_then(|rest| rest.strip_prefix("[:")?.split_once(":]"));
    let Some((name, _)) = name else { return Err(differently(pattern, at)) };
    let length = "[:".len() + name.len() + ":]".len();
    match ClassAsciiKind::from_name(name.strip_prefix('^').unwrap_or(name)) {
        Some(_) => Ok(length),
        None => Err(refusal(INVALID_CLASS, pattern, Span::new(at, at + length))),
    }
}

/// Tells whether Go reads a count: one or two limits of digits without a space or a leading zero.
fn is_count(rest: &str) -> bool {
    let is_limit = |text: &str| {
        text == "0" || !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
    };
    let Some((counts, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    match counts.split_once(',') {
        None => is_limit(counts),
        Some((min, max)) => is_limit(min) && (max.is_empty() || is_limit(max)),
    }
}

fn differently(pattern: &str, at: usize) -> Diagnostic {
    let length = pattern.get(at..).map_or(0, |rest| rest.chars().take(2).map(char::len_utf8).sum());
    refusal(READ_DIFFERENTLY, pattern, Span::new(at, at + length))
}
