//! The tree of one YAML document: raw scalar text, style, tag and place, because Go's typing rules need all of them.

use std::borrow::Cow;

use crate::diag::Span;

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// What a node is. Aliases are resolved by the parser: the node they point at is cloned into place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindIn<'t> {
    /// A scalar with its content after unescaping and folding.
    Scalar {
        /// The content.
        value: Cow<'t, str>,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence(Vec<NodeIn<'t>>),
    /// A mapping in the order of the text, duplicate and merge (`<<`) keys included.
    Mapping(Vec<(NodeIn<'t>, NodeIn<'t>)>),
}

/// A [`KindIn`] of its own.
pub type Kind = KindIn<'static>;

/// What stands on few nodes, apart from them: a text has tens of thousands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The explicit tag in its long form (`tag:yaml.org,2002:str`), `!` for the non-specific one; `None` when there is none.
    pub tag: Option<String>,
    /// The alias (`*name`) that this node came from, `None` for a node written where it stands: Go compares repeated keys and
    /// reads merges by what is written, not by what it stands for.
    pub alias: Option<Alias>,
}

/// The use of an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The anchor's name.
    pub anchor: String,
    /// One-based line of the alias, where [`Node::line`] is that of what it stands for.
    pub line: u32,
}

/// A node with its place, which borrows from the text what reads as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIn<'t> {
    /// What it is.
    pub kind: KindIn<'t>,
    /// Its tag and alias; `None` when it has neither.
    pub marks: Option<Box<Marks>>,
    /// Whether an anchor stands on it, or it came from an alias: such a node is shared, and must not be edited in one place.
    pub shared: bool,
    /// Where in the text. For a node that came from an alias: the place of the alias.
    pub span: Span,
    /// One-based line of the node's start as Go counts it, for its error texts.
    pub line: u32,
}

/// A [`NodeIn`] of its own, which outlives the text.
pub type Node = NodeIn<'static>;

impl NodeIn<'_> {
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

    /// Its explicit tag, as in [`Marks`].
    pub fn tag(&self) -> Option<&str> {
        self.marks.as_ref()?.tag.as_deref()
    }

    /// The alias that it came from, as in [`Marks`].
    pub fn alias(&self) -> Option<&Alias> {
        self.marks.as_ref()?.alias.as_ref()
    }

    /// The same with copies of what it borrows.
    pub fn into_owned(self) -> Node {
        let kind = match self.kind {
            KindIn::Scalar { value, style } => {
                KindIn::Scalar { value: Cow::Owned(value.into_owned()), style }
            }
            KindIn::Sequence(items) => KindIn::Sequence(items.into_iter().map(Self::into_owned).collect()),
            KindIn::Mapping(pairs) => {
                let owned = |(key, value): (Self, Self)| (key.into_owned(), value.into_owned());
                KindIn::Mapping(pairs.into_iter().map(owned).collect())
            }
        };
        let Self { marks, shared, span, line, .. } = self;
        Node { kind, marks, shared, span, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a large configuration there are tens of thousands, in two trees at once while it is changed.
    #[test]
    fn a_node_is_small() {
        assert_eq!(size_of::<NodeIn<'_>>(), 64);
    }
}
