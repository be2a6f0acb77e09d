//! Lists and mappings in brackets.

use super::plain::is_flow;
use super::problem::{Read, syntax, unsure};
use super::{Reader, ends_line, is_gap};
use crate::diag::Span;
use crate::yaml::{KindIn, NodeIn, Style};

impl<'t> Reader<'t> {
    /// Reads the list or mapping whose bracket is here.
    pub(super) fn flow(&mut self) -> Read<NodeIn<'t>> {
        self.deeper(|reader| match reader.peek() {
            b'[' => reader.flow_sequence(),
            _ => reader.flow_mapping(),
        })
    }

    fn flow_sequence(&mut self) -> Read<NodeIn<'t>> {
        let base = self.items.len();
        let span = self.flow_parts(b']', |reader| {
            let item = reader.flow_item()?;
            reader.items.push(item);
            Ok(())
        })?;
        Ok(NodeIn::new(KindIn::Sequence(self.items.split_off(base)), span))
    }

    fn flow_mapping(&mut self) -> Read<NodeIn<'t>> {
        let base = self.pairs.len();
        let span = self.flow_parts(b'}', |reader| {
            let pair = reader.flow_pair()?;
            reader.pairs.push(pair);
            Ok(())
        })?;
        Ok(NodeIn::new(KindIn::Mapping(self.pairs.split_off(base)), span))
    }

    /// Reads part after part from the bracket that is here to the closing one. Returns where all of it stands.
    fn flow_parts(&mut self, close: u8, part: impl Fn(&mut Self) -> Read<()>) -> Read<Span> {
        let start = self.at;
        self.at += 1;
        loop {
            self.flow_space(start)?;
            if self.peek() == close {
                break;
            }
            part(self)?;
            self.flow_space(start)?;
            if !self.comma_or(close, start)? {
                break;
            }
        }
        self.at += 1;
        let span = Span::new(start, self.at);
        self.count(1, span)?;
        Ok(span)
    }

    /// Returns whether a comma comes next, and not the closing bracket; then moves behind it.
    fn comma_or(&mut self, close: u8, start: usize) -> Read<bool> {
        match self.peek() {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            next if next == close => Ok(false),
            b':' => {
                Err(unsure(self.here(1), "a key and its colon on different lines", "write them on one line"))
            }
            _ => {
                let open = self.slice(start, start + 1);
                let message = format!("a comma or the end of the `{open}` is missing in front of this");
                Err(syntax(
                    self.rest_of_line(),
                    message,
                    "write a comma, close the bracket, or put the text in quotes",
                ))
            }
        }
    }

    /// Moves over blanks, line breaks and comments in the bracket that opened at `open`.
    fn flow_space(&mut self, open: usize) -> Read<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                b'\n' | b'\r' => self.skip_break(),
                b'#' => {
                    self.check_comment()?;
                    self.skip_line();
                }
                0 => {
                    let message = format!("this `{}` is never closed", self.slice(open, open + 1));
                    return Err(syntax(Span::new(open, open + 1), message, "close it"));
                }
                _ => return self.check_flow_marker(),
            }
        }
    }

    pub(super) fn check_flow_marker(&self) -> Read<()> {
        if self.at_marker() {
            return Err(unsure(
                self.here(3),
                "a document marker in brackets",
                "indent it, or close the bracket",
            ));
        }
        Ok(())
    }

    /// Reads an item of a list, which may be a single pair without braces.
    fn flow_item(&mut self) -> Read<NodeIn<'t>> {
        let (start, line) = (self.at, self.line);
        let key = self.flow_node()?;
        if !self.flow_colon(&key) {
            return Ok(key);
        }
        let key = self.flow_key(key, start, line)?;
        let value = self.flow_value(start)?;
        let span = Span::new(start, value.span.end);
        self.count(1, span)?;
        Ok(NodeIn::new(KindIn::Mapping(vec![(key, value)]), span))
    }

    fn flow_pair(&mut self) -> Read<(NodeIn<'t>, NodeIn<'t>)> {
        let (start, line) = (self.at, self.line);
        let key = self.flow_node()?;
        let colon = self.flow_colon(&key);
        let key = self.flow_key(key, start, line)?;
        if colon {
            let value = self.flow_value(start)?;
            return Ok((key, value));
        }
        let span = Span::new(self.at, self.at);
        self.count(1, span)?;
        Ok((key, NodeIn::scalar("", Style::Plain, span)))
    }

    /// Returns whether a colon comes next that makes a key of the node in front of it; then moves to the colon.
    fn flow_colon(&mut self, key: &NodeIn<'t>) -> bool {
        let end = self.at;
        self.skip_blanks();
        let quoted = !matches!(key.kind, KindIn::Scalar { style: Style::Plain, .. });
        let found = self.peek() == b':' && (is_gap(self.next()) || (quoted && self.at == end));
        if !found {
            self.at = end;
        }
        found
    }

    /// Checks that the node, which began at `start`, may be a key.
    fn flow_key(&self, key: NodeIn<'t>, start: usize, line: usize) -> Read<NodeIn<'t>> {
        let span = Span::new(start, self.at);
        if key.shared || !matches!(key.kind, KindIn::Scalar { .. }) {
            let what = "a key that has an anchor or is no plain text";
            let help = "write the key as plain text, and put a template such as `{{ name }}` in quotes";
            return Err(unsure(span, what, help));
        }
        if self.line != line && self.peek() == b':' {
            return Err(self.broken_key(start));
        }
        Self::check_key_length(span)?;
        Ok(key)
    }

    /// Reads the value behind the colon that is next.
    fn flow_value(&mut self, open: usize) -> Read<NodeIn<'t>> {
        self.at += 1;
        let end = self.at;
        self.flow_space(open)?;
        if matches!(self.peek(), b',' | b']' | b'}') {
            let span = Span::new(end, end);
            self.count(1, span)?;
            return Ok(NodeIn::scalar("", Style::Plain, span));
        }
        self.flow_node()
    }

    /// Reads a node in brackets.
    pub(super) fn flow_node(&mut self) -> Read<NodeIn<'t>> {
        match self.peek() {
            b'&' => self.flow_anchored(),
            b'*' => self.alias(),
            b'"' | b'\'' => self.quoted(),
            b'[' | b'{' => self.flow(),
            b'-' if ends_line(self.next()) || is_gap(self.next()) => {
                let help = "separate the items by commas, without dashes";
                Err(syntax(self.here(1), "a list with dashes within brackets", help))
            }
            b'-' if is_flow(self.next()) => {
                Err(unsure(self.here(1), "`-` alone in brackets", "put it in quotes"))
            }
            b'|' | b'>' => {
                let help = "put the text in quotes";
                Err(syntax(self.here(1), "a `|` or `>` block within brackets", help))
            }
            b'!' | b'?' | b':' | b'%' | b'@' | b'`' | b',' | b']' | b'}' => Err(self.no_content()),
            _ => self.flow_plain(),
        }
    }
}
