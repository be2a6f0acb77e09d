//! Anchors, and the copies that aliases make.

use std::borrow::Cow;

use super::problem::{Read, syntax, too_large, unsure};
use super::{Reader, ends_line, is_gap};
use crate::diag::Span;
use crate::yaml::{KindIn, MAX_DEPTH, MAX_NODES, Mark, NodeIn};

/// A node with an anchor.
pub(super) enum Anchored<'t> {
    /// It is not read to its end.
    Open,
    Complete {
        node: NodeIn<'t>,
        /// The nodes in it, those of copies included.
        nodes: usize,
        /// The levels of collections in it.
        levels: usize,
    },
}

impl<'t> Reader<'t> {
    /// Reads the node behind the anchor that is here.
    pub(super) fn anchored(&mut self, min: usize, fresh: bool) -> Read<NodeIn<'t>> {
        self.named(|reader| {
            let end = reader.at;
            reader.skip_blanks();
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
            reader.skip_blanks();
            if ends_line(reader.peek()) || matches!(reader.peek(), b',' | b']' | b'}' | b'#') {
                let help = "write the value directly behind the anchor";
                return Err(unsure(reader.here(0), "an anchor with nothing behind it in brackets", help));
            }
            reader.flow_node()
        })
    }

    /// Reads the anchor that is here and then the node by `read`.
    fn named(&mut self, read: impl FnOnce(&mut Self) -> Read<NodeIn<'t>>) -> Read<NodeIn<'t>> {
        let (start, before, deepest) = (self.at, self.nodes, self.deepest);
        self.deepest = self.depth;
        let name = self.name()?;
        let end = self.at;
        self.anchors.insert(name, Anchored::Open);
        let mut node = read(self)?;
        let span = Span::new(start, node.span.end.max(end));
        if node.mark.is_some() {
            return Err(syntax(span, "an anchor on an alias or on another anchor", "remove one of them"));
        }
        node.span = span;
        node.shared = true;
        node.mark = Some(Box::new(Mark::Anchor(Cow::Borrowed(name))));
        // Within the node the same name may have been given again, and then the later one counts.
        let (nodes, levels) = (self.nodes - before, self.deepest - self.depth);
        self.deepest = self.deepest.max(deepest);
        if let Some(open @ Anchored::Open) = self.anchors.get_mut(name) {
            *open = Anchored::Complete { node: node.clone(), nodes, levels };
        }
        Ok(node)
    }

    /// Copies the node that the alias that is here stands for.
    pub(super) fn alias(&mut self) -> Read<NodeIn<'t>> {
        let start = self.at;
        let name = self.name()?;
        let span = Span::new(start, self.at);
        match self.anchors.get(name) {
            Some(Anchored::Complete { node, nodes, levels }) => {
                let (nodes, deepest) = (*nodes, self.depth + levels);
                if deepest > MAX_DEPTH || self.nodes + nodes > MAX_NODES {
                    return Err(too_large(
                        span,
                        "the copy of this alias makes the text too deep or too large",
                    ));
                }
                let mut copy = node.clone();
                self.deepest = self.deepest.max(deepest);
                self.copied += nodes;
                self.nodes += nodes;
                relocate(&mut copy, span);
                copy.mark = Some(Box::new(Mark::Alias(Cow::Borrowed(name))));
                Ok(copy)
            }
            Some(Anchored::Open) => Err(unsure(
                span,
                "an alias within the node of its anchor",
                "write out what it should stand for",
            )),
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

/// Gives a copy the span of its alias.
fn relocate(node: &mut NodeIn<'_>, span: Span) {
    node.span = span;
    node.shared = true;
    match &mut node.kind {
        KindIn::Scalar { .. } => {}
        KindIn::Sequence(items) => items.iter_mut().for_each(|item| relocate(item, span)),
        KindIn::Mapping(pairs) => {
            for (key, value) in pairs {
                relocate(key, span);
                relocate(value, span);
            }
        }
    }
}
