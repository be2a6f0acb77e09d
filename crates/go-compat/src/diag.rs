//! Diagnostics as data: a code, a span, a message and help.
//!
//! The core returns [`Diagnostic`]s and never prints; the command line draws them, the operator puts them
//! into conditions. Each has a stable [`Code`] that users can look up and tools can match on. Ranges:
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
    /// The code, which docs/codes.md explains: `QW7202`.
    #[serde(rename = "code", serialize_with = "with_prefix")]
    #[schemars(with = "String")]
    pub number: u16,
    /// Its name.
    pub title: &'static str,
}

impl Code {
    /// Declares a code. Each module lists its own in one `ALL` slice, which documentation and tests read.
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

/// Declares the codes of a module, and lists them in `CODES`.
#[macro_export]
macro_rules! codes {
    ($($(#[$meaning:meta])* pub const $name:ident: Code = $code:expr;)*) => {
        $($(#[$meaning])* pub const $name: Code = $code;)*

        /// All codes of this module.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

/// The weight of a finding. `YuniKorn` refuses an error at validation or activation, or hangs on it, or
/// queuewarden itself cannot accept it. A warning is accepted, but does not do what it seems to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Accepted, but it does not do what it seems to say.
    Warning,
    /// Refused.
    Error,
}

/// A half-open range of byte offsets into the text the diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte; never smaller than `start`.
    pub end: usize,
}

impl Span {
    /// The range `start..end`; an `end` before `start` is raised to it.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The line of `text` in which it begins, from 1; `None` where it is not in that text.
    pub fn line_in(self, text: &str) -> Option<usize> {
        Some(text.get(..self.start)?.matches('\n').count().saturating_add(1))
    }

    /// This span moved to the right by `by` bytes.
    #[must_use]
    pub fn shifted(self, by: usize) -> Self {
        Self { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }
}

/// A text to write in place of another, where no other would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text that is replaced: all of what is written at the span. If something else is written there,
    /// such as an escape, there is nothing to replace.
    pub written: String,
    /// The text to write there, without line breaks.
    pub instead: String,
}

impl Replacement {
    /// Replaces `written` by `instead`.
    pub fn new(written: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { written: written.into(), instead: instead.into() }
    }

    /// Replaces a name by one that differs in case only; `None` for another.
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
    /// The location in the text that was read; `None` when it is about the whole.
    #[serde(skip)]
    pub span: Option<Span>,
    /// The text to write instead.
    pub help: Option<String>,
    /// The same for programs, if it is exact.
    #[serde(skip)]
    pub replacement: Option<Box<Replacement>>,
}

impl Diagnostic {
    /// An error without a location or help yet.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Self { code, severity, message, span: None, help: None, replacement: None }
    }

    /// A warning without a location or help yet.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// The same finding with its location, if it has one.
    #[must_use]
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// The same finding with the field that it is about before its message.
    #[must_use]
    pub fn of_field(mut self, field: &str) -> Self {
        self.message = format!("{field}: {}", self.message);
        self
    }

    /// The same finding with what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same finding with what to write in place of the text at its span, if that is exact.
    #[must_use]
    pub fn replace(mut self, replacement: impl Into<Option<Replacement>>) -> Self {
        self.replacement = replacement.into().map(Box::new);
        self
    }

    /// Returns whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Limits the characters of the user's input that are shown.
const MOST_SHOWN: usize = 80;

/// Returns whether [`quoted`] cuts it, so that the shown text is not the whole one.
pub fn is_cut(text: &str) -> bool {
    text.chars().nth(MOST_SHOWN).is_some()
}

/// The user's input as messages show it: in backticks, what cannot be seen escaped, and cut where it is
/// longer than a line.
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

/// Lists the first `most` of `count` names, and counts the others: `a, b and 7 more`.
pub fn listed(names: &[String], most: usize, count: usize) -> String {
    let shown = names.get(..most).unwrap_or(names);
    match count.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the last line of a list of findings that is cut: `and 2 more findings, which are not listed`.
pub fn unlisted(count: usize) -> String {
    let are = if count == 1 { "is" } else { "are" };
    format!("and {}, which {are} not listed", plural(count, "more finding"))
}

/// A text of at most so many characters: what is longer ends in `…`.
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

/// Adds a character of the user's input to what is shown: itself, or escaped when it cannot be seen or a
/// terminal would obey it.
pub fn show(shown: &mut String, c: char) {
    match c {
        ' '..='~' => shown.push(c),
        _ => shown.extend(c.escape_debug()),
    }
}

/// Returns whether terminals and viewers obey a character instead of showing it: a control character, or one
/// that ends a line or changes the direction of the following text.
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
    /// One line: `QW1003: message; help: …`. This is what conditions carry.
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
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|count| plural(count, "queue")), ["0 queues", "1 queue", "2 queues"]);
        assert_eq!(unlisted(1), "and 1 more finding, which is not listed");
        assert_eq!(unlisted(3), "and 3 more findings, which are not listed");
    }
}
