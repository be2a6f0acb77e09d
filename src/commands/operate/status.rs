//! `queuewarden status`: shows the state of an installation and of its objects.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::output::console::wrapped;
use crate::output::findings::by_cause;
use crate::output::format::{AnswerFormat, Table, visible};
use crate::output::{Console, Exit, Failure};
use crate::source::checks::{Level, Line, ROLE, Unread as _, admission, fail_open};
use crate::source::installed::{
    Attention, InstalledState, ObservedObject, OperatorState, QueueCount, ReachArgs, SchedulerState, queues,
};
use go_compat::diag::listed;
use queuewarden_api::answer::VERSION;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::conditions::Type;
use queuewarden_plan::snapshot::ConfigSpec;

/// Maximum number of causes that are shown; `--all` shows all of them.
const SHOWN: usize = 20;
/// Maximum number of objects named for each of them.
const NAMED: usize = 6;
/// Exit codes of commands about an installation.
pub const EXIT_CODES: &str = "\
Exit codes: 0 no problems, 1 problems were found, 2 the command line is invalid, 3 unknown, or the cluster does not \
respond.";

/// Show the state of queuewarden in a cluster: whether the scheduler runs the written configuration, which
/// replica writes, how many objects are in force, and which need attention
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct StatusArgs {
    #[command(flatten)]
    reach: ReachArgs,
    /// Show all objects that are not ready, not only the first 6 for each of 20 causes
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: AnswerFormat,
}

/// Output of `status -o json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// True if the YuniKornConfig and all objects are Ready, a replica writes, and the scheduler runs the
    /// written text.
    pub ready: bool,
    /// The YuniKornConfig; absent if it does not exist or is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigState>,
    /// The reason why the YuniKornConfig is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_problem: Option<String>,
    /// The state of the scheduler.
    pub scheduler: SchedulerState,
    /// The state of the operator.
    pub operator: OperatorState,
    /// The queues in force; absent if they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<QueueCount>,
    /// The next time at which a grant in force ends; absent if none has an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_end: Option<Timestamp>,
    /// The objects, by kind.
    pub kinds: Vec<KindState>,
    /// The objects that are not Ready.
    pub attention: Vec<Attention>,
    /// The lines of `check` about open access, fail-open and admission, if they report a problem.
    pub open: Vec<Line>,
    /// Things that could not be read.
    pub problems: Vec<String>,
    /// What lets this user read them; absent if no right is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The YuniKornConfig.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigState {
    /// True if it is Ready.
    pub ready: bool,
    /// Enforce or Observe.
    pub mode: String,
    /// `namespace/name` of the base ConfigMap.
    pub base: String,
    /// `namespace/name` of the output ConfigMap.
    pub output: String,
    /// The number of times that a new text was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// The objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindState {
    /// The kind.
    pub kind: String,
    /// The number of objects.
    pub total: usize,
    /// The number of objects that are Ready.
    pub ready: usize,
    /// The number of objects that are in the ConfigMap, or that the scheduler still runs, earlier versions
    /// included; absent for kinds that grant nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<usize>,
    /// The number of objects that are not Ready, by reason.
    pub reasons: BTreeMap<String, usize>,
}

/// Runs the command.
///
/// # Errors
/// When the cluster cannot be reached, or the output cannot be written.
pub fn run(args: &StatusArgs, console: Console) -> Result<Exit, Failure> {
    let (cluster, spec) = args.reach.open(console)?;
    let state = cluster.run(async |client| Box::pin(args.reach.read(&cluster, client, &spec)).await);
    let answer = answer(&spec, state);
    console.out(&args.output.show(|| text(&answer, args.all, console.look_out().width), || &answer)?)?;
    Ok(answer.exit())
}

impl StatusAnswer {
    /// Returns the exit code: something that is not in order takes precedence over something unknown.
    fn exit(&self) -> Exit {
        let config = self.config.as_ref().map_or(self.config_problem.is_some(), |config| config.ready);
        let leads = self.operator.leader.is_some() || self.operator.unknown;
        if !config || !leads || !self.attention.is_empty() || self.scheduler.agrees() == Some(false) {
            Exit::Findings
        } else if self.ready {
            Exit::Clean
        } else {
            Exit::Undecided
        }
    }
}

