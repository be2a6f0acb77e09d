//! Compares two configurations: who gains and who loses which access.

pub mod answer;

use std::collections::BTreeSet;

use super::configuration::{Configuration, ObjectChange};
use super::identity::IdentityArgs;
use crate::output::format::{Format, FormatArgs, Table, UNTIL, code, visible};
use crate::output::manifest::DEFAULT_PARTITION;
use crate::output::{Console, Failure};
use answer::{ChangedSetting, Compared, DiffAnswer, UnmovedRight};
use go_compat::diag::{listed, plural, quoted};
use queuewarden_plan::timeline::unknown;
use yunikorn::identity::Identity;
use yunikorn::queue::QueuePath;
use yunikorn_access::Origin;
use yunikorn_access::diff::{Change, Direction, Extent, PartitionDiff, Reached, Section, Unchanged};
use yunikorn_access::tree::Tree;

/// Options for a part of the differences.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct OnlyArgs {
    /// Compare only this partition
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// The user that the differences are about.
    #[command(flatten)]
    pub identity: IdentityArgs,
}

impl OnlyArgs {
    /// Returns whether any is given.
    pub fn is_given(&self) -> bool {
        self.partition.is_some() || self.identity != IdentityArgs::default()
    }

    /// Returns the user that is given, if any, as `YuniKorn` would see it with this configuration.
    ///
    /// # Errors
    /// When the name is invalid, or the groups cannot be resolved.
    pub fn who(&self, configuration: &Configuration, console: Console) -> Result<Option<Identity>, Failure> {
        let claimed = self.identity.given()?;
        claimed.map(|claimed| self.identity.identified(&claimed, configuration, console)).transpose()
    }

    /// Returns whether two configurations differ for the user.
    pub fn differs(&self, old: &Configuration, new: &Configuration, who: Option<&Identity>) -> bool {
        let compared = Compared { old, new, change: &ObjectChange::default(), who };
        // A partition that neither has is the same in both.
        self.answer(compared).is_ok_and(|answer| !answer.is_empty())
    }

    pub(crate) fn answer(&self, compared: Compared<'_>) -> Result<DiffAnswer, Failure> {
        let Compared { old, new, .. } = compared;
        Ok(compared.answer(&self.trees(old, new)?, &self.trees(new, old)?))
    }

    /// Returns the partitions to compare; one that only one of the two has is a difference, too.
    fn trees(&self, of: &Configuration, other: &Configuration) -> Result<Vec<Tree>, Failure> {
        match &self.partition {
            None => Ok(of.view.trees.clone()),
            Some(partition) => match (of.tree(partition), other.tree(partition)) {
                (Ok(tree), _) => Ok(vec![tree.clone()]),
                (Err(_), Ok(_)) => Ok(Vec::new()),
                (Err(failure), Err(_)) => Err(failure),
            },
        }
    }
}

/// Prints the differences between two configurations; returns whether there are any.
///
/// # Errors
/// When the user or the partition is unknown, or the output cannot be written.
pub fn between(
    (old, new): (&Configuration, &Configuration),
    only: &OnlyArgs,
    output: FormatArgs,
    console: Console,
) -> Result<bool, Failure> {
    let who = only.who(new, console)?;
    let compared = Compared { old, new, change: &ObjectChange::default(), who: who.as_ref() };
    let answer = only.answer(compared)?;
    print(compared, &answer, output, console)?;
    Ok(!answer.is_empty())
}

pub(crate) fn print(
    compared: Compared<'_>,
    answer: &DiffAnswer,
    output: FormatArgs,
    console: Console,
) -> Result<(), Failure> {
    let partitions = several(compared);
    let table = |wide| self::table(answer, wide, partitions);
    if output.format == Format::Markdown {
        return Ok(console.out(&markdown(answer, &table(false), &notes(compared, answer)))?);
    }
    console.notes(&notes(compared, answer));
    output.print(console, answer, table, || names(answer))
}

