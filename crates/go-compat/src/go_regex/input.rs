//! A cursor over the pattern: all positions are byte offsets into it, so every error can name its place.

use crate::diag::Span;

/// The pattern and how far it has been read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'p> {
    text: &'p str,
    at: usize,
}

impl<'p> Input<'p> {
    pub(super) fn new(text: &'p str) -> Self {
        Self { text, at: 0 }
    }

    /// Offset of the next character.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The whole pattern.
    pub(super) fn whole(&self) -> &'p str {
        self.text
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'p str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What was read since `start`.
    pub(super) fn since(&self, start: usize) -> &'p str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Where it was read.
    pub(super) fn span_since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character behind the next one.
    pub(super) fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads the next character if it satisfies `wanted`.
    pub(super) fn next_if(&mut self, wanted: impl FnOnce(char) -> bool) -> Option<char> {
        self.peek().filter(|c| wanted(*c)).and_then(|_| self.next())
    }

    /// Reads `prefix` if it comes next.
    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Reads up to and including the first `end`, and returns what stood before it; `None` reads nothing.
    pub(super) fn take_until(&mut self, end: &str) -> Option<&'p str> {
        let (before, _) = self.rest().split_once(end)?;
        self.at += before.len() + end.len();
        Some(before)
    }

    /// Reads everything that is left.
    pub(super) fn take_rest(&mut self) -> &'p str {
        let rest = self.rest();
        self.at = self.text.len();
        rest
    }
}
