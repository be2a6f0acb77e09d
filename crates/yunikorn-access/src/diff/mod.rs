//! Finds the access that changes between two configurations: who gains and who loses which right on which
//! queues, including inherited access.
//!
//! Changes are reported for each name in an ACL of either configuration and for everyone: a user without its
//! groups, a group without its members. A subject that keeps access through another entry has no change. A
//! gain or loss of everyone is reported once, with the names for which nothing changes. It is not repeated
//! for names that gain or lose nothing else. Queues that only one configuration has are separate: the diff
//! reports what their own ACLs grant beyond the ACLs above. A renamed queue counts as one removed and one
//! added.
//!
//! `diff(a, b)` is the mirror of `diff(b, a)`, and `diff(a, a)` is empty.
//!
//! For one user with known groups, all entries that grant access are equivalent, so a move from one entry to
//! another is not a change. Only queues on which the user has a right are reported as added, removed or
//! converted.
//!
//! The difference of two [timelines](Timeline) includes every later moment: a right that begins next week is
//! gained, and a right that ends later than before is gained from the old end on.

mod impact;
mod partitions;
mod periods;
mod shape;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use jiff::Timestamp;

pub use impact::impact;
pub use partitions::{PartitionDiff, Presence, Timeline, between, between_for};
pub use periods::{Period, Periods};
pub use shape::{Extent, Shape};

use periods::{Span, Spans};

use super::decide::{decide, until};
use super::queue_set::{QueueSet, reach};
use super::reach::GrantedBy;
use super::subject::Subject;
use super::tree::{GrantingEntry, Node, Tree};
use yunikorn::acl::{Acl, Match};
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// All differences between two trees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// Changes on queues that both configurations have, gains first.
    #[serde(rename = "changes", serialize_with = "Section::serialize_changes")]
    #[schemars(with = "Vec<Change>")]
    pub kept: Section,
    /// Queues that only the new configuration has.
    pub added: Section,
    /// Queues that only the old configuration has.
    pub removed: Section,
    /// Leaves that become parents, so that applications can no longer run in them.
    #[schemars(with = "Vec<String>")]
    pub now_parents: Vec<QueuePath>,
    /// Parents that become leaves.
    #[schemars(with = "Vec<String>")]
    pub now_leaves: Vec<QueuePath>,
}

/// Queues that only one configuration has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "QueuesAnswer")]
pub struct Section {
    /// The paths of the queues, each before its descendants.
    // The sets in `changes` refer to their numbers.
    #[schemars(with = "Vec<String>")]
    pub queues: Shape,
    /// The same queues, grouped by subtrees.
    pub subtrees: Vec<Extent>,
    /// Access that their own ACLs grant beyond the ACLs of the queues above.
    // Gains first; then by subject, with everyone first; then by period and right.
    pub changes: Vec<Change>,
}

/// A subject that gains or loses one right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ChangeAnswer")]
pub struct Change {
    /// A gain or a loss.
    pub direction: Direction,
    /// The subject: a user without its groups, a group without its members, or everyone.
    pub subject: Subject,
    /// The right.
    #[serde(rename = "verb")]
    pub right: Right,
    /// The periods of the right before and after the change.
    #[serde(flatten)]
    pub periods: Periods,
    /// The queues with the change.
    #[serde(skip)]
    pub queues: QueueSet,
    /// The queues as subtrees, each with the entry that causes the change.
    #[serde(rename = "subtrees")]
    pub extents: Vec<Reached>,
    /// Subjects without a change when everyone gains or loses: they had the right before, or keep it by name.
    pub unchanged: Vec<Unchanged>,
}

/// A gain or a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "DirectionKind")]
pub enum Direction {
    /// Access is wider than before.
    Gains,
    /// Access is narrower than before.
    Loses,
}

/// Queues where an entry causes a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SubtreeAnswer")]
pub struct Reached {
    /// The queues.
    #[serde(flatten)]
    pub extent: Extent,
    /// The entry that causes the change: of the new configuration for a gain, of the old one for a loss.
    pub by: GrantedBy,
    /// The time at which a gained right ends; null if it has no end, and for a loss.
    pub until: Option<Timestamp>,
}

