//! Character classes: `[…]`, POSIX names, `\d \s \w`, `\p{…}` (`parse.go` `parseClass` and what it calls).

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::diag::{Diagnostic, Span};

use super::error::{self, GoError};
use super::escape;
use super::input::Input;
use super::unicode::{self, Unknown};

const DIGIT: &[(char, char)] = &[('0', '9')];
/// `\s` has no vertical tab, `[[:space:]]` has.
const PERL_SPACE: &[(char, char)] = &[('\t', '\n'), ('\x0C', '\r'), (' ', ' ')];
const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// Go's ASCII classes by POSIX name (`regexp/syntax/perl_groups.go`).
const POSIX: &[(&str, &[(char, char)])] = &[
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("ascii", &[('\0', '\x7F')]),
    ("blank", &[('\t', '\t'), (' ', ' ')]),
    ("cntrl", &[('\0', '\x1F'), ('\x7F', '\x7F')]),
    ("digit", DIGIT),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[('\t', '\r'), (' ', ' ')]),
    ("upper", &[('A', 'Z')]),
    ("word", WORD),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

/// Reads a bracketed class; the input stands at `[`.
pub(super) fn bracketed(input: &mut Input<'_>, fold_case: bool) -> Result<ClassUnicode, Diagnostic> {
    let open = input.at();
    input.eat("[");
    let negated = input.eat("^");
    let mut class = ClassUnicode::empty();
    let mut first = true;
    // A `]` is literal where nothing stands before it.
    while first || input.peek() != Some(']') {
        first = false;
        class.union(&item(input, open, fold_case)?);
    }
    input.eat("]");
    if negated {
        class.negate();
    }
    Ok(class)
}

/// One part of a bracketed class: a named class, an escaped class, a character or a range.
fn item(input: &mut Input<'_>, open: usize, fold_case: bool) -> Result<ClassUnicode, Diagnostic> {
    if let Some(class) = posix(input, fold_case)? {
        return Ok(class);
    }
    if let Some(class) = escaped(input, fold_case)? {
        return Ok(class);
    }
    range(input, open, fold_case)
}

/// Reads `\d`, `\pN`, `\p{Greek}` and the like; `None` when something else comes.
pub(super) fn escaped(input: &mut Input<'_>, fold_case: bool) -> Result<Option<ClassUnicode>, Diagnostic> {
    let start = input.at();
    if input.peek() != Some('\\') {
        return Ok(None);
    }
    let Some(letter) = input.peek_second() else {
        return Ok(None);
    };
    if matches!(letter, 'p' | 'P') {
        return property(input, fold_case).map(Some);
    }
    let ranges = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => PERL_SPACE,
        'w' => WORD,
        _ => return Ok(None),
    };
    input.eat("\\");
    input.next();
    named(ascii(ranges, fold_case, letter.is_ascii_uppercase()), input, start).map(Some)
}

/// Reads `[:name:]` or `[:^name:]`; `None` when something else comes, also when it is not closed.
fn posix(input: &mut Input<'_>, fold_case: bool) -> Result<Option<ClassUnicode>, Diagnostic> {
    let start = input.at();
    let mut ahead = *input;
    if !ahead.eat("[:") {
        return Ok(None);
    }
    let Some(name) = ahead.take_until(":]") else {
        return Ok(None);
    };
    *input = ahead;
    let (negated, bare) = match name.strip_prefix('^') {
        Some(bare) => (true, bare),
        None => (false, name),
    };
    let members = match POSIX.iter().find(|(known, _)| *known == bare) {
        Some((_, ranges)) => ascii(ranges, fold_case, negated),
        None => Err(Unknown::ToGo),
    };
    named(members, input, start).map(Some)
}

/// Case folding comes before negation: `(?i)[[:^lower:]]` excludes the long s, which folds to `s`.
fn ascii(ranges: &[(char, char)], fold_case: bool, negated: bool) -> Result<ClassUnicode, Unknown> {
    let class = ClassUnicode::new(ranges.iter().map(|(lo, hi)| ClassUnicodeRange::new(*lo, *hi)));
    let mut class = if fold_case { unicode::folded(class)? } else { class };
    if negated {
        class.negate();
    }
    Ok(class)
}

/// Reads `\pL`, `\p{Greek}`, `\P{…}` or `\p{^…}`.
fn property(input: &mut Input<'_>, fold_case: bool) -> Result<ClassUnicode, Diagnostic> {
    let start = input.at();
    input.eat("\\");
    let mut negated = input.next() == Some('P');
    let name_start = input.at();
    let name = if input.eat("{") {
        input.take_until("}")
    } else {
        input.next();
        Some(input.since(name_start))
    };
    let Some(name) = name else {
        input.take_rest();
        return Err(GoError::CharRange.quoting(input.since(start), input.span_since(start)));
    };
    let name = match name.strip_prefix('^') {
        Some(bare) => {
            negated = !negated;
            bare
        }
        None => name,
    };
    let mut class = named(unicode::property(name, fold_case), input, start)?;
    if negated {
        class.negate();
    }
    Ok(class)
}

/// The members of what was read since `start`, or why there are none.
fn named(
    members: Result<ClassUnicode, Unknown>,
    input: &Input<'_>,
    start: usize,
) -> Result<ClassUnicode, Diagnostic> {
    members.map_err(|unknown| match unknown {
        Unknown::ToGo => GoError::CharRange.quoting(input.since(start), input.span_since(start)),
        Unknown::ToUs => error::unproven_class(input.since(start), input.span_since(start)),
    })
}

/// Reads a character or a range of characters.
fn range(input: &mut Input<'_>, open: usize, fold_case: bool) -> Result<ClassUnicode, Diagnostic> {
    let start = input.at();
    let lo = character(input, open)?;
    let mut hi = lo;
    // In `[a-]` the `-` is literal.
    if input.peek() == Some('-') && input.peek_second().is_some_and(|c| c != ']') {
        input.eat("-");
        hi = character(input, open)?;
        if hi < lo {
            return Err(GoError::CharRange.quoting(input.since(start), input.span_since(start)));
        }
    }
    let class = characters(lo, hi);
    if fold_case { named(unicode::folded(class), input, start) } else { Ok(class) }
}

fn character(input: &mut Input<'_>, open: usize) -> Result<char, Diagnostic> {
    if input.peek() == Some('\\') {
        return escape::character(input);
    }
    input.next().ok_or_else(|| {
        GoError::MissingBracket.quoting(input.since(open), Span::new(open, open.saturating_add(1)))
    })
}

/// The characters from `lo` to `hi`, both included.
pub(super) fn characters(lo: char, hi: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(lo, hi)])
}
