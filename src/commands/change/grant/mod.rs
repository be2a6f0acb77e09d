//! `queuewarden grant`: makes the `QueueAcl` that gives users and groups a right.

mod delegated;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::commands::check::{diff, validate};
use crate::output::{Console, Exit, Failure, findings, manifest};
use crate::source::apply;
use crate::source::configuration::ObjectChange;
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::is_name;
use crate::source::input::source::Source;
use crate::source::request;
use crate::source::session::{Session, SourceArgs};
use crate::source::times::clock;
use crate::source::times::{self, Typed};
use go_compat::diag::Diagnostic;
use queuewarden_api::convert;
use queuewarden_api::v1alpha1::{Grant, ServiceAccount};
use queuewarden_plan::entries::Names;
use queuewarden_plan::snapshot::{BaseAcl, QueueAclSpec};
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::acl::{Acl, Match};
use yunikorn::right::Right;
use yunikorn_access::alias::{self, SERVICE_ACCOUNT};
use yunikorn_access::who_can::who_can;

/// Help text on the output and the exit codes.
const HELP: &str = "\
The QueueAcl goes to standard output, and who gains what by it to standard error. It only adds: it says \
`baseAcl: Extend`. An object of the same name that differs, as in its beginning or end, is changed only with \
--replace.

A TIME is a time with its zone, such as 2026-12-01T18:00:00Z; a day in UTC, such as 2026-12-01, friday, today \
or tomorrow, from its beginning or to its end; or a duration from now: 90m, 8h, 3d, 2w, 1mo, 1y.

Exit codes: 0 the right is given, 1 nothing is applied, because the QueueAcl would be refused, have no effect or \
change another one, 2 the command line is wrong, 3 it could not be decided.";

/// Print a QueueAcl that gives users and groups a right on a queue, and show who gains what by it; or apply
/// it
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// submit or administer
    #[arg(value_parser = request::verb)]
    verb: Right,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = request::queue)]
    queue: String,
    #[command(flatten)]
    subjects: SubjectArgs,
    /// Time at which it begins; of a day, its beginning
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    not_before: Option<Typed>,
    /// Time at which it ends; of a day, its end
    #[arg(long, value_name = "TIME", value_parser = Typed::parse)]
    until: Option<Typed>,
    /// Name of the QueueAcl, instead of one made of the queue, the right and the names
    #[arg(long, value_name = "NAME", value_parser = object_name)]
    name: Option<String>,
    /// Change a QueueAcl of that name if there is one
    #[arg(long)]
    replace: bool,
    /// Write it in your own name, as an administrator of the queue
    #[arg(long, conflicts_with_all = ["filename", "base"])]
    delegated: bool,
    /// Apply what would be printed to the cluster
    #[arg(long, conflicts_with_all = ["filename", "base", "live"])]
    apply: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Options for the users and groups of a grant.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = true)]
pub struct SubjectArgs {
    /// A user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    users: Vec<String>,
    /// A group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// A service account; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = service_account)]
    service_accounts: Vec<String>,
}

fn object_name(text: &str) -> Result<String, String> {
    let words = "write lower-case letters, digits, `-` and `.`, with a letter or digit at both ends";
    if is_name(text) { Ok(text.to_owned()) } else { Err(words.to_owned()) }
}

/// Reads a service account as kubectl does, into the name of its user.
pub(crate) fn service_account(text: &str) -> Result<String, String> {
    let parts = text.split_once(':').filter(|(namespace, name)| !namespace.is_empty() && !name.contains(':'));
    let (namespace, name) = parts.ok_or("write it as NAMESPACE:NAME, such as spark:driver")?;
    Ok(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
}

impl SubjectArgs {
    /// Returns the users and groups.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Match<'_>> {
        let groups = self.groups.iter().map(|name| Match::Group(name));
        self.users().map(|name| Match::User(name)).chain(groups)
    }

    /// Returns the users, service accounts included.
    fn users(&self) -> impl Iterator<Item = &String> {
        self.users.iter().chain(&self.service_accounts)
    }

    /// Returns the names to look for.
    pub(crate) fn names(&self) -> Names {
        Names { users: self.users().cloned().collect(), groups: self.groups.iter().cloned().collect() }
    }

    /// Returns the part of a manifest that names them.
    fn grant(&self) -> Grant {
        let account = |user: &String| {
            let (namespace, name) = alias::service_account(user)?;
            Some(ServiceAccount { namespace: namespace.to_owned(), name: Some(name.to_owned()) })
        };
        Grant {
            users: self.users().filter(|user| account(user).is_none()).cloned().collect(),
            groups: self.groups.clone(),
            service_accounts: self.users().filter_map(account).collect(),
            ..Grant::default()
        }
    }

    /// Returns the ACL that names them.
    ///
    /// # Errors
    /// When one of them cannot be granted anything.
    fn acl(&self) -> Result<Acl, Failure> {
        let users: Vec<_> = self.users().collect();
        alias::acl(&users, &self.groups).map(|(acl, _)| acl).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Diagnostic::without_code).collect();
            Failure::Usage(lines.join("\n"))
        })
    }
}

/// Runs the command.
///
/// # Errors
/// When the grant is refused, its effect cannot be decided, or it cannot be applied.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let Args { verb, queue, subjects, source, .. } = args;
    let now = source.files.now.unwrap_or_else(clock);
    let window = args.window(now)?;
    let opened = args.delegated.then(|| source.open(console)).transpose()?;
    let delegated_by = opened.as_ref().map(|session| delegated::by(session, source, queue)).transpose()?;
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
    diff::show(&session.configuration, &after, console);
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

impl Args {
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

    /// Returns the object of the same name if it is to be replaced; `None` if there is none, or it is the
    /// same.
    ///
    /// # Errors
    /// When there is one that differs and may not be replaced, or it cannot be read.
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

/// Reads a manifest as a change, and prints what is wrong with it; `None` if there are errors.
pub(crate) fn checked(
    text: &str,
    now: Option<Timestamp>,
    console: Console,
) -> Result<Option<ObjectChange>, Failure> {
    let inputs = Inputs::new(vec![Source::new("the QueueAcl", text)]);
    let given = FileSource::from_inputs(inputs, now, console)?;
    let found = validate::each(&given.inputs, &given.assembled);
    console.err(&findings::text(&given.inputs.sources, &found, console.look_err()));
    let refused = found.iter().any(|finding| finding.diagnostic.is_error());
    Ok((!refused).then(|| given.change().unwrap_or_default()))
}

/// Returns whether an entry of an ACL gives access to a subject.
pub(crate) fn covers(entry: Match<'_>, subject: Match<'_>) -> bool {
    [subject, Match::Everyone].contains(&entry)
}
