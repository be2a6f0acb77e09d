//! Describes differences in one line, for people who are about to apply them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Diff, Direction, Extent, PartitionDiff, Periods};
use crate::subject::Subject;
use crate::submission::PARTITION;
use go_compat::diag::{listed, plural};

/// Maximum number of clauses for gains and for losses, and of names in one clause.
const SHOWN: usize = 6;

/// Gained and lost rights: by direction, queues and periods, each subject with its rights.
type Clauses = BTreeMap<(Direction, String, Periods), BTreeMap<Subject, BTreeSet<&'static str>>>;

/// Describes differences, as in `grants submit on root.prod and 14 queues below to group devs; nobody loses
/// access`. Grants of added and removed queues are included. Clauses of the direction `first` come first.
pub fn impact(partitions: &[PartitionDiff], first: Direction) -> String {
    let mut clauses = Clauses::new();
    let (mut added, mut removed) = (0_usize, 0_usize);
    // The only partition of most clusters is not named.
    let named = !matches!(partitions, [one] if one.partition.eq_ignore_ascii_case(PARTITION));
    for PartitionDiff { partition, diff, .. } in partitions {
        let within = if named { format!(" of partition {partition}") } else { String::new() };
        collect(&mut clauses, diff, &within);
        added = added.saturating_add(diff.added.queues.all().len());
        removed = removed.saturating_add(diff.removed.queues.all().len());
    }
    let others = if first == Direction::Gains { Direction::Loses } else { Direction::Gains };
    let mut parts: Vec<String> =
        [first, others].into_iter().flat_map(|direction| sentences(&clauses, direction)).collect();
    let has = |direction| clauses.keys().any(|(found, ..)| *found == direction);
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
    for Change { direction, subject, right, periods, extents, .. } in changes {
        let shown: Vec<_> = extents.iter().take(SHOWN).map(|reached| extent(&reached.extent)).collect();
        let more = extents.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(", and {}", plural(more, "more subtree")) } else { String::new() };
        let location = format!("{}{more}{within}", shown.join(", "));
        let clause = clauses.entry((*direction, location, *periods)).or_default();
        let rights = clause.entry(subject.clone()).or_default();
        // The names are sorted in reading order.
        rights.insert(right.field());
    }
}

/// Builds the sentences of one direction. Subjects with the same rights on the same queues in the same
/// periods share a clause.
fn sentences(clauses: &Clauses, direction: Direction) -> Vec<String> {
    let mut sentences = Vec::new();
    for ((_, location, periods), subjects) in clauses.iter().filter(|((of, ..), _)| *of == direction) {
        let mut by_rights: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for (subject, rights) in subjects {
            by_rights.entry(rights.iter().copied().collect()).or_default().push(subject.to_string());
        }
        for (rights, subjects) in by_rights {
            let (verb, to, comma) = match (direction, periods.is_moved()) {
                (Direction::Gains, false) => ("grants", "to", ""),
                (Direction::Gains, true) => ("extends", "of", ":"),
                (Direction::Loses, false) => ("takes", "from", ","),
                (Direction::Loses, true) => ("shortens", "of", ":"),
            };
            let who = listed(&subjects, SHOWN, subjects.len());
            let when = periods.to_string();
            let comma = if when.is_empty() { "" } else { comma };
            sentences.push(format!("{verb} {} on {location} {to} {who}{comma}{when}", rights.join(" and ")));
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
