//! Describes differences in one line, for people who are about to make them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Diff, Direction, Extent, PartitionDiff};
use crate::check::Subject;
use crate::submission::PARTITION;
use go_compat::diag::{listed, plural};

/// The most clauses, and the most names in one, that are shown.
const SHOWN: usize = 6;

/// The rights that are gained and lost: by queues and direction, each subject with its rights.
type Clauses = BTreeMap<(Direction, String), BTreeMap<Subject, BTreeSet<&'static str>>>;

/// E.g. `grants submit on root.prod and 14 queues below to group devs; nobody loses access`. The grants of
/// added and removed queues count, too.
pub fn impact(partitions: &[PartitionDiff]) -> String {
    let mut clauses = Clauses::new();
    let (mut added, mut removed) = (0_usize, 0_usize);
    // The one partition that most clusters have is not named.
    let named = !matches!(partitions, [one] if one.partition.eq_ignore_ascii_case(PARTITION));
    for PartitionDiff { partition, diff, .. } in partitions {
        let within = if named { format!(" of partition {partition}") } else { String::new() };
        collect(&mut clauses, diff, &within);
        added = added.saturating_add(diff.added.queues.all().len());
        removed = removed.saturating_add(diff.removed.queues.all().len());
    }
    let mut parts = sentences(&clauses);
    let has = |direction| clauses.keys().any(|(found, _)| *found == direction);
    match (has(Direction::Gains), has(Direction::Loses)) {
        (false, false) => parts.push("nobody gains or loses access".to_owned()),
        (true, false) => parts.push("nobody loses access".to_owned()),
        (false, true) => parts.push("nobody gains access".to_owned()),
        (true, true) => {}
    }
    let within = match partitions {
        [one] if named => format!(" in partition {}", one.partition),
        _ => String::new(),
    };
    for (count, what) in [(added, "new"), (removed, "gone")] {
        if count > 0 {
            parts.push(format!("{} {what}{within}", plural(count, "queue")));
        }
    }
    parts.join("; ")
}

fn collect(clauses: &mut Clauses, diff: &Diff, within: &str) {
    let changes = [&diff.kept, &diff.added, &diff.removed].into_iter().flat_map(|section| &section.changes);
    for Change { direction, subject, right, extents, .. } in changes {
        let shown: Vec<_> = extents.iter().take(SHOWN).map(|reached| extent(&reached.extent)).collect();
        let more = extents.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(", and {}", plural(more, "more subtree")) } else { String::new() };
        let location = format!("{}{more}{within}", shown.join(", "));
        let rights = clauses.entry((*direction, location)).or_default().entry(subject.clone()).or_default();
        // The names sort in the order in which they are read.
        rights.insert(right.field());
    }
}

/// Builds the sentences. Subjects with the same rights on the same queues share a clause.
fn sentences(clauses: &Clauses) -> Vec<String> {
    let mut sentences = Vec::new();
    for ((direction, location), subjects) in clauses {
        let mut by_rights: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for (subject, rights) in subjects {
            by_rights.entry(rights.iter().copied().collect()).or_default().push(subject.to_string());
        }
        for (rights, subjects) in by_rights {
            let (verb, to) = match direction {
                Direction::Gains => ("grants", "to"),
                Direction::Loses => ("takes", "from"),
            };
            let who = listed(&subjects, SHOWN, subjects.len());
            sentences.push(format!("{verb} {} on {location} {to} {who}", rights.join(" and ")));
        }
    }
    let more = sentences.len().saturating_sub(SHOWN);
    sentences.truncate(SHOWN);
    if more > 0 {
        sentences.push(format!("and {}", plural(more, "more change")));
    }
    sentences
}

fn extent(Extent { queue, below, except }: &Extent) -> String {
    let below = if *below > 0 { format!(" and {} below", plural(*below, "queue")) } else { String::new() };
    let paths: Vec<_> = except.iter().map(ToString::to_string).collect();
    let not = if paths.is_empty() { "" } else { " except " };
    format!("{queue}{below}{not}{}", listed(&paths, SHOWN, paths.len()))
}
