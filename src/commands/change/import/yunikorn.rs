//! Imports the ACLs of a queues.yaml as `QueueAcl`s.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{Accepted, ImportAnswer, messages, show};
use super::manifests::{self, Granted};
use super::steps::{ImportTarget, Steps};
use crate::output::findings::plural;
use crate::output::format::AnswerFormat;
use crate::output::manifest::{object, to_yaml};
use crate::output::text::Source;
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::ClusterArgs;
use crate::source::configuration::Configuration;
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::Kind;
use crate::source::session::{Source as From, SourceArgs};
use go_compat::diag::Diagnostic;
use go_compat::yaml::EDIT;
use go_compat::yaml::edit::{self, Edit};
use queuewarden_api::answer::VERSION;
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_import::FileDiagnostic;
use queuewarden_plan::snapshot::{BaseAcl, ConfigSpec, Mode, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ResourceKind, managed_keys, settings};
use yunikorn::acl::{Acl, codes};
use yunikorn::config::{Config, Flattened};
use yunikorn::right::Right;
use yunikorn_access::diff::{Direction, between};
use yunikorn_access::tree::{Grants, Origin, Tree};

/// The Service that `YuniKorn`'s chart creates for the scheduler, and the port of its REST service.
const SERVICE: &str = "yunikorn-service";
const PORT: u16 = 9080;

/// Options of the import from `YuniKorn`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ImportYunikornArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// ConfigMap that is to hold the queues from now on, as the base of queuewarden [default:
    /// yunikorn-defaults if it holds them now, else yunikorn-queues]
    #[arg(long, value_name = "NAME")]
    pub(super) base_config_map: Option<String>,
    /// Print the queues.yaml without the ACLs that become QueueAcls, instead of the objects
    #[arg(long)]
    queues: bool,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Runs the command.
pub(super) fn run(args: &ImportYunikornArgs, console: Console) -> Result<Exit, Failure> {
    let source = args.source.source(console)?;
    let target = match target(&args.source.cluster, &source)? {
        Found::Unmanaged(target) => target,
        Found::Managed(by) => {
            console.note(&format!("already managed: {by}, so there is nothing to import"));
            let answer = ImportAnswer { version: VERSION, ..ImportAnswer::default() };
            console.out(&args.format.show(String::new, || &answer)?)?;
            return Ok(Exit::Clean);
        }
    };
    let session = source.session(&args.source, console)?;
    let before = &session.configuration;
    if before.view.trees.is_empty() {
        return Err(Failure::Undecided(format!(
            "{} has no partition: there is nothing to import",
            before.name()
        )));
    }
    let mut granted: Vec<Granted> = before.view.trees.iter().flat_map(inline).collect();
    let (base, staying) = take_out(before.text(), &before.config, &mut granted)
        .map_err(|error| Failure::Undecided(format!("the ACLs cannot leave the base: {error}")))?;
    let queue_acls = manifests::queue_acls(&granted);
    // With the ACLs in the base, and after the last step.
    for text in [before.text(), &base] {
        if let Some(why) = differs(before, &with(text, &queue_acls)?) {
            return Err(Failure::Undecided(format!(
                "the QueueAcls would differ from the queues.yaml: {why}"
            )));
        }
    }
    let merged = session.merged(&args.source.cluster)?;
    let steps = Steps::new(args, &target, &merged, before.text(), !queue_acls.is_empty());
    let dropped = before.diagnostics.iter().filter(|found| codes::DROPS.contains(&found.code)).cloned();
    let (source, findings) = before.drawn(dropped.chain(staying));
    let findings: Vec<_> = findings.map(|diagnostic| FileDiagnostic { file: Some(0), diagnostic }).collect();
    let sources = std::slice::from_ref(source);
    let found = ImportAnswer::new(sources, &findings, None, &Accepted::default());
    let messages = messages(args.format, console);
    show(sources, findings, messages);
    if !args.queues {
        messages.err(&steps.steps);
    }
    messages.err(&format!(
        "compared: with {}, nobody may do more or less than now\n",
        plural(queue_acls.len(), "QueueAcl")
    ));
    let objects = std::iter::once(steps.config).chain(policy(&merged)).chain(queue_acls);
    let answer = ImportAnswer {
        imported: true,
        manifests: objects.collect(),
        queues: Some(base),
        steps: Some(steps.steps),
        ..found
    };
    let text = || match &answer.queues {
        Some(queues) if args.queues => queues.clone(),
        _ => to_yaml(&answer.manifests),
    };
    console.out(&args.format.show(text, || &answer)?)?;
    Ok(Exit::Clean)
}

