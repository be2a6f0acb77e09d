//! Diagnostics as data: a code, a span, a message and help.
//!
//! The core returns [`Diagnostic`]s and never prints. The command line prints them, and the operator copies
//! them into conditions. Each has a stable [`Code`] that users can look up and tools can match on. Ranges:
//!
//! | codes | about |
//! |---|---|
//! | `QW1xxx` | an ACL string |
//! | `QW2xxx` | YAML text |
//! | `QW3xxx` | the scheduler's configuration |
//! | `QW4xxx` | the admission controller's access keys and their regular expressions |
//! | `QW5xxx` | queuewarden's own objects and the plan |
//! | `QW6xxx` | files and manifests given to the command line |
//! | `QW7xxx` | access: users, rules of applications, grants, imports, reviews |

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A stable diagnostic code: a number that never changes its meaning, and a short kebab-case title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Code {
    /// The code, such as `QW7202`. docs/codes.md describes all of them.
    #[serde(rename = "code", serialize_with = "with_prefix")]
    #[schemars(with = "String")]
    pub number: u16,
    /// The short name.
    pub title: &'static str,
}

impl Code {
    /// Declares a code. Each module lists its codes in a `CODES` slice, which the documentation and the tests
    /// read.
    pub const fn new(number: u16, title: &'static str) -> Self {
        Self { number, title }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn with_prefix<S: Serializer>(number: &u16, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("QW{number:04}"))
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QW{:04}", self.number)
    }
}

/// Declares the codes of a module and lists them in `CODES`.
#[macro_export]
macro_rules! codes {
    ($($(#[$meaning:meta])* pub const $name:ident: Code = $code:expr;)*) => {
        $($(#[$meaning])* pub const $name: Code = $code;)*

        /// All codes of this module.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

/// The severity of a finding. An error is a text that `YuniKorn` refuses at validation or activation, that
/// makes it hang, or that queuewarden cannot accept. A warning is accepted but probably does not do what was
/// intended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Accepted, but probably not what was intended.
    Warning,
    /// Refused.
    Error,
}

/// A half-open range of byte offsets into the diagnosed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte; never smaller than `start`.
    pub end: usize,
}

impl Span {
    /// The range `start..end`; an `end` before `start` is raised to it.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Returns the line of `text`, from 1, that the span begins on, or `None` if it lies outside the text.
    pub fn line_in(self, text: &str) -> Option<usize> {
        Some(text.get(..self.start)?.matches('\n').count().saturating_add(1))
    }

    /// This span moved to the right by `by` bytes.
    #[must_use]
    pub fn shifted(self, by: usize) -> Self {
        Self { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }
}

/// An exact replacement, given only if it is the only correct one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text to replace, exactly as it appears at the span. A tool must replace nothing if it finds
    /// another text there, such as an escape.
    pub written: String,
    /// The text to write there, without line breaks.
    pub instead: String,
}

impl Replacement {
    /// Replaces `written` by `instead`.
    pub fn new(written: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { written: written.into(), instead: instead.into() }
    }

    /// Replaces a name by a name that differs only in case. Returns `None` for other names.
    pub fn in_case(written: &str, name: &str) -> Option<Self> {
        written.eq_ignore_ascii_case(name).then(|| Self::new(written, name))
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// The kind of finding.
    #[serde(flatten)]
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The message.
    // In lower case, without a full stop, the user's input in backticks.
    pub message: String,
    /// The location in the text, or `None` if the finding concerns the text as a whole.
    #[serde(skip)]
    pub span: Option<Span>,
    /// The text to write instead.
    pub help: Option<String>,
    /// The same replacement for programs, if it is exact.
    #[serde(skip)]
    pub replacement: Option<Box<Replacement>>,
}

impl Diagnostic {
    /// Returns an error without location and help.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Self { code, severity, message, span: None, help: None, replacement: None }
    }

    /// Returns a warning without location and help.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Sets the location, if there is one.
    #[must_use]
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// Puts the name of the field in front of the message.
    #[must_use]
    pub fn of_field(mut self, field: &str) -> Self {
        self.message = format!("{field}: {}", self.message);
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the exact replacement for the text at the span, if there is one.
    #[must_use]
    pub fn replace(mut self, replacement: impl Into<Option<Replacement>>) -> Self {
        self.replacement = replacement.into().map(Box::new);
        self
    }

    /// Returns whether the severity is error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Maximum number of characters of the user's input in a message.
const MOST_SHOWN: usize = 80;

/// Returns whether [`quoted`] shortens a text.
pub fn is_cut(text: &str) -> bool {
    text.chars().nth(MOST_SHOWN).is_some()
}

/// Quotes the user's input for a message: in backticks, with invisible characters escaped, and shortened to
/// one line.
pub fn quoted(text: &str) -> String {
    let mut shown = String::from("`");
    text.chars().take(MOST_SHOWN).for_each(|c| show(&mut shown, c));
    shown.push_str(if is_cut(text) { "…`" } else { "`" });
    shown
}

/// `1 queue`, `2 queues`
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Lists the first `most` of `count` names and the number of the others: `a, b and 7 more`.
pub fn listed(names: &[String], most: usize, count: usize) -> String {
    let shown = names.get(..most).unwrap_or(names);
    match count.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the last line of a shortened list of findings: `and 2 more findings, not shown`.
pub fn unlisted(count: usize) -> String {
    format!("and {}, not shown", plural(count, "more finding"))
}

/// Shortens a text to a number of characters; a shortened text ends in `…`.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(most.saturating_sub(1)).chain(['…']).collect()),
    }
}

/// Escapes all invisible characters of a text.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| show(&mut shown, c));
    shown
}

/// Appends a character of the user's input, escaped if it is invisible or would control the terminal.
pub fn show(shown: &mut String, c: char) {
    match c {
        ' '..='~' => shown.push(c),
        _ => shown.extend(c.escape_debug()),
    }
}

/// Returns whether terminals and viewers interpret a character instead of printing it: a control character, a
/// line separator, or a character that changes the direction of the text.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Diagnostic {
    /// Returns the message and the help in one line, without the code.
    pub fn without_code(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Diagnostic {
    /// Writes one line, as used in conditions: `QW1003: message; help: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; help: {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nb\n";
        let lines = [0, 1, 2, 4, 5].map(|start| Span::new(start, start).line_in(text));
        assert_eq!(lines, [Some(1), Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn input_is_shown_on_one_line_and_bounded() {
        let cases = [
            ("sue", "`sue`"),
            ("\"*\" 'a' A\\b", "`\"*\" 'a' A\\b`"),
            ("a\tb\n", "`a\\tb\\n`"),
            ("a\u{200b}é", "`a\\u{200b}é`"),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
        for c in (0..0x3000).filter_map(char::from_u32).filter(|c| is_obeyed(*c)) {
            assert!(quoted(&c.to_string()).is_ascii(), "{c:?}");
        }
        assert_eq!(quoted(&"é".repeat(80)).chars().count(), 82);
        let cut = quoted(&"é".repeat(81));
        assert!(cut.ends_with("é…`") && cut.chars().count() == 83);
    }

    #[test]
    fn plural_and_unlisted_agree_with_the_count() {
        assert_eq!([0, 1, 2].map(|count| plural(count, "queue")), ["0 queues", "1 queue", "2 queues"]);
        assert_eq!(unlisted(1), "and 1 more finding, not shown");
        assert_eq!(unlisted(3), "and 3 more findings, not shown");
    }
}
