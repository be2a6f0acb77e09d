//! The names in the ACLs of a tree, with the queues at which each name's rights begin.
//!
//! A right that begins at a queue covers a range of numbers, because queues are numbered in pre-order. One
//! look-up per name of a person therefore finds the nearest granting entry at any depth, without allocating
//! memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::{QueueId, Tree};
use crate::alias::{self, Kind};
use crate::queue_set::{QueueSet, reach};
use yunikorn::acl::Match;
use yunikorn::identity::Identity;
use yunikorn::right::{ByRight, Right};
use yunikorn::text_map::TextMap;

/// All names of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameIndex {
    everyone: Holder,
    users: TextMap<Box<str>, Holder>,
    groups: TextMap<Box<str>, Holder>,
    /// The recovery queue and its descendants.
    recovery: Option<Range<u32>>,
    /// True if an ACL contains an alias.
    has_aliases: bool,
}

type Names<'t> = HashMap<&'t str, Holder, RandomState>;

/// The starts of a name, for each right.
type Holder = ByRight<GrantStarts>;

/// The queues at which a right of a name begins, in order.
#[derive(Debug, Clone, Default)]
struct GrantStarts(Vec<Start>);

#[derive(Debug, Clone, Copy)]
struct Start {
    queue: u32,
    /// The number after the last descendant.
    end: u32,
    /// The ACL that contains the entry.
    acl: Right,
    /// The position of the nearest start above this one.
    above: Option<u32>,
}

/// The nearest entry that grants a right, in the order of `YuniKorn`'s checks, with its queue, its ACL and
/// the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantingEntry<'t> {
    /// The queue of the ACL.
    pub queue: QueueId,
    /// The kind of ACL.
    pub acl: Right,
    /// The entry.
    pub entry: Match<'t>,
}

impl NameIndex {
    pub(crate) fn new(tree: &Tree) -> Self {
        let mut everyone = Holder::default();
        // A name can be in many ACLs but is copied only once.
        let (mut users, mut groups) = (Names::default(), Names::default());
        for (id, node) in tree.queues() {
            let queues = tree.subtree(id);
            for acl in Right::ALL {
                let grants = |right: Right| right.acls().contains(&acl) && !node.stops(right);
                let granted = Right::ALL.map(|right| (right, grants(right)));
                for entry in node.grants(acl).acl.entries() {
                    let holder = match entry {
                        Match::Everyone => &mut everyone,
                        Match::User(name) => users.entry(name).or_default(),
                        Match::Group(name) => groups.entry(name).or_default(),
                    };
                    for (right, _) in granted.into_iter().filter(|(_, granted)| *granted) {
                        holder.get_mut(right).push(queues.start, queues.end, acl);
                    }
                }
            }
        }
        let owned = |names: Names<'_>| names.into_iter().map(|(name, of)| (name.into(), of)).collect();
        let has_aliases = groups.keys().any(|group| alias::is_alias(group));
        let (users, groups) = (owned(users), owned(groups));
        Self { everyone, users, groups, recovery: tree.recovery(), has_aliases }
    }

    /// Returns whether an ACL contains an alias.
    pub(crate) fn has_aliases(&self) -> bool {
        self.has_aliases
    }

