//! Tokens to the nodes of the first document, by the productions of `parserc.go` and `decode.go` (`parser.document`).
//!
//! Go's parser is a state machine that hands out events; here each production is a function, which asks for the same tokens in
//! the same order, so that the same text fails at the same place. Aliases stay aliases: [`super::parse`] resolves them.

mod collections;

use std::borrow::Cow;
use std::collections::HashMap;

use super::scan::{Mark, Problem, Scanner, Token, TokenKind, error, parser_error};
use super::{MAX_DEPTH, MAX_NODES, Style, TOO_LARGE};
use crate::diag::{Diagnostic, Span};

/// The index of a node in [`Document::nodes`].
pub(super) type Id = usize;

/// A node as it is written.
#[derive(Debug)]
pub(super) struct Raw<'t> {
    pub(super) kind: RawKind<'t>,
    pub(super) tag: Option<String>,
    pub(super) anchored: bool,
    pub(super) span: Span,
    /// One-based.
    pub(super) line: u32,
}

#[derive(Debug)]
pub(super) enum RawKind<'t> {
    Scalar { value: Cow<'t, str>, style: Style },
    Sequence(Vec<Id>),
    Mapping(Vec<(Id, Id)>),
    Alias { name: String, to: Id },
}

/// The nodes of one document. The root is the first.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) nodes: Vec<Raw<'t>>,
}

/// About what a node of a configuration takes in the text. Room for all of them at once is cheaper than to make more again and again.
const BYTES_PER_NODE: usize = 16;

/// Reads the first document, to the token behind it. `None`: there is none.
pub(super) fn compose(text: &str) -> Result<Option<Document<'_>>, Diagnostic> {
    let mut composer = Composer {
        scanner: Scanner::new(text),
        tags: Vec::new(),
        anchors: HashMap::new(),
        nodes: Vec::with_capacity(text.len() / BYTES_PER_NODE),
        depth: 0,
    };
    Ok(if composer.document()? { Some(Document { nodes: composer.nodes }) } else { None })
}

/// The text nests too deeply at this place.
pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, format!("the text nests deeper than {MAX_DEPTH} levels")).at(span)
}

/// The text has too many nodes, from this place on.
pub(super) fn too_many(span: Span) -> Diagnostic {
    let message =
        format!("the text has more than {MAX_NODES} nodes, aliases counted each time they are used");
    Diagnostic::error(TOO_LARGE, message).at(span)
}

struct Composer<'t> {
    scanner: Scanner<'t>,
    /// Tag handles with their prefixes.
    tags: Vec<(String, String)>,
    anchors: HashMap<String, Id>,
    nodes: Vec<Raw<'t>>,
    depth: usize,
}

type Composed<T> = Result<T, Problem>;

/// What a collection holds, and where it ends, if that is behind its last child.
type Children<'t> = (RawKind<'t>, Option<Mark>);

/// Reads the children of the collection that starts at the mark.
type Read<'t, C> = fn(&mut C, Mark) -> Composed<Children<'t>>;

/// A node whose children are still to be read, if it has any.
enum Started<'t, C> {
    Leaf(Id),
    Collection(Id, Mark, Read<'t, C>),
}

/// Which productions a node may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// `block_node`
    Block,
    /// `block_node_or_indentless_sequence`
    BlockOrIndentless,
    /// `flow_node`
    Flow,
}

/// What stands in front of a node: its anchor and tag.
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
    start: Mark,
    end: Mark,
}

