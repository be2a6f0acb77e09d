//! Line and column numbers of a text, without a pass over the text for each lookup.

use super::diag::Span;

/// Distance in bytes between the offsets for which the number of characters is stored.
const STEP: usize = 1024;

/// An index of the lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The start of each line.
    starts: Vec<usize>,
    /// The number of characters before each multiple of [`STEP`].
    counted: Vec<usize>,
    /// The end of the last character that is not white space.
    end: usize,
}

impl Lines {
    /// Indexes a text.
    pub fn new(text: &str) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        let parts = text.as_bytes().chunks(STEP).map(characters);
        let counted = parts.scan(0_usize, |before, count| {
            *before = before.saturating_add(count);
            Some(*before)
        });
        Self {
            starts: std::iter::once(0).chain(behind).collect(),
            counted: std::iter::once(0).chain(counted).collect(),
            end: text.trim_end().len(),
        }
    }

    /// Returns the one-based line and column of an offset. `text` must be the indexed text. Columns count
    /// characters.
    pub fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = text.floor_char_boundary(offset);
        let line = self.number(offset);
        let before = self.before(text, self.start(line));
        (line, self.before(text, offset).saturating_sub(before).saturating_add(1))
    }

    /// Returns the one-based line number of an offset.
    pub fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// Returns the line that contains an offset, without its line break.
    pub fn line(&self, text: &str, offset: usize) -> Span {
        let number = self.number(offset);
        let next = self.starts.get(number).map(|next| next.saturating_sub(1));
        Span::new(self.start(number), next.unwrap_or(text.len()))
    }

    /// Returns the end of the last character that is not white space.
    pub fn end(&self) -> usize {
        self.end
    }

    fn start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or_default()
    }

    /// Returns the number of characters before an offset.
    fn before(&self, text: &str, offset: usize) -> usize {
        let steps = offset / STEP;
        let from = steps.saturating_mul(STEP);
        let rest = text.as_bytes().get(from..offset).map(characters).unwrap_or_default();
        self.counted.get(steps).copied().unwrap_or_default().saturating_add(rest)
    }
}

/// Counts the characters that begin in a part of a text.
fn characters(part: &[u8]) -> usize {
    // Continuation bytes have the form 10xxxxxx.
    part.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nbé\n";
        let lines = Lines::new(text);
        let found = [0, 1, 2, 3, 4, 5, 6, 99].map(|offset| lines.position(text, offset));
        assert_eq!(found, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 2), (2, 3), (3, 1), (3, 1)]);
        assert_eq!(lines.line(text, 3), Span::new(2, 5));
        assert_eq!(lines.line(text, 6), Span::new(6, 6));
        assert_eq!(Lines::new("a \n\n ").end(), 1);
        assert_eq!(Lines::new("").position("", 0), (1, 1));
    }

    proptest! {
        #[test]
        fn every_position_equals_a_naive_count(part in "[aé𝄞\n]{1,40}", times in 1_usize..200, at in 0_usize..20_000) {
            let text = part.repeat(times);
            let offset = text.floor_char_boundary(at);
            let before = text.get(..offset).unwrap();
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let expected = (before.matches('\n').count() + 1, before.get(start..).unwrap().chars().count() + 1);
            prop_assert_eq!(Lines::new(&text).position(&text, at), expected);
        }
    }
}