    /// Returns a user with the aliases of the names, if an ACL contains an alias.
    #[inline]
    pub(crate) fn presented<'i>(&self, identity: &'i Identity) -> Cow<'i, Identity> {
        if !self.has_aliases {
            return Cow::Borrowed(identity);
        }
        Cow::Owned(alias::presented(identity, |alias| self.groups.get(alias).is_some()))
    }

    /// Returns the entry for a user or group, and where its rights begin.
    fn held<'n>(&'n self, name: Match<'_>) -> Option<(Match<'n>, &'n Holder)> {
        let user = |name: &str| self.users.get(name).map(|(name, holder)| (Match::User(name), holder));
        let group = |name: &str| self.groups.get(name).map(|(name, holder)| (Match::Group(name), holder));
        let aliased =
            |kind, name| self.has_aliases.then(|| alias::alias(kind, name)).and_then(|alias| group(&alias));
        match name {
            Match::Everyone => Some((Match::Everyone, &self.everyone)),
            Match::User(name) => user(name).or_else(|| aliased(Kind::User, name)),
            Match::Group(name) => group(name).or_else(|| aliased(Kind::Group, name)),
        }
    }

    /// Returns the nearest entry that grants a right. If a queue has several, it is the entry whose ACL
    /// `YuniKorn` checks first ([`GrantingEntry`]).
    #[expect(clippy::inline_always, reason = "its result would be copied")]
    #[inline(always)]
    pub(crate) fn granting_entry<G: AsRef<str>>(
        &self,
        right: Right,
        id: QueueId,
        user: &str,
        groups: &[G],
    ) -> Option<GrantingEntry<'_>> {
        let mut nearest =
            Nearest { right, queue: id.number(), first: self.first(right, id.number()), known: None };
        if let Some((name, holder)) = self.users.get(user) {
            nearest.consider(Match::User(name), holder);
        }
        if !nearest.is_final() {
            nearest.consider(Match::Everyone, &self.everyone);
            for group in groups {
                if let Some((name, holder)) = self.groups.get(group.as_ref()) {
                    nearest.consider(Match::Group(name), holder);
                }
            }
        }
        nearest.known.map(|(entry, start)| start.granting_entry(entry))
    }

    /// Returns the same for a subject known only by name.
    pub(crate) fn granting_entry_of(
        &self,
        right: Right,
        id: QueueId,
        name: Match<'_>,
    ) -> Option<GrantingEntry<'_>> {
        let first = self.first(right, id.number());
        let mut nearest = Nearest { right, queue: id.number(), first, known: None };
        nearest.consider(Match::Everyone, &self.everyone);
        if let Some((entry, holder)) = self.held(name) {
            nearest.consider(entry, holder);
        }
        nearest.known.map(|(entry, start)| start.granting_entry(entry))
    }

    /// Returns the first queue whose ACLs affect a right on this queue. For submitting below the recovery
    /// queue, grants on the recovery queue and above are ignored.
    fn first(&self, right: Right, queue: u32) -> u32 {
        match self.recovery.as_ref().filter(|_| right == Right::Submit) {
            Some(recovery) if recovery.contains(&queue) => recovery.start.saturating_add(1),
            _ => 0,
        }
    }

    /// Iterates over the queues where a right begins because of an entry. The queues are in order and unique.
    pub(crate) fn granting_entries<'n>(
        &'n self,
        right: Right,
        name: Match<'_>,
    ) -> impl Iterator<Item = GrantingEntry<'n>> {
        let held = self.held(name).into_iter();
        held.flat_map(move |(entry, holder)| {
            holder.get(right).0.iter().map(move |start| start.granting_entry(entry))
        })
    }

    /// Returns the queues where a single entry grants a right.
    pub(crate) fn reach(&self, right: Right, entry: Match<'_>) -> QueueSet {
        let starts = self.held(entry).into_iter().flat_map(|(_, holder)| &holder.get(right).0);
        let reached = starts.flat_map(|start| reach(right, start.queue..start.end, self.recovery.as_ref()));
        QueueSet::new(reached.collect())
    }
}

impl Start {
    fn granting_entry<'n>(&self, entry: Match<'n>) -> GrantingEntry<'n> {
        GrantingEntry { queue: QueueId::new(self.queue), acl: self.acl, entry }
    }
}

/// The nearest start of several entries.
struct Nearest<'t> {
    right: Right,
    queue: u32,
    /// The first relevant queue.
    first: u32,
    known: Option<(Match<'t>, &'t Start)>,
}

impl<'t> Nearest<'t> {
    #[inline]
    fn consider(&mut self, entry: Match<'t>, holder: &'t Holder) {
        let start = holder.get(self.right).nearest(self.queue).filter(|start| start.queue >= self.first);
        if let Some(start) = start
            && self.known.is_none_or(|(_, known)| self.rank(known) < self.rank(start))
        {
            self.known = Some((entry, start));
        }
    }

    /// Ranks a start: nearer queues first and, at the same queue, the ACL that is checked first.
    fn rank(&self, start: &Start) -> (u32, bool) {
        (start.queue, start.acl == self.right)
    }

    fn is_final(&self) -> bool {
        self.known.is_some_and(|(_, start)| self.rank(start) == (self.queue, true))
    }
}

impl GrantStarts {
    /// Appends a start, unless an ACL of the same queue that is checked earlier contains the entry.
    fn push(&mut self, queue: u32, end: u32, acl: Right) {
        let mut above = self.0.len().checked_sub(1).and_then(|last| u32::try_from(last).ok());
        while let Some(start) = self.at(above) {
            if start.queue == queue {
                return;
            }
            if queue < start.end {
                break;
            }
            above = start.above;
        }
        self.0.push(Start { queue, end, acl, above });
    }

    /// Returns the start at a queue, or the nearest one above it.
    fn nearest(&self, queue: u32) -> Option<&Start> {
        // Most names are in one ACL.
        if let [start] = self.0.as_slice() {
            return Some(start).filter(|start| start.queue <= queue && queue < start.end);
        }
        let behind = self.0.partition_point(|start| start.queue <= queue);
        let mut start = self.0.get(behind.checked_sub(1)?)?;
        while start.end <= queue {
            start = self.at(start.above)?;
        }
        Some(start)
    }

