//! Places in a document.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use crate::yaml::NodeIn;
use crate::yaml::edit::Step;

/// The way from the document's root to a node. Nodes with a common parent share its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Option<Arc<(Path, Last)>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Last {
    Key(Cow<'static, str>),
    Index(usize),
}

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
            steps.push(match last {
                Last::Key(key) => Step::Key(key.clone().into_owned()),
                Last::Index(index) => Step::Index(*index),
            });
            path = parent;
        }
        steps.reverse();
        steps
    }
}

/// The place of the node that is decoded. Its path is only made when somebody wants it.
#[derive(Debug)]
pub struct Here<'p> {
    from: Option<(&'p Here<'p>, Cow<'p, Last>)>,
    path: OnceCell<Path>,
    pub(super) shared: bool,
}

impl<'p> Here<'p> {
    pub(super) fn root(node: &NodeIn<'_>) -> Self {
        Self { from: None, path: OnceCell::new(), shared: node.shared }
    }

    fn child(&'p self, last: Last, node: &NodeIn<'_>) -> Self {
        let shared = self.shared || node.shared;
        Self { from: Some((self, Cow::Owned(last))), path: OnceCell::new(), shared }
    }

    /// The place of the value of a field.
    pub(super) fn field(&'p self, name: &'static str, node: &NodeIn<'_>) -> Self {
        self.child(Last::Key(Cow::Borrowed(name)), node)
    }

    /// The place of the value of a map's key.
    pub(super) fn key(&'p self, name: &str, node: &NodeIn<'_>) -> Self {
        self.child(Last::Key(Cow::Owned(name.to_owned())), node)
    }

    /// The place of an item.
    pub(super) fn item(&'p self, index: usize, node: &NodeIn<'_>) -> Self {
        self.child(Last::Index(index), node)
    }

    /// The same place, where what is found comes through `<<`.
    pub(super) fn merged(&self) -> Here<'_> {
        let from = self.from.as_ref().map(|(parent, last)| (*parent, last.clone()));
        Here { from, path: self.path.clone(), shared: true }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.path.get_or_init(|| match &self.from {
            None => Path::default(),
            Some((parent, last)) => Path(Some(Arc::new((parent.path().clone(), last.clone().into_owned())))),
        })
    }
}
