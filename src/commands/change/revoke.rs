//! `queuewarden revoke`: takes users and groups out of the objects that name them.

use crate::source::{apply, comparison, request};
use std::collections::BTreeMap;
use std::convert::Infallible;

use serde_json::{Value, json};

use crate::output::{Console, Exit, Failure, manifest};
use crate::source::configuration::{Configuration, ObjectChange};
use crate::source::entries::{self, Found};
use crate::source::request::{SubjectArgs, covers};
use crate::source::session::{Session, SourceArgs};
use crate::source::validate::checked;
use go_compat::diag::plural;
use queuewarden_api::v1alpha1::Grant;
use queuewarden_plan::entries::{Entry, Names, Place, delegated, deletable, grants_nobody};
use queuewarden_plan::snapshot::QueueAclEntry;
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::acl::Match;
use yunikorn::right::Right;
use yunikorn_access::Origin;
use yunikorn_access::subject::Subject;
use yunikorn_access::who_can::who_can;

/// Help text on the output and the exit codes.
const HELP: &str = "\
The objects without the names go to standard output, and the list of users who lose access to standard error. \
The command does not change the base and grants on ancestors. If they still grant the right, it prints a note.

With --everywhere, the command searches for the names in all QueueAcls (in force, planned, suspended or \
expired), in all ACLs of the base, and in the lists of AdmissionPolicies. It prints all entries to standard error.

If the last name is removed from an object, --apply deletes the object, provided that nobody gains access. \
Otherwise the object is kept with `nobody: true`.

Exit codes: 0 revoked, 1 some of them keep the right, or an entry is left, 2 the command line is invalid, \
3 undecided.";

/// Print or apply the objects that grant a right, without the given users and groups, and show who loses
/// access
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct RevokeArgs {
    /// submit or administer
    #[arg(value_parser = request::verb, required_unless_present = "everywhere", conflicts_with = "everywhere")]
    verb: Option<Right>,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = request::queue, required_unless_present = "everywhere", conflicts_with = "everywhere")]
    queue: Option<String>,
    #[command(flatten)]
    subjects: SubjectArgs,
    /// Remove them from all objects
    #[arg(long)]
    everywhere: bool,
    /// Apply the change to the cluster
    #[arg(long, conflicts_with_all = ["filename", "base", "live"])]
    apply: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs the command.
///
/// # Errors
/// When the effect cannot be decided, or an object cannot be read.
pub fn run(args: &RevokeArgs, console: Console) -> Result<Exit, Failure> {
    let names = args.subjects.names();
    let session = args.source.open(console)?;
    let mut found = entries::gather(&session, &args.source, &names)?;
    if let Some((right, queue)) = args.one() {
        let partition = &args.source.partition;
        found.entries.retain(
            |entry| matches!(&entry.place, Place::QueueAcl { of, .. } if of.is(partition, queue, right)),
        );
    }
    let edited = |entry: &Entry| entry.place.is_editable() && has(&names, &entry.subject);
    if args.everywhere {
        let edit = |entry: &Entry| if edited(entry) { "taken out" } else { "left" }.to_owned();
        let table = found.table(Some(&edit));
        console.err(&table.text(!table.is_empty(), console.look_err().width));
    }
    let edits = Edits::new(&session, &args.source, &found, &names, edited, console)?;
    let after = edits.show(&session, args, &found, console)?;
    let applied = match session.cluster().filter(|_| args.apply) {
        None => {
            console.out(&edits.text())?;
            true
        }
        Some(cluster) => {
            let change = |Edit { object, old, new, is_deleted }: &Edit| {
                if *is_deleted {
                    apply::delete(cluster, object, old, console)
                } else {
                    apply::replace(cluster, object, new, console)
                }
            };
            let failures: Vec<Failure> = edits.0.iter().filter_map(|edit| change(edit).err()).collect();
            for failure in &failures {
                console.err(&format!("error: {failure}\n"));
            }
            failures.is_empty()
        }
    };
    let left: Vec<_> = found.entries.iter().filter(|entry| !edited(entry)).collect();
    for entry in &left {
        console.note(&format!("left: {}", entries::left(&found, entry)));
    }
    let gone = if let Some((right, queue)) = args.one() {
        if found.entries.is_empty() {
            let subjects = if args.subjects.entries().count() == 1 { "this name" } else { "these names" };
            console.note(&format!("no QueueAcl gives {subjects} the right to {} {queue}", right.act()));
        }
        args.left(&after, right, queue, console)?
    } else {
        args.note_others(&found, &names, &after, console)?;
        true
    };
    Ok(Exit::yes(applied && left.is_empty() && gone))
}

