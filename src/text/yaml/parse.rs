//! Text to [`Node`]s.
use super::Node;
use crate::text::diag::Diagnostic;

/// Reads the first document. `Ok(None)`: there is none (empty text, only comments), which Go's decoder reports as EOF.
/// The message of a syntax error is the one Go prints (`yaml: line 5: did not find expected alphabetic or numeric character`).
///
/// # Errors
/// [`super::SYNTAX`] or [`super::TOO_LARGE`], with the place.
pub fn parse(_text: &str) -> Result<Option<Node>, Diagnostic> {
    todo!()
}
