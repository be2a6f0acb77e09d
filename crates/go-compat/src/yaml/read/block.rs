//! Nodes structured by indentation.

use super::{Problem, Read, Reader, ends_line, is_gap, syntax, unsure};
use crate::diag::{Span, plural, quoted};
use crate::yaml::{KindIn, NodeIn, Style};

/// Maximum length of a key and the text before its colon.
const MAX_KEY: usize = 1_024;

/// The indicator before a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Key,
    Dash,
    Marker,
}

impl<'t> Reader<'t> {
    /// Reads the node after an indicator. On a separate line, it must be at column `min` or further right,
    /// except that the dashes of a list may be in the column of their key.
    pub(super) fn block(&mut self, min: usize, behind: Behind) -> Read<NodeIn<'t>> {
        let start = self.at;
        self.skip_spaces();
        if self.peek() == b'\t' {
            if behind == Behind::Dash {
                return Err(unsure(self.here(1), "a tab after `-`", "write a space"));
            }
            self.skip_whitespace();
        }
        let mut fresh = behind == Behind::Dash;
        if ends_line(self.peek()) || self.peek() == b'#' {
            self.next_content(min, false)?;
            if !self.belongs(min, behind == Behind::Key) {
                return self.empty(start);
            }
            fresh = true;
        }
        self.content(min, fresh)
    }

    /// Returns a missing value, with its position.
    pub(super) fn empty(&mut self, at: usize) -> Read<NodeIn<'t>> {
        let span = Span::new(at, at);
        self.count(1, span)?;
        Ok(NodeIn::scalar("", Style::Plain, span))
    }

    /// Returns whether the next content belongs to a node whose lines begin at column `min`.
    pub(super) fn belongs(&self, min: usize, dash_below: bool) -> bool {
        let dash = || dash_below && self.column() + 1 == min && self.at_dash();
        !self.ended && (self.column() >= min || dash())
    }

    pub(super) fn at_dash(&self) -> bool {
        self.peek() == b'-' && is_gap(self.next())
    }

    /// Reads the node that begins here and moves to the next content. With `fresh`, a list or mapping may
    /// begin here.
    pub(super) fn content(&mut self, min: usize, fresh: bool) -> Read<NodeIn<'t>> {
        let start = self.at;
        let node = match self.peek() {
            b'-' if is_gap(self.next()) => return self.sequence(min, fresh),
            b'&' => return self.anchored(min, fresh),
            b'*' => self.alias()?,
            b'"' | b'\'' => {
                let line = self.line;
                let node = self.quoted()?;
                if fresh && self.colon(false) {
                    self.check_key(start, line)?;
                    return self.mapping(start, node);
                }
                node
            }
            b'[' | b'{' => self.flow()?,
            b'|' | b'>' => return self.literal(min),
            _ if self.is_reserved() => return Err(self.no_content()),
            _ => return self.plain(min, fresh),
        };
        if fresh && self.colon(false) {
            let what = "a key that is a list, a mapping or an alias";
            return Err(unsure(Span::new(start, self.at), what, "write the key as plain text"));
        }
        self.end_line(min)?;
        Ok(node)
    }

    /// Returns whether the next character cannot begin a node outside brackets.
    fn is_reserved(&self) -> bool {
        match self.peek() {
            b'?' | b':' => is_gap(self.next()),
            byte => matches!(byte, b'!' | b'%' | b'@' | b'`' | b',' | b']' | b'}' | b'\t'),
        }
    }

    /// Reports a character that cannot begin a node.
    pub(super) fn no_content(&self) -> Problem {
        let here = self.character();
        let shown = quoted(self.slice(here.start, here.end));
        let help = format!("quote text that begins with {shown}, or remove {shown}");
        let what = match self.peek() {
            b'!' => "a tag",
            b'%' => "a directive",
            b'?' => "`?` before a key",
            b':' => "`:` without a key",
            b'\t' => "a tab",
            b'|' | b'>' => "a key that is a block scalar",
            b'&' | b'*' | b'[' | b'{' => "a key that has an anchor or is not plain text",
            _ => return syntax(here, format!("a value cannot begin with {shown}"), &help),
        };
        unsure(here, what, &help)
    }

    /// Moves to the next content after a node that must be the last on its line. After the root, a comma or a
    /// closing bracket ends the document.
    pub(super) fn end_line(&mut self, min: usize) -> Read<()> {
        self.skip_whitespace();
        if ends_line(self.peek()) || self.peek() == b'#' {
            self.next_content(min, false)?;
            return Ok(());
        }
        if min == 0 && self.at_separator() {
            return Ok(());
        }
        Err(self.misplaced(min))
    }

    /// Reports text after a complete node on the same line.
    pub(super) fn misplaced(&self, min: usize) -> Problem {
        // After a value of several lines, Go may take text further left as the end of the root.
        if min == 0 || self.column() < min {
            return self.behind_root();
        }
        if self.peek() == b':' {
            return syntax(
                self.here(1),
                "a second `:` is not allowed here",
                "quote the value, or write the inner key on the next line with more indentation",
            );
        }
        syntax(
            self.rest_of_line(),
            "unexpected text after a complete value",
            "quote the whole value, or begin a new line",
        )
    }

    /// Moves to the next colon if it makes a key of the preceding text, and returns whether it does. With
    /// `close`, a colon directly after that text needs no space after it.
    pub(super) fn colon(&mut self, close: bool) -> bool {
        let end = self.at;
        self.skip_whitespace();
        let found = self.peek() == b':' && (is_gap(self.next()) || (close && self.at == end));
        if !found {
            self.at = end;
        }
        found
    }

    /// Checks the key that began at `start`, on the line that began at `line`. The reader is at the key's
    /// colon.
    pub(super) fn check_key(&self, start: usize, line: usize) -> Read<()> {
        if self.line != line {
            return Err(self.broken_key(start));
        }
        if self.at - start > MAX_KEY {
            let what = "a key of more than 1,024 bytes";
            return Err(unsure(Span::new(start, self.at), what, "shorten it"));
        }
        Ok(())
    }

    /// Reports a key that is not on one line with its colon.
    pub(super) fn broken_key(&self, start: usize) -> Problem {
        let help = "write the key and its colon on one line, or close the quote or bracket above";
        syntax(Span::new(start, self.at), "a key spans more than one line", help)
    }

    /// Reads the list that begins with this dash.
    fn sequence(&mut self, min: usize, fresh: bool) -> Read<NodeIn<'t>> {
        if !fresh {
            let help = "begin the list on a new line, or quote text that begins with `-`";
            return Err(syntax(self.here(1), "a list cannot begin on the line of its key", help));
        }
        self.check_anchor_line()?;
        self.deeper(|reader| reader.dashes(min))
    }

    fn dashes(&mut self, min: usize) -> Read<NodeIn<'t>> {
        let (start, column, base) = (self.at, self.column(), self.items.len());
        // The dashes of a list may be in the column of their key; the items are further right.
        let below = column < min;
        let mut end;
        loop {
            end = self.at + 1;
            self.at = end;
            let item = self.block(column + 1, Behind::Dash)?;
            end = end.max(item.span.end);
            self.items.push(item);
            if self.ended || self.column() < column {
                break;
            }
            if self.column() > column || !self.at_dash() {
                if below && self.column() == column {
                    break;
                }
                return Err(self.misindented("items", column));
            }
        }
        let items = self.items.split_off(base);
        let span = Span::new(start, end);
        self.count(1, span)?;
        Ok(NodeIn::new(KindIn::Sequence(items), span))
    }

    /// Reports a line that continues nothing.
    fn misindented(&self, what: &str, column: usize) -> Problem {
        let message = match self.column() {
            found if found > column => {
                format!("this line is indented by {}, the {what} above by {column}", plural(found, "space"))
            }
            _ => "this line is not an item of the list above".to_owned(),
        };
        if matches!(self.peek(), b'|' | b'>') {
            return self.no_content();
        }
        syntax(
            self.rest_of_line(),
            message,
            "indent all lines of a list or mapping by the same number of spaces",
        )
    }

    /// Reads the mapping whose first key begins at `start`. The reader is at the colon.
    pub(super) fn mapping(&mut self, start: usize, key: NodeIn<'t>) -> Read<NodeIn<'t>> {
        self.check_anchor_line()?;
        self.deeper(|reader| reader.pairs(start, key))
    }

    /// Refuses an anchor on the line that begins a list or mapping. It would be the anchor of the first key.
    fn check_anchor_line(&self) -> Read<()> {
        if self.anchor_line == Some(self.line) {
            let help = "write it on a separate line above the list or mapping, or remove it";
            return Err(unsure(Span::new(self.line, self.at), "an anchor before a key or dash", help));
        }
        Ok(())
    }

    fn pairs(&mut self, start: usize, mut key: NodeIn<'t>) -> Read<NodeIn<'t>> {
        let (column, base) = (start - self.line, self.pairs.len());
        let mut end;
        loop {
            end = self.at + 1;
            self.at = end;
            let value = self.block(column + 1, Behind::Key)?;
            end = end.max(value.span.end);
            self.pairs.push((key, value));
            if self.ended || self.column() < column {
                break;
            }
            if self.column() > column {
                return Err(self.misindented("keys", column));
            }
            key = self.key()?;
        }
        let pairs = self.pairs.split_off(base);
        let span = Span::new(start, end);
        self.count(1 + pairs.len(), span)?;
        Ok(NodeIn::new(KindIn::Mapping(pairs), span))
    }

    /// Reads a key, which must be here, up to its colon.
    pub(super) fn key(&mut self) -> Read<NodeIn<'t>> {
        let (start, line) = (self.at, self.line);
        let key = match self.peek() {
            b'"' | b'\'' => self.quoted()?,
            b'-' if is_gap(self.next()) => {
                let help = "indent it like the other items of its list, or remove the dash";
                return Err(syntax(self.here(1), "expected a key, found a list item", help));
            }
            b'&' | b'*' | b'[' | b'{' | b'|' | b'>' => return Err(self.no_content()),
            _ if self.is_reserved() => return Err(self.no_content()),
            _ => {
                let span = self.plain_line(false);
                NodeIn::scalar(self.slice(span.start, span.end), Style::Plain, span)
            }
        };
        if !self.colon(false) {
            return Err(self.no_colon(start));
        }
        self.check_key(start, line)?;
        Ok(key)
    }

    /// Reports a line without the expected `key: value`.
    fn no_colon(&self, start: usize) -> Problem {
        let line = self.slice(start, self.text.len()).split(['\n', '\r']).next().unwrap_or_default();
        let span = Span::new(start, start + line.trim_end_matches([' ', '\t']).len());
        let help = match line.split_once(':') {
            Some((_, rest)) if !rest.starts_with([' ', '\t']) => "write a space after the colon",
            _ => "write `key: value`, or indent the line if it continues the value above",
        };
        syntax(span, "expected a key followed by a colon and a space", help)
    }
}