/// An installation of `YuniKorn`.
enum Found {
    /// One that queuewarden is to manage.
    Unmanaged(ImportTarget),
    /// One that queuewarden manages, and what shows that.
    Managed(String),
}

/// Finds the installation. The `YuniKornConfig` that the import prints only observes, so it must not replace
/// another that writes.
fn target(args: &ClusterArgs, source: &From) -> Result<Found, Failure> {
    let named = args.cluster_namespace.as_deref();
    let (spec, output) = match source {
        From::Files(given) => {
            let snapshot = &given.snapshot;
            let config = snapshot.config.as_ref().filter(|_| has_config(given));
            // A manifest that was never applied manages nothing.
            let applied = config.filter(|config| !config.meta.conditions.is_empty());
            if applied.is_some_and(|config| writes(config.spec.as_ref().ok())) {
                return Ok(Found::Managed(managing()));
            }
            let spec = config.and_then(|config| config.spec.clone().ok());
            (spec.or_else(|| of_maps(given)), snapshot.output.clone())
        }
        From::Cluster(cluster) => {
            let config = cluster.config().map_err(|error| cluster.failure("the YuniKornConfig", &error))?;
            // An invalid one may have been valid, and in force, before.
            let Ok(spec) = config.map(|config| config.spec).transpose() else {
                return Ok(Found::Managed(managing()));
            };
            if writes(spec.as_ref()) {
                return Ok(Found::Managed(managing()));
            }
            let here = ConfigSpec {
                namespace: named.map_or_else(|| spec.clone().unwrap_or_default().namespace, str::to_owned),
                ..spec.clone().unwrap_or_default()
            };
            // The failure to read the ConfigMaps is reported when the queues are read from them.
            let snapshot = cluster.run(async |_| cluster.readable(&here, &mut Vec::new()).await).ok();
            (spec, snapshot.and_then(|snapshot| snapshot.output))
        }
    };
    if let Some(output) = output.filter(|output| !managed_keys(output).is_empty()) {
        return Ok(Found::Managed(format!("queuewarden wrote ConfigMap {}", output.name)));
    }
    let ConfigSpec { namespace, scheduler, .. } = spec.unwrap_or_default();
    let namespace = named.map_or(namespace, str::to_owned);
    let of_service = || format!("http://{SERVICE}.{namespace}:{PORT}");
    let scheduler_url = args.scheduler_url.clone().or_else(|| Some(scheduler?.url));
    Ok(Found::Unmanaged(ImportTarget { scheduler_url: scheduler_url.unwrap_or_else(of_service), namespace }))
}

fn managing() -> String {
    format!("{} is in force", ResourceKind::YuniKornConfig.object(SINGLETON))
}

fn writes(spec: Option<&ConfigSpec>) -> bool {
    spec.is_some_and(|spec| spec.mode == Mode::Enforce)
}

fn has_config(given: &FileSource) -> bool {
    given.inputs.of_kind(ResourceKind::YuniKornConfig).next().is_some()
}

/// Returns settings with the namespace of `YuniKorn`'s ConfigMaps, if one of them names it.
fn of_maps(given: &FileSource) -> Option<ConfigSpec> {
    let maps = given.inputs.of_kind(Kind::ConfigMap);
    let mut own = maps.filter(|map| [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS].contains(&map.name.as_str()));
    let namespace = own.find(|map| !map.namespace.is_empty())?.namespace.clone();
    Some(ConfigSpec { namespace, ..ConfigSpec::default() })
}

/// Returns the text without the ACLs that become objects: they let nobody in. One that cannot be changed
/// alone stays in the text and becomes no object, with a finding.
fn take_out(
    text: &str,
    config: &Config,
    granted: &mut [Granted],
) -> Result<(String, Vec<Diagnostic>), Diagnostic> {
    let mut acls = Vec::new();
    for Granted { partition, path, submit, admin, .. } in granted {
        let queue = config.partition(partition).and_then(|partition| partition.queue(path));
        for (right, acl) in Right::ALL.into_iter().zip([submit, admin]) {
            let edit = queue.filter(|_| acl.is_some()).and_then(|queue| queue.edit(right, &Acl::nobody()));
            acls.extend(queue.zip(edit).map(|(queue, edit)| (queue, right, acl, edit)));
        }
    }
    let edits: Vec<Edit> = acls.iter().map(|(.., edit)| edit.clone()).collect();
    let mut refused: BTreeMap<_, _> = edit::refused(text, &edits)?.into_iter().collect();
    let (mut edits, mut staying) = (Vec::new(), Vec::new());
    for (at, (queue, right, acl, edit)) in acls.into_iter().enumerate() {
        let shared = || {
            let shared = queue.location.as_ref().is_some_and(|location| location.shared);
            shared.then(|| Diagnostic::error(EDIT, "it is written through a YAML anchor, alias or merge key"))
        };
        let Some(why) = refused.remove(&at).or_else(shared) else {
            edits.push(edit);
            continue;
        };
        *acl = None;
        let (key, message) = (right.key(), &why.message);
        let stays =
            format!("`{key}` of queue `{}` becomes no QueueAcl and stays in the base: {message}", queue.path);
        staying.push(
            Diagnostic { help: why.help, ..Diagnostic::warning(EDIT, stays) }.at(queue.acl(right).span),
        );
    }
    Ok((edit::apply(text, &edits)?, staying))
}

