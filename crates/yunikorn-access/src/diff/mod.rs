//! Finds the access that changes between two configurations: who gains and who loses which right on which
//! queues, inherited access included.
//!
//! It is reported for each name in an ACL of either, and for everyone: a user without its groups, a group
//! without its members. A subject that keeps access by another entry neither gains nor loses. When everyone
//! gains or loses, that is reported once, with the names for whom nothing changes by it, and not again for
//! names that gain or lose nothing more. Queues that only one of the two has are separate: for them, the diff
//! reports what their own ACLs grant beyond those above. A renamed queue counts as one removed and one added.
//!
//! `diff(a, b)` is the mirror of `diff(b, a)`, and `diff(a, a)` is empty.
//!
//! For one user with known groups, everything that lets the user in counts as one, so that a
//! move from one entry to another is no change; and only queues on which the user may do something are
//! added, removed or turned.

mod impact;
mod partitions;
mod shape;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

pub use impact::impact;
pub use partitions::{PartitionDiff, Presence, between, between_for};
pub use shape::{Extent, Shape};

use super::check::{Subject, decide, implied_by};
use super::reach::{GrantingEntry, QueueSet, reach};
use super::tree::{Node, Origin, Tree};
use yunikorn::acl::{Acl, Match};
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// All differences between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The queues that both have, and the changes on them.
    pub kept: Section,
    /// The queues that only the new one has, and the access that is gained by them.
    pub added: Section,
    /// The queues that only the old one has, and the access that is lost with them.
    pub removed: Section,
    /// Queues that were leaves and are now parents: whoever may submit to them, no application can run in
    /// them any more.
    pub now_parents: Vec<QueuePath>,
    /// Queues that were parents and are now leaves.
    pub now_leaves: Vec<QueuePath>,
}

/// Some queues, and the changes on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The queues; the sets in `changes` are of their numbers.
    pub queues: Shape,
    /// The changes, gains first; then by subject, everyone first; then by the right.
    pub changes: Vec<Change>,
}

/// A subject that gains or loses one right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The direction of the change.
    pub direction: Direction,
    /// The subject that gains or loses.
    pub subject: Subject,
    /// The right that is gained or lost.
    pub right: Right,
    /// The queues on which it changes.
    pub queues: QueueSet,
    /// The same queues as extents, each with the entry that makes the difference.
    pub extents: Vec<Reached>,
    /// When everyone gains: the names that had it before; when everyone loses: those that keep it. Each on
    /// some of the queues.
    pub unchanged: BTreeMap<Subject, QueueSet>,
}

/// Gain or loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "DirectionKind")]
pub enum Direction {
    /// Access is wider than before.
    Gains,
    /// Access is narrower than before.
    Loses,
}

/// Queues on which access changes by one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The queues of one extent.
    pub extent: Extent,
    /// The ACL of the queue at the top that has the entry: in the new tree when it is a gain, in the old one
    /// when it is a loss.
    pub acl: Right,
    /// The origins of the entry.
    pub origins: Vec<Origin>,
}

/// The changes from one tree to another of the same partition.
pub fn diff(old: &Tree, new: &Tree) -> Diff {
    diff_for(old, new, None)
}

/// The changes for everybody, or for one user.
fn diff_for(old: &Tree, new: &Tree, who: Option<&Identity>) -> Diff {
    let (of_old, of_new) = (who.map(|who| old.presented(who)), who.map(|who| new.presented(who)));
    let paths =
        |tree: &Tree| tree.queues().map(|(_, node)| node.path.clone()).collect::<BTreeSet<QueuePath>>();
    let (before, after) = (paths(old), paths(new));
    let concerns = |tree: &Tree, path: &QueuePath| {
        let holds =
            |who, id| Right::ALL.into_iter().any(|right| GrantingEntry::find(tree, right, id, who).is_some());
        who.is_none_or(|who| tree.find(path).is_some_and(|id| holds(who, id)))
    };
    let turned = |leaves, parents| {
        let mut turned = turned(leaves, parents);
        turned.retain(|path| concerns(leaves, path));
        turned
    };
    // An entry of an added or removed queue does not affect one that both trees have, because all queues
    // above that one are in both as well.
    let name = who.map(|who| who.user.as_str());
    let all_old = Side { tree: old, who: of_old.as_deref().zip(name), counts: &|_| true };
    let all_new = Side { tree: new, who: of_new.as_deref().zip(name), counts: &|_| true };
    let added = after.difference(&before).filter(|path| concerns(new, path));
    let removed = before.difference(&after).filter(|path| concerns(old, path));
    // On an added or removed queue the other side is the access that it inherits from those that stay.
    let in_old = |node: &Node| before.contains(&node.path);
    let in_new = |node: &Node| after.contains(&node.path);
    Diff {
        kept: Section::new(before.intersection(&after), all_old, all_new),
        added: Section::new(added, Side { counts: &in_old, ..all_new }, all_new),
        removed: Section::new(removed, all_old, Side { counts: &in_new, ..all_old }),
        now_parents: turned(old, new),
        now_leaves: turned(new, old),
    }
}

