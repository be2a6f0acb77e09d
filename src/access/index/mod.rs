//! The same answers as [`decide`](super::check::decide), from a table.
//!
//! Built once from a [`Tree`]: for each user, each group and everyone, the queues on which they hold each right, inherited ones and those of
//! administrators included. Queues are numbered in pre-order, so that a grant on a queue and all below it is one range of numbers; a
//! decision is a look-up of the queue and of each name, and a search among the ranges of each, whatever the depth. It does not
//! allocate.

mod hash;
mod lookup;
mod named;
mod table;

use hash::Seed;
use lookup::Lookup;
use named::{Collected, Named, Ranges, Reach};

use super::check::implied_by;
use super::reach::{QueueSet, reach};
use super::tree::{Located, QueueId, Tree};
use crate::model::acl::Match;
use crate::model::right::Right;

/// Who holds which right where.
#[derive(Debug, Clone)]
pub struct Index {
    lookup: Lookup,
    everyone: Reach,
    users: Named,
    groups: Named,
}

/// Somebody with all that the index knows about them, for many questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    submit: QueueSet,
    admin: QueueSet,
}

impl Index {
    /// The index of a tree.
    pub fn of(tree: &Tree) -> Self {
        let seed = Seed::draw();
        let recovery = tree.recovery();
        let mut everyone = Ranges::default();
        let (mut users, mut groups) = (Collected::new(seed), Collected::new(seed));
        for (id, node) in tree.queues() {
            for right in Right::ALL {
                let reached = reach(right, tree.subtree(id), recovery.as_ref());
                for acl in implied_by(right) {
                    for entry in node.grants(*acl).acl.entries() {
                        let ranges = match entry {
                            Match::Everyone => Some(&mut everyone),
                            Match::User(user) => users.entry(user),
                            Match::Group(group) => groups.entry(group),
                        };
                        if let Some(ranges) = ranges {
                            ranges.add(right, reached.clone());
                        }
                    }
                }
            }
        }
        Self {
            lookup: Lookup::of(tree, seed),
            everyone: everyone.join(),
            users: users.join(),
            groups: groups.join(),
        }
    }

    /// What a path leads to, as [`Tree::locate`] tells.
    #[inline]
    pub fn locate(&self, path: &str) -> Located {
        self.lookup.locate(path)
    }

    /// Whether a user with these groups holds a right on a queue, which may be any path. The verdict of [`decide`](super::check::decide).
    #[inline]
    pub fn allows<G: AsRef<str>>(&self, right: Right, path: &str, user: &str, groups: &[G]) -> bool {
        self.locate(path).decides().is_some_and(|queue| self.allows_on(right, queue, user, groups))
    }

    /// As [`Index::allows`], for a queue of the tree.
    #[inline]
    pub fn allows_on<G: AsRef<str>>(&self, right: Right, queue: QueueId, user: &str, groups: &[G]) -> bool {
        let holds = |reach: &Reach| reach.of(right).contains(queue.number());
        holds(&self.everyone)
            || self.users.get(user).is_some_and(holds)
            || groups.iter().any(|group| self.groups.get_rare(group.as_ref()).is_some_and(holds))
    }

    /// The queues on which an entry of an ACL grants a right, alone.
    pub fn reach(&self, right: Right, entry: Match<'_>) -> Option<&QueueSet> {
        let reach = match entry {
            Match::Everyone => Some(&self.everyone),
            Match::User(user) => self.users.get(user),
            Match::Group(group) => self.groups.get(group),
        };
        reach.map(|reach| reach.of(right))
    }

    /// Everyone, then all users and all groups that any ACL names, in the order in which the tree does, each with the queues on which
    /// it holds a right.
    pub fn holders(&self, right: Right) -> impl Iterator<Item = (Match<'_>, &QueueSet)> {
        let everyone = std::iter::once((Match::Everyone, &self.everyone));
        let users = self.users.iter().map(|(name, reach)| (Match::User(name), reach));
        let groups = self.groups.iter().map(|(name, reach)| (Match::Group(name), reach));
        everyone.chain(users).chain(groups).map(move |(entry, reach)| (entry, reach.of(right)))
    }

    /// All queues on which a user with these groups holds the rights.
    pub fn holder<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Holder {
        let of_groups = groups.iter().filter_map(|group| self.groups.get(group.as_ref()));
        let all: Vec<&Reach> =
            std::iter::once(&self.everyone).chain(self.users.get(user)).chain(of_groups).collect();
        let [submit, admin] = Right::ALL.map(|right| {
            QueueSet::of(all.iter().flat_map(|reach| reach.of(right).ranges().iter().cloned()).collect())
        });
        Holder { submit, admin }
    }
}

impl Holder {
    /// The queues on which they hold a right.
    pub fn queues(&self, right: Right) -> &QueueSet {
        match right {
            Right::Submit => &self.submit,
            Right::Admin => &self.admin,
        }
    }

    /// Whether they hold a right on a queue of the tree.
    pub fn holds(&self, right: Right, queue: QueueId) -> bool {
        self.queues(right).contains(queue.number())
    }
}

#[cfg(test)]
mod tests;
