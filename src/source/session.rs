//! The source that the arguments choose, and the session that answers from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::cluster::{self, Cluster, ClusterArgs, located};
use super::configuration::{self, Configuration, Evidence, ObjectChange};
use super::files::{FileSource, choose_base};
use super::history::History;
use super::input::{Inputs, ours, source};
use super::times;
use crate::output::findings::plural;
use crate::output::manifest::DEFAULT_PARTITION;
use crate::output::{Console, Failure, text};
use queuewarden_api::answer::Answers;
use queuewarden_plan::simulate::{enforced, settle};
use queuewarden_plan::snapshot::{QueueAclEntry, Snapshot};
use queuewarden_plan::time::{Ahead, ahead};
use queuewarden_plan::{ObjectRef, merged};
use yunikorn::config::Flattened;
use yunikorn::version::Version;
use yunikorn_access::Tree;

/// Exit codes of questions, for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes: 0 yes, 1 no, 2 the command line is invalid, 3 undecided.";

/// Exit codes of commands that list, for `--help`.
pub const EXIT_CODES_OF_LISTS: &str = "\
Exit codes: 0 something is listed, 1 nothing is listed, 2 the command line is invalid, 3 undecided.";

/// Options for the objects to read.
#[derive(Debug, Clone, clap::Args)]
pub struct InputArgs {
    /// Files or folders with manifests, Helm values or a queues.yaml (.yaml, .yml, .json), or - for standard
    /// input
    #[arg(
        short = 'f', long = "filename", value_name = "PATH", required_unless_present = "base", num_args = 1..
    )]
    pub(crate) filename: Vec<PathBuf>,
    /// YuniKorn's namespace, instead of the YuniKornConfig's or the ConfigMaps'
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_namespace: Option<String>,
    /// The reading of the files.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// Options for the reading of files.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FileArgs {
    /// Read subfolders too
    #[arg(short = 'R', long, requires = "filename", help_heading = FILES)]
    pub(crate) recursive: bool,
    /// File with the queue tree that replaces the base ConfigMap's: a queues.yaml, Helm values or a ConfigMap
    #[arg(long, value_name = "FILE", help_heading = FILES)]
    pub(crate) base: Option<PathBuf>,
    /// Time to evaluate at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = times::now)]
    pub(crate) now: Option<Timestamp>,
    /// Version of YuniKorn that is to read the files: 1.8 or 1.9. Without it: the one in a YuniKornConfig
    /// that is given, or else the strictest of both
    #[arg(long, value_name = "VERSION", value_parser = yunikorn_version, help_heading = FILES)]
    pub(crate) yunikorn_version: Option<Version>,
}

/// Heading of the options that need files.
pub(crate) const FILES: &str = "Files";

impl InputArgs {
    /// Reads the inputs.
    pub(crate) fn read(&self, except: Option<&Path>, console: Console) -> Result<FileSource, Failure> {
        self.files.read(&self.filename, self.cluster_namespace.as_deref(), except, console)
    }
}

impl FileArgs {
    /// Reads the inputs from these paths, with `YuniKorn`'s namespace if it is given.
    pub(crate) fn read(
        &self,
        paths: &[PathBuf],
        namespace: Option<&str>,
        except: Option<&Path>,
        console: Console,
    ) -> Result<FileSource, Failure> {
        reads_standard_input_once(paths.iter().chain(&self.base))?;
        let texts = source::read(paths, self.recursive, except, ours::mentions, console)?;
        let mut inputs = Inputs::new(texts.sources);
        inputs.skipped = inputs.skipped.saturating_add(texts.skipped);
        if inputs.sources.is_empty() && inputs.skipped == 0 && self.base.is_none() {
            let paths: Vec<_> = paths.iter().map(|path| text::shown(path)).collect();
            let hint = if self.recursive { "" } else { "; to include subfolders, add -R" };
            return Err(Failure::Usage(format!(
                "no .yaml, .yml or .json file in {}{hint}",
                paths.join(", ")
            )));
        }
        inputs.namespace = namespace.map(ToOwned::to_owned);
        choose_base(&mut inputs, self.base.as_deref())?;
        inputs.version = self.yunikorn_version;
        console.notes(&inputs.notes);
        if inputs.skipped > 0 {
            let files = plural(inputs.skipped, "file");
            console.note(&format!("{files} skipped without content for queuewarden or YuniKorn"));
        }
        Ok(FileSource::new(inputs, self.now))
    }
}

