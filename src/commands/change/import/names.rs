//! Imports with names of another system: the queues of a YARN scheduler, and Spark's ACLs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::answer::{Accepted, ImportAnswer, ImportProgress, SparkSetting, messages, report};
use super::manifests::{self, Granted};
use crate::output::findings::plural;
use crate::output::format::AnswerFormat;
use crate::output::manifest::{DEFAULT_PARTITION, to_yaml};
use crate::output::text::Source;
use crate::output::{Console, Exit, Failure};
use crate::source::input::source;
use crate::source::request::key_value;
use crate::source::session::reads_standard_input_once;
use queuewarden_import::names::Names;
use queuewarden_import::{FileDiagnostic, Files, NameMap, Source as Scheduler, proof, spark, translate};
use queuewarden_plan::snapshot::BaseAcl;
use yunikorn::application::Reading;
use yunikorn::queue::QueuePath;

/// Options for the names in Kubernetes.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct NameArgs {
    /// Map of user names to Kubernetes: a template such as oidc:{u}, or a file with FROM=TO lines; may be
    /// repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    user_map: Vec<String>,
    /// Map of group names to Kubernetes: a template such as hadoop-{g}, or a file with FROM=TO lines; may be
    /// repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    group_map: Vec<String>,
}

impl NameArgs {
    /// Reads the maps.
    pub(super) fn read(&self) -> Result<Names, Failure> {
        Ok(Names { users: map(&self.user_map, "{u}")?, groups: map(&self.group_map, "{g}")? })
    }
}

/// Reads the files to import from; `-` may be among them once.
pub(super) fn texts<'a>(paths: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<Vec<Source>, Failure> {
    reads_standard_input_once(paths.clone())?;
    paths.map(|path| source::read_one(path)).collect()
}

/// Builds a map of names from templates and files.
fn map(given: &[String], placeholder: &str) -> Result<NameMap, Failure> {
    given.iter().try_fold(NameMap::default(), |map, given| {
        if given.contains(placeholder) {
            return map.with_template(given, placeholder).map_err(Failure::Usage);
        }
        let file = source::read_one(Path::new(given))?;
        map.with_pairs(&file.text).map_err(|error| Failure::Usage(format!("{given}: {error}")))
    })
}

/// Options of the import from YARN.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ImportYarnArgs {
    /// The scheduler's file, or - for standard input
    file: PathBuf,
    /// yarn-site.xml, with the switch for ACLs, the cluster's administrators, and the scheduler in use
    #[arg(long, value_name = "FILE")]
    yarn_site: Option<PathBuf>,
    /// core-site.xml, with the source of groups, or hadoop-policy.xml; may be repeated
    #[arg(long, value_name = "FILE")]
    core_site: Vec<PathBuf>,
    /// mapred-site.xml, with the ACLs that go with each job
    #[arg(long, value_name = "FILE")]
    mapred_site: Option<PathBuf>,
    /// Dialect of ACLs and of the rules for the cluster's administrators
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// Value of a variable that the files do not define: a Java system property, or env.NAME; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = key_value)]
    defined: Vec<(String, String)>,
    #[command(flatten)]
    names: NameArgs,
    /// Treatment of the cluster's administrators
    #[arg(long, value_enum, default_value_t)]
    cluster_admins: ClusterAdmins,
    #[command(flatten)]
    accepted: Accepted,
    /// Print a queues.yaml with the ACLs in it, instead of QueueAcls
    #[arg(long)]
    queues: bool,
    /// Output format: text prints the manifests, json and yaml all findings and the comparison
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Dialect of ACLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Dialect {
    /// Hadoop 3.4's source
    #[default]
    YarnHadoop,
    /// Cloudera's handbook: text after a second space is ignored, administrators of the cluster may submit,
    /// ACLs bind by default
    YarnCloudera,
}

/// Treatment of the cluster's administrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ClusterAdmins {
    /// They administer no queue as such
    #[default]
    None,
    /// They administer the root queue, and so may submit everywhere
    Root,
}