/// Returns the `AdmissionPolicy` that equals the keys, if any is set. An invalid list is left to its key.
fn policy(merged: &Flattened) -> Option<Value> {
    let spec = json!(settings(merged));
    (spec != json!({})).then(|| object(ResourceKind::AdmissionPolicy, SINGLETON, &spec))
}

/// Returns each right that the text itself sets, without the grants of existing objects.
fn inline(tree: &Tree) -> Vec<Granted> {
    let written = |grants: &Grants| {
        let own = grants.parts.iter().filter(|(origin, _)| matches!(origin, Origin::Text(_)));
        own.map(|(_, acl)| acl.clone()).reduce(|all: Acl, acl| all.union(&acl))
    };
    let queues = tree.queues().map(|(_, node)| Granted {
        partition: tree.partition().to_owned(),
        path: node.path.clone(),
        submit: written(node.grants(Right::Submit)),
        admin: written(node.grants(Right::Admin)),
        base_acl: BaseAcl::Replace,
    });
    queues.filter(|granted| granted.submit.is_some() || granted.admin.is_some()).collect()
}

/// Returns the configuration with the text as the base of these `QueueAcl`s.
fn with(text: &str, queue_acls: &[Value]) -> Result<Configuration, Failure> {
    let mut inputs = Inputs::new(vec![Source::new("imported.yaml", to_yaml(queue_acls))]);
    inputs.set_base(Source::new("queues.yaml", text));
    let quiet = Console::silent();
    FileSource::new(inputs, None).checked(quiet)?.configuration(quiet)
}

/// Describes the first change of access, if there is one.
fn differs(before: &Configuration, after: &Configuration) -> Option<String> {
    let partitions = between(&before.view.trees, &after.view.trees);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ACLs as people write them, some with names that `YuniKorn` drops.
    const ACLS: [&str; 7] =
        ["", "'*'", "\" \"", "'ann,bob'", "\"bob dev\"", "' data.eng,ops'", "'system:node:x'"];

    /// Returns four queues with these ACLs. The last ACL is written once and used twice.
    fn queues(acls: &[(&str, &str)]) -> String {
        let acl = |at: usize| {
            let (submit, admin) = acls[at];
            format!("submitacl: {submit}, adminacl: {admin}")
        };
        format!(
            "partitions:\n- name: default\n  queues:\n  - {{name: root, {}, queues: [{{name: a, {}, # one\n    queues: \
             [{{name: b, {}}}, &s {{name: s, {}}}]}}, *s]}}\n",
            acl(0),
            acl(1),
            acl(2),
            acl(3)
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn nobody_gains_or_loses_when_the_acls_leave_the_base(
            acls in prop::collection::vec((prop::sample::select(&ACLS), prop::sample::select(&ACLS)), 4),
        ) {
            let text = queues(&acls);
            let before = with(&text, &[]).unwrap();
            let mut granted: Vec<_> = before.view.trees.iter().flat_map(inline).collect();
            let (base, staying) = take_out(&text, &before.config, &mut granted).unwrap();
            let objects = manifests::queue_acls(&granted);
            for text in [&text, &base] {
                prop_assert_eq!(differs(&before, &with(text, &objects).unwrap()), None, "{}", text);
            }
            let (submit, admin) = acls[3];
            let shared = [submit, admin].iter().filter(|acl| !acl.is_empty()).count();
            prop_assert_eq!(staying.len(), 2 * shared, "{:?}", staying);
            // Without its objects, the base only lets in the names of the shared queue.
            let partition = &with(&base, &[]).unwrap().config.partitions[0];
            for queue in partition.queues().filter(|queue| queue.path.leaf() != "s") {
                for right in Right::ALL {
                    prop_assert!(["", " "].contains(&queue.acl(right).value.as_str()), "{base}");
                }
            }
        }
    }
}
