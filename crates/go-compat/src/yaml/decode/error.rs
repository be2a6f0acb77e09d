//! Errors in the nodes.

use crate::diag::{Diagnostic, Span, quoted};
use crate::yaml::read::unsure;
use crate::yaml::{DECODE, KindIn, NodeIn};

/// More errors are not kept.
const MAX_ERRORS: usize = 100;

/// The errors of one decoding.
#[derive(Debug, Default)]
pub struct Decoder {
    errors: Vec<Diagnostic>,
}

impl Decoder {
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
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

    pub(super) fn error(&mut self, span: Span, message: String, help: &str) {
        self.add(Diagnostic::error(DECODE, message).at(span).help(help));
    }

    /// A value that Go may take, and not everywhere as the same.
    pub(super) fn unsure(&mut self, span: Span, what: &str, help: &str) {
        self.add(*unsure(span, what, help));
    }

    /// A node that is not what is `expected`.
    pub(super) fn mismatch(&mut self, node: &NodeIn<'_>, expected: &str, help: &str) {
        let found = match &node.kind {
            KindIn::Scalar { value, .. } => quoted(value),
            KindIn::Sequence(_) => "a list".to_owned(),
            KindIn::Mapping(_) => "a mapping".to_owned(),
        };
        self.error(node.span, format!("{expected} is expected here, and this is {found}"), help);
    }

    pub(super) fn repeated(&mut self, key: &NodeIn<'_>) {
        let message =
            format!("the key {} stands twice in this mapping", quoted(key.as_scalar().unwrap_or_default()));
        self.error(key.span, message, "remove one of them");
    }

    pub(super) fn unknown(&mut self, key: &NodeIn<'_>, record: &str, fields: &[&str]) {
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
