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
mod node;
mod read;
mod resolve;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use node::{Kind, KindIn, Mark, Node, NodeIn, Style};
pub use resolve::{Number, boolean, number};

use crate::diag::{Code, Diagnostic};
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
        .and_then(|()| Reader::new(text).at_most(nodes).document())
        .map_err(|problem| *problem)
}
