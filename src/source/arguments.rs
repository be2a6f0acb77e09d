//! Arguments that say which files are read, and how.

use crate::output::text;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use yunikorn::version::Version;

use super::assemble::{self, Assembled};
use super::input::{Inputs, ours, source};
use super::times::{self, clock};
use crate::output::findings::plural;
use crate::output::{Console, Failure};

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
/// Heading of the options that need a cluster.
pub(crate) const CLUSTER: &str = "Cluster";

impl InputArgs {
    /// Reads the inputs.
    pub(crate) fn read(&self, except: Option<&Path>, console: Console) -> Result<Inputs, Failure> {
        self.files.read(&self.filename, self.cluster_namespace.as_deref(), except, console)
    }

    /// Assembles the inputs at the time to evaluate at.
    pub(crate) fn assemble(&self, inputs: &Inputs) -> Assembled {
        assemble::assemble(inputs, self.files.now.unwrap_or_else(clock))
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
    ) -> Result<Inputs, Failure> {
        reads_standard_input_once(paths.iter().chain(&self.base))?;
        let texts = source::read(paths, self.recursive, except, ours::mentions, console)?;
        let mut inputs = Inputs::new(texts.sources);
        inputs.skipped = inputs.skipped.saturating_add(texts.skipped);
        if inputs.sources.is_empty() && inputs.skipped == 0 && self.base.is_none() {
            let paths: Vec<_> = paths.iter().map(|path| text::shown(path)).collect();
            let hint = if self.recursive { "" } else { "; -R looks into folders below" };
            return Err(Failure::Usage(format!(
                "no .yaml, .yml or .json file in {}{hint}",
                paths.join(", ")
            )));
        }
        inputs.namespace = namespace.map(ToOwned::to_owned);
        assemble::choose_base(&mut inputs, self.base.as_deref())?;
        inputs.version = self.yunikorn_version;
        console.notes(&inputs.notes);
        if inputs.skipped > 0 {
            let files = plural(inputs.skipped, "file");
            console.note(&format!("{files} skipped, which hold nothing for queuewarden or YuniKorn"));
        }
        Ok(inputs)
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
        return Err(Failure::Usage("standard input can be read once: `-` is given twice".to_owned()));
    }
    Ok(())
}
