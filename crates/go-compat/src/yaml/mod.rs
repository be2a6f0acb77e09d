//! YAML as yunikorn-core reads it (`go.yaml.in/yaml/v3`), and edits that leave every other byte unchanged.
//!
//! [`parse`] converts text to [`Node`]s. [`decode`] converts nodes to the values of Go's structs, and
//! [`json`] to the JSON that kubectl sends. [`edit`] changes single scalars in the text and proves that
//! nothing else changed.
//!
//! The parser either reads a text as Go does or refuses it: with [`SYNTAX`] or [`DECODE`] if Go refuses it
//! too, and with [`UNSURE`] if YAML libraries read it differently. These constructs are [`UNSURE`]:
//!
//! * tags (`!!str`), directives (`%YAML`), keys of the form `? key`, an empty key (`: value`), a null key
//!   (`~: value`);
//! * keys of more than 1,024 bytes, and keys that are a list, a mapping or an alias or have an anchor;
//! * control characters, U+FEFF except at the start, U+0085, U+2028, U+2029, and CR without LF;
//! * tabs before content, in an empty line and after `-`;
//! * `\'` in double quotes, and an escaped line break before an empty line;
//! * empty lines at the start of a `|` or `>` block that have more spaces than its first line;
//! * in brackets: `?`, a lone `-`, a colon directly before a comma or bracket; in brackets and quotes: a line
//!   that begins with `---`;
//! * anchors and aliases with characters other than ASCII letters, digits, `_` and `-`, an anchor without a
//!   node in brackets, an alias inside its own anchor;
//! * text after the end of the first document on the same line, except commas and closing brackets, and
//!   invalid YAML after the first document;
//! * numbers that Go converts differently on different machines.

pub mod decode;
pub mod edit;
pub mod json;
mod read;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use decode::{Number, boolean, number};

use std::borrow::Cow;

use crate::diag::{Code, Diagnostic, Span};
use read::{Reader, first_odd_character};

/// Maximum size of a text in bytes. A `ConfigMap` is limited to 1 MiB, but its content may be compressed.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;
/// Maximum nesting. Each queue level uses two YAML levels.
pub const MAX_DEPTH: usize = 256;
/// Maximum number of nodes, in which each use of an alias counts separately.
pub const MAX_NODES: usize = 1_000_000;

/// The text is not valid YAML; `YuniKorn` refuses it.
pub const SYNTAX: Code = Code::new(2001, "yaml-syntax");
/// The text is larger than 8 MiB, nests deeper than 256 levels, or has more than a million nodes.
pub const TOO_LARGE: Code = Code::new(2002, "yaml-too-large");
/// A value does not fit the Go type of its field, a field is unknown, or a key appears twice.
pub const DECODE: Code = Code::new(2003, "yaml-decode");
/// An edit would also change other parts of the text.
pub const EDIT: Code = Code::new(2004, "yaml-edit");
/// YAML libraries read the text differently, and `YuniKorn` might accept it.
pub const UNSURE: Code = Code::new(2005, "yaml-unsure");
/// A key appears twice in one mapping.
pub const DUPLICATE_KEY: Code = Code::new(6005, "duplicate-key");
/// The YAML has no JSON equivalent, so kubectl refuses it, or the JSON is invalid.
pub const NOT_JSON: Code = Code::new(6006, "not-json");

/// All codes of this module.
pub const CODES: &[Code] = &[SYNTAX, TOO_LARGE, DECODE, EDIT, UNSURE, DUPLICATE_KEY, NOT_JSON];

// Parsing.

/// Parses the first document. Returns `None` if there is no content.
///
/// # Errors
/// See [`parse_in`].
pub fn parse(text: &str) -> Result<Option<Node>, Diagnostic> {
    parse_in(text).map(|root| root.map(NodeIn::into_owned))
}

