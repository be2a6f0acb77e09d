//! The tree of one YAML document: text, style and span of each node, and the uses of anchors.

use std::borrow::Cow;

use crate::diag::Span;

/// The way a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'single'`
    SingleQuoted,
    /// `"double"`
    DoubleQuoted,
    /// `|` block
    Literal,
    /// `>` block
    Folded,
}

/// The content of a node. An alias is resolved: it is a copy of the node that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindIn<'t> {
    /// A scalar with its content after unescaping and folding.
    Scalar {
        /// The content.
        value: Cow<'t, str>,
        /// The way it was written.
        style: Style,
    },
    /// A list.
    Sequence(Vec<NodeIn<'t>>),
    /// A mapping in the order of the text, with repeated keys and merge keys (`<<`). All keys are scalars.
    Mapping(Vec<(NodeIn<'t>, NodeIn<'t>)>),
}

/// A [`KindIn`] that borrows nothing.
pub type Kind = KindIn<'static>;

/// The name of an anchor on a node. It is kept apart because few nodes have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// `&name` stands on the node.
    Anchor(String),
    /// The node is a copy, made for `*name`.
    Alias(String),
}

/// A node with its span. It borrows from the text what reads as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIn<'t> {
    /// Its content.
    pub kind: KindIn<'t>,
    /// Its anchor, or the alias that it was copied for.
    pub mark: Option<Box<Mark>>,
    /// True if an anchor stands on it or it was copied for an alias: it must not be edited in one place.
    pub shared: bool,
    /// Its span with anchor and quotes. A copy and everything in it has the span of the alias.
    pub span: Span,
}

/// A [`NodeIn`] that borrows nothing and outlives the text.
pub type Node = NodeIn<'static>;

impl<'t> NodeIn<'t> {
    /// A node without an anchor.
    pub(super) fn new(kind: KindIn<'t>, span: Span) -> Self {
        Self { kind, mark: None, shared: false, span }
    }

    /// A scalar without an anchor.
    pub(super) fn scalar(value: impl Into<Cow<'t, str>>, style: Style, span: Span) -> Self {
        Self::new(KindIn::Scalar { value: value.into(), style }, span)
    }

    /// The mapping's pairs, or `None` if it is something else.
    pub fn as_mapping(&self) -> Option<&[(Self, Self)]> {
        match &self.kind {
            KindIn::Mapping(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The list's items, or `None` if it is something else.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.kind {
            KindIn::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The scalar's content, or `None` if it is something else.
    pub fn as_scalar(&self) -> Option<&str> {
        match &self.kind {
            KindIn::Scalar { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The way the scalar was written, or `None` if it is something else.
    pub fn style(&self) -> Option<Style> {
        match self.kind {
            KindIn::Scalar { style, .. } => Some(style),
            _ => None,
        }
    }

    /// Returns whether it is null: a plain scalar that is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        let KindIn::Scalar { value, style: Style::Plain } = &self.kind else { return false };
        matches!(&**value, "" | "~" | "null" | "Null" | "NULL")
    }

    /// Returns whether it is, as a key, the merge key `<<`.
    pub fn is_merge(&self) -> bool {
        matches!(&self.kind, KindIn::Scalar { value, style: Style::Plain } if value == "<<")
    }

    /// The name of the anchor on it.
    pub fn anchor(&self) -> Option<&str> {
        match self.mark.as_deref()? {
            Mark::Anchor(name) => Some(name),
            Mark::Alias(_) => None,
        }
    }

    /// The name of the alias that it was copied for.
    pub fn alias(&self) -> Option<&str> {
        match self.mark.as_deref()? {
            Mark::Alias(name) => Some(name),
            Mark::Anchor(_) => None,
        }
    }

    /// The same with copies of what it borrows.
    pub fn into_owned(self) -> Node {
        let kind = match self.kind {
            KindIn::Scalar { value, style } => KindIn::Scalar { value: value.into_owned().into(), style },
            KindIn::Sequence(items) => KindIn::Sequence(items.into_iter().map(Self::into_owned).collect()),
            KindIn::Mapping(pairs) => {
                let owned = |(key, value): (Self, Self)| (key.into_owned(), value.into_owned());
                KindIn::Mapping(pairs.into_iter().map(owned).collect())
            }
        };
        Node { kind, mark: self.mark, shared: self.shared, span: self.span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a large configuration there are tens of thousands, in two trees at once while it is changed.
    #[test]
    fn a_node_is_small() {
        assert!(size_of::<NodeIn<'_>>() <= 64);
    }
}
