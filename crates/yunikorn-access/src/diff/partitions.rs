//! The differences between whole configurations, partition by partition.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Diff, diff_for};
use crate::tree::Tree;
use go_compat::yaml::decode::{Spanned, items};
use yunikorn::config::schema::PlacementRule;
use yunikorn::identity::Identity;

/// The differences in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDiff {
    /// Its name.
    pub partition: String,
    /// The configurations that have it.
    pub presence: Presence,
    /// The changes. In a partition that only one has, all queues are added or removed.
    pub diff: Diff,
    /// True if the placement rules differ. Then applications may go to other queues, where the same access
    /// has another effect.
    pub placement_differs: bool,
}

/// Presence in two configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "PresenceKind")]
pub enum Presence {
    /// Both.
    Kept,
    /// The new one only.
    Added,
    /// The old one only.
    Removed,
}

impl PartitionDiff {
    /// Returns whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.presence == Presence::Kept && !self.placement_differs && self.diff.is_empty()
    }
}

/// The changes from one configuration to another: first the partitions that the new one has, in its order.
/// Names are matched without case. Partitions in which nothing is different are left out.
pub fn between(old: &[Tree], new: &[Tree]) -> Vec<PartitionDiff> {
    between_for(old, new, None)
}

/// As [`between`], for everybody or for one user.
pub fn between_for(old: &[Tree], new: &[Tree], who: Option<&Identity>) -> Vec<PartitionDiff> {
    let same = |left: &Tree, right: &Tree| left.partition().eq_ignore_ascii_case(right.partition());
    let of_new = new.iter().map(|new| match old.iter().find(|old| same(old, new)) {
        Some(old) => PartitionDiff {
            partition: new.partition().to_owned(),
            presence: Presence::Kept,
            diff: diff_for(old, new, who),
            placement_differs: !same_rules(old.placement_rules(), new.placement_rules()),
        },
        None => alone(new, Presence::Added, diff_for(&new.without_queues(), new, who)),
    });
    let of_old = old.iter().filter(|old| !new.iter().any(|new| same(old, new)));
    let gone = of_old.map(|old| alone(old, Presence::Removed, diff_for(old, &old.without_queues(), who)));
    // A partition in which a user may do nothing does not concern the user.
    let concerns = |of: &PartitionDiff| who.is_none() || of.placement_differs || !of.diff.is_empty();
    of_new.chain(gone).filter(|of| !of.is_empty() && concerns(of)).collect()
}

fn alone(tree: &Tree, presence: Presence, diff: Diff) -> PartitionDiff {
    PartitionDiff { partition: tree.partition().to_owned(), presence, diff, placement_differs: false }
}

/// Returns whether the rules are the same, whatever their positions in the text.
fn same_rules(left: &[PlacementRule], right: &[PlacementRule]) -> bool {
    left.iter().map(content).eq(right.iter().map(content))
}

/// The content of a rule: its name in lower case, its value, whether it creates queues, and its filter.
type Written<'r> = (String, &'r str, bool, &'r str, Vec<&'r str>, Vec<&'r str>);

/// The rule and those that name the queue above.
fn content(rule: &PlacementRule) -> Vec<Written<'_>> {
    let names = |list| items(list).iter().map(Spanned::as_str).collect();
    let chain = std::iter::successors(Some(rule), |rule| rule.parent.as_deref());
    chain
        .map(|PlacementRule { name, value, create, filter, .. }| {
            let name = name.as_str().to_ascii_lowercase();
            let (users, groups) = (names(&filter.users), names(&filter.groups));
            (name, value.as_str(), *create, filter.kind.as_str(), users, groups)
        })
        .collect()
}