/// Parses the first document into nodes that borrow from the text. Text after its `---` or `...` is ignored.
///
/// # Errors
/// [`SYNTAX`], [`UNSURE`] or [`TOO_LARGE`], with the span of the error.
pub fn parse_in(text: &str) -> Result<Option<NodeIn<'_>>, Diagnostic> {
    read(text, MAX_NODES)
}

/// Checks that a text does not exceed a number of nodes, and ignores other errors in it.
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

// The tree of a document, with the text, style, span and anchor of each node.

/// The style of a scalar.
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

/// The content of a node. An alias is replaced by a copy of the node it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindIn<'t> {
    /// A scalar, unescaped and folded.
    Scalar {
        /// The content.
        value: Cow<'t, str>,
        /// The style in the text.
        style: Style,
    },
    /// A list.
    Sequence(Vec<NodeIn<'t>>),
    /// A mapping in the order of the text, including repeated keys and merge keys (`<<`). All keys are
    /// scalars.
    Mapping(Vec<(NodeIn<'t>, NodeIn<'t>)>),
}

/// A [`KindIn`] that borrows nothing.
pub type Kind = KindIn<'static>;

/// The anchor of a node, which is boxed because few nodes have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// The node has the anchor `&name`.
    Anchor(String),
    /// The node is a copy made for `*name`.
    Alias(String),
}

/// A node with its span. Its text is borrowed unless it contains escapes or folded lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIn<'t> {
    /// The content.
    pub kind: KindIn<'t>,
    /// The anchor, or the alias that the node was copied for.
    pub mark: Option<Box<Mark>>,
    /// True if the node has an anchor or is a copy made for an alias. Such a node cannot be edited in one
    /// place only.
    pub shared: bool,
    /// The span, including anchor and quotes. A copy and all nodes in it have the span of the alias.
    pub span: Span,
}

/// A [`NodeIn`] that borrows nothing and outlives the text.
pub type Node = NodeIn<'static>;

impl<'t> NodeIn<'t> {
    fn new(kind: KindIn<'t>, span: Span) -> Self {
        Self { kind, mark: None, shared: false, span }
    }

    fn scalar(value: impl Into<Cow<'t, str>>, style: Style, span: Span) -> Self {
        Self::new(KindIn::Scalar { value: value.into(), style }, span)
    }

    /// Returns the pairs of a mapping, or `None` for other nodes.
    pub fn as_mapping(&self) -> Option<&[(Self, Self)]> {
        if let KindIn::Mapping(pairs) = &self.kind { Some(pairs) } else { None }
    }

    /// Returns the items of a list, or `None` for other nodes.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        if let KindIn::Sequence(items) = &self.kind { Some(items) } else { None }
    }

    /// Returns the content of a scalar, or `None` for other nodes.
    pub fn as_scalar(&self) -> Option<&str> {
        if let KindIn::Scalar { value, .. } = &self.kind { Some(value) } else { None }
    }

    /// Returns the style of a scalar, or `None` for other nodes.
    pub fn style(&self) -> Option<Style> {
        if let KindIn::Scalar { style, .. } = self.kind { Some(style) } else { None }
    }

    /// Returns whether the node is null: a plain scalar that is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        let KindIn::Scalar { value, style: Style::Plain } = &self.kind else { return false };
        matches!(&**value, "" | "~" | "null" | "Null" | "NULL")
    }

    /// Returns whether the node, used as a key, is the merge key `<<`.
    pub fn is_merge(&self) -> bool {
        matches!(&self.kind, KindIn::Scalar { value, style: Style::Plain } if value == "<<")
    }

    /// Returns the name of the node's anchor.
    pub fn anchor(&self) -> Option<&str> {
        if let Mark::Anchor(name) = self.mark.as_deref()? { Some(name) } else { None }
    }

    /// Returns the name of the alias that the node was copied for.
    pub fn alias(&self) -> Option<&str> {
        if let Mark::Alias(name) = self.mark.as_deref()? { Some(name) } else { None }
    }

    /// Copies everything that the node borrows.
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
