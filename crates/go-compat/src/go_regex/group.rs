//! What follows `(`: names and flags.

use crate::diag::Diagnostic;

use super::error::GoError;
use super::input::Input;

/// The flags that change a meaning. `U` swaps greedy and lazy, which cannot change whether there is a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// `i`: letters match whatever their case.
    pub(super) fold_case: bool,
    /// `m`: `^` and `$` match at lines too.
    pub(super) multi_line: bool,
    /// `s`: `.` matches a newline too.
    pub(super) dot_matches_newline: bool,
}

/// What a `(` begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// A group, whose content has these flags.
    Group(Flags),
    /// No group: these flags hold from here to the end of the group around.
    SetFlags(Flags),
}

/// Reads from a `(` to the content of the group, or over a whole `(?flags)`.
pub(super) fn opening(input: &mut Input<'_>, flags: Flags) -> Result<Opening, Diagnostic> {
    let start = input.at();
    input.eat("(");
    if !input.eat("?") {
        return Ok(Opening::Group(flags));
    }
    // As in Go, `(?P<` at the very end of the pattern is no name but an unknown flag.
    let named = (input.rest().starts_with("P<") && input.rest().len() > 2)
        || (input.rest().starts_with('<') && input.rest().len() > 1);
    if named {
        return name(input, start).map(|()| Opening::Group(flags));
    }
    perl_flags(input, start, flags)
}

/// Reads `P<name>` or `<name>`. Go does not mind two groups of one name.
fn name(input: &mut Input<'_>, start: usize) -> Result<(), Diagnostic> {
    input.eat("P");
    input.eat("<");
    let Some(name) = input.take_until(">") else {
        input.take_rest();
        return Err(GoError::NamedCapture.quoting(input.since(start), input.span_since(start)));
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(GoError::NamedCapture.quoting(input.since(start), input.span_since(start)));
    }
    Ok(())
}

/// Reads `flags)`, `flags:`, `flags-flags)` or `flags-flags:`.
fn perl_flags(input: &mut Input<'_>, start: usize, mut flags: Flags) -> Result<Opening, Diagnostic> {
    let mut value = true;
    let mut minus_alone = false;
    while let Some(c) = input.next() {
        match c {
            'i' => flags.fold_case = value,
            'm' => flags.multi_line = value,
            's' => flags.dot_matches_newline = value,
            'U' => {}
            '-' if value => {
                value = false;
                minus_alone = true;
                continue;
            }
            ':' if !minus_alone => return Ok(Opening::Group(flags)),
            ')' if !minus_alone => return Ok(Opening::SetFlags(flags)),
            _ => break,
        }
        minus_alone = false;
    }
    Err(GoError::PerlOp.quoting(input.since(start), input.span_since(start)))
}
