//! Lists and mappings in brackets.

use super::scalar::is_flow;
use super::{Read, Reader, is_gap, syntax, unsure};
use crate::diag::Span;
use crate::yaml::{KindIn, NodeIn, Style};

impl<'t> Reader<'t> {
    /// Reads the list or mapping that begins with this bracket.
    pub(super) fn flow(&mut self) -> Read<NodeIn<'t>> {
        self.deeper(|reader| match reader.peek() {
            b'[' => reader.flow_sequence(),
            _ => reader.flow_mapping(),
        })
    }

    fn flow_sequence(&mut self) -> Read<NodeIn<'t>> {
        let base = self.items.len();
        let span = self.flow_parts(b']', |reader, open| {
            let start = reader.at;
            let item = match reader.flow_entry(open)? {
                (item, None) => item,
                // A single pair needs no braces.
                (key, Some(value)) => {
                    let span = Span::new(start, value.span.end);
                    reader.count(1, span)?;
                    NodeIn::new(KindIn::Mapping(vec![(key, value)]), span)
                }
            };
            reader.items.push(item);
            Ok(())
        })?;
        Ok(NodeIn::new(KindIn::Sequence(self.items.split_off(base)), span))
    }

    fn flow_mapping(&mut self) -> Read<NodeIn<'t>> {
        let base = self.pairs.len();
        let span = self.flow_parts(b'}', |reader, open| {
            let (key, value) = reader.flow_entry(open)?;
            let value = value.map_or_else(|| reader.empty(reader.at), Ok)?;
            reader.pairs.push((key, value));
            Ok(())
        })?;
        Ok(NodeIn::new(KindIn::Mapping(self.pairs.split_off(base)), span))
    }

    /// Reads all parts with `part`, from this bracket to the closing one. Returns the span of the whole.
    fn flow_parts(&mut self, close: u8, part: impl Fn(&mut Self, usize) -> Read<()>) -> Read<Span> {
        let open = self.at;
        self.at += 1;
        loop {
            self.flow_space(open)?;
            if self.peek() == close {
                break;
            }
            part(self, open)?;
            self.flow_space(open)?;
            match self.peek() {
                b',' => self.at += 1,
                b':' => {
                    let what = "a key and its colon on different lines";
                    return Err(unsure(self.here(1), what, "write them on one line"));
                }
                next if next != close => {
                    let bracket = self.slice(open, open + 1);
                    let message = format!("expected a comma or the end of the `{bracket}`");
                    let help = "write a comma, close the bracket, or quote the text";
                    return Err(syntax(self.rest_of_line(), message, help));
                }
                _ => {}
            }
        }
        self.at += 1;
        let span = Span::new(open, self.at);
        self.count(1, span)?;
        Ok(span)
    }

    /// Skips spaces, line breaks and comments in the bracket that opened at `open`.
    fn flow_space(&mut self, open: usize) -> Read<()> {
        loop {
            self.skip_whitespace();
            match self.peek() {
                b'\n' | b'\r' => self.skip_break(),
                b'#' => self.skip_line(),
                0 => {
                    let message = format!("this `{}` is never closed", self.slice(open, open + 1));
                    return Err(syntax(Span::new(open, open + 1), message, "close it"));
                }
                _ => return self.check_marker(),
            }
        }
    }

    pub(super) fn check_marker(&self) -> Read<()> {
        if self.at_marker() {
            let what = "a document marker in brackets or quotes";
            return Err(unsure(self.here(3), what, "indent it, or close the bracket or quote above"));
        }
        Ok(())
    }

    /// Reads a node and, if a colon makes it a key, its value. In an open brace it is always a key.
    fn flow_entry(&mut self, open: usize) -> Read<(NodeIn<'t>, Option<NodeIn<'t>>)> {
        let braces = self.byte(open) == b'{';
        let (start, line) = (self.at, self.line);
        let key = self.flow_node()?;
        let colon = self.colon(key.style() != Some(Style::Plain));
        if (colon || braces) && (key.shared || key.as_scalar().is_none()) {
            let what = "a key that has an anchor or is not plain text";
            let help = "write the key as plain text, or quote a template such as `{{ name }}`";
            return Err(unsure(Span::new(start, self.at), what, help));
        }
        if !colon {
            return Ok((key, None));
        }
        self.check_key(start, line)?;
        self.at += 1;
        let end = self.at;
        self.flow_space(open)?;
        let is_empty = matches!(self.peek(), b',' | b']' | b'}');
        let value = if is_empty { self.empty(end)? } else { self.flow_node()? };
        Ok((key, Some(value)))
    }

    /// Reads a node in brackets.
    pub(super) fn flow_node(&mut self) -> Read<NodeIn<'t>> {
        match self.peek() {
            b'&' => self.flow_anchored(),
            b'*' => self.alias(),
            b'"' | b'\'' => self.quoted(),
            b'[' | b'{' => self.flow(),
            b'-' if is_gap(self.next()) => {
                let help = "separate the items with commas instead of dashes";
                Err(syntax(self.here(1), "a list with dashes inside brackets", help))
            }
            b'-' if is_flow(self.next()) => Err(unsure(self.here(1), "a lone `-` in brackets", "quote it")),
            b'|' | b'>' => {
                let help = "quote the text";
                Err(syntax(self.here(1), "a `|` or `>` block inside brackets", help))
            }
            b'!' | b'?' | b':' | b'%' | b'@' | b'`' | b',' | b']' | b'}' => Err(self.no_content()),
            _ => self.flow_plain(),
        }
    }
}