/// Parses a line of releases, or a release of one.
pub(crate) fn yunikorn_version(text: &str) -> Result<Version, String> {
    let version = Version::of_release(text);
    let known = || format!("queuewarden knows {}", Version::PROVEN.map(Version::as_str).join(" and "));
    if version.is_proven() { Ok(version) } else { Err(known()) }
}

/// Rejects paths that name standard input more than once.
pub(crate) fn reads_standard_input_once<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    if paths.into_iter().filter(|path| path.as_os_str() == "-").nth(1).is_some() {
        return Err(Failure::Usage("standard input can only be read once, but `-` occurs twice".to_owned()));
    }
    Ok(())
}

/// Options for the source of the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SourceArgs {
    /// A file or folder with a queues.yaml, Helm values, ConfigMaps and objects of queuewarden, or - for
    /// standard input, instead of the cluster; may be repeated
    #[arg(
        short = 'f', long = "filename", value_name = "PATH",
        conflicts_with_all = ["kubeconfig", "context"]
    )]
    pub filename: Vec<PathBuf>,
    /// The reading of the files.
    #[command(flatten)]
    pub files: FileArgs,
    /// Partition to read
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PARTITION)]
    pub partition: String,
    /// The cluster, if no file is given.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Options for the source of a configuration, which can be in the past.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PastArgs {
    /// Answer for this time in the past, from the history of the texts that the operator wrote; a day is its
    /// beginning, a weekday the last one, and a duration such as 8h goes back
    #[arg(
        long, value_name = "TIME", value_parser = times::Typed::parse,
        conflicts_with_all = ["filename", "base", "live", "now"]
    )]
    at: Option<times::Typed>,
    /// The source of the present.
    #[command(flatten)]
    pub source: SourceArgs,
}

impl PastArgs {
    /// Returns whether the time is in the past.
    pub fn is_past(&self) -> bool {
        self.at.is_some()
    }

    /// Reads the configuration: with the option from the history, and names the revision; otherwise as
    /// [`SourceArgs::open`].
    ///
    /// # Errors
    /// When there is no configuration to answer questions about, or it is not known what was in force then.
    pub fn open(&self, console: Console) -> Result<Session, Failure> {
        let source = &self.source;
        let Some(typed) = self.at else { return source.open(console) };
        let wrong = |why: String| Failure::Usage(format!("--at: {why}"));
        let now = times::clock();
        let at = typed.past(now).map_err(wrong)?;
        if at >= now {
            return Err(wrong(format!(
                "{at} is not in the past: omit it to ask about the present, or use `--now {at}` to ask about the future"
            )));
        }
        let ClusterArgs { server, cluster_namespace, .. } = &source.cluster;
        let history = History::read(server, cluster_namespace.as_deref(), |_| true, console)?;
        let configuration = history.at(at, console)?;
        let partition = source.partition.clone();
        Ok(Session { configuration, source: Source::Cluster(Box::new(history.cluster)), partition })
    }
}

/// A configuration to answer questions about.
#[derive(Debug)]
pub struct Session {
    /// The configuration.
    pub configuration: Configuration,
    /// Its source.
    pub source: Source,
    /// The partition to read.
    pub partition: String,
}

/// Source of a configuration.
#[derive(Debug)]
pub enum Source {
    /// Files.
    Files(Box<FileSource>),
    /// A cluster.
    Cluster(Box<Cluster>),
}

