//! Anchors, and the copies that aliases make.

use super::{Read, Reader, ends_line, is_gap, syntax, too_large, unsure};
use crate::diag::Span;
use crate::yaml::{KindIn, MAX_DEPTH, Mark, NodeIn};

impl<'t> Reader<'t> {
    /// Reads the node behind the anchor that is here.
    pub(super) fn anchored(&mut self, min: usize, fresh: bool) -> Read<NodeIn<'t>> {
        self.named(|reader| {
            let end = reader.at;
            reader.skip_whitespace();
            if ends_line(reader.peek()) || reader.peek() == b'#' {
                return reader.below_anchor(min, fresh, end);
            }
            reader.check_root_anchor(min)?;
            reader.anchor_line = Some(reader.line);
            reader.content(min, fresh)
        })
    }

    /// Reads the node on the lines below its anchor, which ends at `end`.
    fn below_anchor(&mut self, min: usize, fresh: bool, end: usize) -> Read<NodeIn<'t>> {
        self.next_content(min, false)?;
        if !self.belongs(min, true) {
            return self.empty(end);
        }
        if fresh && self.column() < min {
            let help = "indent the list, or write the anchor behind the key";
            return Err(unsure(Span::new(end, end), "an anchor above a list that is indented less", help));
        }
        self.check_root_anchor(min)?;
        self.content(min, true)
    }

    /// Refuses what ends the root, which then is nothing but its anchor.
    fn check_root_anchor(&self, min: usize) -> Read<()> {
        let ends = min == 0 && matches!(self.peek(), b',' | b']' | b'}' | b'&' | b'*');
        if ends { Err(self.behind_root()) } else { Ok(()) }
    }

    /// Reads the node in brackets behind the anchor that is here.
    pub(super) fn flow_anchored(&mut self) -> Read<NodeIn<'t>> {
        self.named(|reader| {
            reader.skip_whitespace();
            if ends_line(reader.peek()) || matches!(reader.peek(), b',' | b']' | b'}' | b'#') {
                let help = "write the value directly behind the anchor";
                return Err(unsure(reader.here(0), "an anchor with nothing behind it in brackets", help));
            }
            reader.flow_node()
        })
    }

    /// Reads the anchor that is here and then the node by `read`.
    fn named(&mut self, read: impl FnOnce(&mut Self) -> Read<NodeIn<'t>>) -> Read<NodeIn<'t>> {
        let start = self.at;
        let name = self.name()?;
        let end = self.at;
        self.anchors.insert(name, None);
        let mut node = read(self)?;
        let span = Span::new(start, node.span.end.max(end));
        if node.mark.is_some() {
            return Err(syntax(span, "an anchor on an alias or on another anchor", "remove one of them"));
        }
        node.span = span;
        node.shared = true;
        node.mark = Some(Box::new(Mark::Anchor(name.to_owned())));
        // Within the node the same name may have been given again, and then the later one counts.
        if let Some(open @ None) = self.anchors.get_mut(name) {
            *open = Some(node.clone());
        }
        Ok(node)
    }

    /// Copies the node that the alias that is here stands for.
    pub(super) fn alias(&mut self) -> Read<NodeIn<'t>> {
        let start = self.at;
        let name = self.name()?;
        let span = Span::new(start, self.at);
        match self.anchors.get(name) {
            Some(Some(node)) => {
                let mut copy = node.clone();
                let (nodes, levels) = relocate(&mut copy, span);
                self.copied += nodes;
                self.nodes += nodes;
                if self.depth + levels > MAX_DEPTH || self.nodes > self.most {
                    let message = "the copy of this alias makes the text too deep or too large";
                    return Err(too_large(span, message));
                }
                copy.mark = Some(Box::new(Mark::Alias(name.to_owned())));
                Ok(copy)
            }
            Some(None) => {
                let help = "write out what it should stand for";
                Err(unsure(span, "an alias within the node of its anchor", help))
            }
            None => {
                let help = format!(
                    "write `&{name}` in front of what it should stand for, or put text that begins with `*` in quotes"
                );
                Err(syntax(span, format!("nothing above has the anchor `{name}`"), &help))
            }
        }
    }

    /// Reads the name behind `&` or `*`.
    fn name(&mut self) -> Read<&'t str> {
        let start = self.at;
        self.at += 1;
        while matches!(self.peek(), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-') {
            self.at += 1;
        }
        let name = self.slice(start + 1, self.at);
        let next = self.peek();
        if name.is_empty() {
            let shown = self.slice(start, start + 1);
            let help = format!("put the text in quotes: `\"{shown}\"`");
            return Err(syntax(
                Span::new(start, start + 1),
                format!("`{shown}` has no name behind it"),
                &help,
            ));
        }
        if !(is_gap(next) || matches!(next, b',' | b']' | b'}')) {
            let help = "use letters, digits, `_` and `-`, with a space behind; put text that begins with `&` or `*` in quotes";
            return Err(unsure(self.rest_of_line(), "this name of an anchor or alias", help));
        }
        Ok(name)
    }
}

/// Gives a copy the span of its alias. Returns the number of nodes in it, and of levels of collections.
fn relocate(node: &mut NodeIn<'_>, span: Span) -> (usize, usize) {
    node.span = span;
    node.shared = true;
    let join = |(nodes, levels): (usize, usize), child: &mut NodeIn<'_>| {
        let (more, deeper) = relocate(child, span);
        (nodes + more, levels.max(1 + deeper))
    };
    match &mut node.kind {
        KindIn::Scalar { .. } => (1, 0),
        KindIn::Sequence(items) => items.iter_mut().fold((1, 1), join),
        KindIn::Mapping(pairs) => pairs.iter_mut().flat_map(|(key, value)| [key, value]).fold((1, 1), join),
    }
}
