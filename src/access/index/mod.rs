//! Decisions without walking lists and without allocating.
//!
//! Queues are numbered in pre-order (an Euler tour), so what a grant opens, a queue and all below it, is a range of numbers. For
//! each user and each group the ranges are merged once, when the index is built. A decision is then one look-up of the
//! queue and one search for each name, however deep the queue is.
//!
//! [`super::check::decide`] gives the same answers with their reasons; tests hold the two together.

mod hash;
mod names;

use std::ops::Range;

use crate::model::acl::{self, Acl};
use crate::model::right::Right;

use super::check::implied_by;
use super::reach::{QueueSet, reach};
use super::tree::{Located, QueueId, Tree};
use hash::{Caseless, Exact};
use names::Names;

/// The index of one [`Tree`].
#[derive(Debug, Clone)]
pub struct Index {
    /// Paths in the order of the queues.
    paths: Names<Caseless>,
    longest: usize,
    everyone: Rights,
    users: Table,
    groups: Table,
}

/// The queues where one may submit, and those where one administers.
type Rights = [QueueSet; 2];

/// Names, each with its queues.
#[derive(Debug, Clone, Default)]
struct Table {
    names: Names<Exact>,
    queues: Vec<Rights>,
}

/// Someone who will be asked about more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    queues: Rights,
}

impl Index {
    /// Builds the index of a tree, in time that grows with the number of names in its ACLs.
    pub fn of(tree: &Tree) -> Self {
        let mut index = Self {
            paths: Names::default(),
            longest: 0,
            everyone: Rights::default(),
            users: Table::default(),
            groups: Table::default(),
        };
        let recovery = tree.recovery();
        for (id, node) in tree.queues() {
            index.paths.add(node.path.as_str());
            index.longest = index.longest.max(node.path.as_str().len());
            for right in Right::ALL {
                for opened in reach(right, tree.subtree(id), recovery.as_ref()) {
                    for granting in implied_by(right) {
                        index.open(right, &node.grants(*granting).acl, &opened);
                    }
                }
            }
        }
        index.users.names.finish();
        index.groups.names.finish();
        index
    }

    fn open(&mut self, right: Right, acl: &Acl, opened: &Range<u32>) {
        if acl.is_everyone() {
            of_mut(&mut self.everyone, right).push(opened.clone());
        }
        self.users.open(right, acl.users(), opened);
        self.groups.open(right, acl.groups(), opened);
    }

    /// As [`Tree::locate`], without allocating. Parts below the nearest queue may be anything.
    pub fn locate(&self, path: &str) -> Located {
        if let Some(number) = self.paths.find(path) {
            return Located::Queue(QueueId::new(number));
        }
        // No queue has a longer path, so what lies behind need not be tried.
        let reach = path.len().min(self.longest + 1);
        let dots = path.bytes().enumerate().take(reach).rev().filter(|(_, byte)| *byte == b'.');
        dots.filter_map(|(end, _)| path.get(..end))
            .find_map(|above| self.paths.find(above))
            .map_or(Located::Nowhere, |number| Located::Below(QueueId::new(number)))
    }

    /// May this user, with these groups, do it on this queue?
    pub fn allows<G: AsRef<str>>(&self, right: Right, path: &str, user: &str, groups: &[G]) -> bool {
        let Some(queue) = self.locate(path).decides() else { return false };
        of(&self.everyone, right).contains(queue.number())
            || self.users.grants(right, user, queue)
            || groups.iter().any(|group| self.groups.grants(right, group.as_ref(), queue))
    }

    /// The same for someone who was prepared.
    pub fn allows_prepared(&self, right: Right, path: &str, who: &Prepared) -> bool {
        self.locate(path).decides().is_some_and(|queue| who.queues(right).contains(queue.number()))
    }

    /// Joins what a user and the groups are granted.
    pub fn prepare<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Prepared {
        let queues = Right::ALL.map(|right| {
            let by_groups = groups.iter().filter_map(|group| self.groups.find(right, group.as_ref()));
            let by_name = self.users.find(right, user);
            let all = std::iter::once(of(&self.everyone, right)).chain(by_name).chain(by_groups);
            QueueSet::of(all.flat_map(|queues| queues.ranges().iter().cloned()).collect())
        });
        Prepared { queues }
    }

