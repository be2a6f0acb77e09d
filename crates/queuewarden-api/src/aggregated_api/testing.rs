//! Helpers for the tests of this layer.

use crate::answer::Texts;

/// A text without known locations.
#[derive(Debug)]
pub(super) struct NoLocations;

impl Texts for NoLocations {
    fn name(&self) -> &'static str {
        "here"
    }
}
