//! `queuewarden grant`: makes the `QueueAcl` that gives users and groups a right.

use crate::source::request::{SubjectArgs, covers};
use crate::source::validate::checked;
use crate::source::{apply, comparison, request};
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::output::{Console, Exit, Failure, manifest};
use crate::source::configuration::ObjectChange;
use crate::source::input::object::is_name;
use crate::source::session::{Session, SourceArgs};
use crate::source::times::{self, Typed, clock};
use queuewarden_api::convert;
use queuewarden_plan::snapshot::{BaseAcl, QueueAclSpec};
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::decide;
use yunikorn_access::who_can::who_can;

/// Help text on the output and the exit codes.
const HELP: &str = "\
The QueueAcl goes to standard output, and the list of users who gain access to standard error. The object only \
adds access (`baseAcl: Extend`). If a different object with the same name exists, for example with another \
end, use --replace to change it.

A TIME is a time with its zone, such as 2026-12-01T18:00:00Z; the start or end of a day in UTC, such as \
2026-12-01, friday, today or tomorrow; or a duration from now: 90m, 8h, 3d, 2w, 1mo, 1y.

Exit codes: 0 granted, 1 not applied, because the QueueAcl would be refused, have no effect or change another \
one, 2 the command line is invalid, 3 undecided.";

/// Print or apply a QueueAcl that grants a right on a queue to users and groups, and show who gains access
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct GrantArgs {
    /// submit or administer
    #[arg(value_parser = request::verb)]
    verb: Right,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = request::queue)]
    queue: String,
    #[command(flatten)]
    subjects: SubjectArgs,
    /// Start of the grant; for a day, the start of the day
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    not_before: Option<Typed>,
    /// End of the grant; for a day, the end of the day
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    until: Option<Typed>,
    /// Name of the QueueAcl, instead of one made of the queue, the right and the names
    #[arg(long, value_name = "NAME", value_parser = object_name)]
    name: Option<String>,
    /// Change an existing QueueAcl with that name
    #[arg(long)]
    replace: bool,
    /// Write it as a delegate, with your name, as an administrator of the queue
    #[arg(long, conflicts_with_all = ["filename", "base"])]
    delegated: bool,
    /// Apply the object to the cluster
    #[arg(long, conflicts_with_all = ["filename", "base", "live"])]
    apply: bool,
    #[command(flatten)]
    source: SourceArgs,
}

fn object_name(text: &str) -> Result<String, String> {
    let words = "write lower-case letters, digits, `-` and `.`, with a letter or digit at both ends";
    if is_name(text) { Ok(text.to_owned()) } else { Err(words.to_owned()) }
}

/// Runs the command.
///
/// # Errors
/// When the grant is refused, its effect cannot be decided, or it cannot be applied.
pub fn run(args: &GrantArgs, console: Console) -> Result<Exit, Failure> {
    let GrantArgs { verb, queue, subjects, source, .. } = args;
    let now = source.files.now.unwrap_or_else(clock);
    let window = args.window(now)?;
    let opened = args.delegated.then(|| source.open(console)).transpose()?;
    let delegated_by = opened.as_ref().map(|session| delegated_by(session, source, queue)).transpose()?;
    let (object, manifest) = args.manifest(window, delegated_by)?;
    let text = manifest::to_yaml(std::slice::from_ref(&manifest));
    let nothing_applied = |why: &str| Failure::Refused(format!("nothing applied: {why}"));
    let Some(change) = checked(&text, source.files.now, console)? else {
        return Err(nothing_applied(&format!("{object} would be refused")));
    };
    let session = opened.map_or_else(|| source.open(console), Ok)?;
    let old = args.existing(&session, &object, &change, now)?;
    let after = session.changed(source, &change, console)?;
    let (begin, end) = window;
    let is_planned = begin.is_some_and(|begin| begin > now);
    let begin = begin.filter(|_| is_planned).map(|begin| times::begins(begin, now));
    let end = end.map(|end| times::ends(end, now));
    console.notes(&begin.into_iter().chain(end).collect::<Vec<_>>());
    comparison::between(&session.configuration, &after).show(console);
    if after.rendered.context.refused().contains_key(&object.to_string()) {
        return Err(nothing_applied(&format!("{object} would grant nothing")));
    }
    if !is_planned {
        let holders = who_can(after.tree(&source.partition)?, *verb, queue).grantees;
        let holds = |subject| holders.iter().any(|holder| covers(holder.subject.entry(), subject));
        if !subjects.entries().all(holds) {
            return Err(nothing_applied(&format!("{object} would not give all of them the right")));
        }
    }
    if let Some(old) = &old {
        apply::note_restorers(&object, old, console);
    }
    match (session.cluster().filter(|_| args.apply), old) {
        (None, _) => console.out(&text)?,
        (Some(cluster), None) => apply::apply(cluster, &object, &manifest, console)?,
        (Some(cluster), Some(mut old)) => {
            if let (Some(fields), Some(spec)) = (old.as_object_mut(), manifest.get("spec")) {
                fields.insert("spec".to_owned(), spec.clone());
            }
            apply::replace(cluster, &object, &old, console)?;
        }
    }
    Ok(Exit::Clean)
}

/// The times at which a grant begins and ends.
type Window = (Option<Timestamp>, Option<Timestamp>);

