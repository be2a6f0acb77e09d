//! Regular expressions as Go's `regexp` decides them.
//!
//! `YuniKorn` compiles its patterns with Go; this module matches them with the `regex` crate. A pattern
//! passes when each part of it means the same to both, or has a form that does: `\d`, `\s`, `\w` and `\b` are
//! ASCII in Go. Of the others, a pattern is refused as Go does where that is certain, and else as not known
//! here ([`is_undecided`]).
//!
//! `allowed` has the parts of a pattern that pass.

mod allowed;

use crate::diag::{Code, Diagnostic, Span, quoted};
use regex_syntax::ast::{self, ErrorKind};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind, Look};

/// Limits the bytes of a pattern. With [`MAX_DEPTH`] and [`MAX_SIZE`] it keeps patterns far below the limits
/// of Go, which depend on how Go simplifies: 1,000 levels of its tree, and 3.3 million instructions, of which
/// a byte makes two at most.
pub const MAX_BYTES: usize = 3000;
/// Limits how deep groups are nested.
pub const MAX_DEPTH: usize = 25;
/// Limits the bytes of a pattern, multiplied with its counts.
pub const MAX_SIZE: usize = 1_000_000;
/// Limits the memory of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 2 << 20;

/// A compiled expression that decides as Go's `regexp.MatchString` does.
#[derive(Debug, Clone)]
pub struct GoRegex {
    pattern: String,
    inner: regex::Regex,
}

impl GoRegex {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// One of [`CODES`] with a span; [`is_undecided`] tells whether Go refuses it, too.
    pub fn new(pattern: &str) -> Result<Self, Diagnostic> {
        if pattern.len() > MAX_BYTES {
            return Err(too_long(pattern));
        }
        let prepared = allowed::prepare(pattern)?;
        let parsed = ast::parse::Parser::new().parse(&prepared);
        let ast = parsed.map_err(|found| of_parser(pattern, &found))?;
        let spelled_out = allowed::spell_out(pattern, &ast)?;
        let inner = regex::RegexBuilder::new(&spelled_out)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|_| refusal(TOO_LARGE, pattern, Span::new(0, pattern.len())))?;
        Ok(Self { pattern: pattern.to_owned(), inner })
    }

    /// Searches anywhere in `text`, as `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        // `Regex::is_match` misses `ſ|\B` in `xſb`: it ends at an empty match of `\B` between two bytes of a
        // character.
        self.inner.find(text).is_some()
    }

    /// The texts that a match begins with, if they are few; they may be cut.
    pub fn prefixes(&self) -> Vec<String> {
        let Some(tree) = self.tree() else { return Vec::new() };
        let found = Extractor::new().extract(&tree);
        let texts = found.literals().unwrap_or_default().iter().map(|text| text.as_bytes().to_vec());
        texts.filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether every match ends at the end of the text.
    pub fn is_closed(&self) -> bool {
        self.tree().is_some_and(|tree| ends(&tree).1)
    }

    /// Returns whether it is an alternation like `^a|b$`, whose `^` belongs to the first alternative alone
    /// and whose `$` to the last alone.
    pub fn has_split_anchors(&self) -> bool {
        let Some(tree) = self.tree() else { return false };
        let HirKind::Alternation(alternatives) = tree.kind() else { return false };
        match alternatives.as_slice() {
            [first, between @ .., last] => {
                ends(first) == (true, false)
                    && ends(last) == (false, true)
                    && between.iter().all(|one| ends(one) == (false, false))
            }
            _ => false,
        }
    }

    fn tree(&self) -> Option<Hir> {
        regex_syntax::parse(self.inner.as_str()).ok()
    }
}

