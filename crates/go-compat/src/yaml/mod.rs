//! YAML as yunikorn-core reads it (`go.yaml.in/yaml/v3`), and edits that leave every other byte alone.
//!
//! Three jobs: [`parse`] turns text into [`Node`]s, [`decode`] gives them the values Go would give its structs, [`edit`]
//! changes single scalars in the text and proves that nothing else changed.

mod compose;
pub mod decode;
pub mod edit;
mod node;
pub mod parse;
mod resolve;
#[cfg(test)]
mod samples;
mod scan;

pub use node::{Alias, Kind, KindIn, Marks, Node, NodeIn, Style};
pub use scan::is_break;

use super::diag::Code;

/// Larger texts are refused before they are parsed: a `ConfigMap` cannot hold more than 1 MiB, and what
/// it holds compressed unpacks to more.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;
/// Deeper nesting is refused. A queue level costs two YAML levels.
pub const MAX_DEPTH: usize = 256;
/// More nodes than this (aliases counted each time they are used) are refused.
pub const MAX_NODES: usize = 1_000_000;

/// The text is not YAML as Go's parser reads it.
pub const SYNTAX: Code = Code::new(2001, "yaml-syntax");
/// The text has more than 8 MiB, nests deeper than 256 levels, or has more than a million nodes.
pub const TOO_LARGE: Code = Code::new(2002, "yaml-too-large");
/// A value does not fit the field's Go type, a field is unknown, or a key stands twice.
pub const DECODE: Code = Code::new(2003, "yaml-decode");
/// An edit cannot be made without touching something else.
pub const EDIT: Code = Code::new(2004, "yaml-edit");

/// All codes of this module.
pub const CODES: &[Code] = &[SYNTAX, TOO_LARGE, DECODE, EDIT];