/// Reader of the files of one scheduler.
type Read = fn(Files<'_>, &mut Vec<FileDiagnostic>) -> Option<Scheduler>;

/// Imports from YARN.
pub(super) fn yarn(args: &ImportYarnArgs, read: Read, console: Console) -> Result<Exit, Failure> {
    let options = translate::Options {
        names: args.names.read()?,
        administrators_to_root: args.cluster_admins == ClusterAdmins::Root,
    };
    let files = std::iter::once(&args.file).chain(&args.yarn_site).chain(&args.mapred_site);
    let texts = texts(files.chain(&args.core_site))?;
    let mut findings = Vec::new();
    let imported = args.source(read, &texts, &mut findings).map(|source| {
        let imported = translate::translate(&source, &options, &mut findings);
        let progress = ImportProgress::new(messages(args.format, console));
        let proof = proof::prove(&source, &imported, &options.names, |done, all| progress.show(done, all));
        progress.end();
        (imported, proof)
    });
    let imported = report(&texts, findings, imported, &args.accepted, args.format, console)?;
    let Some((imported, answer)) = imported else { return Ok(Exit::Findings) };
    let granted = Granted::from_imported(&imported);
    let others = imported.queues.len().saturating_sub(granted.len());
    if others > 0 && !args.queues {
        messages(args.format, console).note(&format!(
            "compared is the tree that --queues writes; what another base says of queues without a QueueAcl \
            remains ({})",
            plural(others, "queue")
        ));
    }
    let (manifests, queues) = (manifests::queue_acls(&granted), imported.queues_yaml());
    let answer = ImportAnswer { imported: true, manifests, queues: Some(queues), ..answer };
    let text = || match &answer.queues {
        Some(queues) if args.queues => queues.clone(),
        _ => to_yaml(&answer.manifests),
    };
    console.out(&args.format.show(text, || &answer)?)?;
    Ok(Exit::Clean)
}

impl ImportYarnArgs {
    /// Reads the texts: the scheduler's file, then yarn-site.xml, mapred-site.xml and core-site.xml.
    fn source(&self, read: Read, texts: &[Source], findings: &mut Vec<FileDiagnostic>) -> Option<Scheduler> {
        let file = texts.first()?;
        let mut texts = texts.iter().map(|text| text.text.as_str()).enumerate();
        let scheduler = texts.next()?;
        let site = self.yarn_site.as_ref().and_then(|_| texts.next());
        let mapred = self.mapred_site.as_ref().and_then(|_| texts.next());
        let reading = match self.dialect {
            Dialect::YarnHadoop => Reading::Hadoop,
            Dialect::YarnCloudera => Reading::Cloudera,
        };
        let core: Vec<(usize, &str)> = texts.collect();
        let (name, defined) = (file.name.as_str(), self.defined.as_slice());
        read(Files { reading, scheduler, name, site, mapred, core: &core, defined }, findings)
    }
}

/// Options of the import from Spark.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ImportSparkArgs {
    /// The file spark-defaults.conf, or - for standard input; of several, a later file overrides an earlier
    /// one
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// Queue that Spark's administrators are to administer, by a QueueAcl; they may then also submit to it
    #[arg(long, value_name = "QUEUE", value_parser = queue)]
    queue: Option<QueuePath>,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    accepted: Accepted,
    /// Output format: text prints the settings or the manifest, json and yaml all findings and the comparison
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: AnswerFormat,
}

/// Imports from Spark.
pub(super) fn spark(args: &ImportSparkArgs, console: Console) -> Result<Exit, Failure> {
    let options = spark::Options { names: args.names.read()?, queue: args.queue.clone() };
    let texts = texts(args.file.iter())?;
    let mut findings = Vec::new();
    let files: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    let carried = spark::Spark::read(&files, &mut findings).map(|spark| {
        let carried = spark::carry(&spark, &options, &mut findings);
        let proof = spark::prove(&spark, &carried, &options);
        (carried, proof)
    });
    let carried = report(&texts, findings, carried, &args.accepted, args.format, console)?;
    let Some((carried, answer)) = carried else { return Ok(Exit::Findings) };
    let manifests = manifests(&carried);
    if !manifests.is_empty() {
        messages(args.format, console).err(&format!(
            "Everything else goes with each application, in its spark-defaults.conf:\n{}",
            carried.properties()
        ));
    }
    let settings = carried.settings.iter().map(|(key, value)| SparkSetting { key, value: value.clone() });
    let answer = ImportAnswer { imported: true, manifests, settings: settings.collect(), ..answer };
    let text = || match answer.manifests.as_slice() {
        [] => carried.properties(),
        manifests => to_yaml(manifests),
    };
    console.out(&args.format.show(text, || &answer)?)?;
    Ok(Exit::Clean)
}

/// Returns the `QueueAcl` of the queue, if there is one.
fn manifests(carried: &spark::Carried) -> Vec<Value> {
    let granted = carried.administrators.as_ref().map(|(path, acl)| Granted {
        partition: DEFAULT_PARTITION.to_owned(),
        path: path.clone(),
        submit: None,
        admin: Some(acl.clone()),
        // Spark has no rules for queues, so the base's ACLs of this queue stay in force.
        base_acl: BaseAcl::Extend,
    });
    manifests::queue_acls(granted.as_slice())
}

fn queue(text: &str) -> Result<QueuePath, String> {
    QueuePath::parse(text).map_err(|error| error.to_string())
}
