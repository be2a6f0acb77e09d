//! Nodes to values, as strictly as yunikorn-core decodes them into its structs: an unknown field and a
//! repeated key are errors.
//!
//! * Null leaves every value as it is without one, and in a list it is left out.
//! * Text takes every scalar as it is written; booleans and numbers take no text in quotes.
//! * `<<` adds the keys that a mapping does not have itself. Of several sources the first one counts.

mod collections;
mod error;
mod path;
mod scalars;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::NodeIn;
use crate::diag::{Diagnostic, Span};
pub use error::Decoder;
pub use path::{NodePath, Path};

/// A Go slice: `None` is nil.
pub type List<T> = Option<Vec<T>>;
/// A Go map with string keys: `None` is nil.
pub type Map<T> = Option<BTreeMap<String, T>>;

/// The items of a Go slice, none for nil.
pub fn items<T>(list: &List<T>) -> &[T] {
    list.as_deref().unwrap_or_default()
}

/// A Go `string` with its span, for diagnostics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spanned {
    /// The text that Go has.
    pub value: String,
    /// The span of the scalar, quotes included; `None` when no text gave it.
    pub span: Option<Span>,
}

impl Spanned {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// Returns whether the text is empty, as it also is when nothing was written.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

impl From<&str> for Spanned {
    /// A text that stands nowhere.
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), span: None }
    }
}

/// The place of a struct's mapping in the document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// From the document's root to the mapping.
    pub path: Path,
    /// Its span in the text.
    pub span: Span,
    /// True if it, or something it stands in, is anchored, aliased or merged: it cannot be changed in this
    /// place alone.
    pub shared: bool,
}

/// Decodes a document. `None` is no document at all, which gives the zero value, as yunikorn-core's
/// `config.go:181` takes it.
///
/// # Errors
/// All that is wrong, in the order of the text, or the first hundred.
pub fn decode<T: Decode + Default>(document: Option<&NodeIn<'_>>) -> Result<T, Vec<Diagnostic>> {
    let (mut value, mut decoder) = (T::default(), Decoder::default());
    if let Some(root) = document {
        value.decode(root, &NodePath::root(root), &mut decoder);
    }
    decoder.finish(value)
}

/// A type that decodes as one Go type does.
pub trait Decode {
    /// Decodes a node, which is at `at`, into this value. Errors are collected in the decoder.
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder);

    /// Returns whether null is a value of the type. A list drops other items that are null.
    fn is_nilable(&self) -> bool {
        false
    }
}

/// A Go struct: a name for it and its fields.
pub trait Record {
    /// The name in messages, with an article: `a queue`.
    const NAME: &'static str;

    /// The names of all fields, at most 64.
    const FIELDS: &'static [&'static str];

    /// The field with this name: the lower-cased Go name, if no tag says otherwise.
    fn field(&mut self, name: &str) -> Option<&mut dyn Decode>;

    /// Called with the place of the mapping that fills it.
    fn located(&mut self, _location: Location) {}
}