/// A subject without a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "UnchangedAnswer")]
pub struct Unchanged {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// The queues without a change.
    #[serde(skip)]
    pub queues: QueueSet,
    /// The queues without a change, as subtrees.
    pub subtrees: Vec<Extent>,
}

/// Returns the changes from one tree to another of the same partition.
pub fn diff(old: &Tree, new: &Tree) -> Diff {
    diff_for(&Course { times: Vec::new(), old: vec![old], new: vec![new] }, None)
}

/// Two trees of a partition over time: now, and at each later moment at which one of them changes.
#[derive(Debug)]
struct Course<'t> {
    /// The later moments.
    times: Vec<Timestamp>,
    /// The old trees: now, and at each later moment. All have the same queues.
    old: Vec<&'t Tree>,
    /// The new trees.
    new: Vec<&'t Tree>,
}

/// Returns the changes for all subjects, or for one user.
fn diff_for(Course { times, old, new }: &Course<'_>, who: Option<&Identity>) -> Diff {
    let (Some(old_now), Some(new_now)) = (old.first(), new.first()) else { return Diff::default() };
    let paths =
        |tree: &Tree| tree.queues().map(|(_, node)| node.path.clone()).collect::<BTreeSet<QueuePath>>();
    let (before, after) = (paths(old_now), paths(new_now));
    let concerns = |trees: &[&Tree], path: &QueuePath| {
        let holds = |who, tree: &Tree| {
            let holds = |id, right| GrantingEntry::find(tree, right, id, who).is_some();
            tree.find(path).is_some_and(|id| Right::ALL.into_iter().any(|right| holds(id, right)))
        };
        who.is_none_or(|who| trees.iter().any(|tree| holds(who, tree)))
    };
    let turned = |trees: &[&Tree], leaves, parents| {
        let mut turned = turned(leaves, parents);
        turned.retain(|path| concerns(trees, path));
        turned
    };
    // An entry of an added or removed queue does not affect a queue that both trees have, because all queues
    // above that one are also in both.
    let presented = |trees: &[&Tree]| -> Vec<Option<Identity>> {
        trees.iter().map(|tree| who.map(|who| tree.presented(who).into_owned())).collect()
    };
    let (of_old, of_new) = (presented(old), presented(new));
    let name = who.map(|who| who.user.as_str());
    let (all_old, all_new) = (sides(old, &of_old, name, &|_| true), sides(new, &of_new, name, &|_| true));
    let added = after.difference(&before).filter(|path| concerns(new, path));
    let removed = before.difference(&after).filter(|path| concerns(old, path));
    // For an added or removed queue, the other side is the access inherited from the queues that stay.
    let in_old = |node: &Node| before.contains(&node.path);
    let in_new = |node: &Node| after.contains(&node.path);
    Diff {
        kept: Section::new(before.intersection(&after), times, &all_old, &all_new),
        added: Section::new(added, times, &sides(new, &of_new, name, &in_old), &all_new),
        removed: Section::new(removed, times, &all_old, &sides(old, &of_old, name, &in_new)),
        now_parents: turned(old, old_now, new_now),
        now_leaves: turned(new, new_now, old_now),
    }
}

/// Builds the sides of a change from the trees at each time, with the user in the form that each tree uses.
fn sides<'t>(
    trees: &[&'t Tree],
    presented: &'t [Option<Identity>],
    name: Option<&'t str>,
    counts: &'t dyn Fn(&Node) -> bool,
) -> Vec<Side<'t>> {
    let side =
        |(tree, who): (&&'t Tree, &'t Option<Identity>)| Side { tree, who: who.as_ref().zip(name), counts };
    trees.iter().zip(presented).map(side).collect()
}

/// A tree, restricted to some queues and to all entries or the entries that match one user.
#[derive(Clone, Copy)]
struct Side<'t> {
    tree: &'t Tree,
    /// The user with the aliases, and the name.
    who: Option<(&'t Identity, &'t str)>,
    counts: &'t dyn Fn(&Node) -> bool,
}

