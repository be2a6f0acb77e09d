//! Plain, quoted and block scalars.

use std::borrow::Cow;

use super::{Problem, Read, Reader, ends_line, is_gap, is_space, syntax, unsure};
use crate::diag::Span;
use crate::yaml::{NodeIn, Style};

/// Adds the value of the line breaks between two lines: a space for one, otherwise one break less.
fn fold(value: &mut String, breaks: usize) {
    match breaks {
        1 => value.push(' '),
        breaks => value.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1))),
    }
}

impl<'t> Reader<'t> {
    /// Reads plain text outside brackets, or the mapping that it begins as the first key.
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

    /// Reads the plain text on this line, up to a colon, a comment, the line end or, with `flow`, a bracket
    /// or comma. The span excludes trailing spaces.
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
            b'?' => Err(unsure(self.here(1), "`?` in brackets", "quote the text")),
            b':' if is_flow(self.next()) => Err(unsure(
                self.here(1),
                "a colon directly before a comma or bracket",
                "write a space after the colon",
            )),
            b'[' | b'{' => {
                let help = "quote the text, or write a comma before the bracket";
                Err(syntax(self.here(1), "a bracket inside plain text", help))
            }
            _ => Ok(span),
        }
    }

    /// Skips the line breaks before the next text in brackets or quotes, and counts them.
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

/// Returns whether a character has a meaning inside brackets.
pub(super) fn is_flow(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

// Quoted scalars.

impl<'t> Reader<'t> {
    /// Reads a quoted scalar. Its further lines may have any indentation.
    pub(super) fn quoted(&mut self) -> Read<NodeIn<'t>> {
        let start = self.at;
        let quote = self.peek();
        self.at += 1;
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let special =
            |byte: &u8| *byte == quote || matches!(byte, b'\n' | b'\r') || (*byte == b'\\' && quote == b'"');
        let length = bytes.iter().position(special).unwrap_or(bytes.len());
        let simple =
            bytes.get(length) == Some(&quote) && (quote == b'"' || bytes.get(length + 1) != Some(&quote));
        let value = if simple {
            let value = self.slice(self.at, self.at + length);
            self.at += length + 1;
            Cow::Borrowed(value)
        } else {
            Cow::Owned(self.composed(start, quote)?)
        };
        let style = if quote == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted };
        let span = Span::new(start, self.at);
        self.count(1, span)?;
        Ok(NodeIn::scalar(value, style, span))
    }

    /// Reads the text up to the closing quote if it has escapes or several lines.
    fn composed(&mut self, start: usize, quote: u8) -> Read<String> {
        let mut value = String::new();
        // Length of the value that must keep its trailing spaces.
        let mut solid = 0;
        loop {
            let from = self.at;
            while !matches!(self.peek(), b'\n' | b'\r' | 0 | b'\\') && self.peek() != quote {
                self.at += 1;
            }
            value.push_str(self.slice(from, self.at));
            match self.peek() {
                0 => return Err(unclosed(Span::new(start, start + 1))),
                b'\n' | b'\r' => {
                    value.truncate(value.trim_end_matches([' ', '\t']).len().max(solid));
                    let breaks = self.breaks()?;
                    fold(&mut value, breaks);
                    solid = value.len();
                }
                b'\\' if quote == b'"' => {
                    self.escape(&mut value)?;
                    solid = value.len();
                }
                b'\'' if quote == b'\'' && self.next() == b'\'' => {
                    value.push('\'');
                    self.at += 2;
                }
                b'\\' => {
                    value.push('\\');
                    self.at += 1;
                }
                _ => {
                    self.at += 1;
                    return Ok(value);
                }
            }
        }
    }

    fn escape(&mut self, value: &mut String) -> Read<()> {
        let digits = match self.next() {
            b'\n' | b'\r' => return self.escaped_break(),
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => {
                let escaped = self.simple_escape()?;
                value.push(escaped);
                self.at += 2;
                return Ok(());
            }
        };
        let end = self.at + 2 + digits;
        let written = self.slice(self.at + 2, end);
        let hex = written.len() == digits && written.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(written, 16).ok().filter(|_| hex);
        let Some(escaped) = code.and_then(char::from_u32) else {
            let message = format!("this escape needs {digits} hexadecimal digits of a valid character");
            return Err(syntax(self.here(2), message, "write the character itself"));
        };
        value.push(escaped);
        self.at = end;
        Ok(())
    }

    fn simple_escape(&self) -> Read<char> {
        Ok(match self.next() {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            b' ' => ' ',
            b'"' => '"',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'\'' | b'\t' => {
                return Err(unsure(self.here(2), "this escape", "write the character without `\\`"));
            }
            _ => {
                let help = "write `\\\\` for a backslash, or use single quotes";
                return Err(syntax(self.here(1), "not a valid YAML escape", help));
            }
        })
    }

    /// Skips an escaped line break, which has no value, and the spaces after it.
    fn escaped_break(&mut self) -> Read<()> {
        let start = self.at;
        self.at += 1;
        if self.breaks()? > 1 {
            let span = Span::new(start, start + 1);
            return Err(unsure(span, "an escaped line break before an empty line", "write `\\n`"));
        }
        Ok(())
    }
}

/// Reports a quote that is never closed.
fn unclosed(span: Span) -> Problem {
    syntax(span, "this quote is never closed", "close it; inside single quotes, write `'` as `''`")
}

// Block scalars: `|` keeps line breaks, `>` folds them.

/// The handling of trailing line breaks.
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
        // True if the previous line begins with a space; `None` before the first line.
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

    /// Reads the indicators after `|` or `>`: `+` or `-`, and a digit, in any order.
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
            let help = "begin the text on the next line, or quote text that begins with `|` or `>`";
            return Err(syntax(self.rest_of_line(), "unexpected text after the `|` or `>` of a block", help));
        }
        if self.peek() != 0 {
            self.skip_break();
        }
        Ok(())
    }

    /// Skips empty lines and the indentation after them, and counts the lines. `indent` is `None` if the
    /// indentation is not known yet.
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
