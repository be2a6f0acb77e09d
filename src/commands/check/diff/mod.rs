//! `queuewarden diff`: shows who gains and who loses which access between two configurations.

pub mod answer;
mod markdown;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::output::format::{Format, FormatArgs, Table, visible};
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::Cluster;
use crate::source::configuration::Configuration;
use crate::source::configuration::ObjectChange;
use crate::source::files::FileSource;
use crate::source::identity::IdentityArgs;
use crate::source::request;
use crate::source::session::{ClusterArgs, DEFAULT_PARTITION};
use crate::source::session::{FileArgs, yunikorn_version};
use crate::source::times;
use answer::{ChangedSetting, Compared, DiffAnswer, UnmovedRight};
use go_compat::diag::{plural, quoted};
use queuewarden_plan::timeline::unknown;
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::identity::Identity;
use yunikorn::version::Version;
use yunikorn_access::tree::Tree;

/// Help text on the rows and exit codes.
const HELP: &str = "\
Files with QueueAcls and AdmissionPolicy objects and nothing else are no configuration: they are applied to \
the old one, as kubectl apply would.\n\n\
A row says who gains or loses a right, on which queues, and which entry makes the difference, now or at any \
later time: FROM is when a change begins that does not begin at once, and UNTIL when the right ends. `extends` \
and `shortens` are rights whose time changes, with the old and the new time. A user is \
looked at without its groups, a group without its members; who keeps a right by another entry is not reported. \
`added` and `removed` are queues that only one configuration has, with what their own ACLs grant beyond the \
queues above; `now parent` is a queue that was a leaf, in which no application can run any more.

With --as a row is about that user with all groups. Where the change is about the user and changes nothing, \
a note says by which entry the user still has the right, or why still not.

Exit codes: 0 nobody gains or loses anything, and the queues and the admission settings are the same; 1 \
something differs, or an object of the change would be refused; 2 the command line is wrong; 3 it could not \
be decided. With --fail-on-widening 1 only if someone gains, or an object would be refused.";

/// Show who gains and who loses which access between two configurations, inherited access included
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP, mut_arg("user", |arg| arg.help("Show only what changes for this user")))]
pub struct Args {
    /// The new configuration: a file or folder with a queues.yaml, ConfigMaps and objects of queuewarden, or
    /// -; QueueAcls and AdmissionPolicy objects alone are applied to the old one; may be repeated
    #[arg(
        short = 'f',
        long = "filename",
        id = "new",
        value_name = "PATH",
        required_unless_present = "delete"
    )]
    new: Vec<PathBuf>,
    /// An object that is deleted from the old one, such as queueacl/prod; may be repeated
    #[arg(long, value_name = "KIND/NAME", value_parser = |text: &str| request::object(text, &[ResourceKind::QueueAcl, ResourceKind::AdmissionPolicy]))]
    delete: Vec<ObjectRef>,
    /// The old configuration, instead of the cluster's; may be repeated
    #[arg(
        long = "from", id = "filename", value_name = "PATH",
        conflicts_with_all = ["kubeconfig", "context"]
    )]
    old: Vec<PathBuf>,
    /// Read subfolders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Time to evaluate at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = times::now)]
    now: Option<Timestamp>,
    /// Version of YuniKorn that is to read the files: 1.8 or 1.9. Without it: the one in a YuniKornConfig
    /// that is given, or else the strictest of both
    #[arg(long, value_name = "VERSION", value_parser = yunikorn_version)]
    yunikorn_version: Option<Version>,
    #[command(flatten)]
    only: OnlyArgs,
    /// Exit with 1 only if someone may do more than before, now or at any later time
    #[arg(long)]
    fail_on_widening: bool,
    /// The cluster, if no old configuration is given.
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: FormatArgs,
}

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

    fn answer(&self, compared: Compared<'_>) -> Result<DiffAnswer, Failure> {
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

/// Runs the command.
///
/// # Errors
/// When one of the two cannot be read or evaluated, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let (old, new, change) = args.configurations(console)?;
    let who = args.only.who(&new, console)?;
    let compared = Compared { old: &old, new: &new, change: &change, who: who.as_ref() };
    let answer = args.only.answer(compared)?;
    print(compared, &answer, args.output, console)?;
    let counts = if args.fail_on_widening { answer.widens } else { !answer.is_empty() };
    Ok(Exit::yes(!counts && answer.refused.is_empty()))
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

fn print(
    compared: Compared<'_>,
    answer: &DiffAnswer,
    output: FormatArgs,
    console: Console,
) -> Result<(), Failure> {
    let partitions = several(compared);
    let table = |wide| table::table(answer, wide, partitions);
    if output.format == Format::Markdown {
        return Ok(console.out(&markdown::text(answer, &table(false), &notes(compared, answer)))?);
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
    (notes(compared, &answer), table::table(&answer, false, several(compared)))
}

impl Args {
    /// Returns the old configuration, the new one, and the objects that are changed, unless the new one is
    /// whole.
    fn configurations(
        &self,
        console: Console,
    ) -> Result<(Configuration, Configuration, ObjectChange), Failure> {
        let new = if self.new.is_empty() { None } else { Some(self.given(&self.new, console)?) };
        // `None` for a whole configuration.
        let change = new.as_ref().map_or_else(|| Some(ObjectChange::default()), FileSource::change);
        if change.is_none() && !self.delete.is_empty() {
            let why =
                "--delete goes with QueueAcls and AdmissionPolicy objects, not with a whole configuration";
            return Err(Failure::Usage(why.to_owned()));
        }
        let whole = new.filter(|_| change.is_none()).map(|new| new.configuration(console)).transpose()?;
        let change = ObjectChange { deleted: self.delete.clone(), ..change.unwrap_or_default() };
        let (before, after) = if self.old.is_empty() {
            times::not_past(self.now)?;
            let cluster = Cluster::connect(&self.cluster.server)?;
            let changed = |change: &ObjectChange| cluster.changed(&self.cluster, change, self.now, console);
            // Both are of the same time.
            let before = match self.now {
                None => cluster.read(&self.cluster, console)?,
                Some(_) => changed(&ObjectChange::default())?,
            };
            (before, whole.map_or_else(|| changed(&change), Ok)?)
        } else {
            let old = self.given(&self.old, console)?;
            let before = old.configuration(console)?;
            (before, whole.map_or_else(|| old.changed(&change)?.configuration(console), Ok)?)
        };
        before.note(None, console);
        after.note(Some(&before), console);
        Ok((before, after, change))
    }

    fn given(&self, paths: &[PathBuf], console: Console) -> Result<FileSource, Failure> {
        let Self { recursive, now, yunikorn_version, .. } = *self;
        let files = FileArgs { recursive, base: None, now, yunikorn_version };
        let namespace = self.cluster.cluster_namespace.as_deref();
        let inputs = files.read(paths, namespace, None, console)?;
        FileSource::from_inputs(inputs, now, console)
    }
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
