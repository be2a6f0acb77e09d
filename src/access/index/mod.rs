//! Decisions without walking lists and without allocating.
//!
//! Queues are numbered in pre-order (an Euler tour), so what a grant opens, a queue and all below it, is a range of numbers. For
//! each user and each group the ranges are merged once, when the index is built. A decision is then one look-up of the
//! queue and one search for each name, however deep the queue is.
//!
//! [`super::check::decide`] gives the same answers with their reasons; tests hold the two together.

mod hash;
mod names;
mod ranges;

use std::ops::Range;

use crate::model::right::Right;

use super::check::implied_by;
use super::tree::{Located, QueueId, Tree};
use hash::{Caseless, Exact};
use names::Names;
use ranges::Merged;
pub use ranges::Ranges;

/// The index of one [`Tree`].
#[derive(Debug, Clone)]
pub struct Index {
    /// Paths in the order of the queues.
    paths: Names<Caseless>,
    longest: usize,
    recovery: Option<QueueId>,
    everyone: [Merged; 2],
    users: Table,
    groups: Table,
}

/// Names, each with the ranges of both rights.
#[derive(Debug, Clone, Default)]
struct Table {
    names: Names<Exact>,
    ranges: Vec<[Merged; 2]>,
}

/// Someone who will be asked about more than once: the names that the index knows.
#[derive(Debug, Clone)]
pub struct Prepared {
    ranges: [Merged; 2],
}

impl Index {
    /// Builds the index of a tree, in time that grows with the number of names in its ACLs.
    pub fn of(tree: &Tree) -> Self {
        let mut index = Self {
            paths: Names::default(),
            longest: 0,
            recovery: None,
            everyone: Default::default(),
            users: Table::default(),
            groups: Table::default(),
        };
        for (id, node) in tree.queues() {
            index.paths.add(node.path.as_str());
            index.longest = index.longest.max(node.path.as_str().len());
            if node.path.is_recovery() {
                index.recovery = Some(id);
            }
            let opened = tree.subtree(id);
            for right in Right::ALL {
                for granting in implied_by(right) {
                    let acl = &node.grants(*granting).acl;
                    if acl.is_everyone() {
                        of_mut(&mut index.everyone, right).push(opened.clone());
                    }
                    index.users.push(acl.users().iter(), right, &opened);
                    index.groups.push(acl.groups().iter(), right, &opened);
                }
            }
        }
        index.users.names.finish();
        index.groups.names.finish();
        index
    }

    /// As [`Tree::locate`], without allocating. Parts below the nearest queue may be anything.
    pub fn locate(&self, path: &str) -> Located {
        if let Some(number) = self.paths.find(path) {
            return Located::Queue(QueueId::new(number));
        }
        // No queue has a longer path, so what lies behind need not be tried.
        let reach = path.len().min(self.longest + 1);
        let ends =
            path.bytes().enumerate().take(reach).rev().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at);
        ends.filter_map(|end| path.get(..end))
            .find_map(|above| self.paths.find(above))
            .map_or(Located::Nowhere, |number| Located::Below(QueueId::new(number)))
    }

    /// May this user, with these groups, do it on this queue?
    pub fn allows<G: AsRef<str>>(&self, right: Right, path: &str, user: &str, groups: &[G]) -> bool {
        let Some(queue) = self.asked(right, path) else { return false };
        of(&self.everyone, right).contains(queue)
            || self.users.grants(right, user, queue)
            || groups.iter().any(|group| self.groups.grants(right, group.as_ref(), queue))
    }

    /// The same for someone who was prepared.
    pub fn allows_prepared(&self, right: Right, path: &str, who: &Prepared) -> bool {
        self.asked(right, path).is_some_and(|queue| of(&who.ranges, right).contains(queue))
    }

    /// The queue that decides; none where the answer is no whoever asks.
    fn asked(&self, right: Right, path: &str) -> Option<QueueId> {
        match self.locate(path) {
            Located::Queue(queue) if right == Right::Submit && Some(queue) == self.recovery => None,
            located => located.decides(),
        }
    }

    /// Joins what a user and the groups are granted.
    pub fn prepare<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Prepared {
        let join = |right| {
            let mut all: Vec<_> = of(&self.everyone, right).iter().collect();
            all.extend(self.users.of(right, user));
            all.extend(groups.iter().flat_map(|group| self.groups.of(right, group.as_ref())));
            Merged::of(all)
        };
        Prepared { ranges: Right::ALL.map(join) }
    }

    /// The ranges of queues where everyone may.
    pub fn everyone(&self, right: Right) -> Ranges<'_> {
        of(&self.everyone, right).iter()
    }

    /// All users that an ACL names, each with the ranges of queues where they may by name.
    pub fn users(&self, right: Right) -> impl Iterator<Item = (&str, Ranges<'_>)> {
        self.users.all(right)
    }

    /// All groups that an ACL names, each with the ranges of queues where its members may.
    pub fn groups(&self, right: Right) -> impl Iterator<Item = (&str, Ranges<'_>)> {
        self.groups.all(right)
    }
}

