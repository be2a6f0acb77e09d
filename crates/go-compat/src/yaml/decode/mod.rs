//! Decodes nodes as strictly as yunikorn-core decodes them into its structs: unknown fields and repeated keys
//! are errors.
//!
//! * Null leaves a value unchanged, and null items of a list are dropped.
//! * A string accepts every scalar as written; booleans and numbers do not accept quoted text.
//! * `<<` adds the keys that a mapping does not define itself. If several sources define a key, the first one
//!   wins.

#[cfg(test)]
mod tests;
mod values;

pub use values::{Number, boolean, number};

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::edit::Step;
use super::read::unsure;
use super::{DECODE, KindIn, NodeIn, Style};
use crate::diag::{Diagnostic, Span, quoted};

/// A Go slice: `None` is nil.
pub type List<T> = Option<Vec<T>>;
/// A Go map with string keys: `None` is nil.
pub type Map<T> = Option<BTreeMap<String, T>>;

/// Returns the items of a Go slice; nil has no items.
pub fn items<T>(list: &List<T>) -> &[T] {
    list.as_deref().unwrap_or_default()
}

/// A Go `string` with its span, for diagnostics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spanned {
    /// The value in Go.
    pub value: String,
    /// The span of the scalar, including quotes; `None` if the value does not come from a text.
    pub span: Option<Span>,
}

impl Spanned {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// Returns whether the text is empty. It is also empty if the field is missing.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

impl From<&str> for Spanned {
    /// Converts a text that has no location.
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), span: None }
    }
}

/// The location of a struct's mapping in the document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Path from the root of the document to the mapping.
    pub path: Path,
    /// The span of the mapping.
    pub span: Span,
    /// True if the mapping, or a node around it, is anchored, aliased or merged. An edit here would also
    /// change other parts of the document.
    pub shared: bool,
}

/// Decodes a document. An empty document (`None`) gives the zero value, as in yunikorn-core
/// (`config.go:181`).
///
/// # Errors
/// All errors in the order of the text, up to the first hundred.
pub fn decode<T: Decode + Default>(document: Option<&NodeIn<'_>>) -> Result<T, Vec<Diagnostic>> {
    let (mut value, mut decoder) = (T::default(), Decoder::default());
    if let Some(root) = document {
        value.decode(root, &NodePath::root(root), &mut decoder);
    }
    decoder.finish(value)
}

/// A type that decodes like one Go type.
pub trait Decode {
    /// Decodes a node at `at` into this value. The decoder collects the errors.
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder);

    /// Returns whether the type can be null. Lists drop null items of other types.
    fn is_nilable(&self) -> bool {
        false
    }
}

/// A Go struct, with its name and fields.
pub trait Record {
    /// The name for messages, with an article: `a queue`.
    const NAME: &'static str;

    /// The names of all fields, at most 64.
    const FIELDS: &'static [&'static str];

    /// Returns the field of this name: the Go name in lower case, unless a tag sets another one.
    fn field(&mut self, name: &str) -> Option<&mut dyn Decode>;

    /// Receives the location of the mapping that fills the struct.
    fn located(&mut self, _location: Location) {}
}

// Paths in a document.

/// The path from the document's root to a node. Nodes with a common parent share its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Option<Arc<(Path, Step)>>);

impl Path {
    /// Returns whether it is the path of the root.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the steps, starting at the root.
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

/// The location of the node being decoded. The path is built only when it is needed.
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

    fn child(&'p self, step: Step, node: &NodeIn<'_>) -> Self {
        Self { from: Some((self, step)), path: OnceCell::new(), shared: self.shared || node.shared }
    }

    /// Returns the same location for fields merged through `<<`.
    fn merged(&self) -> Self {
        Self { shared: true, ..self.clone() }
    }

    fn path(&self) -> &Path {
        self.path.get_or_init(|| match &self.from {
            None => Path::default(),
            Some((parent, step)) => Path(Some(Arc::new((parent.path().clone(), step.clone())))),
        })
    }
}

// Errors in the nodes.

/// Maximum number of errors.
const MAX_ERRORS: usize = 100;

/// Collects the errors of a document.
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

    /// Reports a value that YAML libraries convert differently.
    fn unsure(&mut self, span: Span, what: &str, help: &str) {
        self.add(*unsure(span, what, help));
    }

    /// Reports a node that has another type than `expected`.
    fn mismatch(&mut self, node: &NodeIn<'_>, expected: &str, help: &str) {
        let found = match &node.kind {
            KindIn::Scalar { value, style: Style::Plain } => quoted(value),
            KindIn::Scalar { value, .. } => format!("the string {}", quoted(value)),
            KindIn::Sequence(_) => "a list".to_owned(),
            KindIn::Mapping(_) => "a mapping".to_owned(),
        };
        self.error(node.span, format!("expected {expected}, found {found}"), help);
    }

    fn repeated(&mut self, key: &NodeIn<'_>) {
        let message =
            format!("the key {} appears twice in this mapping", quoted(key.as_scalar().unwrap_or_default()));
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

/// Returns whether a name is probably a misspelling of this field, with at most one character added, missing
/// or replaced.
fn is_near(name: &str, field: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    strsim::levenshtein(&letters.take(64).collect::<String>(), field) <= 1
}
