//! Regular expressions with Go's syntax and Go's meaning.
use super::diag::Diagnostic;

/// A compiled expression that decides as Go's `regexp.MatchString` does.
#[derive(Debug, Clone)]
pub struct GoRegex {
    inner: regex::Regex,
}

impl GoRegex {
    /// Compiles `pattern`, or refuses with a span. What Go refuses is an error here too (with Go's text in the message); what Go accepts but
    /// cannot be expressed with the same meaning is refused with its own code: never another meaning.
    ///
    /// # Errors
    /// See above.
    pub fn new(_pattern: &str) -> Result<Self, Diagnostic> {
        todo!()
    }

    /// Unanchored search, as `regexp.MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        self.inner.is_match(text)
    }
}
