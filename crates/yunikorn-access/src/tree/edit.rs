//! Edits of a tree, which give the configuration after a proposed change for [`crate::change`].

use std::iter;
use std::sync::{Arc, OnceLock};

use super::{Node, Origin, QueueId, TextLocation, Tree};
use yunikorn::acl::Acl;
use yunikorn::config;
use yunikorn::config::schema::PlacementRule;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

impl Tree {
    /// Returns only this queue and its ancestors, without ACLs. ACLs only add up, so a right that a new entry
    /// grants there exists in the whole tree, too.
    pub(crate) fn bare_way(&self, id: QueueId) -> Self {
        let mut way: Vec<&Node> = self.lineage(id).map(|(_, node)| node).collect();
        way.reverse();
        let nodes = way.iter().zip(0u32..).map(|(node, number)| Node {
            is_leaf: node.is_leaf,
            is_declared_parent: node.is_declared_parent,
            ..Node::bare(node.path.clone(), number.checked_sub(1).map(QueueId), node.max_applications)
        });
        let mut tree = self.without_queues();
        tree.replace(nodes.collect());
        tree
    }

    /// Adds an entry to an ACL, and returns whether the queue is configured.
    pub(crate) fn grant(&mut self, path: &QueuePath, right: Right, entry: &Acl) -> bool {
        let Some(node) = self.find(path).and_then(|id| self.queues.get_mut(id.index())) else { return false };
        let grants = node.grants.get_mut(right);
        grants.acl = grants.acl.union(entry);
        grants.text = grants.acl.canonical();
        grants.parts.push((Origin::Text(TextLocation::default()), entry.clone()));
        self.named = OnceLock::new();
        true
    }

    /// Adds a queue, and its missing ancestors as parents. Returns false if it is already configured or below
    /// a leaf, which would have to become a parent.
    pub(crate) fn add_queue(&mut self, path: &QueuePath, is_leaf: bool) -> bool {
        let missing: Vec<QueuePath> = path.lineage().take_while(|path| self.find(path).is_none()).collect();
        let above = missing.last().and_then(QueuePath::parent).and_then(|above| self.find(&above));
        let Some((above, node)) = above.and_then(|id| Some((id, self.node(id)?))) else { return false };
        if node.is_leaf {
            return false;
        }
        let (at, max_applications) = (self.subtree(above).end, node.max_applications);
        let added = u32::try_from(missing.len()).unwrap_or(u32::MAX);
        let parents = iter::once(above).chain((at..).map(QueueId));
        let new = missing.iter().rev().zip(parents).map(|(new, parent)| Node {
            is_leaf: is_leaf && new == path,
            is_declared_parent: !is_leaf && new == path,
            ..Node::bare(new.clone(), Some(parent), max_applications)
        });
        let new: Vec<Node> = new.collect();
        let mut nodes = std::mem::take(&mut self.queues);
        for parent in nodes.iter_mut().filter_map(|node| node.parent.as_mut()).filter(|parent| parent.0 >= at)
        {
            parent.0 = parent.0.saturating_add(added);
        }
        let position = nodes.len().min(at as usize);
        nodes.splice(position..position, new);
        self.replace(nodes);
        true
    }

    /// Makes a leaf a parent, and returns whether it was a leaf.
    pub(crate) fn make_parent(&mut self, path: &QueuePath) -> bool {
        let node = self.find(path).and_then(|id| self.queues.get_mut(id.index()));
        node.is_some_and(|node| {
            node.is_declared_parent = true;
            std::mem::replace(&mut node.is_leaf, false)
        })
    }

    /// Returns the placement rules for modification.
    pub(crate) fn rules_mut(&mut self) -> &mut Vec<PlacementRule> {
        &mut self.rules
    }

    /// Returns whether `YuniKorn` accepts the placement rules with these queues.
    pub(crate) fn has_valid_rules(&self) -> bool {
        let nodes = self.queues.iter().map(|node| (&node.path, node.is_declared_parent));
        self.rules.is_empty() || config::rules_fit(&self.rules, nodes)
    }

    /// Returns the limit of applications for a new queue at this path, or 0 for no limit. It is the limit of
    /// its parent, which `YuniKorn` requires it to respect.
    pub(crate) fn max_applications_below(&self, path: &QueuePath) -> u64 {
        let above = path.lineage().find_map(|path| self.find(&path)).and_then(|id| self.node(id));
        above.map_or(0, |node| node.max_applications)
    }

    /// Replaces the queues of the tree with these, which must be in pre-order.
    fn replace(&mut self, mut nodes: Vec<Node>) {
        for node in &mut nodes {
            node.size = 1;
        }
        self.by_path = Arc::new(nodes.iter().map(|node| node.path.clone()).zip(0..).collect());
        self.queues = nodes;
        self.named = OnceLock::new();
        self.measure();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_queues, text, tree};
    use proptest::prelude::*;
    use yunikorn::config::verdict;
    use yunikorn::version::Version;

    proptest! {
        /// An edited tree equals the tree of the edited text.
        #[test]
        fn added_queue_equals_a_written_one(queues in any_queues(), path in "root(\\.(a|b|x|y)){1,3}") {
            let path = QueuePath::parse(&path).unwrap();
            let mut edited = tree(&queues);
            let before = edited.clone();
            if !edited.add_queue(&path, true) {
                let is_leaf = |path: &QueuePath| before.find(path).and_then(|id| before.node(id)).is_some_and(|node| node.is_leaf);
                prop_assert!(before.find(&path).is_some() || path.lineage().any(|above| is_leaf(&above)));
                return Ok(());
            }
            let paths: Vec<QueuePath> = path.lineage().filter(|path| before.find(path).is_none()).collect();
            let mut written = queues;
            written.extend(paths.iter().rev().map(|path| (path.as_str(), "", "")));
            let expected = tree(&written);
            prop_assert!(verdict(&text(&written), &[], Version::V1_8).validates.is_ok());
            let shape = |tree: &Tree| {
                let nodes = tree.queues().map(|(id, node)| {
                    let above = node.parent.and_then(|id| tree.node(id)).map(|node| node.path.clone());
                    (node.path.clone(), above, node.is_leaf, tree.subtree(id).len(), tree.find(&node.path) == Some(id))
                });
                let mut nodes: Vec<_> = nodes.collect();
                nodes.sort();
                nodes
            };
            prop_assert_eq!(shape(&edited), shape(&expected));
        }
    }

    #[test]
    fn limit_of_applications_is_kept() {
        let text = "partitions: [{name: default, queues: [{name: root, queues: [{name: a, maxapplications: 3, parent: true}]}]}]";
        let mut tree = crate::testing::parsed(text);
        let path = QueuePath::parse("root.a.b").unwrap();
        assert_eq!(tree.max_applications_below(&path), 3);
        assert!(tree.add_queue(&path, true));
        assert_eq!(tree.find(&path).and_then(|id| tree.node(id)).map(|node| node.max_applications), Some(3));
    }
}
