//! A place in the text that moves forward, and the classes of characters around it (`readerc.go`, `yamlprivateh.go` and the
//! first functions of `scannerc.go`).

use std::borrow::Cow;

use super::content::Content;
use super::problem::{Problem, reader_error};

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::yaml) struct Mark {
    /// Byte offset.
    pub(in crate::yaml) index: usize,
    /// Characters in front of it: Go measures the length of a key in them.
    pub(super) chars: usize,
    /// Zero-based line.
    pub(in crate::yaml) line: u32,
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
        let mark = Mark { index: start, ..Mark::default() };
        Self { text, mark, newlines: 0, control: Control::first(text, start) }
    }

    /// Makes sure that `length` characters can be looked at, or the text has ended before. A control character is an error as
    /// soon as its chunk is read (`yaml_parser_update_buffer`), and none when the first document ends before.
    #[inline]
    pub(super) fn cache(&self, length: usize) -> Result<(), Problem> {
        match &self.control {
            None => Ok(()),
            Some(control) => self.cache_before(control, length),
        }
    }

    #[cold]
    fn cache_before(&self, control: &Control, length: usize) -> Result<(), Problem> {
        let read = self.text.get(self.mark.index..control.chunk).unwrap_or_default();
        if read.chars().take(length).count() < length {
            return Err(reader_error(self.text, control.at, "control characters are not allowed"));
        }
        Ok(())
    }

    /// The byte `offset` bytes ahead; NUL behind the end, which no text contains.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.mark.index + offset).copied().unwrap_or(0)
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
        self.text.as_bytes().get(self.mark.index + offset..).is_some_and(begins_with_break)
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
        self.text.get(self.mark.index..).and_then(|rest| rest.chars().next())
    }

    /// Moves over one character.
    #[inline]
    pub(super) fn skip(&mut self) {
        let bytes = match self.text.as_bytes().get(self.mark.index) {
            None => return,
            Some(b' ' | b'\t') => 1,
            Some(first) => {
                self.newlines = 0;
                if first.is_ascii() { 1 } else { self.next().map_or(1, char::len_utf8) }
            }
        };
        self.mark.index += bytes;
        self.mark.chars += 1;
        self.mark.column += 1;
    }

    /// Moves over one character, which becomes part of the scalar.
    pub(super) fn read(&mut self, to: &mut Content) {
        let start = self.mark.index;
        self.skip();
        to.push(self.text, start, self.mark.index);
    }

    /// Moves over all characters of one byte from here on that `belongs` names; they become part of the scalar. No blank may be among
    /// them. Whoever calls it makes sure, behind them, that what follows can be looked at: a control character in front of which a
    /// single one of them could not have been read is still ahead, or has been run over, and both is told there.
    #[inline]
    pub(super) fn read_run(&mut self, to: &mut Content, belongs: impl Fn(u8) -> bool) {
        let start = self.mark.index;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
        if length > 0 {
            self.newlines = 0;
            self.mark.index += length;
            self.mark.chars += length;
            self.mark.column += length;
            to.push(self.text, start, self.mark.index);
        }
    }

    /// The text between two places.
    pub(super) fn between(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
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

    /// Appends what does not stand in the text behind what was read so far.
    pub(super) fn add(&self, more: &str, to: &mut Content) {
        to.push_str(self.text, more);
    }

    /// Appends one character that does not stand in the text.
    pub(super) fn add_char(&self, more: char, to: &mut Content) {
        to.push_str(self.text, more.encode_utf8(&mut [0; 4]));
    }

    /// Appends a piece of the text.
    pub(super) fn add_piece(&self, (start, end): (usize, usize), to: &mut Content) {
        to.push(self.text, start, end);
    }

    /// What was read.
    pub(super) fn content(&self, content: Content) -> Cow<'t, str> {
        content.read(self.text)
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
        // Most texts are ASCII, which this sees at many bytes at once.
        let plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
        if text.as_bytes().chunks(64).all(|chunk| chunk.iter().fold(true, |all, byte| all & plain(byte))) {
            return None;
        }
        let at = text.get(start..)?.char_indices().find(|(_, char)| !is_allowed(*char))?.0 + start;
        let mut chunk = start;
        let mut end = text.floor_char_boundary(CHUNK);
        while end <= at {
            chunk = end;
            end = text.floor_char_boundary(end.saturating_add(CHUNK));
        }
        Some(Self { at, chunk })
    }
}

fn begins_with_break(bytes: &[u8]) -> bool {
    matches!(bytes, [b'\r' | b'\n', ..] | [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..])
}

/// Whether a line ends with it: CR, LF, NEL, LS or PS.
pub fn is_break(char: char) -> bool {
    begins_with_break(char.encode_utf8(&mut [0; 4]).as_bytes())
}

/// What the reader lets through (`readerc.go`, "Check if the character is in the allowed range").
fn is_allowed(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}