/// Builds the answer. A part that cannot be read is reported in its field.
fn answer(spec: &ConfigSpec, state: InstalledState) -> StatusAnswer {
    let InstalledState { snapshot, scheduler, operator, objects } = state;
    let mut problems = Vec::new();
    let mut forbidden = operator.forbidden;
    let snapshot = snapshot.map_err(|failure| {
        forbidden |= failure.is_forbidden();
        problems.push(failure.to_string());
    });
    let snapshot = snapshot.ok();
    let (mut config, mut kinds, mut attention) = (None, Vec::new(), Vec::new());
    let (mut open, mut next_end, mut config_problem) = (Vec::new(), None, None);
    for (kind, objects) in objects {
        match objects {
            Ok(objects) => {
                attention.extend(objects.iter().filter_map(ObservedObject::attention));
                next_end = objects.iter().filter_map(end).chain(next_end).min();
                match kind {
                    ResourceKind::YuniKornConfig => {
                        config = objects.first().map(|one| config_state(spec, one));
                        open.extend(objects.first().and_then(fail_open));
                    }
                    _ => kinds.push(kind_state(kind, &objects)),
                }
            }
            Err(error) => {
                forbidden |= error.is_forbidden();
                if kind == ResourceKind::YuniKornConfig {
                    config_problem = Some(error.to_string());
                }
                problems.push(format!("the objects of kind {} are not known: {error}", kind.name()));
            }
        }
    }
    open.extend(snapshot.as_ref().map(admission).filter(|line| line.level > Level::Ok));
    if config.is_none() && config_problem.is_none() {
        // Without a YuniKornConfig, no grant ends, because the output is not changed.
        next_end = None;
    }
    let queues = snapshot.as_ref().and_then(queues);
    let ready = config.as_ref().is_some_and(|config| config.ready)
        && attention.is_empty()
        && problems.is_empty()
        && operator.leader.is_some()
        && scheduler.agrees() == Some(true);
    StatusAnswer {
        version: VERSION,
        ready,
        config,
        config_problem,
        scheduler,
        operator,
        queues,
        next_end,
        kinds,
        attention,
        open,
        problems,
        remedy: forbidden.then(|| ROLE.to_owned()),
    }
}

/// Returns the end of the grants of an object that are in force.
fn end(object: &ObservedObject) -> Option<Timestamp> {
    object.field("/status/inForce/expiresAt")?.as_str()?.parse().ok()
}

fn config_state(spec: &ConfigSpec, config: &ObservedObject) -> ConfigState {
    let path = |name: &str| format!("{}/{name}", spec.namespace);
    ConfigState {
        ready: config.holds(Type::Ready),
        mode: format!("{:?}", spec.mode),
        base: path(&spec.base_config_map),
        output: path(&spec.output_config_map),
        revision: config.field("/status/revision").and_then(Value::as_u64),
    }
}

fn kind_state(kind: ResourceKind, objects: &[ObservedObject]) -> KindState {
    let mut reasons = BTreeMap::new();
    for attention in objects.iter().filter_map(ObservedObject::attention) {
        let count: &mut usize = reasons.entry(attention.reason).or_default();
        *count = count.saturating_add(1);
    }
    let count = |counts: fn(&ObservedObject) -> bool| objects.iter().filter(|object| counts(object)).count();
    KindState {
        kind: kind.name().to_owned(),
        total: objects.len(),
        ready: count(|object| object.holds(Type::Ready)),
        in_force: (kind != ResourceKind::QueueAccessTest)
            .then(|| count(|object| object.field("/status/inForce").is_some())),
        reasons,
    }
}

