//! Collects the holders of a right and the queues on which they hold it, by the entries of one tree's ACLs.

use std::collections::HashMap;
use std::ops::Range;

use super::shape::Shape;
use crate::check::implied_by;
use crate::reach::{QueueSet, reach};
use crate::tree::{Node, Tree};
use yunikorn::acl::Match;
use yunikorn::right::Right;

/// The queues on which each entry grants a right.
#[derive(Debug, Default)]
pub(super) struct Holders<'t> {
    /// Those on which the wildcard grants it.
    pub(super) everyone: QueueSet,
    /// Those on which a name is granted it.
    pub(super) named: HashMap<Match<'t>, QueueSet>,
}

impl<'t> Holders<'t> {
    /// Collects the entries of the queues for which `counts` returns true.
    pub(super) fn of(tree: &'t Tree, shape: &Shape, right: Right, counts: impl Fn(&Node) -> bool) -> Self {
        let mut reached: HashMap<Match<'t>, Vec<Range<u32>>> = HashMap::new();
        for (_, node) in tree.queues().filter(|(_, node)| counts(node)) {
            let acls = implied_by(right).iter().map(|acl| &node.grants(*acl).acl);
            let mut entries = acls.flat_map(yunikorn::acl::Acl::entries).peekable();
            if entries.peek().is_none() {
                continue;
            }
            let ranges = reach(right, shape.below(&node.path), shape.recovery());
            for entry in entries {
                reached.entry(entry).or_default().extend(ranges.iter().cloned());
            }
        }
        let everyone = reached.remove(&Match::Everyone).map(QueueSet::of).unwrap_or_default();
        let named = reached.into_iter().map(|(entry, ranges)| (entry, QueueSet::of(ranges)));
        Self { everyone, named: named.collect() }
    }
}
