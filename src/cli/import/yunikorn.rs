//! The ACLs that stand in a queues.yaml, as `QueueAcl`s, and the way to them that never opens the cluster.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use super::manifests::{self, Granted};
use crate::access::diff::{Direction, between};
use crate::access::tree::{Grants, Origin, Tree};
use crate::api::convert;
use crate::cli::ask::SourceArgs;
use crate::cli::ask::cluster::Cluster;
use crate::cli::ask::configuration::Configuration;
use crate::cli::ask::files::Given;
use crate::cli::ask::rendered::QueueAclEntry;
use crate::cli::console::Console;
use crate::cli::findings::plural;
use crate::cli::input::Inputs;
use crate::cli::input::source::Source;
use crate::cli::{Exit, Failure};
use crate::model::acl::Acl;
use crate::model::admission::AccessControl;
use crate::model::admission::keys::{
    BYPASS_AUTH, EXTERNAL_GROUPS, EXTERNAL_USERS, SYSTEM_USERS, TRUST_CONTROLLERS,
};
use crate::text::go_regex::GoRegex;

/// What to import.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// The ConfigMap that is to hold the queues from now on, for queuewarden to start from
    #[arg(long, value_name = "NAME", default_value = "yunikorn-queues-base")]
    base_config_map: String,
}

/// Where the configuration comes from.
enum Opened {
    Files(Box<Given>),
    Cluster(Box<Cluster>),
}

/// Runs the command.
pub(super) fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let opened = args.open(console)?;
    let before = opened.configuration(args, console)?;
    let granted: Vec<Granted> = before.trees().iter().flat_map(inline).collect();
    let queue_acls = manifests::queue_acls(&granted);
    let policy = opened.policy(console);
    let after = with(before.written(), &entries(&queue_acls)?)?;
    if let Some(why) = differs(&before, &after) {
        return Err(Failure::Undecided(format!(
            "the QueueAcls would not mean what the queues.yaml says: {why}"
        )));
    }
    console.err(&args.steps());
    console.err(&format!(
        "compared: nobody may do more or less with {} than by what is written now\n",
        plural(queue_acls.len(), "QueueAcl")
    ));
    let objects: Vec<Value> = std::iter::once(args.config()).chain(policy).chain(queue_acls).collect();
    console.out(&manifests::text(&objects))?;
    Ok(Exit::Clean)
}

impl Args {
    fn open(&self, console: Console) -> Result<Opened, Failure> {
        if self.source.filename.is_empty() {
            return Cluster::connect(&self.source.cluster).map(|cluster| Opened::Cluster(Box::new(cluster)));
        }
        Given::read(&self.source.files(), console).map(|given| Opened::Files(Box::new(given)))
    }

    fn namespace(&self) -> &str {
        self.source.cluster.cluster_namespace.as_deref().unwrap_or("yunikorn")
    }

    /// It only looks on at first.
    fn config(&self) -> Value {
        json!({
            "apiVersion": "queuewarden.dev/v1alpha1",
            "kind": "YuniKornConfig",
            "metadata": {"name": "default"},
            "spec": {
                "namespace": self.namespace(),
                "base": {"configMap": self.base_config_map},
                "output": {"configMap": "yunikorn-configs"},
                "mode": "Observe",
            },
        })
    }

    /// The way that never opens the cluster: the base first, then what looks on, then what writes.
    fn steps(&self) -> String {
        let (namespace, base) = (self.namespace(), &self.base_config_map);
        format!(
            "The way there, in which access is never wider than now:\n\
             1. keep what YuniKorn reads now as the base:\n\
             \x20  kubectl -n {namespace} get configmap yunikorn-configs -o jsonpath='{{.data.queues\\.yaml}}' > queues.yaml\n\
             \x20  kubectl -n {namespace} create configmap {base} --from-file=queues.yaml\n\
             2. apply what is printed here, which only looks on (mode: Observe):\n\
             \x20  kubectl apply -f imported.yaml\n\
             3. see that nobody gains or loses anything:\n\
             \x20  queuewarden diff --from queues.yaml -f queues.yaml -f imported.yaml\n\
             \x20  kubectl wait yunikornconfig/default --for=condition=BaseResolved\n\
             4. where Git or Helm owns the key queues.yaml of yunikorn-configs, take it out there without deleting it in the cluster\n\
             5. let queuewarden write, once over the one who wrote before:\n\
             \x20  kubectl patch yunikornconfig default --type merge -p '{{\"spec\":{{\"mode\":\"Enforce\",\"adoption\":\"Force\"}}}}'\n"
        )
    }
}