impl PartialEq for GoRegex {
    /// Two expressions are equal when they were written alike.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for GoRegex {}

/// Returns whether every match begins at the start of the text, and whether it ends at the end.
fn ends(tree: &Hir) -> (bool, bool) {
    let looks = tree.properties();
    (looks.look_set_prefix().contains(Look::Start), looks.look_set_suffix().contains(Look::End))
}

#[cfg(test)]
mod tests;

// Refusals of patterns: those that Go makes for certain, and those for lack of proof that Go agrees.

crate::codes! {
    /// A class, range or `\p` name that Go does not know.
    pub const INVALID_CLASS: Code = Code::new(4001, "go-invalid-character-class");
    /// A backslash before something that has no meaning in Go.
    pub const INVALID_ESCAPE: Code = Code::new(4002, "go-invalid-escape");
    /// `(?P<…>` or `(?<…>` without a valid name.
    pub const INVALID_NAME: Code = Code::new(4003, "go-invalid-named-capture");
    /// A `(?…` that Go does not have.
    pub const INVALID_PERL: Code = Code::new(4004, "go-invalid-perl-syntax");
    /// One repetition operator directly behind another.
    pub const NESTED_REPETITION: Code = Code::new(4005, "go-nested-repetition");
    /// A count over 1000, alone or multiplied with the counts around it, or `{max,min}`.
    pub const INVALID_COUNT: Code = Code::new(4006, "go-invalid-repeat-count");
    /// A class that is not closed with `]`.
    pub const MISSING_BRACKET: Code = Code::new(4007, "go-missing-bracket");
    /// A group that is not closed with `)`.
    pub const MISSING_PAREN: Code = Code::new(4008, "go-missing-paren");
    /// A repetition operator with nothing before it.
    pub const MISSING_ARGUMENT: Code = Code::new(4009, "go-missing-repeat-argument");
    /// A backslash at the end.
    pub const TRAILING_BACKSLASH: Code = Code::new(4010, "go-trailing-backslash");
    /// A `)` that closes nothing.
    pub const UNEXPECTED_PAREN: Code = Code::new(4011, "go-unexpected-paren");
    /// A pattern is longer than is read here ([`MAX_BYTES`]).
    pub const TOO_LONG: Code = Code::new(4051, "regex-too-long");
    /// Groups are nested deeper than is read here ([`MAX_DEPTH`]).
    pub const TOO_DEEP: Code = Code::new(4052, "regex-too-deep");
    /// The bytes of a pattern, multiplied with its counts, are more than are read here ([`MAX_SIZE`]), or
    /// its memory is.
    pub const TOO_LARGE: Code = Code::new(4053, "regex-too-large");
    /// A Unicode class: Go has the tables of another version of Unicode.
    pub const UNPROVEN_CLASS: Code = Code::new(4054, "regex-unproven-unicode-class");
    /// A construct that Go may read in another way than is known here.
    pub const READ_DIFFERENTLY: Code = Code::new(4056, "regex-read-differently");
}

/// Returns whether a refusal of [`super::GoRegex::new`] leaves open what Go does: it may compile the pattern,
/// whose meaning is not known here. Else Go does not compile it.
pub fn is_undecided(refusal: &Diagnostic) -> bool {
    [TOO_LONG, TOO_DEEP, TOO_LARGE, UNPROVEN_CLASS, READ_DIFFERENTLY].contains(&refusal.code)
}

/// Refuses a pattern for the part of it at `span`.
fn refusal(code: Code, pattern: &str, span: Span) -> Diagnostic {
    let (why, help) = texts(code);
    let span = if span.start == span.end { character(pattern, span.start) } else { span };
    let part = quoted(pattern.get(span.start..span.end).unwrap_or(pattern));
    Diagnostic::error(code, format!("{part} {why}")).at(span).help(help)
}

/// The character at `at`, or the last one.
fn character(pattern: &str, at: usize) -> Span {
    let next = pattern.char_indices().find(|(start, _)| *start >= at);
    let (start, c) = next.or_else(|| pattern.char_indices().next_back()).unwrap_or_default();
    Span::new(start, start + c.len_utf8())
}

fn texts(code: Code) -> (&'static str, &'static str) {
    match code {
        INVALID_CLASS => (
            "is no class or range that Go knows",
            "write a range from the smaller to the larger character, a name as in `[[:alpha:]]`, and `-` itself as `\\-`",
        ),
        INVALID_ESCAPE => (
            "is no escape that Go knows",
            "write a letter or digit as it is, a code point as `\\x{61}`, the end of the text as `$`",
        ),
        INVALID_NAME => (
            "is not in the name of a group in Go",
            "name it with ASCII letters, digits and `_`, as in `(?P<name>…)`, or leave the name out",
        ),
        INVALID_PERL => (
            "is syntax that Go does not have",
            "leave it out: there is no look-around, and the flags are `i`, `m`, `s` and `U`, as in `(?i)` or `(?i:…)`",
        ),
        NESTED_REPETITION => (
            "repeats a repetition",
            "use one operator, or put the inner repetition into a group, as in `(?:a*)+`",
        ),
        INVALID_COUNT => (
            "is a count that Go refuses",
            "count up to 1000, multiplied with the counts around it, and write the smaller limit first",
        ),
        MISSING_BRACKET => {
            ("is not closed with `]`", "close the class with `]`, or write the character `[` as `\\[`")
        }
        MISSING_PAREN => {
            ("is not closed with `)`", "close the group with `)`, or write the character `(` as `\\(`")
        }
        MISSING_ARGUMENT => (
            "has nothing before it to repeat",
            "put before it what repeats, as in `.*`, or a backslash where the character is meant",
        ),
        TRAILING_BACKSLASH => {
            ("at the end escapes nothing", "remove it, or write the character `\\` as `\\\\`")
        }
        UNEXPECTED_PAREN => {
            ("closes no group", "remove it, open a group before it, or write the character `)` as `\\)`")
        }
        TOO_DEEP => {
            ("is a group nested deeper than is read here", "split the pattern into several simpler ones")
        }
        TOO_LARGE => (
            "is larger than is read here when its counts are multiplied",
            "split the pattern into several simpler ones",
        ),
        UNPROVEN_CLASS => (
            "may not have the same characters in the version of Unicode that Go has",
            "name the characters, as in `[a-zß]`",
        ),
        _ => (
            "may have another meaning to Go than is known here",
            "write it with characters, `.`, classes as `[a-z]`, groups, `|`, `*`, `+`, `?` and counts as `{2}`; \
             a backslash makes a character of each of these",
        ),
    }
}

/// Refuses a pattern that is longer than [`MAX_BYTES`].
fn too_long(pattern: &str) -> Diagnostic {
    // The span begins at a character, wherever the limit falls.
    let decided = (0..=MAX_BYTES).rev().find(|at| pattern.is_char_boundary(*at)).unwrap_or_default();
    let message = format!("the pattern has {} bytes, more than the {MAX_BYTES} that are read", pattern.len());
    Diagnostic::error(TOO_LONG, message)
        .at(Span::new(decided, pattern.len()))
        .help("split it into several simpler patterns")
}

/// Returns a span of the parser as one of ours.
fn span_of(span: &ast::Span) -> Span {
    Span::new(span.start.offset, span.end.offset)
}

/// Converts a refusal of the parser. It is reported as Go's if Go reads everything before it in the same way
/// and gives it no meaning.
fn of_parser(pattern: &str, error: &ast::Error) -> Diagnostic {
    let span = span_of(error.span());
    let part = pattern.get(span.start..span.end).unwrap_or_default();
    let behind = pattern.get(span.end..).unwrap_or_default();
    let code = match error.kind() {
        ErrorKind::ClassRangeInvalid => INVALID_CLASS,
        ErrorKind::ClassUnclosed => MISSING_BRACKET,
        ErrorKind::EscapeUnexpectedEof if part == r"\" => TRAILING_BACKSLASH,
        ErrorKind::EscapeHexEmpty | ErrorKind::EscapeHexInvalidDigit | ErrorKind::EscapeUnexpectedEof => {
            INVALID_ESCAPE
        }
        ErrorKind::ClassEscapeInvalid | ErrorKind::EscapeUnrecognized
            if !matches!(part, r"\<" | r"\>" | r"\Q" | r"\E") =>
        {
            INVALID_ESCAPE
        }
        // Behind `\0`, and before another digit, Go may read an octal number.
        ErrorKind::UnsupportedBackreference
            if part != r"\0" && !behind.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            INVALID_ESCAPE
        }
        ErrorKind::FlagDanglingNegation
        | ErrorKind::FlagUnexpectedEof
        | ErrorKind::FlagUnrecognized
        | ErrorKind::UnsupportedLookAround => INVALID_PERL,
        ErrorKind::GroupNameEmpty | ErrorKind::GroupNameUnexpectedEof => INVALID_NAME,
        // Go also takes a digit at the start.
        ErrorKind::GroupNameInvalid if !part.starts_with(|c: char| c.is_ascii_digit()) => INVALID_NAME,
        ErrorKind::GroupUnclosed => MISSING_PAREN,
        ErrorKind::GroupUnopened => UNEXPECTED_PAREN,
        ErrorKind::NestLimitExceeded(_) => {
            return refusal(TOO_DEEP, pattern, character(pattern, span.start));
        }
        ErrorKind::RepetitionCountInvalid => INVALID_COUNT,
        ErrorKind::RepetitionMissing if lacks_argument(pattern, span.start) => MISSING_ARGUMENT,
        _ => READ_DIFFERENTLY,
    };
    refusal(code, pattern, span)
}

/// Tells whether Go has nothing to repeat either. It takes `(?)`, and repeats in `a(?i)*` the `a`.
fn lacks_argument(pattern: &str, at: usize) -> bool {
    let Some((before, operator)) = pattern.split_at_checked(at) else { return false };
    match before.chars().next_back() {
        Some(')') => false,
        Some('(') => operator.starts_with(['*', '+', '{']),
        _ => operator.starts_with(['*', '+', '?', '{']),
    }
}