    fn at(&self, position: Option<u32>) -> Option<&Start> {
        self.0.get(usize::try_from(position?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reach::checked;
    use crate::testing::{any_identity, any_tree, each_tree, people, tree};
    use crate::tree::Located;
    use yunikorn::identity::Identity;

    /// Decides like `YuniKorn`, ACL by ACL from the queue up.
    fn walk<'t>(tree: &'t Tree, right: Right, id: QueueId, who: &Identity) -> Option<GrantingEntry<'t>> {
        checked(tree, right, id).find_map(|(queue, node)| {
            right.acls().iter().find_map(|acl| {
                let entry = node.grants(*acl).acl.matched(&who.user, &who.groups)?;
                Some(GrantingEntry { queue, acl: *acl, entry })
            })
        })
    }

    fn agree(tree: &Tree, who: &Identity) {
        for (id, _) in tree.queues() {
            for right in Right::ALL {
                let found = GrantingEntry::find(tree, right, id, who);
                assert_eq!(found, walk(tree, right, id, who), "{right:?} {id:?} {who:?} {tree:?}");
            }
        }
    }

    #[test]
    fn granting_entry_equals_that_of_the_walk_on_small_trees() {
        for queues in [["root", "root.a", "root.a.b"], ["root", "root.@recovery@", "root.@recovery@.a"]] {
            each_tree(&queues, |tree| people().iter().for_each(|who| agree(tree, who)));
        }
    }

    #[test]
    fn granting_entry_through_many_siblings_is_found() {
        let paths: Vec<String> = (0..300).map(|number| format!("root.a.q{number:03}")).collect();
        let acl = |number: usize| if number.is_multiple_of(2) { "sue" } else { "" };
        let siblings = paths.iter().enumerate().map(|(number, path)| (path.as_str(), acl(number), ""));
        let above = [("root", "", " ops"), ("root.a", "", "sue")];
        let tree = tree(&above.into_iter().chain(siblings).collect::<Vec<_>>());
        for groups in [&[][..], &["ops"], &["qa", "ops"]] {
            let groups = groups.iter().map(ToString::to_string).collect();
            agree(&tree, &Identity { user: "sue".to_owned(), groups });
        }
    }

    #[test]
    fn paths_lead_to_the_nearest_queue_in_any_case() {
        let tree = tree(&[("root", "", ""), ("root.kit", "", ""), ("root.kit.iki", "", "")]);
        let long = format!("root.kit{}", ".x".repeat(1_000_000));
        for (path, expected) in [
            ("root", Located::Queue(QueueId::ROOT)),
            ("ROOT", Located::Queue(QueueId::ROOT)),
            ("root.", Located::Below(QueueId::ROOT)),
            ("root..kit", Located::Below(QueueId::ROOT)),
            ("root.kit.", Located::Below(QueueId::new(1))),
            ("root.kit.iki.", Located::BelowLeaf(QueueId::new(2))),
            ("Root.KIT.Iki", Located::Queue(QueueId::new(2))),
            ("root.\u{212a}\u{130}t", Located::Queue(QueueId::new(1))),
            ("root.\u{212a}it.\u{130}ki.x", Located::BelowLeaf(QueueId::new(2))),
            ("root.kitt", Located::Below(QueueId::ROOT)),
            (&long, Located::Below(QueueId::new(1))),
            ("", Located::Nowhere),
            (".root", Located::Nowhere),
            (" root", Located::Nowhere),
            ("rootx", Located::Nowhere),
            ("kit.iki", Located::Nowhere),
        ] {
            assert_eq!(tree.locate(path), expected, "{path:.40}");
        }
    }

    proptest! {
        #[test]
        fn granting_entry_equals_that_of_the_walk_on_random_trees(
            tree in any_tree(), people in proptest::collection::vec(any_identity(), 4),
        ) {
            for who in &people {
                agree(&tree, who);
            }
        }

        #[test]
        fn entry_reaches_the_queues_it_grants_on_its_own(tree in any_tree()) {
            for entry in [Match::Everyone, Match::User("u"), Match::User("v"), Match::Group("g"), Match::Group("h")] {
                for right in Right::ALL {
                    let queues = tree.named().reach(right, entry);
                    for (id, _) in tree.queues() {
                        let granted = checked(&tree, right, id).any(|(_, node)| {
                            right.acls().iter().any(|acl| node.grants(*acl).acl.has(entry))
                        });
                        prop_assert_eq!(queues.contains(id.number()), granted, "{:?} {:?}", entry, id);
                    }
                }
            }
        }
    }
}
