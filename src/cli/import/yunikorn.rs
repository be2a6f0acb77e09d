//! Imports the ACLs of a queues.yaml as `QueueAcl`s.

use serde_json::{Value, json};

use super::answer::ImportAnswer;
use super::manifests::{self, Granted};
use super::report::messages;
use super::way::Way;
use crate::cli::findings::plural;
use crate::cli::input::Inputs;
use crate::cli::input::object::Kind;
use crate::cli::input::source::Source;
use crate::cli::manifest::{object, to_yaml};
use crate::cli::query::SourceArgs;
use crate::cli::query::configuration::Configuration;
use crate::cli::query::files::Given;
use crate::cli::query::output::AnswerFormat;
use crate::cli::{Console, Exit, Failure};
use queuewarden_api::answer::{Texts, VERSION};
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::settings;
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::acl::Acl;
use yunikorn::config::Flattened;
use yunikorn_access::diff::{Direction, between};
use yunikorn_access::tree::{Grants, Origin, Tree};

/// Options of the import from `YuniKorn`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// ConfigMap that is to hold the queues from now on, as the base of queuewarden [default:
    /// yunikorn-defaults if it holds them now, else yunikorn-queues]
    #[arg(long, value_name = "NAME")]
    pub(super) base_config_map: Option<String>,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Runs the command.
pub(super) fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let session = args.source.open(console)?;
    let before = &session.configuration;
    if before.trees().is_empty() {
        return Err(Failure::Undecided(format!(
            "{} has no partition: there is nothing to import",
            before.name()
        )));
    }
    let granted: Vec<Granted> = before.trees().iter().flat_map(inline).collect();
    let queue_acls = manifests::queue_acls(&granted);
    let merged = session.merged(&args.source.cluster)?;
    let way = Way::new(args, &merged);
    let after = with(before.written(), &queue_acls)?;
    if let Some(why) = differs(before, &after) {
        return Err(Failure::Undecided(format!(
            "the QueueAcls would not mean what the queues.yaml says: {why}"
        )));
    }
    let messages = messages(args.format, console);
    messages.err(&way.steps);
    messages.err(&format!(
        "compared: nobody may do more or less with {} than by what is written now\n",
        plural(queue_acls.len(), "QueueAcl")
    ));
    let objects = std::iter::once(way.config).chain(policy(&merged)).chain(queue_acls);
    let answer = ImportAnswer {
        version: VERSION,
        imported: true,
        manifests: objects.collect(),
        way: Some(way.steps),
        ..ImportAnswer::default()
    };
    console.out(&args.format.show(|| to_yaml(&answer.manifests), || &answer)?)?;
    Ok(Exit::Clean)
}

/// Returns the `AdmissionPolicy` that equals the keys, if any is set. An invalid list is left to its key.
fn policy(merged: &Flattened) -> Option<Value> {
    let spec = json!(settings(merged));
    (spec != json!({})).then(|| object(Kind::AdmissionPolicy, SINGLETON, &spec))
}

/// Returns the access that the text itself grants, without that of existing objects: each right that it sets.
fn inline(tree: &Tree) -> Vec<Granted> {
    let written = |grants: &Grants| {
        let own = grants.parts.iter().filter(|(origin, _)| matches!(origin, Origin::Text(_)));
        own.map(|(_, acl)| acl.clone()).reduce(|all: Acl, acl| all.union(&acl))
    };
    let queues = tree.queues().map(|(_, node)| Granted {
        partition: tree.partition().to_owned(),
        path: node.path.clone(),
        submit: written(&node.submit),
        admin: written(&node.admin),
        base_acl: BaseAcl::Replace,
    });
    queues.filter(|granted| granted.submit.is_some() || granted.admin.is_some()).collect()
}

/// Returns the configuration with the text as the base of these `QueueAcl`s.
fn with(text: &str, queue_acls: &[Value]) -> Result<Configuration, Failure> {
    let source = |name: &str, text| Source { name: name.to_owned(), text };
    let mut inputs = Inputs::new(vec![source("imported.yaml", to_yaml(queue_acls))]);
    inputs.set_base(source("queues.yaml", text.to_owned()));
    Given::from_inputs(inputs, None, Console::silent())?.configuration(Console::silent())
}

/// Describes the first change of access, if there is one.
fn differs(before: &Configuration, after: &Configuration) -> Option<String> {
    let partitions = between(before.trees(), after.trees());
    let mut differing = partitions.iter().filter(|partition| !partition.diff.is_empty());
    let partition = differing.next()?;
    let change = partition.diff.kept.changes.first();
    Some(change.map_or_else(
        || format!("the queues of partition {} differ", partition.partition),
        |change| {
            let direction = match change.direction {
                Direction::Gains => "gains",
                Direction::Loses => "loses",
            };
            format!("{} {direction} the right to {}", change.subject, change.right.verb())
        },
    ))
}