impl SourceArgs {
    /// Reads the files, or connects to the cluster if no files are given.
    ///
    /// # Errors
    /// When a file cannot be read, or there is no way to a cluster.
    pub fn source(&self, console: Console) -> Result<Source, Failure> {
        let server = &self.cluster.server;
        if self.has_files() {
            if self.cluster.live || server.kubeconfig.is_some() || server.context.is_some() {
                let why = "--base reads files instead of a cluster: omit --live, --kubeconfig and --context";
                return Err(Failure::Usage(why.to_owned()));
            }
            let namespace = self.cluster.cluster_namespace.as_deref();
            let given = self.files.read(&self.filename, namespace, None, console)?.checked(console)?;
            return Ok(Source::Files(Box::new(given)));
        }
        times::not_past(self.files.now)?;
        if self.files.yunikorn_version.is_some() {
            let why = "--yunikorn-version is for files: in a cluster the scheduler reports its version; omit it, or pass files with -f";
            return Err(Failure::Usage(why.to_owned()));
        }
        if self.files.now.is_some() && self.cluster.live {
            let why =
                "--live reads the scheduler's current configuration: omit it to evaluate at another time";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(Source::Cluster(Box::new(Cluster::connect(server)?)))
    }

    /// Returns whether files are read, rather than a cluster.
    pub fn has_files(&self) -> bool {
        !self.filename.is_empty() || self.files.base.is_some()
    }

    /// Reads the configuration, and prints notes about it on standard error.
    ///
    /// # Errors
    /// When there is no configuration to answer questions about.
    pub fn open(&self, console: Console) -> Result<Session, Failure> {
        self.source(console)?.session(self, console)
    }
}

impl Source {
    /// Returns the cluster, if it is one.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Files(_) => None,
            Self::Cluster(cluster) => Some(cluster),
        }
    }

    /// Reads the configuration, for questions about it.
    ///
    /// # Errors
    /// As [`Self::configuration`].
    pub fn session(self, args: &SourceArgs, console: Console) -> Result<Session, Failure> {
        let configuration = self.configuration(args, console)?;
        Ok(Session { configuration, source: self, partition: args.partition.clone() })
    }

    /// Reads the configuration, and prints notes about it on standard error.
    ///
    /// # Errors
    /// When there is no configuration, or `YuniKorn` does not accept it.
    pub fn configuration(&self, args: &SourceArgs, console: Console) -> Result<Configuration, Failure> {
        let configuration = self.current(args, console)?;
        configuration.note(None, console);
        Ok(configuration)
    }

    /// Reads the configuration; its notes are printed only if there is none.
    ///
    /// # Errors
    /// As [`Self::configuration`].
    pub fn current(&self, args: &SourceArgs, console: Console) -> Result<Configuration, Failure> {
        match self {
            Self::Files(given) => given.configuration(console),
            Self::Cluster(cluster) if args.files.now.is_none() => cluster.read(&args.cluster, console),
            Self::Cluster(_) => self.changed(args, &ObjectChange::default(), console),
        }
    }

    /// Reads the settings and everything that plans depend on.
    ///
    /// # Errors
    /// When any of it cannot be read.
    pub fn read(&self, args: &SourceArgs) -> Result<Snapshot, Failure> {
        match self {
            Self::Files(given) => Ok(given.snapshot.clone()),
            Self::Cluster(cluster) => {
                let snapshot = cluster.objects(&args.cluster)?;
                Ok(Snapshot { now: args.files.now.unwrap_or(snapshot.now), ..snapshot })
            }
        }
    }

    /// Returns the configuration that `YuniKorn` would have after a change of the objects that were read; its
    /// notes are printed only if there is none.
    ///
    /// # Errors
    /// When the operator would write nothing.
    pub fn evaluate(
        &self,
        mut read: Snapshot,
        change: &ObjectChange,
        console: Console,
    ) -> Result<Configuration, Failure> {
        change.apply(&mut read)?;
        match self {
            Self::Files(given) => given.with(read).configuration(console),
            Self::Cluster(_) => cluster::planned(&read, console),
        }
    }

    /// Returns the configuration after a change of the objects; its notes are printed only if there is none.
    ///
    /// # Errors
    /// When the objects cannot be read, or the operator would write nothing.
    pub fn changed(
        &self,
        args: &SourceArgs,
        change: &ObjectChange,
        console: Console,
    ) -> Result<Configuration, Failure> {
        self.evaluate(self.read(args)?, change, console)
    }

    /// Returns the names of the `QueueAcl`s.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn queue_acls(&self) -> Result<Vec<String>, Failure> {
        let names =
            |entries: &[Arc<QueueAclEntry>]| entries.iter().map(|it| it.meta.name.to_string()).collect();
        match self {
            Self::Files(given) => Ok(names(&given.snapshot.queue_acls)),
            Self::Cluster(cluster) => Ok(names(&cluster.queue_acls()?)),
        }
    }

    /// Reads everything that entries are looked for in.
    ///
    /// # Errors
    /// When any of it cannot be read.
    pub fn evidence(&self, args: &SourceArgs) -> Result<Evidence, Failure> {
        let read = self.read(args)?;
        let (snapshot, given) = match self {
            // No operator has written statuses into files.
            Self::Files(given) => (settle(enforced(&read)).snapshot, Some(given)),
            Self::Cluster(_) => (read.clone(), None),
        };
        let base =
            configuration::base(&snapshot, read.spec(), &merged(&snapshot).queues_key(), |map, key, text| {
                match given {
                    Some(given) => given.text_in(map, key, text),
                    None => located(map, key, text),
                }
            });
        Ok(Evidence { read, snapshot, base })
    }

    /// Returns the manifest of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find(&self, object: &ObjectRef) -> Result<Option<Value>, Failure> {
        match self {
            Self::Files(given) => Ok(given.find(object)),
            Self::Cluster(cluster) => cluster.find(object),
        }
    }

    /// Returns the manifest of an object.
    ///
    /// # Errors
    /// When it does not exist, or cannot be read.
    pub fn object(&self, object: &ObjectRef) -> Result<Value, Failure> {
        let place = if self.cluster().is_some() { "cluster" } else { "files" };
        self.find(object)?.ok_or_else(|| Failure::Undecided(format!("there is no {object} in the {place}")))
    }
}