impl<'t> Composer<'t> {
    /// The kind of the next token.
    fn peek(&mut self) -> Composed<&TokenKind<'t>> {
        self.scanner.peek().map(|token| &token.kind)
    }

    /// The places of the next token.
    fn place(&mut self) -> Composed<(Mark, Mark)> {
        self.scanner.peek().map(|token| (token.start, token.end))
    }

    /// Takes the next token out if it is of this kind. Returns its end.
    fn accept(&mut self, kind: &TokenKind<'_>) -> Composed<Option<Mark>> {
        let token = self.scanner.peek()?;
        if token.kind != *kind {
            return Ok(None);
        }
        let end = token.end;
        self.scanner.skip();
        Ok(Some(end))
    }

    /// `yaml_parser_parse_document_start` to `yaml_parser_parse_document_end`. Returns whether there is a document.
    fn document(&mut self) -> Composed<bool> {
        self.accept(&TokenKind::StreamStart)?;
        let explicit = match self.peek()? {
            TokenKind::StreamEnd => return Ok(false),
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart => true,
            _ => false,
        };
        self.directives()?;
        if explicit && self.accept(&TokenKind::DocumentStart)?.is_none() {
            let (start, _) = self.place()?;
            return Err(parser_error(Mark::default(), start, "did not find expected <document start>"));
        }
        let empty = explicit
            && matches!(
                self.peek()?,
                TokenKind::VersionDirective { .. }
                    | TokenKind::TagDirective { .. }
                    | TokenKind::DocumentStart
                    | TokenKind::DocumentEnd
                    | TokenKind::StreamEnd
            );
        if empty {
            let (start, _) = self.place()?;
            self.empty_scalar(start)?;
        } else {
            self.node(Context::Block)?;
        }
        // Go asks for the token behind the document, so what cannot be read there is an error of this document.
        self.peek()?;
        Ok(true)
    }

    /// `yaml_parser_process_directives`.
    fn directives(&mut self) -> Composed<()> {
        let mut version = false;
        loop {
            let token = self.scanner.peek()?;
            let start = token.start;
            match &mut token.kind {
                TokenKind::VersionDirective { major, minor } => {
                    if version {
                        return Err(parser_error(Mark::default(), start, "found duplicate %YAML directive"));
                    }
                    if (*major, *minor) != (1, 1) {
                        let error = parser_error(Mark::default(), start, "found incompatible YAML document");
                        let help = "write `%YAML 1.1`, or leave the directive out";
                        return Err(Diagnostic::from(error).help(help).into());
                    }
                    version = true;
                }
                TokenKind::TagDirective { handle, prefix } => {
                    let directive = (std::mem::take(handle), std::mem::take(prefix));
                    if self.tags.iter().any(|(handle, _)| *handle == directive.0) {
                        return Err(parser_error(Mark::default(), start, "found duplicate %TAG directive"));
                    }
                    self.tags.push(directive);
                }
                _ => break,
            }
            self.scanner.skip();
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if self.tags.iter().all(|(known, _)| known != handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    /// `yaml_parser_parse_node`.
    fn node(&mut self, context: Context) -> Composed<Id> {
        match self.start_node(context)? {
            Started::Leaf(id) => Ok(id),
            Started::Collection(id, start, read) => self.children(id, start, read),
        }
    }

    /// A node without its children.
    fn start_node(&mut self, context: Context) -> Composed<Started<'t, Self>> {
        let token = self.scanner.peek()?;
        if let TokenKind::Alias(name) = &mut token.kind {
            let (name, start, end) = (std::mem::take(name), token.start, token.end);
            self.scanner.skip();
            return self.alias(name, start, end).map(Started::Leaf);
        }
        let properties = self.properties()?;
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, mut end) = (*start, *end);
        let block = context != Context::Flow;
        let read = match kind {
            TokenKind::BlockEntry if context == Context::BlockOrIndentless => Self::indentless_sequence,
            TokenKind::FlowSequenceStart => Self::flow_sequence,
            TokenKind::FlowMappingStart => Self::flow_mapping,
            TokenKind::BlockSequenceStart if block => Self::block_sequence,
            TokenKind::BlockMappingStart if block => Self::block_mapping,
            TokenKind::Scalar { value, style } => {
                let kind = RawKind::Scalar { value: std::mem::take(value), style: *style };
                self.scanner.skip();
                return self.add(properties, kind, end).map(Started::Leaf);
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                end = properties.end;
                let kind = RawKind::Scalar { value: Cow::Borrowed(""), style: Style::Plain };
                return self.add(properties, kind, end).map(Started::Leaf);
            }
            _ => {
                return Err(parser_error(properties.start, start, "did not find expected node content"));
            }
        };
        let id = self.add(properties, RawKind::Sequence(Vec::new()), start)?;
        Ok(Started::Collection(id, start, read))
    }

    fn alias(&mut self, name: String, start: Mark, end: Mark) -> Composed<Id> {
        let Some(&to) = self.anchors.get(&name) else {
            let span = Span::new(start.index, end.index);
            return Err(error(&format!("unknown anchor '{name}' referenced")).at(span).into());
        };
        self.add(Properties { anchor: None, tag: None, start, end }, RawKind::Alias { name, to }, end)
    }

    /// An anchor and a tag, in either order.
    fn properties(&mut self) -> Composed<Properties> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let start = *start;
        let mut properties = Properties { anchor: None, tag: None, start, end: start };
        if !matches!(kind, TokenKind::Anchor(_) | TokenKind::Tag { .. }) {
            return Ok(properties);
        }
        self.anchor(&mut properties)?;
        let tag = self.tag(&mut properties)?;
        if properties.anchor.is_none() {
            self.anchor(&mut properties)?;
        }
        self.peek()?;
        let Some((handle, suffix, at)) = tag else {
            return Ok(properties);
        };
        properties.tag = Some(suffix);
        if !handle.is_empty() {
            let suffix = properties.tag.take().unwrap_or_default();
            let known = self.tags.iter().find(|(known, _)| *known == handle);
            properties.tag = known.map(|(_, prefix)| format!("{prefix}{suffix}"));
        }
        if properties.tag.as_deref().unwrap_or_default().is_empty() {
            return Err(parser_error(start, at, "found undefined tag handle"));
        }
        Ok(properties)
    }

    fn anchor(&mut self, properties: &mut Properties) -> Composed<()> {
        let token = self.scanner.peek()?;
        if let TokenKind::Anchor(name) = &mut token.kind {
            properties.anchor = Some(std::mem::take(name));
            properties.end = token.end;
            self.scanner.skip();
        }
        Ok(())
    }

    /// Handle and suffix of a tag, and where it starts.
    fn tag(&mut self, properties: &mut Properties) -> Composed<Option<(String, String, Mark)>> {
        let token = self.scanner.peek()?;
        let TokenKind::Tag { handle, suffix } = &mut token.kind else {
            return Ok(None);
        };
        let tag = (std::mem::take(handle), std::mem::take(suffix), token.start);
        properties.end = token.end;
        self.scanner.skip();
        Ok(Some(tag))
    }

    /// Adds a node, and makes its anchor known: from its start on, as in Go, where a node can then refer to itself.
    fn add(&mut self, properties: Properties, kind: RawKind<'t>, end: Mark) -> Composed<Id> {
        let Properties { anchor, tag, start, .. } = properties;
        let span = Span::new(start.index, end.index);
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(too_many(span).into());
        }
        let anchored = anchor.is_some();
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        self.nodes.push(Raw { kind, tag, anchored, span, line: start.line + 1 });
        Ok(id)
    }

    fn empty_scalar(&mut self, at: Mark) -> Composed<Id> {
        let properties = Properties { anchor: None, tag: None, start: at, end: at };
        self.add(properties, RawKind::Scalar { value: Cow::Borrowed(""), style: Style::Plain }, at)
    }

    /// Reads the children of a node with `read`.
    fn children(&mut self, id: Id, start: Mark, read: Read<'t, Self>) -> Composed<Id> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(Span::new(start.index, start.index)).into());
        }
        let children = read(self, start)?;
        self.depth -= 1;
        self.finish(id, children);
        Ok(id)
    }

    fn finish(&mut self, id: Id, (kind, end): Children<'t>) {
        let last = match &kind {
            RawKind::Sequence(items) => items.last().map(|item| [*item, *item]),
            RawKind::Mapping(pairs) => pairs.last().map(|(key, value)| [*key, *value]),
            RawKind::Scalar { .. } | RawKind::Alias { .. } => None,
        };
        let ends = last.into_iter().flatten().filter_map(|id| self.nodes.get(id)).map(|node| node.span.end);
        let end = end.map(|end| end.index).into_iter().chain(ends).max();
        if let Some(node) = self.nodes.get_mut(id) {
            node.kind = kind;
            node.span.end = node.span.end.max(end.unwrap_or(0));
        }
    }

    /// What follows an indicator that ended at `end`, or an empty scalar if `is_next` says that something else follows.
    fn node_or_empty(
        &mut self,
        end: Mark,
        context: Context,
        is_next: impl Fn(&TokenKind<'t>) -> bool,
    ) -> Composed<Id> {
        if is_next(self.peek()?) { self.empty_scalar(end) } else { self.node(context) }
    }
}
