//! `queuewarden user-info refresh`: writes the aliases of pods that are older than the user-info webhook.
//!
//! Workloads need nothing: each pod gets its aliases when it is created, whatever its template says.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PartialObjectMeta, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::output::format::Table;
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::{Cluster, listed};
use crate::source::session::ServerArgs;
use queuewarden_api::restorers::COMMAND_LINE;
use queuewarden_client::call::call;
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::text_in_force;
use yunikorn::admission::patch::YUNIKORN;
use yunikorn::admission::request::USER_INFO;
use yunikorn::config::verdict;
use yunikorn_access::alias;
use yunikorn_access::user_info::{WrongAliases, wrong_aliases};

/// Help text on the effect and the exit codes.
const HELP: &str = "\
Lists the pods of YuniKorn that lack an alias which a grant needs, or have one that is not theirs, because \
they are older than the user-info webhook. When the scheduler starts again, YuniKorn would refuse the \
applications of the former, and give the latter the access of others. --apply writes the right aliases; \
nothing restarts. It takes the rights to list and to patch pods.

Exit codes: 0 all pods have the right aliases, or they are written, 1 some have not, 2 the command line is \
wrong, 3 it could not be decided.";

/// Work with the names of users that pods carry
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Command {
    /// List the pods with wrong aliases, or write the right ones
    Refresh(Refresh),
}

/// Options of `refresh`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
struct Refresh {
    /// Namespace of the pods, instead of the one in the kubeconfig
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Pods of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Write the right aliases
    #[arg(long)]
    apply: bool,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME")]
    cluster_namespace: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs the command.
///
/// # Errors
/// When the pods cannot be read, or the output cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let Command::Refresh(args) = &args.command;
    let cluster = Cluster::connect(&args.server)?;
    let mut notes = Vec::new();
    let pods = cluster.run(async |client| {
        let spec = cluster.spec(args.cluster_namespace.as_deref(), &mut notes).await?;
        let snapshot = cluster.readable(&spec, &mut notes).await?;
        let namespace = args.namespace.as_deref().unwrap_or(client.default_namespace());
        let namespace = (!args.all_namespaces).then_some(namespace);
        pods_with_wrong_aliases(&cluster, client, &granted(&snapshot), namespace).await
    });
    console.notes(&notes);
    let pods = pods?;
    if pods.is_empty() {
        console.note("all pods have the aliases that grants need, and no others");
        return Ok(Exit::Clean);
    }
    console.out(&table(&pods).text(true, console.look_out().width))?;
    if !args.apply {
        console.note("--apply writes the right aliases");
        return Ok(Exit::Findings);
    }
    let results = cluster.run(async |client| {
        let mut results = Vec::new();
        for pod in &pods {
            results.push(pod.refresh(client).await);
        }
        results
    });
    for (pod, result) in pods.iter().zip(&results) {
        match result {
            Ok(()) => console.note(&format!("pod {} is refreshed", pod.name)),
            Err(why) => console.note(&format!("pod {} is not refreshed: {why}", pod.name)),
        }
    }
    Ok(Exit::yes(results.iter().all(Result::is_ok)))
}

/// Returns the aliases that the ACLs in force name; none if these cannot be read.
pub(crate) fn granted(snapshot: &Snapshot) -> BTreeSet<String> {
    let config = verdict(&text_in_force(snapshot), &[], snapshot.version()).config;
    config.as_ref().map(alias::granted).unwrap_or_default()
}

/// A pod with wrong aliases.
pub(crate) struct StalePod {
    /// The namespace and the name.
    pub(crate) name: String,
    metadata: PartialObjectMeta<Pod>,
    wrong: WrongAliases,
}

/// Returns the pods of a namespace, or of all, that `YuniKorn` schedules, that have not ended, and that lack
/// one of these aliases or have one that is not theirs.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn pods_with_wrong_aliases(
    cluster: &Cluster,
    client: &Client,
    granted: &BTreeSet<String>,
    namespace: Option<&str>,
) -> Result<Vec<StalePod>, Failure> {
    if granted.is_empty() {
        return Ok(Vec::new());
    }
    let api: Api<Pod> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let running = format!("spec.schedulerName={YUNIKORN},status.phase!=Succeeded,status.phase!=Failed");
    let pods = listed(&api, ListParams::default().fields(&running), |pod| StalePod::of(pod, granted)).await;
    pods.map_err(|error| cluster.failure("the pods", &error))
}

impl StalePod {
    fn of(metadata: PartialObjectMeta<Pod>, granted: &BTreeSet<String>) -> Option<Self> {
        let wrong = wrong_aliases(metadata.annotations().get(USER_INFO)?, granted)?;
        let name = format!("{}/{}", metadata.namespace().unwrap_or_default(), metadata.name_any());
        Some(Self { name, metadata, wrong })
    }

    /// Returns whether it has an alias that is not its own.
    pub(crate) fn has_foreign(&self) -> bool {
        !self.wrong.foreign.is_empty()
    }

    /// Writes the aliases, unless somebody has changed the pod.
    async fn refresh(&self, client: &Client) -> Result<(), String> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &self.metadata.namespace().unwrap_or_default());
        let params = PatchParams { field_manager: Some(COMMAND_LINE.to_owned()), ..PatchParams::default() };
        let version = self.metadata.resource_version();
        let annotations = json!({USER_INFO: self.wrong.text});
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
        let written =
            call(pods.patch_metadata(&self.metadata.name_any(), &params, &Patch::Merge(patch))).await;
        written.map(drop).map_err(|error| error.to_string())
    }
}

fn table(pods: &[StalePod]) -> Table {
    let mut table = Table::new(["POD", "USER", "LACKS THE ALIAS OF", "HAS WRONGLY"]);
    let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    for StalePod { name, wrong, .. } in pods {
        table.row([name.clone(), wrong.user.clone(), list(&wrong.lacks), list(&wrong.foreign)]);
    }
    table
}
