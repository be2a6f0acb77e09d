//! Compares two configurations: who gains and who loses which access.

pub mod answer;

use std::collections::BTreeSet;

use super::configuration::{Configuration, ObjectChange};
use super::identity::IdentityArgs;
use crate::output::format::{Format, FormatArgs, Table, UNTIL, code, visible};
use crate::output::{Console, Failure};
use answer::{ChangedSetting, Compared, DiffAnswer, UnmovedRight};
use go_compat::diag::{listed, plural, quoted};
use queuewarden_plan::time::unknown;
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

    /// Compares two configurations, for the user that is given, if any; a change of objects makes the
    /// difference, unless both are whole.
    ///
    /// # Errors
    /// When the user or the partition is unknown.
    pub fn compare(
        &self,
        old: &Configuration,
        new: &Configuration,
        change: Option<&ObjectChange>,
        console: Console,
    ) -> Result<DiffAnswer, Failure> {
        let who = self.who(new, console)?;
        self.answer(Compared { old, new, change, who: who.as_ref() })
    }

    /// Compares the partitions that are asked about.
    ///
    /// # Errors
    /// When the partition is missing in both configurations.
    pub fn answer(&self, compared: Compared<'_>) -> Result<DiffAnswer, Failure> {
        let Compared { old, new, .. } = compared;
        Ok(compared.answer(&self.trees(old, new)?, &self.trees(new, old)?))
    }

    /// Returns the partitions to compare. A partition that exists in only one of them is a difference, too.
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

/// Compares two configurations as a whole.
pub fn between(old: &Configuration, new: &Configuration) -> DiffAnswer {
    let compared = Compared { old, new, change: None, who: None };
    compared.answer(&old.view.trees, &new.view.trees)
}

/// Maximum number of notes.
const MAX_NOTES: usize = 20;

/// Maximum number of refused objects that are listed.
const MAX_REFUSED: usize = 20;

/// Maximum number of names or queues listed in a cell of the narrow table; more are counted.
const MAX_LISTED: usize = 3;

const COLUMNS: [&str; 6] = ["CHANGE", "WHO", "VERB", "QUEUES", "ACL", "WRITTEN IN"];
/// The header of a column that a table has only if something in it begins later.
const FROM: &str = "FROM";

/// The cells of a row below the columns, and from when and until when it holds.
type Row = ([String; COLUMNS.len()], [String; 2]);

impl DiffAnswer {
    /// Prints the differences.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn print(&self, output: FormatArgs, console: Console) -> Result<(), Failure> {
        if output.format == Format::Markdown {
            return Ok(console.out(&self.markdown())?);
        }
        console.notes(&self.notes());
        output.print(console, self, |wide| self.table(wide), || self.names())
    }

    /// Shows the differences on standard error.
    pub fn show(&self, console: Console) {
        console.notes(&self.notes());
        let table = self.table(false);
        console.err(&table.text(!table.is_empty(), console.look_err().width));
    }

    /// Returns notes about differences that the table does not show.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.returning.clone();
        for partition in self.partitions.iter().filter(|partition| partition.placement_differs) {
            notes.push(format!(
                "the placement rules of partition {} differ, so applications may go to other queues: \
                `queuewarden place` tells",
                partition.partition
            ));
        }
        for ChangedSetting { key, from, to } in &self.settings {
            let value =
                |value: &Option<String>| value.as_ref().map_or_else(|| "not set".to_owned(), |it| quoted(it));
            notes.push(format!("{key}: {} before, {} now", value(from), value(to)));
        }
        notes.extend(self.risks.iter().map(|risk| format!("new risk {}: {}", risk.code, risk.message)));
        if self.resolver_differs {
            notes.push(
                "the user group resolvers differ, so users whose applications come without groups may \
                be in others"
                    .to_owned(),
            );
        }
        let user = self.user.as_deref().map(visible);
        if self.is_empty() {
            notes.push(match &user {
                None => "nobody gains or loses anything".to_owned(),
                Some(user) => format!("nothing changes for user {user}"),
            });
        }
        for UnmovedRight { queue, verb, allowed, reason, .. } in &self.still {
            let (user, still) =
                (user.as_deref().unwrap_or_default(), if *allowed { "still" } else { "still not" });
            notes.push(format!("{user} may {still} {} {queue}: {reason}", verb.act()));
        }
        if let Some(from) = self.unknown_from {
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
    fn names(&self) -> String {
        let names: BTreeSet<String> = self.changes().map(|change| change.subject.path()).collect();
        names.into_iter().map(|name| name + "\n").collect()
    }

    /// Formats the differences as Markdown, for comments on merge requests: a heading with counts, the table,
    /// and what is refused and noted as a list. Names are shown as code, so that none of them is read as
    /// markup.
    fn markdown(&self) -> String {
        let count = |direction, moved| {
            let of = |change: &&Change| change.direction == direction && change.periods.is_moved() == moved;
            self.changes().filter(of).count()
        };
        let of = self.user.as_ref().map(|user| format!(" of {}", code(user))).unwrap_or_default();
        let [gained, lost] =
            [Direction::Gains, Direction::Loses].map(|direction| plural(count(direction, false), "right"));
        let moved =
            [(Direction::Gains, "extended"), (Direction::Loses, "shortened")].map(|(direction, done)| {
                match count(direction, true) {
                    0 => String::new(),
                    count => format!(", {count} {done}"),
                }
            });
        let moved = moved.concat();
        let refused = match self.refused.len() {
            0 => String::new(),
            count => format!(", {} refused", plural(count, "object")),
        };
        let shown = self.refused.iter().take(MAX_REFUSED);
        let shown = shown.map(|refused| format!("{} is refused: {}", refused.object, refused.message));
        let items: Vec<String> =
            shown.chain(self.notes()).map(|note| format!("- {}\n", code(&note))).collect();
        let parts = [
            format!("### Access{of}: {gained} gained, {lost} lost{moved}{refused}\n"),
            self.table(false).markdown(),
            items.concat(),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Builds the table for people: a row for each subtree on which someone gains or loses, both rights in
    /// one if they change together. The wide table lists everything.
    pub fn table(&self, wide: bool) -> Table {
        let partitions = self.names_partitions;
        let shown = Shown { most: if wide { usize::MAX } else { MAX_LISTED } };
        let later = self.changes().any(|change| change.periods.from().is_some());
        let columns = partitions.then_some("PARTITION").into_iter().chain(COLUMNS);
        let mut table = Table::new(columns.chain(later.then_some(FROM)).chain([UNTIL]));
        for partition in &self.partitions {
            let name = partitions.then(|| partition.partition.clone());
            for (cells, [from, until]) in shown.partition(partition) {
                let from = later.then_some(from);
                table.row(name.clone().into_iter().chain(cells).chain(from).chain([until]));
            }
        }
        table
    }
}

/// Maximum number of listed items.
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

/// Returns a row without an entry.
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
