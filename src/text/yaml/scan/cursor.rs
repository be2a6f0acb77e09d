//! A place in the text that moves forward, and the classes of characters around it (`readerc.go`, `yamlprivateh.go` and the
//! first functions of `scannerc.go`).

use super::problem::{Problem, reader_error};

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::text::yaml) struct Mark {
    /// Byte offset.
    pub(in crate::text::yaml) index: usize,
    /// Characters in front of it: Go measures the length of a key in them.
    pub(super) chars: usize,
    /// Zero-based line.
    pub(in crate::text::yaml) line: usize,
    /// Zero-based column in characters.
    pub(super) column: usize,
}

/// The byte order mark in UTF-8, which Go's reader skips at the start of the text.
const BOM: &str = "\u{feff}";
/// What Go reads at a time (`yamlprivateh.go`, `input_raw_buffer_size`).
const CHUNK: usize = 512;

/// A character that YAML does not allow, and where the chunk starts that Go would read it with.
#[derive(Debug)]
struct Control {
    at: usize,
    chunk: usize,
}

/// The text and the place in it.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    pub(super) mark: Mark,
    /// Line breaks since the last character that is no blank: a comment belongs to a token only if there are none.
    pub(super) newlines: usize,
    control: Option<Control>,
}

impl<'t> Cursor<'t> {
    /// At the start of the text, behind its byte order mark.
    pub(super) fn new(text: &'t str) -> Self {
        let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let mark = Mark {
            index: start,
            ..Mark::default()
        };
        Self {
            text,
            mark,
            newlines: 0,
            control: Control::first(text, start),
        }
    }

    /// Makes sure that `length` characters can be looked at, or the text has ended before. A control character is an error as
    /// soon as its chunk is read (`yaml_parser_update_buffer`), and none when the first document ends before.
    pub(super) fn cache(&self, length: usize) -> Result<(), Problem> {
        let Some(control) = &self.control else {
            return Ok(());
        };
        let read = self.text.get(self.mark.index..control.chunk).unwrap_or_default();
        if read.chars().take(length).count() < length {
            return Err(reader_error(
                self.text,
                control.at,
                "control characters are not allowed",
            ));
        }
        Ok(())
    }

    /// The byte `offset` bytes ahead; NUL behind the end, which no text contains.
    pub(super) fn at(&self, offset: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.mark.index + offset)
            .copied()
            .unwrap_or(0)
    }

    /// Whether the next byte is this one.
    pub(super) fn is(&self, byte: u8) -> bool {
        self.at(0) == byte
    }

    /// Whether the text has ended.
    pub(super) fn is_end(&self) -> bool {
        self.is_end_at(0)
    }

    fn is_end_at(&self, offset: usize) -> bool {
        self.mark.index + offset >= self.text.len()
    }

    /// A space or a tab.
    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.at(offset), b' ' | b'\t')
    }

    /// A line break: CR, LF, NEL, LS or PS.
    pub(super) fn is_break(&self, offset: usize) -> bool {
        match self.at(offset) {
            b'\r' | b'\n' => true,
            0xC2 => self.at(offset + 1) == 0x85,
            0xE2 => self.at(offset + 1) == 0x80 && matches!(self.at(offset + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    /// A line break or the end.
    pub(super) fn is_breakz(&self, offset: usize) -> bool {
        self.is_break(offset) || self.is_end_at(offset)
    }

    /// A space, a tab, a line break or the end.
    pub(super) fn is_blankz(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_breakz(offset)
    }

    /// What names are made of.
    pub(super) fn is_alpha(&self) -> bool {
        self.at(0).is_ascii_alphanumeric() || matches!(self.at(0), b'_' | b'-')
    }

    /// `---` or `...` at the start of a line.
    pub(super) fn is_document_indicator(&self, byte: u8) -> bool {
        self.mark.column == 0 && (0..3).all(|offset| self.at(offset) == byte) && self.is_blankz(3)
    }

    fn next(&self) -> Option<char> {
        self.text
            .get(self.mark.index..)
            .and_then(|rest| rest.chars().next())
    }

    /// Moves over one character.
    pub(super) fn skip(&mut self) -> Option<char> {
        let next = self.next()?;
        if !matches!(next, ' ' | '\t') {
            self.newlines = 0;
        }
        self.mark.index += next.len_utf8();
        self.mark.chars += 1;
        self.mark.column += 1;
        Some(next)
    }

    /// Moves over one character and appends it.
    pub(super) fn read(&mut self, to: &mut String) {
        to.extend(self.skip());
    }

    /// Moves over one line break, if there is one. Returns how it reads: CR LF, CR, LF and NEL are newlines.
    pub(super) fn skip_line(&mut self) -> Option<char> {
        if !self.is_break(0) {
            return None;
        }
        let (bytes, chars, reads) = match self.next()? {
            '\r' if self.at(1) == b'\n' => (2, 2, '\n'),
            other @ ('\u{2028}' | '\u{2029}') => (other.len_utf8(), 1, other),
            other => (other.len_utf8(), 1, '\n'),
        };
        self.mark.index += bytes;
        self.mark.chars += chars;
        self.mark.column = 0;
        self.mark.line += 1;
        self.newlines += 1;
        Some(reads)
    }

    /// Moves over one line break and appends how it reads.
    pub(super) fn read_line(&mut self, to: &mut String) {
        to.extend(self.skip_line());
    }

    /// Moves over spaces and tabs.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Problem> {
        self.cache(1)?;
        while self.is_blank(0) {
            self.skip();
            self.cache(1)?;
        }
        Ok(())
    }

    /// Moves to the end of the line.
    pub(super) fn skip_to_line_end(&mut self) -> Result<(), Problem> {
        while !self.is_breakz(0) {
            self.skip();
            self.cache(1)?;
        }
        Ok(())
    }

    /// Moves over blanks, line breaks and the comment that starts `offset` bytes ahead, to the end of its line.
    pub(super) fn skip_comment(&mut self, offset: usize) -> Result<(), Problem> {
        let comment = self.mark.index + offset;
        while self.mark.index < comment {
            self.cache(2)?;
            if self.skip_line().is_none() {
                self.skip();
            }
        }
        self.cache(1)?;
        self.skip_to_line_end()
    }
}

impl Control {
    /// Go fills its buffer with 512 bytes and keeps back a character that is cut off at their end.
    fn first(text: &str, start: usize) -> Option<Self> {
        let at = text
            .get(start..)?
            .char_indices()
            .find(|(_, char)| !is_allowed(*char))?
            .0
            + start;
        let mut chunk = start;
        let mut end = text.floor_char_boundary(CHUNK);
        while end <= at {
            chunk = end;
            end = text.floor_char_boundary(end.saturating_add(CHUNK));
        }
        Some(Self { at, chunk })
    }
}

/// What the reader lets through (`readerc.go`, "Check if the character is in the allowed range").
fn is_allowed(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}