fn has(names: &Names, subject: &Subject) -> bool {
    match subject {
        Subject::User(name) => names.users.contains(name),
        Subject::Group(name) => names.groups.contains(name),
        Subject::Everyone => false,
    }
}

/// An object that changes.
struct Edit {
    object: ObjectRef,
    old: Value,
    new: Value,
    /// True if it is deleted instead, because it names nobody any more and nobody gains by that.
    is_deleted: bool,
}

/// The objects that change.
struct Edits(Vec<Edit>);

impl Edits {
    /// Takes the names out of the objects of the entries that are edited.
    fn new(
        session: &Session,
        args: &SourceArgs,
        found: &Found,
        names: &Names,
        edited: impl Fn(&Entry) -> bool,
        console: Console,
    ) -> Result<Self, Failure> {
        let mut by_object: BTreeMap<ObjectRef, Vec<&Entry>> = BTreeMap::new();
        for entry in found.entries.iter().filter(|entry| edited(entry)) {
            let object = match &entry.place {
                Place::QueueAcl { name, .. } => ResourceKind::QueueAcl.object(&**name),
                Place::Policy { name, .. } => ResourceKind::AdmissionPolicy.object(&**name),
                _ => continue,
            };
            by_object.entry(object).or_default().push(entry);
        }
        let mut edits = Vec::new();
        for (object, entries) in by_object {
            let old = session.source.object(&object)?;
            let new = without(old.clone(), names, &entries)?;
            edits.push(Edit { object, old, new, is_deleted: false });
        }
        let mut edits = Self(edits);
        edits.delete_empty(session, args, found, console)?;
        Ok(edits)
    }

    /// Returns the manifests of the objects that change.
    fn text(&self) -> String {
        manifest::to_yaml(&self.0.iter().map(|edit| manifest::to_apply(&edit.new)).collect::<Vec<_>>())
    }

    /// Returns the change, with the deletions.
    fn change(&self, args: &SourceArgs, console: Console) -> Result<ObjectChange, Failure> {
        if self.0.is_empty() {
            return Ok(ObjectChange::default());
        }
        let refused = || Failure::Refused("nothing applied: an object would be refused".to_owned());
        let mut change = checked(&self.text(), args.files.now, console)?.ok_or_else(refused)?;
        change.deleted =
            self.0.iter().filter(|edit| edit.is_deleted).map(|edit| edit.object.clone()).collect();
        let is_deleted = |name: &str| change.deleted.iter().any(|object| *object.name == *name);
        change.queue_acls.retain(|entry| !is_deleted(&entry.meta.name));
        Ok(change)
    }

    /// Marks the objects to delete: objects without names, if nobody gains access.
    fn delete_empty(
        &mut self,
        session: &Session,
        args: &SourceArgs,
        found: &Found,
        console: Console,
    ) -> Result<(), Failure> {
        let change = self.change(args, console)?;
        let empty: Vec<ObjectRef> = change
            .queue_acls
            .iter()
            .filter(|entry| is_empty(entry))
            .map(|entry| ResourceKind::QueueAcl.object(entry.meta.name.clone()))
            .collect();
        if empty.is_empty() {
            return Ok(());
        }
        let evaluate = |change: &ObjectChange| {
            session.source.evaluate(found.evidence.read.clone(), change, Console::silent())
        };
        // What cannot be evaluated is not deleted.
        let Ok(kept) = evaluate(&change) else { return Ok(()) };
        let widens = |deleted: &[ObjectRef]| -> Result<bool, Infallible> {
            let mut change = change.clone();
            change.queue_acls.retain(|entry| !deleted.iter().any(|object| object.name == entry.meta.name));
            change.deleted = deleted.to_vec();
            Ok(evaluate(&change).map_or(true, |after| comparison::between(&kept, &after).widens))
        };
        let Ok(deleted) = deletable(empty.clone(), widens);
        for edit in &mut self.0 {
            edit.is_deleted = deleted.contains(&edit.object);
            if !edit.is_deleted && empty.contains(&edit.object) {
                console.note(&format!(
                    "{} has no names any more and is kept with `nobody: true`, because deleting it would give someone access, such as the names in the base's ACL",
                    edit.object
                ));
            }
        }
        Ok(())
    }