impl<'t> Side<'t> {
    /// Iterates over the entries of an ACL; for one user, only the granting entry, if any.
    fn entries(self, acl: &'t Acl) -> impl Iterator<Item = Match<'t>> {
        let one =
            self.who.filter(|(who, _)| acl.allows(&who.user, &who.groups)).map(|(_, name)| Match::User(name));
        one.into_iter().chain(acl.entries().filter(move |_| self.who.is_none()))
    }

    /// Returns the end of a subject's right on a queue, according to the entries that grant it.
    fn until(self, right: Right, subject: Match<'_>, queue: &QueuePath) -> Option<Timestamp> {
        let id = self.tree.find(queue)?;
        let subject = Subject::from(self.tree.real(subject)).identity();
        until(self.tree, right, id, self.who.map_or(&subject, |(who, _)| who))
    }

    /// Returns the entry at the top of an extent. If it were further up, the queue above would have changed
    /// as well.
    fn reached(self, right: Right, subject: Match<'_>, extent: Extent, until: Option<Timestamp>) -> Reached {
        let id = self.tree.find(&extent.queue);
        let node = id.and_then(|id| self.tree.node(id));
        let granting = self.who.and_then(|(who, _)| GrantingEntry::find(self.tree, right, id?, who));
        let subject = granting.map_or(subject, |granting| granting.entry);
        let has = |acl: &&Right| node.is_some_and(|node| node.grants(**acl).acl.has(subject));
        let acl = right.acls().iter().find(has).copied().unwrap_or(right);
        let origins = node.map(|node| node.grants(acl).origins(subject)).unwrap_or_default();
        Reached { by: GrantedBy { queue: extent.queue.clone(), acl, origins }, extent, until }
    }
}

impl Diff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.kept.changes.is_empty()
            && self.added.queues.all().is_empty()
            && self.removed.queues.all().is_empty()
            && self.now_parents.is_empty()
            && self.now_leaves.is_empty()
    }

    /// Returns whether anyone has more access than before, including access to a new queue.
    pub fn widens(&self) -> bool {
        let mut changes = self.kept.changes.iter().chain(&self.added.changes);
        changes.any(|change| change.direction == Direction::Gains)
    }
}

/// Returns the leaves of one tree that are parents in the other, in order.
fn turned(leaves: &Tree, parents: &Tree) -> Vec<QueuePath> {
    let is_parent = |path: &QueuePath| {
        parents.find(path).and_then(|id| parents.node(id)).is_some_and(|node| !node.is_leaf)
    };
    let leaves = leaves.queues().filter(|(_, node)| node.is_leaf && is_parent(&node.path));
    leaves.map(|(_, node)| node.path.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The queues where each entry grants a right.
#[derive(Debug, Default)]
struct Holders<'t> {
    /// The queues where the wildcard grants it.
    everyone: QueueSet,
    /// The queues where each name has it.
    named: HashMap<Match<'t>, QueueSet>,
}

impl<'t> Holders<'t> {
    /// Collects the entries of the selected queues.
    fn new(side: Side<'t>, shape: &Shape, right: Right) -> Self {
        let Side { tree, counts, .. } = side;
        let mut reached: HashMap<Match<'t>, Vec<Range<u32>>> = HashMap::new();
        for (_, node) in tree.queues().filter(|(_, node)| counts(node)) {
            let acls = right.acls().iter().map(|acl| &node.grants(*acl).acl);
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

impl Holders<'_> {
    /// Returns the queues where a name has the right.
    fn of(&self, name: Match<'_>) -> QueueSet {
        self.named.get(&name).cloned().unwrap_or_default()
    }
}

impl Section {
    fn serialize_changes<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.changes)
    }

    /// Compares the sides at each time: now, and from each of `times` on.
    fn new<'p>(
        queues: impl Iterator<Item = &'p QueuePath>,
        times: &[Timestamp],
        old: &[Side<'_>],
        new: &[Side<'_>],
    ) -> Self {
        let queues = Shape::new(queues.cloned());
        let (mut changes, subtrees) = (Vec::new(), queues.extents(&queues.all()));
        if subtrees.is_empty() {
            return Self { queues, subtrees, changes };
        }
        for right in Right::ALL {
            let [before, after] = [old, new].map(|sides| -> Vec<Holders<'_>> {
                sides.iter().map(|side| Holders::new(*side, &queues, right)).collect()
            });
            let course = |direction, from, to| Between { shape: &queues, times, direction, right, from, to };
            changes.extend(course(Direction::Gains, (old, &*before), (new, &*after)).changes());
            changes.extend(course(Direction::Loses, (new, &*after), (old, &*before)).changes());
        }
        changes.sort_by(|one, other| one.order().cmp(&other.order()));
        Self { queues, subtrees, changes }
    }
}

impl Change {
    fn order(&self) -> (Direction, &Subject, Periods, Right) {
        (self.direction, &self.subject, self.periods, self.right)
    }
}

/// One right over time. A change is a right that is held in `to` but not in `from`.
struct Between<'a, 't> {
    shape: &'a Shape,
    /// The later moments.
    times: &'a [Timestamp],
    direction: Direction,
    right: Right,
    /// The sides and their holders, now and at each later moment.
    from: (&'a [Side<'t>], &'a [Holders<'t>]),
    to: (&'a [Side<'t>], &'a [Holders<'t>]),
}