/// Formats the answer for people.
fn text(answer: &StatusAnswer, all: bool, width: Option<usize>) -> String {
    // The first name is the longest.
    let fact = |name: &str, fact: &str| format!("{name:14}   {}\n", wrapped(&visible(fact), 17, width));
    let mut head = fact("YuniKornConfig", &config_line(answer));
    head += &fact("Scheduler", &answer.scheduler.line());
    head += &fact("Operator", &answer.operator.line());
    let queues = answer.queues.map_or_else(
        || "not known".to_owned(),
        |queues| format!("{}, {} of them with an ACL", queues.total, queues.with_acl),
    );
    head += &fact("Queues", &queues);
    if let Some(end) = answer.next_end {
        head += &fact("Next end", &end.to_string());
    }
    for problem in &answer.problems {
        head += &fact("Problem", problem);
    }
    if let Some(remedy) = &answer.remedy {
        head += &fact("Remedy", remedy);
    }
    let mut kinds = Table::new(["KIND", "TOTAL", "READY", "IN FORCE", "NOT READY"]);
    for kind in &answer.kinds {
        let reasons: Vec<String> =
            kind.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let counts = [Some(kind.total), Some(kind.ready), kind.in_force];
        let [total, ready, in_force] =
            counts.map(|count| count.map(|count| count.to_string()).unwrap_or_default());
        kinds.row([kind.kind.clone(), total, ready, in_force, reasons.join(", ")]);
    }
    // The reason why the YuniKornConfig is not Ready is among the objects.
    let shown = |line: &&Line| answer.attention.iter().any(|object| object.message.starts_with(&line.found));
    let open: String =
        answer.open.iter().filter(|line| !shown(line)).map(|line| block(line, width)).collect();
    format!("{head}\n{}{open}{}", kinds.text(true, width), attention(&answer.attention, all, width))
}

fn config_line(answer: &StatusAnswer) -> String {
    let config = match (&answer.config, &answer.config_problem) {
        (Some(config), _) => config,
        (None, Some(problem)) => return format!("not known: {problem}"),
        (None, None) => {
            return "no YuniKornConfig exists, so nothing is written. Apply one: kubectl apply --server-side -k \
                manifests/config"
                .to_owned();
        }
    };
    let ready = if config.ready { "Ready" } else { "not Ready" };
    let revision = config.revision.map(|revision| format!(", revision {revision}")).unwrap_or_default();
    format!("{ready}, {}, {} from {}{revision}", config.mode, config.output, config.base)
}

fn block(line: &Line, width: Option<usize>) -> String {
    let remedy = line.remedy.iter().map(|remedy| format!("  -> {}\n", wrapped(&visible(remedy), 5, width)));
    let found = wrapped(&format!("{}: {}", line.check, visible(&line.found)), 0, width);
    format!("\n{found}\n{}", remedy.collect::<String>())
}

