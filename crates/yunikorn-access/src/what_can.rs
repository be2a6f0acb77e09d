//! Finds the queues on which a user may do something.

use super::reach::{QueueSet, Way};
use super::tree::{QueueId, Tree};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// All queues on which a user may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatCan<'t> {
    /// The right in question.
    pub right: Right,
    /// The queues as subtrees, in the order of the queues.
    pub subtrees: Vec<Subtree<'t>>,
    /// For each queue of the tree the nearest way.
    nearest: Vec<Option<Way<'t>>>,
}

/// A queue with the queues below it, as far as a grant at the queue reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtree<'t> {
    /// The entry at its top. Nothing above it grants the same.
    pub way: Way<'t>,
    /// The queues of the subtree.
    pub queues: QueueSet,
}

impl<'t> WhatCan<'t> {
    /// Every queue, with the nearest entry that grants it.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, Way<'t>)> {
        let ids = (0..).map(QueueId::new);
        ids.zip(&self.nearest).filter_map(|(id, way)| way.map(|way| (id, way)))
    }

    /// The way in which the user has the right on this queue.
    pub fn on(&self, id: QueueId) -> Option<Way<'t>> {
        self.nearest.get(id.index()).copied().flatten()
    }
}

/// Finds all queues on which a user may do something.
pub fn what_can<'t>(tree: &'t Tree, right: Right, identity: &Identity) -> WhatCan<'t> {
    let recovery = tree.recovery();
    let mut nearest: Vec<Option<Way<'t>>> = Vec::with_capacity(tree.queues().len());
    let mut subtrees = Vec::new();
    for (id, node) in tree.queues() {
        // Queues come after the one above them.
        let above = node.parent.and_then(|parent| nearest.get(parent.index()).copied().flatten());
        let way = Way::find(tree, right, id, identity);
        if let (None, Some(way)) = (above, way) {
            let reached = super::reach::reach(right, tree.subtree(id), recovery.as_ref());
            subtrees.push(Subtree { way, queues: QueueSet::new(reached.into()) });
        }
        nearest.push(way);
    }
    WhatCan { right, subtrees, nearest }
}