/// A tree, of which some queues count, and all entries or those that let one user in.
#[derive(Clone, Copy)]
struct Side<'t> {
    tree: &'t Tree,
    /// The user with the aliases, and by name.
    who: Option<(&'t Identity, &'t str)>,
    counts: &'t dyn Fn(&Node) -> bool,
}

impl<'t> Side<'t> {
    /// The entries of an ACL; for one user a single one, if any lets the user in.
    fn entries(self, acl: &'t Acl) -> impl Iterator<Item = Match<'t>> {
        let one =
            self.who.filter(|(who, _)| acl.allows(&who.user, &who.groups)).map(|(_, name)| Match::User(name));
        one.into_iter().chain(acl.entries().filter(move |_| self.who.is_none()))
    }

    /// The entry at the top of an extent: if it were further up, the queue above would have changed as well.
    fn reached(self, right: Right, subject: Match<'_>, extent: Extent) -> Reached {
        let id = self.tree.find(&extent.queue);
        let node = id.and_then(|id| self.tree.node(id));
        let granting = self.who.and_then(|(who, _)| GrantingEntry::find(self.tree, right, id?, who));
        let subject = granting.map_or(subject, |granting| granting.entry);
        let has = |acl: &&Right| node.is_some_and(|node| node.grants(**acl).acl.has(subject));
        let acl = implied_by(right).iter().find(has).copied().unwrap_or(right);
        let origins = node.map(|node| node.grants(acl).origins(subject)).unwrap_or_default();
        Reached { extent, acl, origins }
    }
}

impl Diff {
    /// Returns whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.kept.changes.is_empty()
            && self.added.queues.all().is_empty()
            && self.removed.queues.all().is_empty()
            && self.now_parents.is_empty()
            && self.now_leaves.is_empty()
    }

    /// Returns whether anyone may do more than before, also on a queue that is new.
    pub fn widens(&self) -> bool {
        let mut changes = self.kept.changes.iter().chain(&self.added.changes);
        changes.any(|change| change.direction == Direction::Gains)
    }
}

/// The leaves of one tree that are parents in the other, in order.
fn turned(leaves: &Tree, parents: &Tree) -> Vec<QueuePath> {
    let is_parent = |path: &QueuePath| {
        parents.find(path).and_then(|id| parents.node(id)).is_some_and(|node| !node.is_leaf)
    };
    let leaves = leaves.queues().filter(|(_, node)| node.is_leaf && is_parent(&node.path));
    leaves.map(|(_, node)| node.path.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The queues on which each entry grants a right.
#[derive(Debug, Default)]
struct Holders<'t> {
    /// Those on which the wildcard grants it.
    everyone: QueueSet,
    /// Those on which a name is granted it.
    named: HashMap<Match<'t>, QueueSet>,
}

impl<'t> Holders<'t> {
    /// Collects the entries of the queues that count.
    fn new(side: Side<'t>, shape: &Shape, right: Right) -> Self {
        let Side { tree, counts, .. } = side;
        let mut reached: HashMap<Match<'t>, Vec<Range<u32>>> = HashMap::new();
        for (_, node) in tree.queues().filter(|(_, node)| counts(node)) {
            let acls = implied_by(right).iter().map(|acl| &node.grants(*acl).acl);
            let mut entries = acls.flat_map(|acl| side.entries(acl)).peekable();
            if entries.peek().is_none() {
                continue;
            }
            let ranges = reach(right, shape.below(&node.path), Some(&shape.recovery));
            for entry in entries {
                reached.entry(entry).or_default().extend(ranges.iter().cloned());
            }
        }
        let everyone = reached.remove(&Match::Everyone).map(QueueSet::new).unwrap_or_default();
        let named = reached.into_iter().map(|(entry, ranges)| (entry, QueueSet::new(ranges)));
        Self { everyone, named: named.collect() }
    }
}

impl Section {
    fn new<'p>(queues: impl Iterator<Item = &'p QueuePath>, old: Side<'_>, new: Side<'_>) -> Self {
        let queues = Shape::new(queues.cloned());
        let mut changes = Vec::new();
        if queues.all().is_empty() {
            return Self { queues, changes };
        }
        for right in Right::ALL {
            let [before, after] = [old, new].map(|side| Holders::new(side, &queues, right));
            changes.extend(differences(&queues, new, (Direction::Gains, right), &before, &after));
            changes.extend(differences(&queues, old, (Direction::Loses, right), &after, &before));
        }
        changes.sort_by(|one, other| one.order().cmp(&other.order()));
        Self { queues, changes }
    }
}