/// Shows the differences between two configurations on standard error.
pub fn show(old: &Configuration, new: &Configuration, console: Console) {
    let (notes, table) = compare(old, new);
    console.notes(&notes);
    console.err(&table.text(!table.is_empty(), console.look_err().width));
}

/// Returns whether someone may do more by the new configuration.
pub fn widens(old: &Configuration, new: &Configuration) -> bool {
    let compared = Compared { old, new, change: &ObjectChange::default(), who: None };
    compared.answer(&old.view.trees, &new.view.trees).widens
}

/// Compares two configurations: the notes about what differs, and who gains and who loses.
pub fn compare(old: &Configuration, new: &Configuration) -> (Vec<String>, Table) {
    let compared = Compared { old, new, change: &ObjectChange::default(), who: None };
    let answer = compared.answer(&old.view.trees, &new.view.trees);
    (notes(compared, &answer), self::table(&answer, false, several(compared)))
}

/// Returns whether the output must name the partitions.
fn several(compared: Compared<'_>) -> bool {
    let mut trees = compared.old.view.trees.iter().chain(&compared.new.view.trees);
    trees.any(|tree| tree.partition() != DEFAULT_PARTITION)
}

/// Maximum number of notes.
const MAX_NOTES: usize = 20;

/// Returns notes about what the table does not show.
fn notes(compared: Compared<'_>, answer: &DiffAnswer) -> Vec<String> {
    let mut notes = compared.new.returning(compared.old);
    for partition in answer.partitions.iter().filter(|partition| partition.placement_differs) {
        notes.push(format!(
            "the placement rules of partition {} differ, so applications may go to other queues: \
            `queuewarden place` tells",
            partition.partition
        ));
    }
    for ChangedSetting { key, from, to } in &answer.settings {
        let value =
            |value: &Option<String>| value.as_ref().map_or_else(|| "not set".to_owned(), |it| quoted(it));
        notes.push(format!("{key}: {} before, {} now", value(from), value(to)));
    }
    notes.extend(answer.risks.iter().map(|risk| format!("new risk {}: {}", risk.code, risk.message)));
    if answer.resolver_differs {
        notes.push(
            "the user group resolvers differ, so users whose applications come without groups may \
            be in others"
                .to_owned(),
        );
    }
    let user = answer.user.as_deref().map(visible);
    if answer.is_empty() {
        notes.push(match &user {
            None => "nobody gains or loses anything".to_owned(),
            Some(user) => format!("nothing changes for user {user}"),
        });
    }
    for UnmovedRight { queue, verb, allowed, reason, .. } in &answer.still {
        let (user, still) =
            (user.as_deref().unwrap_or_default(), if *allowed { "still" } else { "still not" });
        notes.push(format!("{user} may {still} {} {queue}: {reason}", verb.act()));
    }
    if let Some(from) = answer.unknown_from {
        notes.insert(0, unknown(from));
    }
    let more = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    if more > 0 {
        notes.push(format!("and {}", plural(more, "more note")));
    }
    notes
}

/// Returns every subject that gains or loses anything, once.
fn names(answer: &DiffAnswer) -> String {
    let names: BTreeSet<String> = answer.changes().map(|change| change.subject.path()).collect();
    names.into_iter().map(|name| name + "\n").collect()
}

/// Maximum number of refused objects that are listed.
const MAX_REFUSED: usize = 20;

/// Returns a heading with counts, the table, and what is refused and noted as a list.
fn markdown(answer: &DiffAnswer, table: &Table, notes: &[String]) -> String {
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

/// Maximum number of names or queues listed in a cell of the narrow table; more are counted.
const MAX_LISTED: usize = 3;

const COLUMNS: [&str; 6] = ["CHANGE", "WHO", "VERB", "QUEUES", "ACL", "WRITTEN IN"];
/// The header of a column that a table has only if something in it begins later.
const FROM: &str = "FROM";

/// The cells of a row below the columns, and from when and until when it holds.
type Row = ([String; COLUMNS.len()], [String; 2]);

/// Builds the table; `partitions` adds a column for their names. The wide table lists everything.
fn table(answer: &DiffAnswer, wide: bool, partitions: bool) -> Table {
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
