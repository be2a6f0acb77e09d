//! What is wrong with a pattern: Go's errors in Go's words, and the refusals of our own.

use crate::diag::{Code, Diagnostic, Span};

use super::{MAX_BYTES, MAX_DEPTH, MAX_SIZE};

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
/// A pattern is longer than is judged here ([`MAX_BYTES`]).
pub const TOO_LONG: Code = Code::new(4051, "regex-too-long");
/// Groups are nested deeper than is judged here ([`MAX_DEPTH`]).
pub const TOO_DEEP: Code = Code::new(4052, "regex-too-deep");
/// With repetitions multiplied out a pattern is larger than is judged here ([`MAX_SIZE`]).
pub const TOO_LARGE: Code = Code::new(4053, "regex-too-large");
/// A Unicode class whose members cannot be proven to be Go's.
pub const UNPROVEN_CLASS: Code = Code::new(4054, "regex-unproven-unicode-class");
/// An escaped surrogate, which is no character.
pub const SURROGATE: Code = Code::new(4055, "regex-surrogate");

/// Every code of this module.
pub const CODES: &[Code] = &[
    INVALID_CLASS,
    INVALID_ESCAPE,
    INVALID_NAME,
    INVALID_PERL,
    NESTED_REPETITION,
    INVALID_COUNT,
    MISSING_BRACKET,
    MISSING_PAREN,
    MISSING_ARGUMENT,
    TRAILING_BACKSLASH,
    UNEXPECTED_PAREN,
    TOO_LONG,
    TOO_DEEP,
    TOO_LARGE,
    UNPROVEN_CLASS,
    SURROGATE,
];

/// Who refuses the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go does not compile it.
    RefusedByGo,
    /// Go may compile it; what it then means is not known here.
    Unjudged,
}

impl Verdict {
    /// Who refuses, for an error of [`super::GoRegex::new`].
    pub fn of(refusal: &Diagnostic) -> Self {
        let ours = [TOO_LONG, TOO_DEEP, TOO_LARGE, UNPROVEN_CLASS, SURROGATE];
        if ours.contains(&refusal.code) { Self::Unjudged } else { Self::RefusedByGo }
    }
}

/// Go's kinds of error (`regexp/syntax` `ErrorCode`); the three that are missing, invalid UTF-8, nesting depth and size, cannot occur:
/// the input is UTF-8 and [`MAX_BYTES`], [`MAX_DEPTH`] and [`MAX_SIZE`] come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoError {
    CharRange,
    Escape,
    NamedCapture,
    PerlOp,
    RepeatOp,
    RepeatSize,
    MissingBracket,
    MissingParen,
    MissingRepeatArgument,
    TrailingBackslash,
    UnexpectedParen,
}

impl GoError {
    /// The error as Go words it, `expr` being the part of the pattern that Go quotes, with the place at `span`.
    pub(super) fn quoting(self, expr: &str, span: Span) -> Diagnostic {
        let (code, text, help) = self.texts(expr);
        Diagnostic::error(code, format!("error parsing regexp: {text}: `{expr}`")).at(span).help(help)
    }

    fn texts(self, expr: &str) -> (Code, &'static str, &'static str) {
        match self {
            Self::CharRange => (
                INVALID_CLASS,
                "invalid character class range",
                "Go knows `[a-z]`, POSIX names as in `[[:alpha:]]`, and the one-word scripts and the general categories of \
                 Unicode as in `\\p{Greek}`; escape a literal `-` as `\\-`",
            ),
            Self::Escape => (INVALID_ESCAPE, "invalid escape sequence", escape_help(expr)),
            Self::NamedCapture => (
                INVALID_NAME,
                "invalid named capture",
                "name a group with letters, digits and `_`: `(?P<name>…)`, or do not name it",
            ),
            Self::PerlOp => (
                INVALID_PERL,
                "invalid or unsupported Perl syntax",
                "Go has no look-around, atomic groups or comments; the flags are `i`, `m`, `s` and `U`, as in `(?i)` or `(?i:…)`",
            ),
            Self::RepeatOp => (
                NESTED_REPETITION,
                "invalid nested repetition operator",
                "use one operator, or put the inner repetition into a group: `(?:a*)+`",
            ),
            Self::RepeatSize => (
                INVALID_COUNT,
                "invalid repeat count",
                "counts go up to 1000, also when multiplied with the counts around them, and the smaller one comes first",
            ),
            Self::MissingBracket => (
                MISSING_BRACKET,
                "missing closing ]",
                "close the class with `]`, or write a literal `[` as `\\[`",
            ),
            Self::MissingParen => (
                MISSING_PAREN,
                "missing closing )",
                "close the group with `)`, or write a literal `(` as `\\(`",
            ),
            Self::MissingRepeatArgument => (
                MISSING_ARGUMENT,
                "missing argument to repetition operator",
                "put what repeats before the operator, as in `.*`, or escape it to mean the character",
            ),
            Self::TrailingBackslash => (
                TRAILING_BACKSLASH,
                "trailing backslash at end of expression",
                "remove it, or write a literal backslash as `\\\\`",
            ),
            Self::UnexpectedParen => (
                UNEXPECTED_PAREN,
                "unexpected )",
                "remove it, open a group before it, or write a literal `)` as `\\)`",
            ),
        }
    }
}

fn escape_help(expr: &str) -> &'static str {
    match expr.chars().nth(1) {
        Some('1'..='9') => "Go has no backreferences; write what is to be repeated again",
        Some('x') => "write two hexadecimal digits, `\\x41`, or a code point in braces, `\\x{1F600}`",
        Some('u' | 'U' | 'N') => "write the code point in braces: `\\x{61}`",
        Some('Z') => "the end of the text is `\\z` or `$`",
        Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
            "a class cannot be the end of a range; write a literal `-` as `\\-`"
        }
        Some('C') => "Go's regexp has no single bytes; `.` is any character but a newline",
        _ => "letters and digits are escaped only where the escape has a meaning; write the character itself",
    }
}

pub(super) fn too_long(pattern: &str) -> Diagnostic {
    // The span begins at a character, wherever the limit falls.
    let judged = (0..=MAX_BYTES).rev().find(|at| pattern.is_char_boundary(*at)).unwrap_or_default();
    unjudged(
        TOO_LONG,
        format!("the pattern has {} bytes, more than the {MAX_BYTES} that are judged", pattern.len()),
    )
    .at(Span::new(judged, pattern.len()))
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    unjudged(TOO_DEEP, format!("groups are nested deeper than the {MAX_DEPTH} levels that are judged"))
        .at(span)
}

pub(super) fn too_large(pattern: &str) -> Diagnostic {
    let message = format!(
        "with its repetitions multiplied the pattern is larger than the {MAX_SIZE} steps that are judged"
    );
    unjudged(TOO_LARGE, message).at(Span::new(0, pattern.len()))
}

fn unjudged(code: Code, message: String) -> Diagnostic {
    Diagnostic::error(code, message).help("split it into several simpler patterns")
}

pub(super) fn unproven_class(quoted: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        UNPROVEN_CLASS,
        format!("it cannot be proven that Go takes the same characters for `{quoted}`"),
    )
    .at(span)
    .help("name the characters, as in `[a-zß]`")
}

pub(super) fn surrogate(quoted: &str, span: Span) -> Diagnostic {
    Diagnostic::error(SURROGATE, format!("`{quoted}` is a surrogate, not a character"))
        .at(span)
        .help("write the character's own code point, as in `\\x{1F600}`, or leave it out: no text contains a surrogate")
}
