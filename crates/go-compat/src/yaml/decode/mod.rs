//! Nodes to values, as strictly as yunikorn-core decodes them into its structs: an unknown field and a
//! repeated key are errors.
//!
//! * Null leaves every value as it is without one, and in a list it is left out.
//! * Text takes every scalar as it is written; booleans and numbers take no text in quotes.
//! * `<<` adds the keys that a mapping does not have itself. Of several sources the first one counts.

#[cfg(test)]
mod tests;
mod values;

pub use values::{Number, boolean, number};

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::edit::Step;
use super::read::unsure;
use super::{DECODE, KindIn, NodeIn};
use crate::diag::{Diagnostic, Span, quoted};

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

// Paths in a document.

/// The way from the document's root to a node. Nodes with a common parent share its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Option<Arc<(Path, Step)>>);

impl Path {
    /// Returns whether it leads nowhere.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// Its steps, from the root on.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut path = self;
        while let Some((parent, last)) = path.0.as_deref() {
            steps.push(last.clone());
            path = parent;
        }
        steps.reverse();
        steps
    }
}

/// The location of the node that is decoded. Its path is only made when it is needed.
#[derive(Debug, Clone)]
pub struct NodePath<'p> {
    from: Option<(&'p NodePath<'p>, Step)>,
    path: OnceCell<Path>,
    shared: bool,
}

impl<'p> NodePath<'p> {
    fn root(node: &NodeIn<'_>) -> Self {
        Self { from: None, path: OnceCell::new(), shared: node.shared }
    }

    /// The location of a child.
    fn child(&'p self, step: Step, node: &NodeIn<'_>) -> Self {
        Self { from: Some((self, step)), path: OnceCell::new(), shared: self.shared || node.shared }
    }

    /// Returns the same location for fields that are merged through `<<`.
    fn merged(&self) -> Self {
        Self { shared: true, ..self.clone() }
    }

    /// Its path.
    fn path(&self) -> &Path {
        self.path.get_or_init(|| match &self.from {
            None => Path::default(),
            Some((parent, step)) => Path(Some(Arc::new((parent.path().clone(), step.clone())))),
        })
    }
}

// Errors in the nodes.

/// More errors are not kept.
const MAX_ERRORS: usize = 100;

/// The errors of one decoding.
#[derive(Debug, Default)]
pub struct Decoder {
    errors: Vec<Diagnostic>,
}

impl Decoder {
    fn finish<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.errors.is_empty() {
            return Ok(value);
        }
        self.errors.sort_by_key(|error| error.span);
        Err(self.errors)
    }

    fn add(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn error(&mut self, span: Span, message: String, help: &str) {
        self.add(Diagnostic::error(DECODE, message).at(span).help(help));
    }

    /// A value that Go may take, and not everywhere as the same.
    fn unsure(&mut self, span: Span, what: &str, help: &str) {
        self.add(*unsure(span, what, help));
    }

    /// Reports a node of another kind than `expected`.
    fn mismatch(&mut self, node: &NodeIn<'_>, expected: &str, help: &str) {
        let found = match &node.kind {
            KindIn::Scalar { value, .. } => quoted(value),
            KindIn::Sequence(_) => "a list".to_owned(),
            KindIn::Mapping(_) => "a mapping".to_owned(),
        };
        self.error(node.span, format!("{expected} is expected here, and this is {found}"), help);
    }

    fn repeated(&mut self, key: &NodeIn<'_>) {
        let message =
            format!("the key {} stands twice in this mapping", quoted(key.as_scalar().unwrap_or_default()));
        self.error(key.span, message, "remove one of them");
    }

    fn unknown(&mut self, key: &NodeIn<'_>, record: &str, fields: &[&str]) {
        let name = key.as_scalar().unwrap_or_default();
        let help = match fields.iter().find(|field| is_near(name, field)) {
            Some(field) => format!("write `{field}`"),
            None => format!("remove it; the fields are {}", fields.join(", ")),
        };
        self.error(key.span, format!("{record} has no field {}", quoted(name)), &help);
    }
}

/// Returns whether a name was probably meant to be this field: at most one character is too much, missing or
/// another one.
fn is_near(name: &str, field: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    strsim::levenshtein(&letters.take(64).collect::<String>(), field) <= 1
}
