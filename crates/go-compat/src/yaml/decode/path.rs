//! Where something stands in a document.

use std::sync::Arc;

use super::Step;

/// From the document's root to a node. Paths share what they have in common: a text has as many as it has mappings, and most go through
/// the same few nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(Option<Arc<Last>>);

#[derive(Debug, PartialEq, Eq)]
struct Last {
    above: Path,
    step: Step,
}

impl Path {
    /// The path of a child.
    pub(super) fn join(&self, step: Step) -> Self {
        Self(Some(Arc::new(Last { above: self.clone(), step })))
    }

    /// Whether it leads to the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The steps from the root down.
    pub fn steps(&self) -> Vec<Step> {
        let lasts = std::iter::successors(self.0.as_deref(), |last| last.above.0.as_deref());
        let mut steps: Vec<Step> = lasts.map(|last| last.step.clone()).collect();
        steps.reverse();
        steps
    }
}