impl Change {
    fn order(&self) -> (Direction, &Subject, Right) {
        (self.direction, &self.subject, self.right)
    }
}

/// The subjects that hold a right in `to`, which is of `side`, and not in `from`, with the queues; and for
/// everyone the names that hold it in `from`.
fn differences(
    shape: &Shape,
    side: Side<'_>,
    (direction, right): (Direction, Right),
    from: &Holders<'_>,
    to: &Holders<'_>,
) -> Vec<Change> {
    let change = |subject: Match<'_>, pieces: Vec<(Extent, QueueSet)>, unchanged| Change {
        direction,
        subject: side.tree.real(subject).into(),
        right,
        queues: QueueSet::new(pieces.iter().flat_map(|(_, part)| part.ranges().to_vec()).collect()),
        extents: pieces.into_iter().map(|(extent, _)| side.reached(right, subject, extent)).collect(),
        unchanged,
    };
    let everyone = to.everyone.minus(&from.everyone);
    let named = to.named.iter().filter_map(|(name, queues)| {
        let nothing = QueueSet::default();
        let queues = queues.minus(from.named.get(name).unwrap_or(&nothing)).minus(&from.everyone);
        let mut pieces = shape.pieces(&queues);
        pieces.retain(|(_, part)| !part.minus(&everyone).is_empty());
        (!pieces.is_empty()).then(|| change(*name, pieces, BTreeMap::new()))
    });
    let mut changes: Vec<Change> = named.collect();
    if !everyone.is_empty() {
        let before = from
            .named
            .iter()
            .map(|(name, queues)| (Subject::from(side.tree.real(*name)), queues.and(&everyone)));
        let unchanged = before.filter(|(_, queues)| !queues.is_empty()).collect();
        changes.push(change(Match::Everyone, shape.pieces(&everyone), unchanged));
    }
    changes
}

/// The rights that a change is about, by entries on the queue itself that let a user in, and that the user
/// has as before, or still does not have.
pub fn unmoved<'t>(
    old: &'t Tree,
    new: &'t Tree,
    who: &'t Identity,
) -> impl Iterator<Item = (&'t QueuePath, Right)> {
    let naming = |tree: &'t Tree, path, right| {
        let parts = tree.find(path).and_then(|id| tree.node(id)).map(|node| &node.grants(right).parts);
        let who = tree.presented(who);
        let naming = parts.into_iter().flatten().filter_map(|(origin, part)| {
            // Of a text the positions may differ.
            Some((origin.object(), part.matched(&who.user, &who.groups)?))
        });
        naming.collect::<BTreeSet<_>>()
    };
    let about = new.queues().flat_map(|(_, node)| Right::ALL.map(|right| (&node.path, right)));
    about.filter(move |(path, right)| {
        naming(old, path, *right) != naming(new, path, *right) && same(old, new, who, path.as_str(), *right)
    })
}

/// Returns whether a user has a right in both trees, or in neither.
pub fn same(old: &Tree, new: &Tree, who: &Identity, queue: &str, right: Right) -> bool {
    let [before, after] = [old, new].map(|tree| decide(tree, right, queue, who).allowed());
    before == after
}
