//! `queuewarden grant`: makes the `QueueAcl` that gives users and groups a right.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::input::Inputs;
use super::input::source::Source;
use super::query::cluster::Cluster;
use super::query::files::Given;
use super::query::rendered::ObjectChange;
use super::query::{SourceArgs, request};
use super::{Console, Exit, Failure, clock, diff, findings, manifest, moment, validate};
use go_compat::diag::Diagnostic;
use queuewarden_api::v1alpha1::{Grant, ServiceAccount};
use queuewarden_operator::controller::call::{self, call};
use queuewarden_operator::controller::world::api;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::acl::{Acl, Match};
use yunikorn::right::Right;
use yunikorn_access::alias::{self, SERVICE_ACCOUNT};
use yunikorn_access::who_can::who_can;

/// Field manager of what the command line applies.
pub(super) const MANAGER: &str = "queuewarden-cli";

/// Help text on the output and the exit codes.
const HELP: &str = "\
The QueueAcl goes to standard output, and who gains what by it to standard error. It only adds: it says \
`baseAcl: Extend`.

Exit codes: 0 the right is given, 1 the QueueAcl would be refused or have no effect, 2 the command line is \
wrong, 3 it could not be decided.";

/// Print a QueueAcl that gives users and groups a right on a queue, and show who gains what by it; or apply
/// it
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    right: RightArgs,
    /// Time at which it begins
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Timestamp>,
    /// Time at which it ends, such as 2026-12-01T18:00:00Z; or a day, such as 2026-12-01 or friday, until its
    /// end in UTC; or a duration from now, such as 8h or 3d
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Name of the QueueAcl, instead of one made of the queue, the right and the names
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Options for a right that is given or taken.
#[derive(Debug, Clone, clap::Args)]
pub struct RightArgs {
    /// submit or administer
    #[arg(value_parser = request::verb)]
    pub(super) verb: Right,
    /// The queue's full path, such as root.prod
    #[arg(value_parser = request::queue)]
    pub(super) queue: String,
    #[command(flatten)]
    pub(super) subjects: SubjectArgs,
    /// Apply what would be printed to the cluster
    #[arg(long, conflicts_with_all = ["filename", "live"])]
    pub(super) apply: bool,
    #[command(flatten)]
    pub(super) source: SourceArgs,
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
    pub(super) groups: Vec<String>,
    /// A service account; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = service_account)]
    service_accounts: Vec<String>,
}

