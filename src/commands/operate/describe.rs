//! `queuewarden describe`: shows one `QueueAcl` with its effect, as `kubectl describe` shows objects.

use crate::output::explanation;
use crate::source::comparison;
use jiff::Timestamp;
use kube::api::DynamicObject;

use crate::output::format::{Table, visible};
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::{Cluster, seen};
use crate::source::configuration::{Configuration, ObjectChange};
use crate::source::request;
use crate::source::session::{Source, SourceArgs};
use crate::source::times::whole_seconds;
use queuewarden_api::answer::until;
use queuewarden_api::convert;
use queuewarden_plan::snapshot::{Grant, Meta, QueueAclEntry, QueueAclSpec};
use queuewarden_plan::{ObjectRef, ResourceKind, grant_acl};
use yunikorn::right::Right;
use yunikorn_access::Origin;
use yunikorn_access::decide::in_words;

/// Help text on the sections and the exit codes.
const HELP: &str = "\
The section ACLs lists the ACLs of the queue and its ancestors for the rights that the object sets. The section \
Effect shows who gains and loses access, compared with the configuration without the object.

Exit codes: 0 found, 2 the command line is invalid, 3 it could not be read.";

/// Show a QueueAcl with its last change, its conditions, the ACLs to which it contributes, its effect, and
/// its events
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP, mut_arg("partition", |arg| arg.hide(true)))]
pub struct DescribeArgs {
    /// The object: `queueacl NAME` or `queueacl/NAME`
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..=2)]
    object: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs the command.
///
/// # Errors
/// When the object cannot be read, or the output cannot be written. A section without data contains the
/// cause.
pub fn run(args: &DescribeArgs, console: Console) -> Result<Exit, Failure> {
    let about = request::object(&args.object.join("/"), &[ResourceKind::QueueAcl]).map_err(|_| {
        let why = "pass a QueueAcl, such as queueacl/prod; for other kinds, use kubectl describe";
        Failure::Usage(why.to_owned())
    })?;
    let source = args.source.source(console)?;
    let object: DynamicObject = serde_json::from_value(source.object(&about)?)
        .map_err(|error| Failure::Undecided(format!("cannot read {about}: {error}")))?;
    let entry = convert::queue_acl(&object);
    let width = console.look_out().width;
    let section = |title, table| section(title, table, width);
    let mut text = facts(&entry).text(false, width);
    let unreadable = convert::unreadable_conditions(&object).map(Failure::Undecided);
    text += &section("Conditions", unreadable.map_or_else(|| Ok(conditions(&entry.meta)), Err));
    if let Ok(spec) = &entry.spec {
        let configuration = source.configuration(&args.source, console);
        text += &section("ACLs", configuration.and_then(|configuration| acls(&configuration, spec)));
    }
    text += &section("Effect", effect(&source, &args.source, about));
    if let Some(cluster) = source.cluster() {
        text += &section("Events", events(cluster, &entry.meta));
    }
    console.out(&text)?;
    Ok(Exit::Clean)
}

/// Returns the content of the object, and its writers.
fn facts(QueueAclEntry { meta, spec, .. }: &QueueAclEntry) -> Table {
    let mut table = Table::new(["", ""]);
    let mut fact = |name: &str, value: String| table.row([format!("{name}:"), value]);
    fact("Name", meta.name.to_string());
    match spec {
        Ok(spec) => {
            let time = |time: Option<Timestamp>, none: &str| time.map_or_else(|| none.to_owned(), in_words);
            fact("Partition", spec.partition.clone());
            fact("Queue", spec.queue.clone());
            fact("Submit", words(spec.submit.as_ref()));
            fact("Admin", words(spec.admin.as_ref()));
            fact("Base ACL", format!("{:?}", spec.base_acl));
            fact("Begins", time(spec.not_before, "at once"));
            fact("Ends", time(spec.expires_at, "never"));
            spec.delegated_by.iter().for_each(|writer| fact("Delegated By", writer.user.clone()));
        }
        Err(problems) => problems.iter().for_each(|problem| fact("Invalid", problem.to_string())),
    }
    meta.created.iter().for_each(|time| fact("Created", time.to_string()));
    if let Some(last) = meta.touches.iter().max_by_key(|touch| touch.time) {
        fact("Last Writer", format!("{} ({}) {}", last.manager, last.operation, until(last.time)));
    }
    table
}

