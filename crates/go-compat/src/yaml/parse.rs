//! Text to nodes.

use super::read::{Reader, first_odd_character};
use super::{MAX_NODES, MAX_TEXT, Node, NodeIn, TOO_LARGE};
use crate::diag::Diagnostic;

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
/// [`super::SYNTAX`], [`super::UNSURE`] or [`TOO_LARGE`], with the span of what is wrong.
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
        .and_then(|()| Reader::new(text).at_most(nodes).document())
        .map_err(|problem| *problem)
}
