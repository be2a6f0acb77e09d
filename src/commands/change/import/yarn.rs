//! Imports the queues of a YARN scheduler.

use std::path::PathBuf;

use super::answer::ImportAnswer;
use super::arguments::{Accepted, NameArgs, texts};
use super::manifests::{self, Granted};
use super::report::{ImportProgress, messages, report};
use crate::output::findings::plural;
use crate::output::format::AnswerFormat;
use crate::output::manifest::to_yaml;
use crate::output::text::Source as Text;
use crate::output::{Console, Exit, Failure};
use crate::source::request::key_value;
use queuewarden_import::proof::prove;
use queuewarden_import::translate::{Options, translate};
use queuewarden_import::{FileDiagnostic, Files, Source};
use yunikorn::application::Reading;

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
type Read = fn(Files<'_>, &mut Vec<FileDiagnostic>) -> Option<Source>;

/// Runs the command.
pub(super) fn run(args: &ImportYarnArgs, read: Read, console: Console) -> Result<Exit, Failure> {
    let options = Options {
        names: args.names.read()?,
        administrators_to_root: args.cluster_admins == ClusterAdmins::Root,
    };
    let files = std::iter::once(&args.file).chain(&args.yarn_site).chain(&args.mapred_site);
    let texts = texts(files.chain(&args.core_site))?;
    let mut findings = Vec::new();
    let imported = args.source(read, &texts, &mut findings).map(|source| {
        let imported = translate(&source, &options, &mut findings);
        let progress = ImportProgress::new(messages(args.format, console));
        let proof = prove(&source, &imported, &options.names, |done, all| progress.show(done, all));
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
    fn source(&self, read: Read, texts: &[Text], findings: &mut Vec<FileDiagnostic>) -> Option<Source> {
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