/// Reads a service account as kubectl does, into the name of its user.
fn service_account(text: &str) -> Result<String, String> {
    let parts = text.split_once(':').filter(|(namespace, name)| !namespace.is_empty() && !name.contains(':'));
    let (namespace, name) = parts.ok_or("write it as NAMESPACE:NAME, such as spark:driver")?;
    Ok(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
}

impl SubjectArgs {
    /// Returns the users and groups.
    pub(super) fn entries(&self) -> impl Iterator<Item = Match<'_>> {
        let groups = self.groups.iter().map(|name| Match::Group(name));
        self.users().map(|name| Match::User(name)).chain(groups)
    }

    /// Returns the users, service accounts included.
    fn users(&self) -> impl Iterator<Item = &String> {
        self.users.iter().chain(&self.service_accounts)
    }

    /// Returns whether this user is one of them.
    pub(super) fn has_user(&self, name: &str) -> bool {
        self.users().any(|user| user == name)
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
    pub(super) fn acl(&self) -> Result<Acl, Failure> {
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
/// When the effect of the grant cannot be decided, or it cannot be applied.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let RightArgs { verb, queue, subjects, apply, source } = &args.right;
    let now = source.files.now.unwrap_or_else(clock);
    let manifest = args.manifest(now)?;
    let text = manifest::to_yaml(std::slice::from_ref(&manifest));
    let Some(change) = checked(&text, source.files.now, console)? else { return Ok(Exit::Findings) };
    let session = source.open(console)?;
    let after = session.changed(source, &change, console)?;
    if let Some(from) = args.from.filter(|from| *from > now) {
        console.note(&format!("nothing changes before {from}"));
    } else {
        diff::show(&session.configuration, &after, console);
        let holders = who_can(after.tree(&source.partition)?, *verb, queue).grantees;
        let holds = |subject| holders.iter().any(|holder| covers(holder.subject, subject));
        if !subjects.entries().all(holds) {
            return Ok(Exit::Findings);
        }
    }
    match session.cluster().filter(|_| *apply) {
        Some(cluster) => apply_to(cluster, &manifest, console)?,
        None => console.out(&text)?,
    }
    Ok(Exit::Clean)
}

impl Args {
    fn manifest(&self, now: Timestamp) -> Result<Value, Failure> {
        let RightArgs { verb, queue, subjects, source, .. } = &self.right;
        subjects.acl()?;
        let grant = json!(subjects.grant());
        let until = self.until.as_ref().map(|until| end(until, now).map_err(Failure::Usage)).transpose()?;
        let times = [("notBefore", self.from), ("expiresAt", until)];
        let times = times.into_iter().filter_map(|(field, time)| Some((field, json!(time?))));
        let name = self.name.clone().unwrap_or_else(|| {
            let queue = queue.strip_prefix("root.").unwrap_or(queue);
            let names = subjects.users().chain(&subjects.groups);
            let parts = [queue, verb.field()].into_iter().chain(names.map(String::as_str));
            manifest::object_name(&parts.collect::<Vec<_>>().join("-"))
        });
        let fields = std::iter::once((verb.field(), grant)).chain(times);
        Ok(manifest::queue_acl(&name, (&source.partition, queue), BaseAcl::Extend, fields))
    }
}

/// Reads a manifest as a change, and prints what is wrong with it; `None` if there are errors.
pub(super) fn checked(
    text: &str,
    now: Option<Timestamp>,
    console: Console,
) -> Result<Option<ObjectChange>, Failure> {
    let inputs = Inputs::new(vec![Source::new("the QueueAcl", text)]);
    let given = Given::from_inputs(inputs, now, console)?;
    let found = validate::each(&given.inputs, given.version());
    console.err(&findings::text(&given.inputs.sources, &found, console.look_err()));
    let refused = found.iter().any(|finding| finding.diagnostic.is_error());
    Ok((!refused).then(|| given.change().unwrap_or_default()))
}

/// Returns whether an entry of an ACL gives access to a subject.
pub(super) fn covers(entry: Match<'_>, subject: Match<'_>) -> bool {
    [subject, Match::Everyone].contains(&entry)
}

fn apply_to(cluster: &Cluster, manifest: &Value, console: Console) -> Result<(), Failure> {
    let name = manifest.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let params = PatchParams::apply(MANAGER);
    let patched = cluster.run(async |client| {
        let api = api(ResourceKind::QueueAcl, client.clone());
        call(api.patch(name, &params, &Patch::Apply(manifest))).await
    });
    applied(name, patched, console)
}

/// Says that a `QueueAcl` was applied, and how to see that it is in force.
pub(super) fn applied(
    name: &str,
    result: Result<DynamicObject, call::Error>,
    console: Console,
) -> Result<(), Failure> {
    result.map_err(|error| Failure::Output(format!("cannot apply QueueAcl/{name}: {error}")))?;
    console
        .note(&format!("QueueAcl/{name} is applied: `kubectl wait queueacl/{name} --for=condition=Ready`"));
    Ok(())
}

/// Parses the end of a grant.
///
/// # Errors
/// When the text is no time, or not later than `now`.
pub(super) fn end(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let utc = now.to_zoned(TimeZone::UTC);
    let day = || -> Option<Timestamp> {
        let day = text.parse::<Date>().ok().or_else(|| weekday(text, utc.date()))?;
        Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let later = || utc.checked_add(text.parse::<Span>().ok()?).ok().map(|end| end.timestamp());
    let end = text.parse().ok().or_else(day).or_else(later).and_then(|end: Timestamp| {
        // Kubernetes keeps whole seconds.
        Timestamp::from_second(end.as_second()).ok()
    });
    match end {
        Some(end) if end > now => Ok(end),
        Some(end) => Err(format!("--until {text}: {end} is not later than now, {now}")),
        None => Err(format!(
            "--until {text}: write a time such as 2026-12-01T18:00:00Z, a day such as 2026-12-01 or friday, or \
             a duration such as 8h or 3d"
        )),
    }
}

/// Returns the next day with this name: `friday` or `fri`.
fn weekday(name: &str, today: Date) -> Option<Date> {
    let mut days = (0..7).filter_map(|days| today.checked_add(days.days()).ok());
    days.find(|day| ["%A", "%a"].iter().any(|form| day.strftime(form).to_string().eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_end_at_a_time_a_day_or_after_a_while() {
        // A Thursday.
        let now: Timestamp = "2026-11-26T10:30:00.5Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-27T18:00:00+01:00", "2026-11-27T17:00:00Z"),
            ("2026-11-27", "2026-11-28T00:00:00Z"),
            ("2026-11-26", "2026-11-27T00:00:00Z"),
            ("friday", "2026-11-28T00:00:00Z"),
            ("Thu", "2026-11-27T00:00:00Z"),
            ("wednesday", "2026-12-03T00:00:00Z"),
            ("8h", "2026-11-26T18:30:00Z"),
            ("3d", "2026-11-29T10:30:00Z"),
        ] {
            assert_eq!(end(text, now).map(|end| end.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["2026-11-25", "2026-11-26T10:30:00Z", "-3d", "soon", "", "9999-12-31", "99999999y"] {
            assert!(end(text, now).unwrap_err().starts_with("--until"), "{text}");
        }
    }
}
