//! YAML as yunikorn-core reads it (`go.yaml.in/yaml/v3`), and edits that leave every other byte alone.
//!
//! Three jobs: [`parse`] turns text into [`Node`]s, [`decode`] gives them the values that Go gives its
//! structs, [`edit`] changes single scalars in the text and proves that nothing else changed.
//!
//! A text is read as Go reads it, or it is refused: with [`SYNTAX`] or [`DECODE`] where Go refuses it, too,
//! with [`UNSURE`] where YAML libraries differ. [`UNSURE`] is given for:
//!
//! * tags (`!!str`), directives (`%YAML`), keys written as `? key`, an empty key (`: value`), a null key
//!   (`~: value`);
//! * keys of more than 1,024 bytes, and keys that are a list, a mapping, an alias or have an anchor;
//! * control characters, U+FEFF but at the start, U+0085, U+2028, U+2029, and a CR without LF;
//! * tabs in front of content, in an empty line and behind `-`;
//! * `\'` in double quotes, and an escaped line break in front of an empty line;
//! * empty lines at the start of a `|` or `>` block that have more spaces than its first line;
//! * in brackets: `?`, `-` alone, a colon right in front of a comma or bracket, and in brackets and quotes a
//!   line that begins with `---`;
//! * an anchor or alias with other characters than ASCII letters, digits, `_` and `-`, an anchor with nothing
//!   behind it in brackets, an alias within its own anchor;
//! * text behind the end of the first document on the same line, but commas and closing brackets, and what is
//!   no YAML behind it;
//! * numbers that Go converts differently on different machines.

pub mod decode;
pub mod edit;
mod read;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use decode::{Number, boolean, number};

use std::borrow::Cow;

use crate::diag::{Code, Diagnostic, Span};
use read::{Reader, first_odd_character};

/// Larger texts are refused before they are parsed: a `ConfigMap` cannot hold more than 1 MiB, and what
/// it holds compressed unpacks to more.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;
/// Deeper nesting is refused. A queue level costs two YAML levels.
pub const MAX_DEPTH: usize = 256;
/// More nodes than this (aliases counted each time they are used) are refused.
pub const MAX_NODES: usize = 1_000_000;

/// `YuniKorn` refuses the text: it is no YAML.
pub const SYNTAX: Code = Code::new(2001, "yaml-syntax");
/// The text has more than 8 MiB, nests deeper than 256 levels, or has more than a million nodes.
pub const TOO_LARGE: Code = Code::new(2002, "yaml-too-large");
/// A value does not fit the field's Go type, a field is unknown, or a key stands twice.
pub const DECODE: Code = Code::new(2003, "yaml-decode");
/// An edit cannot be made without touching something else.
pub const EDIT: Code = Code::new(2004, "yaml-edit");
/// YAML libraries read the text differently, and `YuniKorn` may accept it.
pub const UNSURE: Code = Code::new(2005, "yaml-unsure");

/// All codes of this module.
pub const CODES: &[Code] = &[SYNTAX, TOO_LARGE, DECODE, EDIT, UNSURE];

// Text to nodes.

/// Reads the first document. `None`: there is none, or nothing but comments.
///
/// # Errors
/// See [`parse_in`].
pub fn parse(text: &str) -> Result<Option<Node>, Diagnostic> {
    parse_in(text).map(|root| root.map(NodeIn::into_owned))
}

/// Reads the first document, with nodes that borrow from the text. What stands behind its `---` or `...` is
/// not read.
///
/// # Errors
/// [`SYNTAX`], [`UNSURE`] or [`TOO_LARGE`], with the span of what is wrong.
pub fn parse_in(text: &str) -> Result<Option<NodeIn<'_>>, Diagnostic> {
    read(text, MAX_NODES)
}

/// Checks that a text has no more than so many nodes, and ignores other errors in it.
///
/// # Errors
/// [`TOO_LARGE`].
pub fn within(text: &str, nodes: usize) -> Result<(), Diagnostic> {
    read(text, nodes)
        .map_or_else(|error| if error.code == TOO_LARGE { Err(error) } else { Ok(()) }, |_| Ok(()))
}

fn read(text: &str, nodes: usize) -> Result<Option<NodeIn<'_>>, Diagnostic> {
    if text.len() > MAX_TEXT {
        let message = format!("the text has more than {MAX_TEXT} bytes");
        return Err(Diagnostic::error(TOO_LARGE, message).help("split or shorten the configuration"));
    }
    first_odd_character(text)
        .map_or(Ok(()), Err)
        .and_then(|()| Reader::new(text, nodes).document())
        .map_err(|problem| *problem)
}

// The tree of one YAML document: text, style and span of each node, and the uses of anchors.

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
    fn new(kind: KindIn<'t>, span: Span) -> Self {
        Self { kind, mark: None, shared: false, span }
    }

    /// A scalar without an anchor.
    fn scalar(value: impl Into<Cow<'t, str>>, style: Style, span: Span) -> Self {
        Self::new(KindIn::Scalar { value: value.into(), style }, span)
    }

    /// The mapping's pairs, or `None` if it is something else.
    pub fn as_mapping(&self) -> Option<&[(Self, Self)]> {
        if let KindIn::Mapping(pairs) = &self.kind { Some(pairs) } else { None }
    }

    /// The list's items, or `None` if it is something else.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        if let KindIn::Sequence(items) = &self.kind { Some(items) } else { None }
    }

    /// The scalar's content, or `None` if it is something else.
    pub fn as_scalar(&self) -> Option<&str> {
        if let KindIn::Scalar { value, .. } = &self.kind { Some(value) } else { None }
    }

    /// The way the scalar was written, or `None` if it is something else.
    pub fn style(&self) -> Option<Style> {
        if let KindIn::Scalar { style, .. } = self.kind { Some(style) } else { None }
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
        if let Mark::Anchor(name) = self.mark.as_deref()? { Some(name) } else { None }
    }

    /// The name of the alias that it was copied for.
    pub fn alias(&self) -> Option<&str> {
        if let Mark::Alias(name) = self.mark.as_deref()? { Some(name) } else { None }
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
