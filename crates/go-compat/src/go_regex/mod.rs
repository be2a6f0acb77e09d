//! Regular expressions with the semantics of Go's `regexp`.
//!
//! `YuniKorn` compiles its patterns with Go; this module matches them with the `regex` crate. It accepts a
//! pattern if all its constructs mean the same to both, or can be rewritten so that they do: `\d`, `\s`, `\w`
//! and `\b` are ASCII in Go. For any other pattern it either reports Go's own error, if Go certainly has one,
//! or reports that Go's behavior is unknown ([`is_undecided`]).
//!
//! `allowed` lists the accepted constructs.

mod allowed;

use crate::diag::{Code, Diagnostic, Span, quoted};
use regex_syntax::ast::{self, ErrorKind};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind, Look};

/// Maximum length of a pattern in bytes. Together with [`MAX_DEPTH`] and [`MAX_SIZE`], it keeps patterns far
/// below Go's limits of 1,000 tree levels and 3.3 million instructions. Those apply after Go has simplified
/// the pattern; a byte compiles to at most two instructions.
pub const MAX_BYTES: usize = 3000;
/// Maximum nesting of groups.
pub const MAX_DEPTH: usize = 25;
/// Maximum length of a pattern in bytes multiplied by its repetition counts.
pub const MAX_SIZE: usize = 1_000_000;
/// Maximum memory of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 2 << 20;

/// A compiled expression that matches like Go's `regexp.MatchString`.
#[derive(Debug, Clone)]
pub struct GoRegex {
    pattern: String,
    inner: regex::Regex,
}

impl GoRegex {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// One of [`CODES`] with a span. [`is_undecided`] distinguishes Go's own errors from unsupported
    /// patterns.
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

