//! Imports the queues of a YARN scheduler.

use std::path::PathBuf;

use super::answer::ImportAnswer;
use super::arguments::{Accepted, NameArgs, texts};
use super::manifests;
use super::manifests::Granted;
use super::report::{Progress, report};
use crate::cli::findings::plural;
use crate::cli::input::source::Source as Text;
use crate::cli::manifest::to_yaml;
use crate::cli::query::output::AnswerFormat;
use crate::cli::query::request::key_value;
use crate::cli::{Console, Exit, Failure};
use queuewarden_import::proof::prove;
use queuewarden_import::translate::{Options, translate};
use queuewarden_import::{FileDiagnostic, Files, Source};
use yunikorn::application::Reading;

/// Options of the import from YARN.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// The scheduler's file, or - for standard input
    file: PathBuf,
    /// yarn-site.xml, with the switch for ACLs and the cluster's administrators
    #[arg(long, value_name = "FILE")]
    yarn_site: Option<PathBuf>,
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

/// Scheduler that the file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduler {
    Fair,
    Capacity,
}

/// Runs the command.
pub(super) fn run(args: &Args, scheduler: Scheduler, console: Console) -> Result<Exit, Failure> {
    let options = Options {
        names: args.names.read()?,
        administrators_to_root: args.cluster_admins == ClusterAdmins::Root,
    };
    let texts = texts(std::iter::once(&args.file).chain(&args.yarn_site).chain(&args.mapred_site))?;
    // For programs everything is in the answer.
    let messages = if args.format == AnswerFormat::Text { console } else { Console::silent() };
    let mut findings = Vec::new();
    let imported = args.source(scheduler, &texts, &mut findings).and_then(|source| {
        let imported = translate(&source, &options, &mut findings);
        let progress = Progress::new(messages);
        let proof = prove(&source, &imported, &options.names, |done, all| progress.show(done, all));
        progress.end();
        Some((imported, proof.map_err(|error| findings.push(FileDiagnostic::at(None, error))).ok()?))
    });
    let proof = imported.as_ref().map(|(_, proof)| proof);
    let answer = report(&texts, findings, proof, &args.accepted, messages);
    let Some((imported, _)) = imported.filter(|_| !answer.is_refused()) else {
        answer.print(args.format, console)?;
        return Ok(Exit::Findings);
    };
    let granted = Granted::from_imported(&imported);
    let manifests = manifests::queue_acls(&granted);
    match args.format {
        AnswerFormat::Text if args.queues => console.out(&imported.queues_yaml())?,
        AnswerFormat::Text => {
            let others = imported.queues.len().saturating_sub(granted.len());
            if others > 0 {
                console.note(&format!(
                    "compared is the tree that --queues writes; what another base says of queues without a \
                    QueueAcl remains ({})",
                    plural(others, "queue")
                ));
            }
            console.out(&to_yaml(&manifests))?;
        }
        AnswerFormat::Json | AnswerFormat::Yaml => {
            ImportAnswer { imported: true, manifests, queues: Some(imported.queues_yaml()), ..answer }
                .print(args.format, console)?;
        }
    }
    Ok(Exit::Clean)
}

impl Args {
    /// Reads the texts: the scheduler's file, then yarn-site.xml, then mapred-site.xml.
    fn source(
        &self,
        scheduler: Scheduler,
        texts: &[Text],
        findings: &mut Vec<FileDiagnostic>,
    ) -> Option<Source> {
        let numbered = |given: &Option<PathBuf>, at: usize| {
            given.is_some().then(|| Some((at, texts.get(at)?.text.as_str()))).flatten()
        };
        let site = numbered(&self.yarn_site, 1);
        let mapred = numbered(&self.mapred_site, texts.len().saturating_sub(1));
        let scheduler_text = &texts.first()?.text;
        let reading = match self.dialect {
            Dialect::YarnHadoop => Reading::Hadoop,
            Dialect::YarnCloudera => Reading::Cloudera,
        };
        let wanted = Files { reading, scheduler: (0, scheduler_text), site, defined: &self.defined };
        let source = match scheduler {
            Scheduler::Fair => Source::fair(wanted, findings),
            Scheduler::Capacity => Source::capacity(wanted, findings),
        };
        match mapred {
            Some(mapred) => source?.with_jobs(wanted, mapred, findings),
            None => source,
        }
    }
}
