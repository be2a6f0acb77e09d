//! Paths in a document.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::yaml::NodeIn;
use crate::yaml::edit::Step;

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
    pub(super) shared: bool,
}

impl<'p> NodePath<'p> {
    pub(super) fn root(node: &NodeIn<'_>) -> Self {
        Self { from: None, path: OnceCell::new(), shared: node.shared }
    }

    /// The location of a child.
    pub(super) fn child(&'p self, step: Step, node: &NodeIn<'_>) -> Self {
        Self { from: Some((self, step)), path: OnceCell::new(), shared: self.shared || node.shared }
    }

    /// The same location, where what is found comes through `<<`.
    pub(super) fn merged(&self) -> Self {
        Self { shared: true, ..self.clone() }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.path.get_or_init(|| match &self.from {
            None => Path::default(),
            Some((parent, step)) => Path(Some(Arc::new((parent.path().clone(), step.clone())))),
        })
    }
}