    /// Searches anywhere in `text`, like `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        // `Regex::is_match` does not find `ſ|\B` in `xſb`: it stops at an empty match of `\B` between two
        // bytes of a character.
        self.inner.find(text).is_some()
    }

    /// Returns the prefixes of all matches, if there are few. They may be shortened.
    pub fn prefixes(&self) -> Vec<String> {
        let Some(tree) = self.tree() else { return Vec::new() };
        let found = Extractor::new().extract(&tree);
        let texts = found.literals().unwrap_or_default().iter().map(|text| text.as_bytes().to_vec());
        texts.filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether every match ends at the end of the text.
    pub fn is_closed(&self) -> bool {
        self.tree().is_some_and(|tree| ends(&tree).1)
    }

    /// Returns whether it is an alternation such as `^a|b$`, in which `^` applies only to the first
    /// alternative and `$` only to the last.
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
    /// Compares the patterns as written.
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for GoRegex {}

/// Returns whether every match begins at the start of the text and whether every match ends at its end.
fn ends(tree: &Hir) -> (bool, bool) {
    let looks = tree.properties();
    (looks.look_set_prefix().contains(Look::Start), looks.look_set_suffix().contains(Look::End))
}

#[cfg(test)]
mod tests;

// Refusals: patterns that Go certainly refuses, and patterns for which Go's behavior is not proved.

crate::codes! {
    /// Go does not support a class, range or `\p` name.
    pub const INVALID_CLASS: Code = Code::new(4001, "go-invalid-character-class");
    /// A backslash is followed by a character that Go cannot escape.
    pub const INVALID_ESCAPE: Code = Code::new(4002, "go-invalid-escape");
    /// `(?P<…>` or `(?<…>` has no valid name.
    pub const INVALID_NAME: Code = Code::new(4003, "go-invalid-named-capture");
    /// Go does not support this `(?…` syntax.
    pub const INVALID_PERL: Code = Code::new(4004, "go-invalid-perl-syntax");
    /// A repetition operator directly follows another one.
    pub const NESTED_REPETITION: Code = Code::new(4005, "go-nested-repetition");
    /// A count exceeds 1000, alone or multiplied by the counts around it, or has the form `{max,min}`.
    pub const INVALID_COUNT: Code = Code::new(4006, "go-invalid-repeat-count");
    /// A class is not closed with `]`.
    pub const MISSING_BRACKET: Code = Code::new(4007, "go-missing-bracket");
    /// A group is not closed with `)`.
    pub const MISSING_PAREN: Code = Code::new(4008, "go-missing-paren");
    /// A repetition operator has nothing to repeat.
    pub const MISSING_ARGUMENT: Code = Code::new(4009, "go-missing-repeat-argument");
    /// The pattern ends with a backslash.
    pub const TRAILING_BACKSLASH: Code = Code::new(4010, "go-trailing-backslash");
    /// A `)` closes no group.
    pub const UNEXPECTED_PAREN: Code = Code::new(4011, "go-unexpected-paren");
    /// A pattern exceeds the maximum length in bytes ([`MAX_BYTES`]).
    pub const TOO_LONG: Code = Code::new(4051, "regex-too-long");
    /// Groups are nested too deeply ([`MAX_DEPTH`]).
    pub const TOO_DEEP: Code = Code::new(4052, "regex-too-deep");
    /// A pattern needs too much memory, or its length multiplied by its counts exceeds the maximum
    /// ([`MAX_SIZE`]).
    pub const TOO_LARGE: Code = Code::new(4053, "regex-too-large");
    /// A Unicode class may differ, because Go has the tables of another version of Unicode.
    pub const UNPROVEN_CLASS: Code = Code::new(4054, "regex-unproven-unicode-class");
    /// Go may read a construct differently.
    pub const READ_DIFFERENTLY: Code = Code::new(4056, "regex-read-differently");
}

/// Returns whether a refusal of [`super::GoRegex::new`] leaves open what Go does. If not, Go refuses the
/// pattern.
pub fn is_undecided(refusal: &Diagnostic) -> bool {
    [TOO_LONG, TOO_DEEP, TOO_LARGE, UNPROVEN_CLASS, READ_DIFFERENTLY].contains(&refusal.code)
}

fn refusal(code: Code, pattern: &str, span: Span) -> Diagnostic {
    let (why, help) = texts(code);
    let span = if span.start == span.end { character(pattern, span.start) } else { span };
    let part = quoted(pattern.get(span.start..span.end).unwrap_or(pattern));
    Diagnostic::error(code, format!("{part} {why}")).at(span).help(help)
}

/// Returns the span of the character at `at`, or of the last character.
fn character(pattern: &str, at: usize) -> Span {
    let next = pattern.char_indices().find(|(start, _)| *start >= at);
    let (start, c) = next.or_else(|| pattern.char_indices().next_back()).unwrap_or_default();
    Span::new(start, start + c.len_utf8())
}

fn texts(code: Code) -> (&'static str, &'static str) {
    match code {
        INVALID_CLASS => (
            "is not a valid class or range in Go",
            "write a range in ascending order, a class such as `[[:alpha:]]`, or a literal `-` as `\\-`",
        ),
        INVALID_ESCAPE => (
            "is not a valid escape in Go",
            "remove the backslash before a letter or digit, write a code point as `\\x{61}`, and the end of the text as `$`",
        ),
        INVALID_NAME => (
            "is not allowed in a group name in Go",
            "use only ASCII letters, digits and `_`, as in `(?P<name>…)`, or omit the name",
        ),
        INVALID_PERL => (
            "is not supported by Go",
            "remove it; Go has no look-around, and its flags are `i`, `m`, `s` and `U`, as in `(?i)` or `(?i:…)`",
        ),
        NESTED_REPETITION => (
            "repeats a repetition",
            "use one operator, or put the inner repetition in a group, as in `(?:a*)+`",
        ),
        INVALID_COUNT => (
            "is not a valid repetition count in Go",
            "write the smaller limit first; the count multiplied by the counts around it must not exceed 1000",
        ),
        MISSING_BRACKET => {
            ("is not closed with `]`", "close the class with `]`, or write a literal `[` as `\\[`")
        }
        MISSING_PAREN => {
            ("is not closed with `)`", "close the group with `)`, or write a literal `(` as `\\(`")
        }
        MISSING_ARGUMENT => (
            "has nothing to repeat",
            "write an expression before it, as in `.*`, or escape it with a backslash",
        ),
        TRAILING_BACKSLASH => ("at the end escapes nothing", "remove it, or write a literal `\\` as `\\\\`"),
        UNEXPECTED_PAREN => {
            ("closes no group", "remove it, open a group before it, or write a literal `)` as `\\)`")
        }
        TOO_DEEP => ("is a group that is nested too deeply", "split the pattern into several simpler ones"),
        TOO_LARGE => (
            "is too large when its repetition counts are multiplied",
            "split the pattern into several simpler ones",
        ),
        UNPROVEN_CLASS => {
            ("may contain other characters in Go's version of Unicode", "list the characters, as in `[a-zß]`")
        }
        _ => (
            "may have another meaning in Go",
            "use only characters, `.`, classes such as `[a-z]`, groups, `|`, `*`, `+`, `?` and counts such as `{2}`; \
             escape each of these with a backslash to match it literally",
        ),
    }
}

/// Refuses a pattern that is longer than [`MAX_BYTES`].
fn too_long(pattern: &str) -> Diagnostic {
    // The span must begin at a character boundary.
    let decided = (0..=MAX_BYTES).rev().find(|at| pattern.is_char_boundary(*at)).unwrap_or_default();
    let message = format!("the pattern has {} bytes; the maximum is {MAX_BYTES}", pattern.len());
    Diagnostic::error(TOO_LONG, message)
        .at(Span::new(decided, pattern.len()))
        .help("split it into several simpler patterns")
}

fn span_of(span: &ast::Span) -> Span {
    Span::new(span.start.offset, span.end.offset)
}

/// Converts an error of the parser. It becomes Go's own error if Go reads everything before it in the same
/// way and also finds no meaning for it.
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
        // After `\0`, and before another digit, Go may read an octal number.
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
        // Go also accepts names that begin with a digit.
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

/// Returns whether Go has nothing to repeat either. Go accepts `(?)`, and in `a(?i)*` it repeats the `a`.
fn lacks_argument(pattern: &str, at: usize) -> bool {
    let Some((before, operator)) = pattern.split_at_checked(at) else { return false };
    match before.chars().next_back() {
        Some(')') => false,
        Some('(') => operator.starts_with(['*', '+', '{']),
        _ => operator.starts_with(['*', '+', '?', '{']),
    }
}