    /// Shows who loses what, and who brings it back; returns the configuration after the change.
    fn show(
        &self,
        session: &Session,
        args: &RevokeArgs,
        found: &Found,
        console: Console,
    ) -> Result<Configuration, Failure> {
        if self.0.is_empty() {
            return Ok(session.configuration.clone());
        }
        let change = self.change(&args.source, Console::silent())?;
        let after = session.source.evaluate(found.evidence.read.clone(), &change, console)?;
        after.note(Some(&session.configuration), console);
        comparison::between(&session.configuration, &after).show(console);
        for Edit { object, old, is_deleted, .. } in &self.0 {
            apply::note_restorers(object, old, console);
            if *is_deleted && !args.apply {
                let path = format!("{} {}", object.kind.name().to_ascii_lowercase(), object.name);
                console.note(&format!(
                    "{object} has no names any more, and nobody gains access without it: delete it with --apply or `kubectl delete {path}`"
                ));
            }
        }
        Ok(after)
    }
}

/// Returns whether an object names nobody.
fn is_empty(entry: &QueueAclEntry) -> bool {
    entry.spec.as_ref().is_ok_and(grants_nobody)
}

impl RevokeArgs {
    /// Returns the right and the queue, unless all of them are revoked.
    fn one(&self) -> Option<(Right, &str)> {
        Some((self.verb?, self.queue.as_deref()?))
    }

    /// Prints the entries that still grant the right to the subjects. Returns whether there are no such
    /// entries.
    fn left(
        &self,
        configuration: &Configuration,
        right: Right,
        queue: &str,
        console: Console,
    ) -> Result<bool, Failure> {
        let tree = configuration.tree(&self.source.partition)?;
        let found = who_can(tree, right, queue);
        let mut all_gone = true;
        for subject in self.subjects.entries() {
            for grantee in found.grantees.iter().filter(|grantee| covers(grantee.subject.entry(), subject)) {
                all_gone = false;
                for grant in &grantee.grants {
                    console.note(&format!(
                        "{} may still {} {queue}: the {} of {} names {}, in {}",
                        Subject::from(subject),
                        right.act(),
                        grant.acl.key(),
                        grant.queue,
                        grantee.subject,
                        Origin::list(&grant.origins)
                    ));
                }
            }
        }
        Ok(all_gone)
    }

    /// Notes what lets the subjects in without naming them, and what depends on them.
    fn note_others(
        &self,
        found: &Found,
        names: &Names,
        after: &Configuration,
        console: Console,
    ) -> Result<(), Failure> {
        let subjects: Vec<String> =
            self.subjects.entries().map(|subject| Subject::from(subject).to_string()).collect();
        let subjects = subjects.join(", ");
        if found.entries.is_empty() {
            console.note(&format!("no entry names {subjects}"));
        }
        for name in delegated(&found.evidence.snapshot, names) {
            console.note(&format!(
                "QueueAcl/{name} is written in the name of {subjects} (`delegatedBy`), and grants nothing once they \
                 no longer administer its queue"
            ));
        }
        let tree = after.tree(&self.source.partition)?;
        let open = |right: Right| {
            tree.queues().filter(|(_, node)| node.grants(right).acl.has(Match::Everyone)).count()
        };
        for (right, count) in Right::ALL.map(|right| (right, open(right))) {
            if count > 0 {
                let queues = plural(count, "queue");
                console.note(&format!(
                    "everyone may {} {queues} and the queues below, so they may, too",
                    right.act()
                ));
            }
        }
        Ok(())
    }
}

/// Takes the names of these entries out of an object.
fn without(mut object: Value, names: &Names, entries: &[&Entry]) -> Result<Value, Failure> {
    for entry in entries {
        match &entry.place {
            Place::QueueAcl { of, .. } => {
                let path = format!("/spec/{}", of.right.field());
                let Some(value) = object.pointer_mut(&path) else { continue };
                let grant: Grant = serde_json::from_value(value.take())
                    .map_err(|error| Failure::Undecided(format!("{path}: {error}")))?;
                *value = json!(grant.without(names));
            }
            Place::Policy { field, element, .. } => {
                let list = object.pointer_mut(&format!("/spec/{}", field.replace('.', "/")));
                if let Some(list) = list.and_then(Value::as_array_mut) {
                    list.retain(|other| other.as_str() != Some(element));
                }
            }
            _ => {}
        }
    }
    Ok(object)
}