    /// The queues where everyone may.
    pub fn everyone(&self, right: Right) -> &QueueSet {
        of(&self.everyone, right)
    }

    /// All users that an ACL names, each with the queues where they may by name.
    pub fn users(&self, right: Right) -> impl Iterator<Item = (&str, &QueueSet)> {
        self.users.all(right)
    }

    /// All groups that an ACL names, each with the queues where its members may.
    pub fn groups(&self, right: Right) -> impl Iterator<Item = (&str, &QueueSet)> {
        self.groups.all(right)
    }
}

impl Prepared {
    /// The queues where they may.
    pub fn queues(&self, right: Right) -> &QueueSet {
        of(&self.queues, right)
    }
}

impl Table {
    fn open(&mut self, right: Right, names: &acl::Names, opened: &Range<u32>) {
        for name in names.iter() {
            let number = self.names.add(name) as usize;
            if self.queues.len() <= number {
                self.queues.resize_with(number + 1, Rights::default);
            }
            if let Some(queues) = self.queues.get_mut(number) {
                of_mut(queues, right).push(opened.clone());
            }
        }
    }

    fn grants(&self, right: Right, name: &str, queue: QueueId) -> bool {
        self.names.perhaps(name)
            && self.find(right, name).is_some_and(|queues| queues.contains(queue.number()))
    }

    fn find(&self, right: Right, name: &str) -> Option<&QueueSet> {
        let number = self.names.find(name)?;
        self.queues.get(number as usize).map(|queues| of(queues, right))
    }

    fn all(&self, right: Right) -> impl Iterator<Item = (&str, &QueueSet)> {
        self.queues
            .iter()
            .enumerate()
            .map(move |(number, queues)| (self.names.get(number), of(queues, right)))
    }
}

/// The one for a right.
fn of<T>([submit, admin]: &[T; 2], right: Right) -> &T {
    match right {
        Right::Submit => submit,
        Right::Admin => admin,
    }
}

fn of_mut<T>([submit, admin]: &mut [T; 2], right: Right) -> &mut T {
    match right {
        Right::Submit => submit,
        Right::Admin => admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::check::decide;
    use crate::access::testing::{any_identity, any_tree, tree};
    use proptest::prelude::*;

    #[test]
    fn a_grant_far_below_opens_nothing_beside_it() {
        let tree =
            tree(&[("root", "", ""), ("root.a", "", ""), ("root.a.x", "sue", ""), ("root.b", " g", "sue")]);
        let index = Index::of(&tree);
        let opened = |right| {
            let queues =
                index.users(right).map(|(name, queues)| (name.to_owned(), queues.iter().collect::<Vec<_>>()));
            queues.collect::<Vec<_>>()
        };
        assert_eq!(opened(Right::Submit), [("sue".to_owned(), vec![2, 3])]);
        assert_eq!(opened(Right::Admin), [("sue".to_owned(), vec![3])]);
        assert!(index.allows(Right::Submit, "ROOT.B.any.thing", "bob", &["f", "g"]));
        assert!(!index.allows(Right::Admin, "root.b", "bob", &["g"]));
    }

    proptest! {
        #[test]
        fn answers_as_the_walk_does(
            tree in any_tree(),
            path in "(?i:root)(\\.(?i:a|b|x|a-b|deep|@recovery@|y)){0,4}(\\.|\\.\\.a|\\. )?|a|",
            identity in any_identity(),
        ) {
            let index = Index::of(&tree);
            prop_assert_eq!(index.locate(&path), tree.locate(&path));
            let prepared = index.prepare(&identity.user, &identity.groups);
            for right in Right::ALL {
                let expected = decide(&tree, right, &path, &identity).allowed();
                prop_assert_eq!(index.allows(right, &path, &identity.user, &identity.groups), expected);
                prop_assert_eq!(index.allows_prepared(right, &path, &prepared), expected);
            }
        }
    }
}
