//! Changes of single scalars with everything else byte for byte as it was.
use crate::text::diag::Diagnostic;

/// One step from a node to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value behind this key of a mapping (the key's scalar content).
    Key(String),
    /// The item with this index of a list.
    Index(usize),
}

/// One change: set (replace or add) or remove the scalar `key` in the mapping that `path` leads to (in the first document).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// From the document's root to the mapping.
    pub path: Vec<Step>,
    /// The key in that mapping.
    pub key: String,
    /// The new value, written quoted; `None` removes the key.
    pub value: Option<String>,
}

/// Applies the edits and re-reads the result: only the named values differ, or it refuses.
///
/// # Errors
/// [`super::EDIT`] when an edit cannot be made alone (shared nodes, merge keys, duplicate keys), and the errors of parsing.
pub fn apply(_text: &str, _edits: &[Edit]) -> Result<String, Diagnostic> {
    todo!()
}
