//! YAML as yunikorn-core reads it (`go.yaml.in/yaml/v3`), and edits that leave every other byte alone.
//!
//! [`parse`] turns text into [`Node`]s, [`decode`] gives them the values that Go gives its structs, [`json`]
//! those that kubectl sends, and [`edit`] changes single scalars in the text and proves that nothing else
//! changed.
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
pub mod json;
mod node;
pub mod parse;
mod read;
mod resolve;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use node::{Kind, KindIn, Mark, Node, NodeIn, Style};
pub use resolve::{Number, boolean, number};

use super::diag::Code;

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
/// A key stands twice in one mapping.
pub const DUPLICATE_KEY: Code = Code::new(6005, "duplicate-key");
/// YAML that has no JSON counterpart, so that kubectl refuses it, or JSON that cannot be read.
pub const NOT_JSON: Code = Code::new(6006, "not-json");

/// All codes of this module.
pub const CODES: &[Code] = &[SYNTAX, TOO_LARGE, DECODE, EDIT, UNSURE, DUPLICATE_KEY, NOT_JSON];
