//! Brackets that Go and the parser end at the same place.
//!
//! Inside brackets the parser knows nested ones and the operators `&&`, `--` and `~~`; to Go these are characters.

use regex_syntax::ast::ClassAsciiKind;

use super::error::{INVALID_CLASS, READ_DIFFERENTLY, refusal};
use crate::diag::{Diagnostic, Span};

/// Refuses `\Q`, and inside brackets all that the parser and Go may read differently.
pub(super) fn check(pattern: &str) -> Result<(), Diagnostic> {
    let mut rest = pattern;
    let mut inside = false;
    while let Some(c) = rest.chars().next() {
        let at = pattern.len() - rest.len();
        let length = match c {
            '\\' if rest.starts_with(r"\Q") => return Err(differently(pattern, at)),
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' if inside && is_range(pattern, at) => return Err(differently(pattern, at)),
            '[' if inside => posix_name(pattern, at, rest)?,
            '[' => opening(rest),
            '&' | '-' | '~' if inside && rest.chars().nth(1) == Some(c) => {
                return Err(differently(pattern, at));
            }
            _ => c.len_utf8(),
        };
        inside = (inside || c == '[') && c != ']';
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// The length of `[`, `[^`, `[]` or `[^]`, whose `]` is a character.
fn opening(rest: &str) -> usize {
    ["[^]", "[^", "[]"].into_iter().find(|opening| rest.starts_with(opening)).map_or(1, str::len)
}

/// Tells whether the character at `at` may end a range.
fn is_range(pattern: &str, at: usize) -> bool {
    pattern.get(..at).is_some_and(|before| before.ends_with('-'))
}

/// The length of `[:alpha:]` or `[:^alpha:]`.
fn posix_name(pattern: &str, at: usize, rest: &str) -> Result<usize, Diagnostic> {
    let Some((name, _)) = rest.strip_prefix("[:").and_then(|name| name.split_once(":]")) else {
        return Err(differently(pattern, at));
    };
    let length = "[:".len() + name.len() + ":]".len();
    match ClassAsciiKind::from_name(name.strip_prefix('^').unwrap_or(name)) {
        Some(_) => Ok(length),
        None => Err(refusal(INVALID_CLASS, pattern, Span::new(at, at + length))),
    }
}

fn differently(pattern: &str, at: usize) -> Diagnostic {
    let length = pattern.get(at..).map_or(0, |rest| rest.chars().take(2).map(char::len_utf8).sum());
    refusal(READ_DIFFERENTLY, pattern, Span::new(at, at + length))
}
