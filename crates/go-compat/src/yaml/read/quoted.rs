//! Scalars in quotes.

use std::borrow::Cow;

use super::Reader;
use super::plain::fold;
use super::problem::{Read, syntax, unsure};
use crate::diag::Span;
use crate::yaml::{NodeIn, Style};

impl<'t> Reader<'t> {
    /// Reads a scalar in quotes. Its further lines may have any indentation.
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

    /// Reads the text up to the closing quote, with escapes and several lines.
    fn composed(&mut self, start: usize, quote: u8) -> Read<String> {
        let mut value = String::new();
        // As much of the value cannot lose spaces at its end.
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

    /// Reads an escape.
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
            let message = format!("this escape is not {digits} hexadecimal digits of a character");
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
                return Err(syntax(self.here(1), "YAML has no such escape", help));
            }
        })
    }

    /// Moves over an escaped line break, which means nothing, and the spaces behind it.
    fn escaped_break(&mut self) -> Read<()> {
        let start = self.at;
        self.at += 1;
        if self.breaks()? > 1 {
            let span = Span::new(start, start + 1);
            return Err(unsure(span, "an escaped line break in front of an empty line", "write `\\n`"));
        }
        Ok(())
    }
}

/// The refusal of a quote that is never closed.
fn unclosed(span: Span) -> super::Problem {
    syntax(span, "this quote is never closed", "close it, and double a `'` within single quotes")
}
