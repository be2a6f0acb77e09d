//! `queuewarden user-info refresh`: writes the aliases of pods that are older than the user-info webhook.
//! Workloads are not changed, because pods get their aliases when they are created, independent of the
//! template.

use crate::output::format::Table;
use crate::output::{Console, Exit, Failure};
use crate::source::aliases::{StalePod, granted, pods_with_wrong_aliases};
use crate::source::cluster::{Cluster, ServerArgs};

/// Help text on the effect and the exit codes.
const HELP: &str = "\
Lists the pods of YuniKorn with missing or foreign aliases, because they are older than the user-info webhook. \
When the scheduler restarts, YuniKorn would refuse applications whose pods lack an alias, and give pods with a \
foreign alias the access of another user. --apply corrects the aliases without restarting anything. You need \
permission to list and patch pods.

Exit codes: 0 all pods have the correct aliases, or they were corrected, 1 some have wrong aliases, 2 the command \
line is invalid, 3 undecided.";

/// Manage the user names in pods
#[derive(Debug, Clone, clap::Args)]
pub struct UserInfoArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Command {
    /// List the pods with wrong aliases, or correct them
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
    /// Correct the aliases
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
pub fn run(args: &UserInfoArgs, console: Console) -> Result<Exit, Failure> {
    let Command::Refresh(args) = &args.command;
    let (cluster, spec) = Cluster::open(&args.server, args.cluster_namespace.as_deref(), console)?;
    let mut notes = Vec::new();
    let pods = cluster.run(async |client| {
        let snapshot = cluster.readable(&spec, &mut notes).await?;
        let namespace = args.namespace.as_deref().unwrap_or(client.default_namespace());
        let namespace = (!args.all_namespaces).then_some(namespace);
        pods_with_wrong_aliases(&cluster, client, &granted(&snapshot), namespace).await
    });
    console.notes(&notes);
    let pods = pods?;
    if pods.is_empty() {
        console.note("all pods have exactly the aliases that grants need");
        return Ok(Exit::Clean);
    }
    console.out(&table(&pods).text(true, console.look_out().width))?;
    if !args.apply {
        console.note("--apply corrects the aliases");
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

fn table(pods: &[StalePod]) -> Table {
    let mut table = Table::new(["POD", "USER", "LACKS THE ALIAS OF", "HAS WRONGLY"]);
    let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    for StalePod { name, wrong, .. } in pods {
        table.row([name.clone(), wrong.user.clone(), list(&wrong.lacks), list(&wrong.foreign)]);
    }
    table
}