impl Opened {
    fn configuration(&self, args: &Args, console: Console) -> Result<Configuration, Failure> {
        match self {
            Self::Files(given) => given.configuration(console),
            Self::Cluster(cluster) => cluster.read(&args.source.cluster, console),
        }
    }

    /// The access keys of the admission controller, if there are any.
    fn policy(&self, console: Console) -> Option<Value> {
        match self {
            Self::Files(given) => policy(&given.keys()),
            Self::Cluster(_) => {
                console.note("the admission controller's access keys are imported from files only: kubectl get configmap yunikorn-defaults yunikorn-configs -o yaml");
                None
            }
        }
    }
}

/// The `AdmissionPolicy` that says what the keys say, if any is written. A list that YuniKorn does not know is left to its key.
fn policy(keys: &BTreeMap<String, String>) -> Option<Value> {
    let (control, findings) = AccessControl::from_keys(keys);
    let readable = |key: &str| {
        keys.contains_key(key)
            && !findings.iter().any(|finding| finding.is_error() && finding.message.contains(key))
    };
    let mut spec = Map::new();
    for (key, field, value) in [
        (BYPASS_AUTH, "bypassAuth", control.bypass_auth),
        (TRUST_CONTROLLERS, "trustControllers", control.trust_controllers),
    ] {
        if readable(key) {
            spec.insert(field.to_owned(), json!(value));
        }
    }
    for (key, field, list) in [
        (SYSTEM_USERS, "systemUsers", &control.system_users),
        (EXTERNAL_USERS, "externalUsers", &control.external_users),
        (EXTERNAL_GROUPS, "externalGroups", &control.external_groups),
    ] {
        if readable(key) && list.is_known() {
            let patterns: Vec<&str> = list.patterns().iter().map(GoRegex::as_str).collect();
            spec.insert(field.to_owned(), json!(patterns));
        }
    }
    (!spec.is_empty()).then(|| {
        json!({
            "apiVersion": "queuewarden.dev/v1alpha1",
            "kind": "AdmissionPolicy",
            "metadata": {"name": "default"},
            "spec": spec,
        })
    })
}

/// What the text itself grants, besides the objects there are: each right that it says anything of.
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
    });
    queues.filter(|granted| granted.submit.is_some() || granted.admin.is_some()).collect()
}

/// What the text would mean as the base of these `QueueAcl`s.
fn with(text: &str, queue_acls: &[QueueAclEntry]) -> Result<Configuration, Failure> {
    let name = "queues.yaml";
    let source = Source { name: name.to_owned(), file_name: name.to_owned(), text: text.to_owned() };
    let mut inputs = Inputs::of(Vec::new());
    let base = inputs.add_base(source);
    let given = Given::of(inputs, Some(base), None, Console::silent())?;
    given.changed(queue_acls).configuration(Console::silent())
}

/// The objects as plans see them.
fn entries(queue_acls: &[Value]) -> Result<Vec<QueueAclEntry>, Failure> {
    let objects = queue_acls.iter().map(|object| serde_json::from_value::<DynamicObject>(object.clone()));
    let objects =
        objects.collect::<Result<Vec<_>, _>>().map_err(|error| Failure::Output(error.to_string()))?;
    Ok(objects.iter().map(convert::queue_acl).collect())
}

/// What somebody gains or loses, in few words.
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
