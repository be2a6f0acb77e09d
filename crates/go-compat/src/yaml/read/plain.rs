//! Scalars without quotes.

use std::borrow::Cow;

use super::problem::{Read, syntax, unsure};
use super::{Reader, ends_line, is_gap, is_space};
use crate::diag::Span;
use crate::yaml::{NodeIn, Style};

/// Adds what line breaks between two lines of text mean: a space for one, else one break less.
pub(super) fn fold(value: &mut String, breaks: usize) {
    match breaks {
        1 => value.push(' '),
        breaks => value.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1))),
    }
}

impl<'t> Reader<'t> {
    /// Reads plain text in a block, or the mapping that it is the first key of.
    pub(super) fn plain(&mut self, min: usize, fresh: bool) -> Read<NodeIn<'t>> {
        let start = self.at;
        let mut span = self.plain_line(false);
        let first = self.slice(span.start, span.end);
        if self.peek() == b':' {
            if !fresh {
                return Err(self.misplaced(min));
            }
            self.check_key(start, self.line)?;
            return self.mapping(start, NodeIn::scalar(first, Style::Plain, span));
        }
        self.count(1, span)?;
        let mut value = Cow::Borrowed(first);
        loop {
            let gap = self.next_content(min, true)?;
            if gap.comment || self.ended || self.column() < min {
                return Ok(NodeIn::scalar(value, Style::Plain, span));
            }
            let line = self.plain_line(false);
            if self.peek() == b':' {
                return Err(self.misplaced(min));
            }
            fold(value.to_mut(), gap.breaks);
            value.to_mut().push_str(self.slice(line.start, line.end));
            span.end = span.end.max(line.end);
        }
    }

    /// Reads the plain text on this line, up to the colon, comment, line end or, with `flow`, bracket or
    /// comma that ends it. Its span has no spaces at the end.
    pub(super) fn plain_line(&mut self, flow: bool) -> Span {
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        let mut length = bytes.len();
        let mut before = 0;
        for (index, &byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' | b'\r' => true,
                b':' => {
                    let next = bytes.get(index + 1).copied().unwrap_or(0);
                    is_gap(next) || (flow && is_flow(next))
                }
                b'#' => is_space(before),
                b',' | b'[' | b']' | b'{' | b'}' | b'?' => flow,
                _ => false,
            };
            if ends {
                length = index;
                break;
            }
            before = byte;
        }
        self.at = start + length;
        let written = bytes.get(..length).unwrap_or_default();
        let kept = written.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
        Span::new(start, start + kept)
    }

    /// Reads plain text in brackets.
    pub(super) fn flow_plain(&mut self) -> Read<NodeIn<'t>> {
        let span = self.flow_plain_line()?;
        let mut value = Cow::Borrowed(self.slice(span.start, span.end));
        let mut end = span.end;
        while ends_line(self.peek()) && self.peek() != 0 {
            let breaks = self.breaks()?;
            if matches!(self.peek(), b'#' | b',' | b'[' | b']' | b'{' | b'}' | 0) {
                break;
            }
            let line = self.flow_plain_line()?;
            if self.peek() == b':' {
                return Err(self.broken_key(span.start));
            }
            let value = value.to_mut();
            fold(value, breaks);
            value.push_str(self.slice(line.start, line.end));
            end = line.end;
        }
        let span = Span::new(span.start, end);
        self.count(1, span)?;
        Ok(NodeIn::scalar(value, Style::Plain, span))
    }

    fn flow_plain_line(&mut self) -> Read<Span> {
        let span = self.plain_line(true);
        match self.peek() {
            b'?' => Err(unsure(self.here(1), "`?` in brackets", "put the text in quotes")),
            b':' if is_flow(self.next()) => Err(unsure(
                self.here(1),
                "a colon right in front of a comma or bracket",
                "write a space behind the colon",
            )),
            b'[' | b'{' => {
                let help = "put the text in quotes, or write a comma in front of the bracket";
                Err(syntax(self.here(1), "a bracket within plain text", help))
            }
            _ => Ok(span),
        }
    }

    /// Moves over the line breaks in brackets or quotes to the text behind them, and counts them.
    pub(super) fn breaks(&mut self) -> Read<usize> {
        let mut breaks = 0;
        while matches!(self.peek(), b'\n' | b'\r') {
            self.skip_break();
            breaks += 1;
            self.skip_spaces();
        }
        if self.peek() == b'\t' {
            let help = "indent with spaces, or write `\\t` in double quotes";
            return Err(unsure(self.here(1), "a tab at the start of a line of text", help));
        }
        self.check_marker()?;
        Ok(breaks)
    }
}

/// Returns whether it is one of the characters that structure what is in brackets.
pub(super) fn is_flow(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}
