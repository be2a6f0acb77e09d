//! Block scalars: `|` keeps line breaks, `>` folds them.

use super::plain::fold;
use super::problem::{Read, syntax, unsure};
use super::{Reader, ends_line, is_space};
use crate::diag::Span;
use crate::yaml::{NodeIn, Style};

/// The treatment of the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

impl<'t> Reader<'t> {
    /// Reads a block scalar whose lines are at column `min` or further right.
    pub(super) fn literal(&mut self, min: usize) -> Read<NodeIn<'t>> {
        let start = self.at;
        let style = if self.peek() == b'|' { Style::Literal } else { Style::Folded };
        self.at += 1;
        let (chomp, digit) = self.indicators()?;
        let mut end = self.at;
        self.end_header()?;
        let min = min.max(1);
        let mut value = String::new();
        let mut breaks = self.empty_lines(digit.map(|digit| min - 1 + digit))?;
        let indent = digit.map_or(self.column().max(min), |digit| min - 1 + digit);
        // True if the line above begins with a space; `None` in front of the first line.
        let mut more_indented = None;
        while self.column() == indent && self.peek() != 0 {
            let space = is_space(self.peek());
            match more_indented {
                Some(false) if !space && style == Style::Folded => fold(&mut value, breaks),
                _ => value.extend(std::iter::repeat_n('\n', breaks)),
            }
            more_indented = Some(space);
            let line = self.rest().split('\n').next().unwrap_or_default();
            let line = line.strip_suffix('\r').unwrap_or(line);
            value.push_str(line);
            self.at += line.len();
            end = self.at;
            breaks = self.empty_lines(Some(indent))?;
        }
        let kept = match chomp {
            Chomp::Strip => 0,
            Chomp::Clip => breaks.min(usize::from(more_indented.is_some())),
            Chomp::Keep => breaks,
        };
        value.extend(std::iter::repeat_n('\n', kept));
        let span = Span::new(start, end);
        self.count(1, span)?;
        self.find_content(min, false)?;
        Ok(NodeIn::scalar(value, style, span))
    }

    /// Reads what stands behind `|` or `>`: `+` or `-`, and a digit, in any order.
    fn indicators(&mut self) -> Read<(Chomp, Option<usize>)> {
        let (mut chomp, mut digit) = (Chomp::Clip, None);
        loop {
            match self.peek() {
                b'+' if chomp == Chomp::Clip => chomp = Chomp::Keep,
                b'-' if chomp == Chomp::Clip => chomp = Chomp::Strip,
                byte @ b'1'..=b'9' if digit.is_none() => digit = Some(usize::from(byte - b'0')),
                _ => return Ok((chomp, digit)),
            }
            self.at += 1;
        }
    }

    /// Moves from the indicators to the start of the next line.
    fn end_header(&mut self) -> Read<()> {
        self.skip_whitespace();
        if self.peek() == b'#' {
            self.skip_line();
        }
        if !ends_line(self.peek()) {
            let help = "begin the text on the next line, or put text that begins with `|` or `>` in quotes";
            return Err(syntax(self.rest_of_line(), "this stands behind the `|` or `>` of a block", help));
        }
        if self.peek() != 0 {
            self.skip_break();
        }
        Ok(())
    }

    /// Moves over empty lines and the indentation behind them, which is not yet known for `None`. Counts the
    /// lines.
    fn empty_lines(&mut self, indent: Option<usize>) -> Read<usize> {
        let (mut breaks, mut widest) = (0, 0);
        loop {
            while self.peek() == b' ' && indent.is_none_or(|indent| self.column() < indent) {
                self.at += 1;
            }
            match self.peek() {
                b'\n' | b'\r' => {
                    widest = widest.max(self.column());
                    self.skip_break();
                    breaks += 1;
                }
                b'\t' if indent.is_none_or(|indent| self.column() < indent) => {
                    return Err(unsure(
                        self.here(1),
                        "a tab in the indentation of a block",
                        "indent with spaces",
                    ));
                }
                _ => break,
            }
        }
        if indent.is_none() && widest > self.column() {
            let what = "an empty line with more spaces than the first line of the block";
            return Err(unsure(self.here(0), what, "remove the spaces from the empty lines above"));
        }
        Ok(breaks)
    }
}
