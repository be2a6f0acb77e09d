//! Differences between whole configurations, partition by partition.

use std::collections::BTreeSet;
use std::iter;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Course, Diff, diff_for};
use crate::tree::Tree;
use go_compat::yaml::decode::{Spanned, items};
use yunikorn::config::schema::PlacementRule;
use yunikorn::identity::Identity;

/// The differences in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PartitionAnswer")]
pub struct PartitionDiff {
    /// The name.
    pub partition: String,
    /// The configurations that contain the partition.
    pub presence: Presence,
    /// True if the placement rules differ, so that applications may go to other queues.
    pub placement_differs: bool,
    /// The changes. If only one configuration has the partition, all its queues are added or removed.
    #[serde(flatten)]
    pub diff: Diff,
}

/// Presence in two configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "PresenceKind")]
pub enum Presence {
    /// Both.
    Kept,
    /// Only the new one.
    Added,
    /// Only the old one.
    Removed,
}

impl PartitionDiff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.presence == Presence::Kept && !self.placement_differs && self.diff.is_empty()
    }
}

/// The partitions of a configuration over time.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'t> {
    /// The partitions now.
    pub now: &'t [Tree],
    /// The partitions from each later moment on, in order. Each has the same queues as now.
    pub later: &'t [(Timestamp, Vec<Tree>)],
}

impl<'t> Timeline<'t> {
    /// Returns a configuration that does not change over time.
    pub fn constant(now: &'t [Tree]) -> Self {
        Self { now, later: &[] }
    }

    /// Returns a partition at a time; `None` for now.
    fn partition(self, name: &str, at: Option<Timestamp>) -> Option<&'t Tree> {
        let find = |trees: &'t [Tree]| trees.iter().find(|tree| tree.partition().eq_ignore_ascii_case(name));
        let past = self.later.partition_point(|(from, _)| at.is_some_and(|at| *from <= at));
        let past = self.later.get(..past).unwrap_or_default();
        past.iter().rev().find_map(|(_, trees)| find(trees)).or_else(|| find(self.now))
    }
}

/// Returns the changes from one configuration to another, starting with the partitions of the new one in its
/// order. Names are matched without case. Partitions without a difference are omitted.
pub fn between(old: &[Tree], new: &[Tree]) -> Vec<PartitionDiff> {
    between_for(Timeline::constant(old), Timeline::constant(new), None)
}

/// Like [`between`], now and at all later times, for all subjects or for one user.
pub fn between_for(old: Timeline<'_>, new: Timeline<'_>, who: Option<&Identity>) -> Vec<PartitionDiff> {
    let times: BTreeSet<Timestamp> = old.later.iter().chain(new.later).map(|(from, _)| *from).collect();
    let compared = |tree: &Tree| {
        let (name, empty) = (tree.partition(), tree.without_queues());
        let (old_now, new_now) = (old.partition(name, None), new.partition(name, None));
        let diff = diff_for(
            &Course {
                times: times.iter().copied().collect(),
                old: over_time(old, name, &times, &empty),
                new: over_time(new, name, &times, &empty),
            },
            who,
        );
        let presence = match (old_now, new_now) {
            (Some(_), Some(_)) => Presence::Kept,
            (None, _) => Presence::Added,
            (Some(_), None) => Presence::Removed,
        };
        let rules = old_now.zip(new_now).map(|(old, new)| (old.placement_rules(), new.placement_rules()));
        let placement_differs = rules.is_some_and(|(old, new)| !same_rules(old, new));
        PartitionDiff { partition: name.to_owned(), presence, placement_differs, diff }
    };
    let gone = old.now.iter().filter(|tree| new.partition(tree.partition(), None).is_none());
    // A partition without any rights of the user does not concern the user.
    let concerns = |of: &PartitionDiff| who.is_none() || of.placement_differs || !of.diff.is_empty();
    new.now.iter().chain(gone).map(compared).filter(|of| !of.is_empty() && concerns(of)).collect()
}

/// Returns a partition now and at each later moment, or `empty` if the configuration does not have it.
fn over_time<'t>(
    line: Timeline<'t>,
    name: &str,
    times: &BTreeSet<Timestamp>,
    empty: &'t Tree,
) -> Vec<&'t Tree> {
    let steps = iter::once(None).chain(times.iter().copied().map(Some));
    steps.map(|at| line.partition(name, at).unwrap_or(empty)).collect()
}

/// Returns whether the rules are the same, ignoring their positions in the text.
fn same_rules(left: &[PlacementRule], right: &[PlacementRule]) -> bool {
    left.iter().map(content).eq(right.iter().map(content))
}

/// The content of a rule: its name in lower case, value, whether it creates queues, and filter.
type Written<'r> = (String, &'r str, bool, &'r str, Vec<&'r str>, Vec<&'r str>);

/// Returns the content of a rule and its parent rules.
fn content(rule: &PlacementRule) -> Vec<Written<'_>> {
    let names = |list| items(list).iter().map(Spanned::as_str).collect();
    let chain = iter::successors(Some(rule), |rule| rule.parent.as_deref());
    chain
        .map(|PlacementRule { name, value, create, filter, .. }| {
            let name = name.as_str().to_ascii_lowercase();
            let (users, groups) = (names(&filter.users), names(&filter.groups));
            (name, value.as_str(), *create, filter.kind.as_str(), users, groups)
        })
        .collect()
}