impl<'t> Between<'_, 't> {
    /// Returns the subjects that hold the right in `to` but not in `from`, with the queues; for everyone,
    /// also the names that hold it in `from`.
    fn changes(&self) -> Vec<Change> {
        let ((_, from), (_, to)) = (self.from, self.to);
        let of_everyone = |holders: &[Holders<'t>]| -> Vec<QueueSet> {
            holders.iter().map(|holders| holders.everyone.clone()).collect()
        };
        let everyone = self.more(|to| to.everyone.clone());
        let mut changes =
            self.of(Match::Everyone, &everyone, (&of_everyone(from), &of_everyone(to)), |_, pieces| pieces);
        let names: HashSet<Match<'t>> = to.iter().flat_map(|to| to.named.keys().copied()).collect();
        for name in names {
            let more: Vec<QueueSet> = self.more(|to| to.of(name));
            let more: Vec<_> = more.iter().zip(from).map(|(more, from)| more.minus(&from.of(name))).collect();
            if more.iter().all(QueueSet::is_empty) {
                continue;
            }
            let held = |holders: &[Holders<'t>]| -> Vec<QueueSet> {
                holders.iter().map(|holders| holders.of(name).or(&holders.everyone)).collect()
            };
            // A gain that everyone also has during the whole time is not repeated for a name.
            let apart = |span: Span, mut pieces: Vec<(Extent, QueueSet)>| {
                let by_everyone = common(span.of(&everyone));
                pieces.retain(|(_, part)| !part.minus(&by_everyone).is_empty());
                pieces
            };
            changes.extend(self.of(name, &more, (&held(from), &held(to)), apart));
        }
        changes
    }

    /// Returns, for each time, the queues that are in `to` and that not everyone has in `from`.
    fn more(&self, to: impl Fn(&Holders<'t>) -> QueueSet) -> Vec<QueueSet> {
        let both = self.to.1.iter().zip(self.from.1);
        both.map(|(has, from)| to(has).minus(&from.everyone)).collect()
    }

    /// Returns the changes of a subject that holds the right in `from` and in `to`, and `more` only in `to`.
    /// `apart` selects the queues of one span to report.
    fn of(
        &self,
        subject: Match<'t>,
        more: &[QueueSet],
        (from, to): (&[QueueSet], &[QueueSet]),
        apart: impl Fn(Span, Vec<(Extent, QueueSet)>) -> Vec<(Extent, QueueSet)>,
    ) -> Vec<Change> {
        let mut found = Vec::new();
        for ((was, is), parts) in periods::changes(more, from, to) {
            let mut by_periods: BTreeMap<Periods, Vec<(Extent, QueueSet, Span)>> = BTreeMap::new();
            // A right that begins earlier and ends later changes twice, with the same periods.
            let spans: Vec<Span> = parts.iter().map(|(span, _)| *span).collect();
            let mut seen = QueueSet::default();
            for (span, queues) in parts {
                for (extent, part) in apart(span, self.shape.pieces(&queues.minus(&seen))) {
                    seen = seen.or(&part);
                    let periods = self.periods(subject, (was, is), &extent.queue);
                    by_periods.entry(periods).or_default().push((extent, part, span));
                }
            }
            let change = |(periods, parts)| self.change(subject, periods, parts, &spans);
            found.extend(by_periods.into_iter().filter_map(change));
        }
        found
    }

    /// Returns one change on these queues, each with the span of the change. Other queues with the same
    /// periods may change in the other `spans`.
    fn change(
        &self,
        subject: Match<'t>,
        periods: Periods,
        parts: Vec<(Extent, QueueSet, Span)>,
        spans: &[Span],
    ) -> Option<Change> {
        let (_, _, span) = parts.first()?;
        let queues = QueueSet::new(parts.iter().flat_map(|(_, part, _)| part.ranges().to_vec()).collect());
        let unchanged = if subject == Match::Everyone { self.unchanged(spans, &queues) } else { Vec::new() };
        let side = self.to.0.get(span.first)?;
        let until =
            periods.after.filter(|_| self.direction == Direction::Gains).and_then(|after| after.until);
        let reached = |(extent, _, span): (Extent, QueueSet, Span)| {
            Some(self.to.0.get(span.first)?.reached(self.right, subject, extent, until))
        };
        Some(Change {
            direction: self.direction,
            subject: side.tree.real(subject).into(),
            right: self.right,
            periods,
            queues,
            unchanged,
            extents: parts.into_iter().filter_map(reached).collect(),
        })
    }

    /// Returns the names that hold the right in `from` during all of the spans on some of the queues.
    fn unchanged(&self, spans: &[Span], queues: &QueueSet) -> Vec<Unchanged> {
        let (sides, holders) = self.from;
        let first = spans.first().and_then(|span| sides.get(span.first).zip(holders.get(span.first)));
        let Some((side, first)) = first else { return Vec::new() };
        let all = |name: &Match<'t>| {
            let holders = spans.iter().flat_map(|span| span.of(holders));
            common(&holders.map(|holders| holders.of(*name)).collect::<Vec<_>>()).and(queues)
        };
        let before = first.named.keys().map(|name| (Subject::from(side.tree.real(*name)), all(name)));
        let before: BTreeMap<Subject, QueueSet> = before.filter(|(_, queues)| !queues.is_empty()).collect();
        let unchanged = before.into_iter().map(|(subject, queues)| {
            let subtrees = self.shape.extents(&queues);
            Unchanged { subject, queues, subtrees }
        });
        unchanged.collect()
    }

    /// Returns the periods of a change on a queue, from the spans in `from` and `to`.
    fn periods(&self, subject: Match<'t>, (was, is): Spans, queue: &QueuePath) -> Periods {
        let period = |span: Option<Span>, sides: &[Side<'t>]| {
            let Span { first, end } = span?;
            let time = |step: usize| self.times.get(step.checked_sub(1)?).copied();
            // After the last moment, each entry ends at its own end.
            let last = || sides.last()?.until(self.right, subject, queue);
            Some(Period { from: time(first), until: end.map_or_else(last, time) })
        };
        let (was, is) = (period(was, self.from.0), period(is, self.to.0));
        match self.direction {
            Direction::Gains => Periods { before: was, after: is },
            Direction::Loses => Periods { before: is, after: was },
        }
    }
}