/// Names the holders of a right, and the ACL that is rendered for them.
fn words(grant: Option<&Grant>) -> String {
    let Some(grant) = grant else { return "<unset>".to_owned() };
    match grant_acl(grant).0 {
        Some(granted) => format!("{}, as {}", explanation::grants(&granted), granted.yaml()),
        None => "<invalid>".to_owned(),
    }
}

fn conditions(meta: &Meta) -> Table {
    let mut table = Table::new(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"]);
    for condition in meta.conditions.iter() {
        let is_current = condition.observed_generation == meta.generation;
        let before = if is_current { "" } else { "before the last change: " };
        let (since, message) =
            (condition.last_transition.to_string(), format!("{before}{}", condition.message));
        table.row([&*condition.type_, condition.status.as_str(), &*condition.reason, &since, &message]);
    }
    table
}

/// Returns the ACLs of the object's queue and its ancestors for the rights that the object sets.
fn acls(configuration: &Configuration, spec: &QueueAclSpec) -> Result<Table, Failure> {
    let tree = configuration.tree(&spec.partition)?;
    let mut table = Table::new(["QUEUE", "ACL", "SAYS", "WRITTEN IN"]);
    let nearest = tree.locate(&spec.queue).nearest();
    for (_, node) in nearest.into_iter().flat_map(|id| tree.lineage(id)) {
        // Administrators may submit, too.
        for right in Right::ALL.into_iter().filter(|right| *right == Right::Admin || spec.submit.is_some()) {
            let grants = node.grants(right);
            if !grants.acl.is_nobody() {
                let says = explanation::quoted(&grants.text);
                table.row([node.path.as_str(), right.key(), &says, &Origin::list(&grants.all_origins())]);
            }
        }
    }
    Ok(table)
}

/// Returns who gains and who loses by the object.
fn effect(source: &Source, args: &SourceArgs, about: ObjectRef) -> Result<Table, Failure> {
    let without = ObjectChange { deleted: vec![about], ..ObjectChange::default() };
    let (read, quiet) = (source.read(args)?, Console::silent());
    let with = source.evaluate(read.clone(), &ObjectChange::default(), quiet)?;
    Ok(comparison::between(&source.evaluate(read, &without, quiet)?, &with).table(false))
}

fn events(cluster: &Cluster, about: &Meta) -> Result<Table, Failure> {
    let mut table = Table::new(["TYPE", "REASON", "SEEN", "FROM", "MESSAGE"]);
    for event in cluster.events(ResourceKind::QueueAcl, about)? {
        let time = seen(&event).map(whole_seconds);
        let [type_, reason, from, message] =
            [event.type_, event.reason, event.reporting_component, event.message]
                .map(Option::unwrap_or_default);
        table.row([type_, reason, until(time), from, message]);
    }
    Ok(table)
}

/// Formats a table below its title, as wide as the terminal.
fn section(title: &str, table: Result<Table, Failure>, width: Option<usize>) -> String {
    match table {
        Ok(table) if table.is_empty() => format!("{title}: <none>\n"),
        Ok(table) => {
            let lines = table.text(true, width.map(|width| width.saturating_sub(2)));
            lines.lines().fold(format!("{title}:\n"), |text, line| text + "  " + line + "\n")
        }
        Err(failure) => format!("{title}: <unknown>: {}\n", visible(&failure.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_cannot_be_read_says_why() {
        let refused = Failure::Undecided("cannot read the events: not you".to_owned());
        assert_eq!(
            section("Events", Err(refused), None),
            "Events: <unknown>: cannot read the events: not you\n"
        );
        assert_eq!(section("Events", Ok(Table::new(["TYPE"])), None), "Events: <none>\n");
    }
}
