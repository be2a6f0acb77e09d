//! Scalars within a line, which may go on in the next: quoted and plain ones.

use super::content::Content;
use super::{Mark, Scanned, Scanner, TokenKind};
use crate::yaml::Style;

/// Blanks and line breaks between two pieces of a scalar, which fold into what stands between them in its value.
#[derive(Default)]
struct Gap {
    /// From where to where in the text.
    blanks: (usize, usize),
    first_break: Option<char>,
    more_breaks: String,
    /// Whether a line has ended: blanks are indentation then.
    broken: bool,
}

impl Scanner<'_> {
    /// Reads one blank or line break into the gap.
    fn read_gap(&mut self, gap: &mut Gap) -> Scanned {
        if !self.cursor.is_blank(0) {
            self.cursor.cache(2)?;
            if gap.broken {
                self.cursor.read_line(&mut gap.more_breaks);
            } else {
                gap.first_break = self.cursor.skip_line();
                gap.broken = true;
            }
        } else if gap.broken {
            self.cursor.skip();
        } else {
            let start = self.cursor.mark.index;
            self.cursor.skip();
            let (first, end) = gap.blanks;
            gap.blanks = (if first == end { start } else { first }, self.cursor.mark.index);
        }
        self.cursor.cache(1)
    }

    /// Appends what the gap reads as, and empties it. A single newline reads as a space.
    fn fold(&self, gap: &mut Gap, value: &mut Content) {
        let Gap { blanks, first_break, more_breaks, broken } = std::mem::take(gap);
        if !broken {
            if blanks.0 < blanks.1 {
                self.cursor.add_piece(blanks, value);
            }
            return;
        }
        match first_break {
            Some('\n') if more_breaks.is_empty() => self.cursor.add(" ", value),
            Some('\n') | None => {}
            Some(other) => self.cursor.add_char(other, value),
        }
        self.cursor.add(&more_breaks, value);
    }

    /// `yaml_parser_scan_flow_scalar`.
    pub(super) fn scan_flow_scalar(&mut self, single: bool) -> Scanned {
        let start = self.cursor.mark;
        let quote = if single { b'\'' } else { b'"' };
        let mut value = Content::default();
        self.cursor.skip();
        loop {
            self.cursor.cache(4)?;
            if self.cursor.is_document_indicator(b'-') || self.cursor.is_document_indicator(b'.') {
                return Err(self.error(start, "found unexpected document indicator"));
            }
            if self.cursor.is_end() {
                return Err(self.error(start, "found unexpected end of stream"));
            }
            let mut gap = Gap { broken: self.scan_quoted_word(single, &mut value, start)?, ..Gap::default() };
            self.cursor.cache(1)?;
            if self.cursor.is(quote) {
                break;
            }
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                self.read_gap(&mut gap)?;
            }
            self.fold(&mut gap, &mut value);
        }
        self.cursor.skip();
        let style = if single { Style::SingleQuoted } else { Style::DoubleQuoted };
        let value = self.cursor.content(value);
        self.push(TokenKind::Scalar { value, style }, start);
        Ok(())
    }

    /// Reads to the next blank, line break or the closing quote. Returns whether it ended with an escaped line break.
    fn scan_quoted_word(&mut self, single: bool, value: &mut Content, start: Mark) -> Scanned<bool> {
        self.cursor.cache(2)?;
        while !self.cursor.is_blankz(0) {
            match (single, self.cursor.at(0)) {
                (true, b'\'') if self.cursor.at(1) == b'\'' => {
                    self.cursor.add_char('\'', value);
                    self.cursor.skip();
                    self.cursor.skip();
                }
                (true, b'\'') | (false, b'"') => break,
                (false, b'\\') if self.cursor.is_break(1) => {
                    self.cursor.cache(3)?;
                    self.cursor.skip();
                    self.cursor.skip_line();
                    return Ok(true);
                }
                (false, b'\\') => self.scan_escape(value, start)?,
                _ => {
                    self.cursor.read(value);
                    self.cursor.read_run(value, is_quoted);
                }
            }
            self.cursor.cache(2)?;
        }
        Ok(false)
    }

    /// One escape in double quotes. `\/` is none in Go, `\'` is one.
    fn scan_escape(&mut self, value: &mut Content, start: Mark) -> Scanned {
        let digits = match self.cursor.at(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                let Some(char) = simple_escape(other) else {
                    return Err(self.error(start, "found unknown escape character"));
                };
                self.cursor.add_char(char, value);
                0
            }
        };
        self.cursor.skip();
        self.cursor.skip();
        if digits == 0 {
            return Ok(());
        }
        self.cursor.cache(digits)?;
        let mut code = 0_u32;
        for offset in 0..digits {
            let Some(digit) = char::from(self.cursor.at(offset)).to_digit(16) else {
                return Err(self.error(start, "did not find expected hexdecimal number"));
            };
            code = code << 4 | digit;
        }
        let Some(char) = char::from_u32(code) else {
            return Err(self.error(start, "found invalid Unicode character escape code"));
        };
        self.cursor.add_char(char, value);
        for _ in 0..digits {
            self.cursor.skip();
        }
        Ok(())
    }

    /// `yaml_parser_scan_plain_scalar`.
    pub(super) fn scan_plain_scalar(&mut self) -> Scanned {
        let start = self.cursor.mark;
        let mut end = start;
        let mut value = Content::default();
        let mut gap = Gap::default();
        loop {
            self.cursor.cache(4)?;
            let document = self.cursor.is_document_indicator(b'-') || self.cursor.is_document_indicator(b'.');
            if document || self.cursor.is(b'#') {
                break;
            }
            while !self.cursor.is_blankz(0) && !self.ends_plain_scalar() {
                self.fold(&mut gap, &mut value);
                self.cursor.read(&mut value);
                self.cursor.read_run(&mut value, is_plain);
                end = self.cursor.mark;
                self.cursor.cache(2)?;
            }
            if !(self.cursor.is_blank(0) || self.cursor.is_break(0)) {
                break;
            }
            self.cursor.cache(1)?;
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                if gap.broken && self.cursor.mark.column < self.inner && self.cursor.is(b'\t') {
                    return Err(self.error(start, "found a tab character that violates indentation"));
                }
                self.read_gap(&mut gap)?;
            }
            if self.flow_level == 0 && self.cursor.mark.column < self.inner {
                break;
            }
        }
        let value = self.cursor.content(value);
        self.push(TokenKind::Scalar { value, style: Style::Plain }, start);
        self.tokens.back_mut().into_iter().for_each(|token| token.end = end);
        if gap.broken {
            self.simple_key_allowed = true;
        }
        Ok(())
    }

    /// An indicator behind which a plain scalar does not go on.
    fn ends_plain_scalar(&self) -> bool {
        match self.cursor.at(0) {
            b':' => self.cursor.is_blankz(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }
}

/// What needs no second look within a plain scalar.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b':' | b',' | b'?' | b'[' | b']' | b'{' | b'}')
}

/// What needs no second look within quotes of either kind.
fn is_quoted(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'"' | b'\\')
}

fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0B',
        b'f' => '\x0C',
        b'r' => '\r',
        b'e' => '\x1B',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
