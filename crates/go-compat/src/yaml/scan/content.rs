//! What a scalar reads as, while it is being read.

use std::borrow::Cow;

/// A piece of the text as long as the scalar reads as it is written; a text of its own from the first character on that does not stand
/// there. Nearly all scalars are never more than a piece, which costs nothing to read.
#[derive(Debug, Default)]
pub(super) struct Content {
    start: usize,
    end: usize,
    own: Option<String>,
}

impl Content {
    /// Appends a piece of the text.
    #[inline]
    pub(super) fn push(&mut self, text: &str, start: usize, end: usize) {
        match &mut self.own {
            None if self.end == start => self.end = end,
            None if self.start == self.end => (self.start, self.end) = (start, end),
            _ => self.push_str(text, text.get(start..end).unwrap_or_default()),
        }
    }

    /// Appends what does not stand in the text behind the piece.
    pub(super) fn push_str(&mut self, text: &str, more: &str) {
        if !more.is_empty() {
            let piece = text.get(self.start..self.end).unwrap_or_default();
            self.own.get_or_insert_with(|| piece.to_owned()).push_str(more);
        }
    }

    /// The whole.
    pub(super) fn read(self, text: &str) -> Cow<'_, str> {
        match self.own {
            Some(own) => Cow::Owned(own),
            None => Cow::Borrowed(text.get(self.start..self.end).unwrap_or_default()),
        }
    }
}