impl Session {
    /// Looks ahead: evaluates the same objects at each moment at which a grant begins or ends, up to `until`.
    ///
    /// # Errors
    /// When the objects cannot be read, or `find` fails.
    pub fn ahead<T: PartialEq + Clone>(
        &self,
        args: &SourceArgs,
        until: Timestamp,
        mut find: impl FnMut(&Configuration) -> Result<Vec<T>, Failure>,
    ) -> Result<Ahead<T>, Failure> {
        let read = self.source.read(args)?;
        ahead(&read, until, |at| {
            let then = Snapshot { now: at, ..read.clone() };
            find(&self.source.evaluate(then, &ObjectChange::default(), Console::silent())?)
        })
    }

    /// Returns the configuration after a change of the objects, and prints the notes that are new.
    ///
    /// # Errors
    /// When the operator would write nothing.
    pub fn changed(
        &self,
        args: &SourceArgs,
        change: &ObjectChange,
        console: Console,
    ) -> Result<Configuration, Failure> {
        let after = self.source.changed(args, change, console)?;
        after.note(Some(&self.configuration), console);
        Ok(after)
    }

    /// Returns the cluster, if the configuration was read from one.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.source.cluster()
    }

    /// Returns the answers about the partition.
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn answers(&self) -> Result<Answers<'_>, Failure> {
        Ok(Answers { source: self.configuration.name(), tree: self.tree()? })
    }

    /// Returns both ConfigMaps as `YuniKorn` merges them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn merged(&self, args: &ClusterArgs) -> Result<Flattened, Failure> {
        match &self.source {
            Source::Files(given) => Ok(given.merged()),
            Source::Cluster(cluster) => cluster.merged(args),
        }
    }

    /// Returns the queues of the partition.
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn tree(&self) -> Result<&Tree, Failure> {
        self.configuration.tree(&self.partition)
    }
}
