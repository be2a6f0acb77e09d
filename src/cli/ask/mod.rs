//! The commands that answer questions about access, and what they share.
//!
//! * [`configuration`]: what is asked about: trees with origins, and places in the [`texts`] they were read from.
//! * [`files`], [`cluster`], [`live`]: the three ways to a configuration.
//! * [`rendered`]: what the operator would write.
//! * [`identity`] with [`groups`], [`question`]: whom and what it is asked about.
//! * [`output`], [`schemas`]: what people and programs get.

pub mod cluster;
pub mod configuration;
pub mod files;
pub mod groups;
pub mod identity;
pub mod live;
pub mod output;
pub mod question;
pub mod rendered;
pub mod schemas;
pub mod texts;

use std::path::PathBuf;

use jiff::Timestamp;

use super::console::Console;
use super::{Failure, moment};
use cluster::Cluster;
use configuration::Configuration;
use yunikorn_access::Tree;

/// How a question ends, for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes: 0 yes, 1 no, 2 the command line is wrong, 3 it could not be decided.";

/// The same for commands that list.
pub const EXIT_CODES_OF_LISTS: &str = "\
Exit codes: 0 there is something to list, 1 there is nothing, 2 the command line is wrong, 3 it could not be decided.";

/// The partition that is there when none is named.
pub const DEFAULT_PARTITION: &str = "default";

/// Where the configuration comes from that is asked about.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SourceArgs {
    /// A file or folder with a queues.yaml, ConfigMaps and objects of ours, or - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Read folders below folders too
    #[arg(short = 'R', long, requires = "filename")]
    pub recursive: bool,
    /// A bare queues.yaml that stands in for the base ConfigMap's
    #[arg(long, value_name = "FILE", requires = "filename")]
    pub base: Option<PathBuf>,
    /// The moment to look at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "filename")]
    pub now: Option<Timestamp>,
    /// The partition to look into
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PARTITION)]
    pub partition: String,
    /// Which cluster, where no file is given.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Which cluster is asked when no file is given.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ClusterArgs {
    /// The kubeconfig file, instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", conflicts_with = "filename")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", conflicts_with = "filename")]
    pub context: Option<String>,
    /// YuniKorn's namespace, instead of the one in the YuniKornConfig, or "yunikorn"
    #[arg(long, value_name = "NAME", conflicts_with = "filename")]
    pub cluster_namespace: Option<String>,
    /// Ask the scheduler what it runs, instead of reading its ConfigMaps
    #[arg(long, conflicts_with = "filename")]
    pub live: bool,
    /// The scheduler's REST service, instead of the YuniKornConfig's schedulerUrl, or the API server's way to it
    #[arg(long, value_name = "URL", requires = "live")]
    pub scheduler_url: Option<String>,
}

/// The files of a configuration, for whoever needs two of them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Files, folders, and `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// Whether folders below folders are read too.
    pub recursive: bool,
    /// A bare queues.yaml that stands in for the base.
    pub base: Option<PathBuf>,
    /// The moment to look at.
    pub now: Option<Timestamp>,
}

/// A configuration that questions can be asked about.
#[derive(Debug)]
pub struct Asked {
    /// The configuration.
    pub configuration: Configuration,
    /// The cluster it was read from, if it was.
    pub cluster: Option<Cluster>,
    /// The partition to look into.
    pub partition: String,
}

impl SourceArgs {
    /// Reads the configuration, and tells on standard error what should be known about it.
    ///
    /// # Errors
    /// When there is none that questions could be asked about.
    pub fn open(&self, console: Console) -> Result<Asked, Failure> {
        let partition = self.partition.clone();
        if self.filename.is_empty() {
            let cluster = Cluster::connect(&self.cluster)?;
            let configuration = cluster.read(&self.cluster, console)?;
            return Ok(Asked { configuration, cluster: Some(cluster), partition });
        }
        let configuration = files::read(&self.files(), console)?;
        Ok(Asked { configuration, cluster: None, partition })
    }

    /// The files that are named.
    pub fn files(&self) -> Files {
        Files {
            paths: self.filename.clone(),
            recursive: self.recursive,
            base: self.base.clone(),
            now: self.now,
        }
    }
}

impl Asked {
    /// The queues of the partition.
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn tree(&self) -> Result<&Tree, Failure> {
        self.configuration.tree(&self.partition)
    }
}

/// What should be known about an answer, told on standard error: each thing once.
#[derive(Debug, Clone, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// One more.
    pub fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Returns them.
    pub fn list(self) -> Vec<String> {
        self.0
    }

    /// Tells them.
    pub fn tell(&self, console: Console) {
        for note in &self.0 {
            console.note(note);
        }
    }
}
