//! The queues of a YARN scheduler: read, translated, compared, printed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::manifests::Granted;
use super::{compared, manifests};
use crate::cli::codes;
use crate::cli::console::Console;
use crate::cli::findings::{self, Count, plural};
use crate::cli::input::source::{self, Source as Text};
use crate::cli::input::{self, Inputs};
use crate::cli::{Exit, Failure};
use crate::import::names::Names;
use crate::import::proof::{Direction, Proof, prove};
use crate::import::translate::{Imported, Options, translate};
use crate::import::{Finding, NameMap, Source, Wanted};
use crate::model::application::Reading;
use crate::text::diag::{Code, Severity};

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
    /// What users are called in Kubernetes: a template such as oidc:{u}, or a file with FROM=TO lines; may be repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    user_map: Vec<String>,
    /// What groups are called in Kubernetes: a template such as hadoop-{g}, or a file with FROM=TO lines; may be repeated
    #[arg(long, value_name = "TEMPLATE|FILE")]
    group_map: Vec<String>,
    /// What becomes of those who administer the cluster
    #[arg(long, value_enum, default_value_t)]
    cluster_admins: ClusterAdmins,
    /// Go on in spite of this code: of an error, or of access that is wider; may be repeated
    #[arg(long, value_name = "CODE", value_parser = codes::code)]
    accept: Vec<Code>,
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
    args.acknowledge(&mut findings);
    let count = tell(&texts, &findings, console);
    let Some((source, imported, proof)) = outcome else { return Ok(Exit::Findings) };
    console.err(&compared::text(&source, &proof, &texts));
    let leaks = args.leaks(&proof);
    if !leaks.is_empty() {
        let codes: Vec<String> = leaks.iter().map(ToString::to_string).collect();
        console.err(&format!(
            "error: refused, because access would be wider: change the map or the files, or --accept {}\n",
            codes.join(" --accept ")
        ));
    }
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
        let names = Names { users: map(&self.user_map, "{u}")?, groups: map(&self.group_map, "{g}")? };
        Ok(Options { names, administrators_to_root: self.cluster_admins == ClusterAdmins::Root })
    }

    /// The scheduler's file, then yarn-site.xml.
    fn texts(&self) -> Result<Vec<Text>, Failure> {
        let paths = std::iter::once(&self.file).chain(&self.yarn_site);
        if paths.clone().filter(|path| path.as_os_str() == "-").nth(1).is_some() {
            return Err(Failure::Usage("standard input can be read once: `-` is given twice".to_owned()));
        }
        paths.map(|path| source::read_one(path).map_err(Failure::from)).collect()
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

    /// What is acknowledged is a warning.
    fn acknowledge(&self, findings: &mut [Finding]) {
        for finding in findings {
            if self.accept.contains(&finding.diagnostic.code) {
                finding.diagnostic.severity = Severity::Warning;
            }
        }
    }

    /// Why access is wider, as far as it is not acknowledged.
    fn leaks(&self, proof: &Proof) -> BTreeSet<Code> {
        let codes = proof.of(Direction::Wider).map(|difference| difference.code);
        codes.filter(|code| !self.accept.contains(code)).collect()
    }

    fn printed(&self, imported: &Imported) -> String {
        if self.queues {
            return imported.queues_yaml();
        }
        manifests::text(&manifests::queue_acls(&Granted::of(imported)))
    }
}

/// Shows the findings, in the order of their places.
fn tell(texts: &[Text], findings: &[Finding], console: Console) -> Count {
    let mut shown: Vec<input::Finding> = findings
        .iter()
        .map(|finding| input::Finding {
            source: finding.file,
            object: None,
            diagnostic: finding.diagnostic.clone(),
        })
        .collect();
    shown.sort_by_key(|finding| (finding.source, finding.diagnostic.span.map(|span| span.start)));
    let inputs = Inputs { sources: texts.to_vec(), ..Inputs::default() };
    console.err(&findings::text(&inputs, &shown, console.color_err()));
    let count = Count::of(&shown);
    if count != Count::default() {
        console.err(&format!("{} in {}\n", count.text(), plural(texts.len(), "file")));
    }
    count
}

/// A map of names out of templates and files.
fn map(given: &[String], placeholder: &str) -> Result<NameMap, Failure> {
    given.iter().try_fold(NameMap::default(), |map, given| {
        if given.contains(placeholder) {
            return map.with_template(given, placeholder).map_err(Failure::Usage);
        }
        let file = source::read_one(Path::new(given))?;
        map.with_pairs(&file.text).map_err(|error| Failure::Usage(format!("{given}: {error}")))
    })
}

/// `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "write it as NAME=VALUE".to_owned())
}
