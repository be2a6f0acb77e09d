//! The queues of a YARN scheduler: read, translated, compared, printed.

use std::path::PathBuf;

use super::arguments::{Accepted, NameArgs, texts};
use super::manifests::Granted;
use super::{compared, manifests, told};
use crate::cli::console::Console;
use crate::cli::input::source::Source as Text;
use crate::cli::{Exit, Failure};
use crate::import::proof::{Direction, prove};
use crate::import::translate::{Imported, Options, translate};
use crate::import::{Finding, Source, Wanted};
use crate::model::application::Reading;

/// What to import, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// The scheduler's file, or - for standard input
    file: PathBuf,
    /// yarn-site.xml: whether ACLs bind, and who administers the cluster
    #[arg(long, value_name = "FILE")]
    yarn_site: Option<PathBuf>,
    /// Whose reading of ACLs and of the cluster's administrators
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// What a variable stands for that the files do not define: a Java system property, or env.NAME; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = pair)]
    defined: Vec<(String, String)>,
    #[command(flatten)]
    names: NameArgs,
    /// What becomes of those who administer the cluster
    #[arg(long, value_enum, default_value_t)]
    cluster_admins: ClusterAdmins,
    #[command(flatten)]
    accepted: Accepted,
    /// Print a queues.yaml with the ACLs in it, instead of QueueAcls
    #[arg(long)]
    queues: bool,
}

/// Whose reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Dialect {
    /// Hadoop 3.4's source.
    #[default]
    YarnHadoop,
    /// Cloudera's handbook: what stands behind a second blank is ignored, administrators of the cluster may submit, ACLs bind by default.
    YarnCloudera,
}

/// Those who administer the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ClusterAdmins {
    /// They administer no queue by it.
    #[default]
    None,
    /// They administer the root queue, and so may submit everywhere.
    Root,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduler {
    Fair,
    Capacity,
}

/// Runs the command.
pub(super) fn run(args: &Args, scheduler: Scheduler, console: Console) -> Result<Exit, Failure> {
    let options = args.options()?;
    let texts = args.texts()?;
    let (mut findings, mut outcome) = (Vec::new(), None);
    if let Some(source) = args.source(scheduler, &texts, &mut findings) {
        let imported = translate(&source, &options, &mut findings);
        let progress = compared::Progress::of(console);
        let proof = prove(&source, &imported, &options.names, |done, all| progress.show(done, all));
        progress.end();
        match proof {
            Ok(proof) => outcome = Some((source, imported, proof)),
            Err(error) => findings.push(Finding { file: None, diagnostic: error }),
        }
    }
    args.accepted.acknowledge(&mut findings);
    let count = told::tell(&texts, &findings, console);
    let Some((source, imported, proof)) = outcome else { return Ok(Exit::Findings) };
    console.err(&compared::text(&source, &proof, &texts));
    let leaks = args.accepted.leaks(proof.of(Direction::Wider).map(|difference| difference.code));
    told::refuse(&leaks, console);
    if count.errors > 0 || !leaks.is_empty() {
        return Ok(Exit::Findings);
    }
    console.out(&args.printed(&imported))?;
    Ok(Exit::Clean)
}

impl Args {
    fn reading(&self) -> Reading {
        match self.dialect {
            Dialect::YarnHadoop => Reading::Hadoop,
            Dialect::YarnCloudera => Reading::Cloudera,
        }
    }

    fn options(&self) -> Result<Options, Failure> {
        let names = self.names.read()?;
        Ok(Options { names, administrators_to_root: self.cluster_admins == ClusterAdmins::Root })
    }

    /// The scheduler's file, then yarn-site.xml.
    fn texts(&self) -> Result<Vec<Text>, Failure> {
        texts(std::iter::once(&self.file).chain(&self.yarn_site))
    }

    fn source(&self, scheduler: Scheduler, texts: &[Text], findings: &mut Vec<Finding>) -> Option<Source> {
        let (scheduler_text, site) = (texts.first()?, texts.get(1));
        let wanted = Wanted {
            reading: self.reading(),
            scheduler: (0, &scheduler_text.text),
            site: site.map(|site| (1, site.text.as_str())),
            defined: &self.defined,
        };
        match scheduler {
            Scheduler::Fair => Source::fair(wanted, findings),
            Scheduler::Capacity => Source::capacity(wanted, findings),
        }
    }

    fn printed(&self, imported: &Imported) -> String {
        if self.queues {
            return imported.queues_yaml();
        }
        manifests::text(&manifests::queue_acls(&Granted::of(imported)))
    }
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "write it as NAME=VALUE".to_owned())
}