impl GrantArgs {
    fn window(&self, now: Timestamp) -> Result<Window, Failure> {
        let wrong = |option| move |why| Failure::Usage(format!("{option}: {why}"));
        let begin = self.not_before.map(|typed| typed.begin(now).map_err(wrong("--not-before")));
        let end = self.until.map(|typed| typed.end(now).map_err(wrong("--until")));
        Ok((begin.transpose()?, end.transpose()?))
    }

    fn manifest(
        &self,
        (begin, end): Window,
        delegated_by: Option<Value>,
    ) -> Result<(ObjectRef, Value), Failure> {
        let Self { verb, queue, subjects, source, .. } = self;
        subjects.acl()?;
        let grant = json!(subjects.grant());
        let times = [("notBefore", begin), ("expiresAt", end)];
        let times = times.into_iter().filter_map(|(field, time)| Some((field, json!(time?))));
        let name = self.name.clone().unwrap_or_else(|| {
            let queue = queue.strip_prefix("root.").unwrap_or(queue);
            let names = subjects.users().chain(&subjects.groups);
            let parts = [queue, verb.field()].into_iter().chain(names.map(String::as_str));
            manifest::object_name(&parts.collect::<Vec<_>>().join("-"))
        });
        let delegated_by = delegated_by.map(|by| ("delegatedBy", by));
        let fields = std::iter::once((verb.field(), grant)).chain(times).chain(delegated_by);
        let manifest = manifest::queue_acl(&name, (&source.partition, queue), BaseAcl::Extend, fields);
        Ok((ResourceKind::QueueAcl.object(name), manifest))
    }

    /// Returns the existing object if it must be replaced; `None` if it does not exist or is the same.
    ///
    /// # Errors
    /// When a different object exists that must not be replaced, or it cannot be read.
    fn existing(
        &self,
        session: &Session,
        object: &ObjectRef,
        change: &ObjectChange,
        now: Timestamp,
    ) -> Result<Option<Value>, Failure> {
        let Some(old) = session.source.find(object)? else { return Ok(None) };
        let new = change.queue_acls.iter().find_map(|entry| entry.spec.as_ref().ok());
        let read: DynamicObject = serde_json::from_value(old.clone())
            .map_err(|error| Failure::Undecided(format!("cannot read {object}: {error}")))?;
        let before = convert::queue_acl(&read).spec.ok();
        if before.as_ref() == new {
            return Ok(None);
        }
        if self.replace {
            return Ok(Some(old));
        }
        let how = match (&before, new) {
            (Some(before), Some(new)) if window_of(before) != window_of(new) => {
                format!("{object} exists and {}, but this grant {}", words(before, now), words(new, now))
            }
            _ => format!("{object} exists and differs"),
        };
        Err(Failure::Refused(format!(
            "nothing applied: {how}. --replace changes it, and --name makes another one"
        )))
    }
}

fn window_of(spec: &QueueAclSpec) -> Window {
    (spec.not_before, spec.expires_at)
}

/// Words the time of a grant: `begins …, and never ends`.
fn words(spec: &QueueAclSpec, now: Timestamp) -> String {
    let begin = spec.not_before.map(|begin| format!("{}, and ", times::begins(begin, now)));
    let end = spec.expires_at.map_or_else(|| "never ends".to_owned(), |end| times::ends(end, now));
    begin.unwrap_or_default() + &end
}

/// Returns `delegatedBy` of the kubeconfig's user for a queue.
///
/// # Errors
/// When the ACLs cannot be read, or the user does not administer the queue.
fn delegated_by(session: &Session, source: &SourceArgs, queue: &str) -> Result<Value, Failure> {
    let cluster = session.cluster().ok_or_else(|| {
        Failure::Usage("--delegated writes your name as the cluster knows it: leave -f out".to_owned())
    })?;
    let own = cluster.whoami()?;
    named(session.configuration.tree(&source.partition)?, queue, &own).ok_or_else(|| {
        Failure::Refused(format!(
            "{} does not administer {queue}, so queuewarden would refuse the QueueAcl (NotDelegated)",
            own.user
        ))
    })
}

/// Returns the user, and if that name alone does not administer the queue, the first group that does. No
/// other group is named, because queuewarden does not notice when the user leaves it.
fn named(tree: &Tree, queue: &str, own: &Identity) -> Option<Value> {
    let administers = |groups: &[String]| {
        let who = Identity { user: own.user.clone(), groups: groups.to_vec() };
        decide(tree, Right::Admin, queue, &who).allowed()
    };
    if administers(&[]) {
        return Some(json!({"user": own.user}));
    }
    let group = own.groups.iter().find(|group| administers(std::slice::from_ref(group)))?;
    Some(json!({"user": own.user, "groups": [group]}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_group_that_administers_the_queue_is_named() {
        let text = "partitions: [{name: default, queues: [{name: root, queues: [{name: etl, adminacl: 'sue etl-admins'}]}]}]";
        let tree = yunikorn_access::testing::parsed(text);
        let named = |user: &str, groups: &[&str]| {
            let groups = groups.iter().map(ToString::to_string).collect();
            named(&tree, "root.etl", &Identity { user: user.to_owned(), groups })
        };
        assert_eq!(named("sue", &["etl-admins"]), Some(json!({"user": "sue"})));
        let ann = json!({"user": "ann", "groups": ["etl-admins"]});
        assert_eq!(named("ann", &["system:authenticated", "etl-admins", "devs"]), Some(ann));
        assert_eq!(named("bob", &["devs"]), None);
    }
}
