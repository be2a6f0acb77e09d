//! Compares two configurations: who gains and who loses which access.

pub mod answer;
mod table;

use std::collections::BTreeSet;

use super::configuration::Configuration;
use super::identity::IdentityArgs;
use crate::output::format::{Format, FormatArgs, Table, visible};
use crate::output::manifest::DEFAULT_PARTITION;
use crate::output::{Console, Failure};
use answer::{ChangedSetting, Compared, DiffAnswer, UnmovedRight};
use go_compat::diag::{plural, quoted};
use queuewarden_plan::timeline::unknown;
use yunikorn::identity::Identity;
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
        let compared = Compared { old, new, change: None, who };
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
    let compared = Compared { old, new, change: None, who: who.as_ref() };
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
    let table = |wide| table::table(answer, wide, partitions);
    if output.format == Format::Markdown {
        return Ok(console.out(&table::markdown(answer, &table(false), &notes(compared, answer)))?);
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
    let compared = Compared { old, new, change: None, who: None };
    compared.answer(&old.view.trees, &new.view.trees).widens
}

/// Compares two configurations: the notes about what differs, and who gains and who loses.
pub fn compare(old: &Configuration, new: &Configuration) -> (Vec<String>, Table) {
    let compared = Compared { old, new, change: None, who: None };
    let answer = compared.answer(&old.view.trees, &new.view.trees);
    (notes(compared, &answer), table::table(&answer, false, several(compared)))
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