/// Returns the queues that are in all sets. The intersection of no sets is empty.
fn common(sets: &[QueueSet]) -> QueueSet {
    sets.iter().cloned().reduce(|all, set| all.and(&set)).unwrap_or_default()
}

/// Returns rights that a change mentions in entries on the queue itself that match a user, but that the user
/// either already has or still does not have.
pub fn unmoved<'t>(
    old: &'t Tree,
    new: &'t Tree,
    who: &'t Identity,
) -> impl Iterator<Item = (&'t QueuePath, Right)> {
    let naming = |tree: &'t Tree, path, right| {
        let parts = tree.find(path).and_then(|id| tree.node(id)).map(|node| &node.grants(right).parts);
        let who = tree.presented(who);
        let naming = parts.into_iter().flatten().filter_map(|(origin, part)| {
            // The positions in a text may differ.
            Some((origin.object(), part.matched(&who.user, &who.groups)?))
        });
        naming.collect::<BTreeSet<_>>()
    };
    let about = new.queues().flat_map(|(_, node)| Right::ALL.map(|right| (&node.path, right)));
    about.filter(move |(path, right)| {
        naming(old, path, *right) != naming(new, path, *right) && same(old, new, who, path.as_str(), *right)
    })
}

/// Returns whether a user has the same right in both trees, or in none of them.
pub fn same(old: &Tree, new: &Tree, who: &Identity, queue: &str, right: Right) -> bool {
    let [before, after] = [old, new].map(|tree| decide(tree, right, queue, who).allowed());
    before == after
}
