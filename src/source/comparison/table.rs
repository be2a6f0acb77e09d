//! Output of `diff` for people: a row for each subtree on which someone gains or loses, both rights in one if
//! they change together; and the same as Markdown, for comments on merge requests, with names as code, so that
//! none of them is read as markup.

use super::answer::DiffAnswer;
use crate::output::format::{Table, UNTIL, code};
use go_compat::diag::{listed, plural};
use yunikorn::queue::QueuePath;
use yunikorn_access::Origin;
use yunikorn_access::diff::{Change, Direction, Extent, PartitionDiff, Reached, Section, Unchanged};

/// Maximum number of names or queues listed in a cell of the narrow table; more are counted.
const MAX_LISTED: usize = 3;

const COLUMNS: [&str; 6] = ["CHANGE", "WHO", "VERB", "QUEUES", "ACL", "WRITTEN IN"];
/// The header of a column that a table has only if something in it begins later.
const FROM: &str = "FROM";

/// The cells of a row below the columns, and from when and until when it holds.
type Row = ([String; COLUMNS.len()], [String; 2]);

/// Builds the table; `partitions` adds a column for their names. The wide table lists everything.
pub(super) fn table(answer: &DiffAnswer, wide: bool, partitions: bool) -> Table {
    let shown = Shown { most: if wide { usize::MAX } else { MAX_LISTED } };
    let later = answer.changes().any(|change| change.periods.from().is_some());
    let columns = partitions.then_some("PARTITION").into_iter().chain(COLUMNS);
    let mut table = Table::new(columns.chain(later.then_some(FROM)).chain([UNTIL]));
    for partition in &answer.partitions {
        let name = partitions.then(|| partition.partition.clone());
        for (cells, [from, until]) in shown.partition(partition) {
            let from = later.then_some(from);
            table.row(name.clone().into_iter().chain(cells).chain(from).chain([until]));
        }
    }
    table
}

/// Limit of what is listed.
struct Shown {
    most: usize,
}

impl Shown {
    fn partition(&self, partition: &PartitionDiff) -> Vec<Row> {
        let mut rows = self.changes(&partition.diff.kept.changes, true);
        rows.extend(self.queues("added", &partition.diff.added));
        rows.extend(self.queues("removed", &partition.diff.removed));
        let turned = |change: &str, queues: &[QueuePath]| -> Vec<Row> {
            queues.iter().map(|queue| row([change, "", "", queue.as_str()])).collect()
        };
        rows.extend(turned("now parent", &partition.diff.now_parents));
        rows.extend(turned("now leaf", &partition.diff.now_leaves));
        rows
    }

    /// Returns rows for added or removed queues and the access they grant.
    fn queues(&self, change: &str, queues: &Section) -> Vec<Row> {
        let tops = queues.subtrees.iter().map(|top| row([change, "", "", &self.extent(top)]));
        // Subjects with the same access by the queues above are left out, because the queue itself is added
        // or removed.
        tops.chain(self.changes(&queues.changes, false)).collect()
    }

    fn changes(&self, changes: &[Change], with_unchanged: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        for together in changes.chunk_by(same_but_the_verb) {
            let Some(change) = together.first() else { continue };
            let verbs = together.iter().map(|change| change.right.verb()).collect::<Vec<_>>().join(", ");
            let (moves, stays) = match (change.direction, change.periods.is_moved()) {
                (Direction::Gains, false) => ("gains", "has it"),
                (Direction::Gains, true) => ("extends", "has it"),
                (Direction::Loses, false) => ("loses", "keeps"),
                (Direction::Loses, true) => ("shortens", "keeps"),
            };
            rows.extend(self.change(change, moves, &verbs));
            if with_unchanged {
                rows.extend(self.unchanged(change, stays, &verbs));
            }
        }
        rows
    }

    /// Returns the rows for a change of one or both rights.
    fn change(&self, change: &Change, word: &str, verbs: &str) -> Vec<Row> {
        let subject = change.subject.to_string();
        let periods = [change.periods.from(), change.periods.until()].map(Option::unwrap_or_default);
        let rows = change.extents.iter().map(|Reached { extent, by, .. }| {
            let origins = Origin::list(&by.origins);
            let cells = [word, &subject, verbs, &self.extent(extent), by.acl.key(), &origins];
            (cells.map(str::to_owned), periods.clone())
        });
        rows.collect()
    }

    /// Returns the rows for subjects without a change.
    fn unchanged(&self, change: &Change, word: &str, verbs: &str) -> Vec<Row> {
        if self.most < change.unchanged.len() {
            let names = change.unchanged.iter().map(|unchanged| unchanged.subject.to_string());
            return vec![row([word, &self.list(&names.collect::<Vec<_>>()), verbs, ""])];
        }
        let rows = change.unchanged.iter().map(|Unchanged { subject, subtrees, .. }| {
            let extents: Vec<_> = subtrees.iter().map(|extent| self.extent(extent)).collect();
            row([word, &subject.to_string(), verbs, &self.list(&extents)])
        });
        rows.collect()
    }

    /// Describes a subtree: `root.prod and 14 below, not root.prod.etl`.
    fn extent(&self, of: &Extent) -> String {
        let below = if of.below == 0 { String::new() } else { format!(" and {} below", of.below) };
        let except = self.list(&of.except.iter().map(ToString::to_string).collect::<Vec<_>>());
        let not = if except.is_empty() { "" } else { ", not " };
        format!("{}{below}{not}{except}", of.queue)
    }

    fn list(&self, names: &[String]) -> String {
        listed(names, self.most, names.len())
    }
}

/// Returns a row in which no entry is named.
fn row([change, who, verb, queues]: [&str; 4]) -> Row {
    ([change, who, verb, queues, "", ""].map(str::to_owned), Default::default())
}

fn same_but_the_verb(left: &Change, right: &Change) -> bool {
    left.direction == right.direction
        && left.subject == right.subject
        && left.periods == right.periods
        && left.extents == right.extents
        && left.unchanged == right.unchanged
}

/// Maximum number of refused objects that are listed.
const MAX_REFUSED: usize = 20;

/// Returns a heading with counts, the table, and what is refused and noted as a list.
pub(super) fn markdown(answer: &DiffAnswer, table: &Table, notes: &[String]) -> String {
    let count = |direction, moved| {
        let of = |change: &&Change| change.direction == direction && change.periods.is_moved() == moved;
        answer.changes().filter(of).count()
    };
    let of = answer.user.as_ref().map(|user| format!(" of {}", code(user))).unwrap_or_default();
    let [gained, lost] =
        [Direction::Gains, Direction::Loses].map(|direction| plural(count(direction, false), "right"));
    let moved =
        [(Direction::Gains, "extended"), (Direction::Loses, "shortened")].map(
            |(direction, done)| match count(direction, true) {
                0 => String::new(),
                count => format!(", {count} {done}"),
            },
        );
    let moved = moved.concat();
    let refused = match answer.refused.len() {
        0 => String::new(),
        count => format!(", {} refused", plural(count, "object")),
    };
    let shown = answer.refused.iter().take(MAX_REFUSED);
    let shown = shown.map(|refused| format!("{} is refused: {}", refused.object, refused.message));
    let items: Vec<String> =
        shown.chain(notes.iter().cloned()).map(|note| format!("- {}\n", code(&note))).collect();
    let parts = [
        format!("### Access{of}: {gained} gained, {lost} lost{moved}{refused}\n"),
        table.markdown(),
        items.concat(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
