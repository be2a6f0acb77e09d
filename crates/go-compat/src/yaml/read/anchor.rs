//! Anchors and aliases.

use super::{Read, Reader, ends_line, is_gap, syntax, too_large, unsure};
use crate::diag::Span;
use crate::yaml::{KindIn, MAX_DEPTH, Mark, NodeIn};

impl<'t> Reader<'t> {
    /// Reads an anchor and its node.
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
            let help = "indent the list, or write the anchor after the key";
            return Err(unsure(Span::new(end, end), "an anchor above a less indented list", help));
        }
        self.check_root_anchor(min)?;
        self.content(min, true)
    }

    /// Refuses an anchored root that ends before it has content.
    fn check_root_anchor(&self, min: usize) -> Read<()> {
        let ends = min == 0 && matches!(self.peek(), b',' | b']' | b'}' | b'&' | b'*');
        if ends { Err(self.behind_root()) } else { Ok(()) }
    }

    /// Reads an anchor and its node in brackets.
    pub(super) fn flow_anchored(&mut self) -> Read<NodeIn<'t>> {
        self.named(|reader| {
            reader.skip_whitespace();
            if ends_line(reader.peek()) || matches!(reader.peek(), b',' | b']' | b'}' | b'#') {
                let help = "write the value directly after the anchor";
                return Err(unsure(reader.here(0), "an anchor without a value in brackets", help));
            }
            reader.flow_node()
        })
    }

    /// Reads an anchor, and then its node with `read`.
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
        // The node may contain the same anchor again; then the later one wins.
        if let Some(open @ None) = self.anchors.get_mut(name) {
            *open = Some(node.clone());
        }
        Ok(node)
    }

    /// Copies the node that an alias refers to.
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
                    let message = "expanding this alias makes the text too deep or too large";
                    return Err(too_large(span, message));
                }
                copy.mark = Some(Box::new(Mark::Alias(name.to_owned())));
                Ok(copy)
            }
            Some(None) => {
                let help = "write the value itself instead of the alias";
                Err(unsure(span, "an alias inside its own anchor", help))
            }
            None => {
                let help = format!(
                    "write `&{name}` before the value that it refers to, or quote text that begins with `*`"
                );
                Err(syntax(span, format!("the anchor `{name}` is not defined above"), &help))
            }
        }
    }

    /// Reads the name after `&` or `*`.
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
            let help = format!("quote the text: `\"{shown}\"`");
            return Err(syntax(
                Span::new(start, start + 1),
                format!("`{shown}` is not followed by a name"),
                &help,
            ));
        }
        if !(is_gap(next) || matches!(next, b',' | b']' | b'}')) {
            let help = "use letters, digits, `_` and `-`, followed by a space, or quote text that begins with `&` or `*`";
            return Err(unsure(self.rest_of_line(), "this name of an anchor or alias", help));
        }
        Ok(name)
    }
}

/// Sets the span of a copy to its alias. Returns its number of nodes and its depth.
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