impl Prepared {
    /// The ranges of queues where they may. The recovery queue may be in one, although nobody may submit to it.
    pub fn ranges(&self, right: Right) -> Ranges<'_> {
        of(&self.ranges, right).iter()
    }
}

impl Table {
    fn push<'a>(&mut self, names: impl Iterator<Item = &'a str>, right: Right, opened: &Range<u32>) {
        for name in names {
            let number = self.names.add(name) as usize;
            if self.ranges.len() <= number {
                self.ranges.resize_with(number + 1, Default::default);
            }
            if let Some(ranges) = self.ranges.get_mut(number) {
                of_mut(ranges, right).push(opened.clone());
            }
        }
    }

    fn grants(&self, right: Right, name: &str, queue: QueueId) -> bool {
        self.names.perhaps(name) && self.find(right, name).is_some_and(|ranges| ranges.contains(queue))
    }

    fn find(&self, right: Right, name: &str) -> Option<&Merged> {
        let number = self.names.find(name)?;
        self.ranges.get(number as usize).map(|ranges| of(ranges, right))
    }

    fn of(&self, right: Right, name: &str) -> Ranges<'_> {
        self.find(right, name).map_or_else(Ranges::default, Merged::iter)
    }

    fn all(&self, right: Right) -> impl Iterator<Item = (&str, Ranges<'_>)> {
        self.ranges
            .iter()
            .enumerate()
            .map(move |(number, ranges)| (self.names.get(number), of(ranges, right).iter()))
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
    use crate::model::config::verdict;
    use crate::model::identity::Identity;
    use proptest::prelude::*;

    /// A tree of up to four levels, its ACLs made of a few names so that they meet.
    fn any_queue(depth: u32) -> BoxedStrategy<String> {
        let acl = prop_oneof![
            4 => Just(String::new()),
            1 => Just("*".to_owned()),
            6 => ("[abc]?(,[abc])?", "( [xyz](,[xyz])?)?").prop_map(|(users, groups)| users + &groups),
        ];
        let own = (acl.clone(), acl)
            .prop_map(|(submit, admin)| format!("submitacl: '{submit}', adminacl: '{admin}'"));
        if depth == 0 {
            return own.boxed();
        }
        (own, proptest::collection::vec(any_queue(depth - 1), 0..4))
            .prop_map(|(own, children)| {
                let children: Vec<_> = children
                    .iter()
                    .enumerate()
                    .map(|(n, child)| format!("{{name: q{n}, {child}}}"))
                    .collect();
                format!("{own}, queues: [{}]", children.join(", "))
            })
            .boxed()
    }

    fn any_tree() -> impl Strategy<Value = Tree> {
        any_queue(3).prop_filter_map("activates", |root| {
            let text = format!("partitions: [{{name: default, queues: [{{name: root, {root}}}]}}]");
            let verdict = verdict(&text, &[]);
            Tree::of(verdict.config?.partition("default")?).ok()
        })
    }

    proptest! {
        #[test]
        fn answers_as_the_walk_does(
            tree in any_tree(),
            path in "(?i:root)(\\.(?i:q[0-3])){0,4}(\\.|\\.x|\\.@recovery@)?|q0|",
            user in "[abcd]",
            groups in proptest::collection::vec("[wxyz]", 0..3),
        ) {
            let index = Index::of(&tree);
            prop_assert_eq!(index.locate(&path), tree.locate(&path));
            let identity = Identity { user: user.clone(), groups: groups.clone() };
            let prepared = index.prepare(&user, &groups);
            for right in Right::ALL {
                let expected = decide(&tree, right, &path, &identity).allowed();
                prop_assert_eq!(index.allows(right, &path, &user, &groups), expected);
                prop_assert_eq!(index.allows_prepared(right, &path, &prepared), expected);
            }
        }
    }
}