/// Formats a block for each cause, because messages are long and contain the remedy: objects with the same
/// cause are grouped, and objects that wait for the `YuniKornConfig` follow it.
fn attention(objects: &[Attention], all: bool, width: Option<usize>) -> String {
    let mut causes = by_cause(objects, |object| (&object.reason, &object.message));
    let config = ResourceKind::YuniKornConfig.name();
    causes.sort_by_key(|of| (of.iter().all(|object| object.kind != config), Reverse(of.len())));
    let [most, of_each] = if all { [usize::MAX; 2] } else { [SHOWN, NAMED] };
    let blocks = causes.iter().take(most).filter_map(|of| {
        let Attention { reason, message, .. } = of.first()?;
        let names: Vec<String> = of.iter().map(|object| format!("{}/{}", object.kind, object.name)).collect();
        let title = visible(&format!("{}: {reason}", listed(&names, of_each, names.len())));
        let message = wrapped(&visible(message), 2, width);
        Some(format!("\n{}\n  {message}\n", wrapped(&title, 0, width)))
    });
    let more: usize = causes.iter().skip(most).map(Vec::len).sum();
    let rest = (more > 0).then(|| format!("\nand {more} more: --all shows them\n"));
    blocks.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewarden_client::call::CallError;
    use queuewarden_plan::snapshot::Snapshot;

    fn object(kind: &str, name: &str, reason: &str, message: &str) -> Attention {
        Attention { kind: kind.into(), name: name.into(), reason: reason.into(), message: message.into() }
    }

    #[test]
    fn objects_with_one_cause_stand_together_below_the_cause() {
        let waits =
            |name: &str| object("QueueAcl", name, "ConfigNotReady", "the YuniKornConfig is not ready");
        let lost = object(
            "QueueAcl",
            "lost",
            "QueueNotFound",
            "there is no queue `root.prd`; did you mean `root.prod`?",
        );
        let config = object("YuniKornConfig", "default", "BaseInvalid", "line 7: not YAML");
        let mut objects = vec![lost];
        objects.extend(["a", "b", "c"].map(waits));
        objects.push(config);
        let expected = "
YuniKornConfig/default: BaseInvalid
  line 7: not YAML

QueueAcl/a, QueueAcl/b, QueueAcl/c:
ConfigNotReady
  the YuniKornConfig is not ready

QueueAcl/lost: QueueNotFound
  there is no queue `root.prd`; did you
  mean `root.prod`?
";
        assert_eq!(attention(&objects, false, Some(40)), expected);
    }

    /// Returns the answer about an installation whose kinds are these.
    fn answered(objects: Vec<(ResourceKind, Result<Vec<ObservedObject>, CallError>)>) -> StatusAnswer {
        let leads = OperatorState { leader: Some("a".to_owned()), ..OperatorState::default() };
        let snapshot = Ok(Snapshot::empty(Timestamp::UNIX_EPOCH));
        let state =
            InstalledState { snapshot, scheduler: SchedulerState::default(), operator: leads, objects };
        answer(&ConfigSpec::default(), state)
    }

    #[test]
    fn what_is_forbidden_is_unknown_and_the_role_is_named() {
        let forbidden = || CallError::Refused { code: 403, message: "yunikornconfigs is forbidden".into() };
        let unknown = answered(vec![(ResourceKind::YuniKornConfig, Err(forbidden()))]);
        let shown = text(&unknown, false, None);
        assert!(shown.starts_with("YuniKornConfig   not known: yunikornconfigs is forbidden\n"), "{shown}");
        assert!(shown.contains("--clusterrole queuewarden-checker"), "{shown}");
        assert_eq!(unknown.exit(), Exit::Undecided);
        let none = answered(vec![(ResourceKind::YuniKornConfig, Ok(Vec::new()))]);
        let shown = text(&none, false, None);
        assert!(shown.starts_with("YuniKornConfig   no YuniKornConfig exists, so nothing"), "{shown}");
        assert_eq!((none.exit(), none.remedy), (Exit::Findings, None));
    }

    #[test]
    fn without_a_configuration_nothing_ends() {
        let ends = || {
            let object = serde_json::json!({
                "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "a"},
                "status": {"inForce": {"expiresAt": "2027-01-01T00:00:00Z"}},
            });
            let object = ObservedObject::new(ResourceKind::QueueAcl, serde_json::from_value(object).unwrap());
            (ResourceKind::QueueAcl, Ok(vec![object]))
        };
        let end = |configs| answered(vec![(ResourceKind::YuniKornConfig, configs), ends()]).next_end;
        assert_eq!(end(Ok(Vec::new())), None);
        let unread = CallError::Refused { code: 403, message: String::new() };
        assert_eq!(end(Err(unread)), Some("2027-01-01T00:00:00Z".parse().unwrap()));
    }

    #[test]
    fn what_is_cut_is_counted() {
        let same: Vec<_> =
            (0..9).map(|number| object("QueueAcl", &number.to_string(), "Pending", "m")).collect();
        assert!(attention(&same, false, None).contains("QueueAcl/5 and 3 more: Pending\n"));
        assert!(attention(&same, true, None).contains("QueueAcl/8: Pending\n"));
        let each = |number: usize| object("QueueAcl", &number.to_string(), "Invalid", &number.to_string());
        let others: Vec<_> = (0..SHOWN + 2).map(each).collect();
        assert!(attention(&others, false, None).ends_with("\nand 2 more: --all shows them\n"));
        assert_eq!(attention(&others, true, None).matches(": Invalid\n").count(), SHOWN + 2);
    }
}
