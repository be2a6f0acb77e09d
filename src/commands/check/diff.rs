//! `queuewarden diff`: shows who gains and who loses which access between two configurations.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::output::format::FormatArgs;
use crate::output::{Console, Exit, Failure};
use crate::source::cluster::{Cluster, ClusterArgs};
use crate::source::comparison::OnlyArgs;
use crate::source::configuration::{Configuration, ObjectChange};
use crate::source::files::FileSource;
use crate::source::session::{FileArgs, Source, SourceArgs, yunikorn_version};
use crate::source::{request, times};
use queuewarden_plan::{ObjectRef, ResourceKind};
use yunikorn::version::Version;

/// Help text on the rows and exit codes.
const HELP: &str = "\
Files that only contain QueueAcls and AdmissionPolicies are applied to the old configuration, like with kubectl \
apply.\n\n\
Each row shows who gains or loses a right, on which queues, and the entry that makes the difference, now or at any \
later time. FROM is the start of a future change, and UNTIL the end of the right. `extends` and `shortens` are \
rights with a different end, with the old and the new time. Users are compared without their groups, and groups \
without their members; users who keep a right through another entry are not listed. `added` and `removed` are \
queues that exist in only one configuration, with the rights that their ACLs grant in addition to the ancestors; \
`now parent` is a former leaf, in which applications can no longer run.

With --as, the rows are about that user with all groups. If the files change a grant to the user without effect, a \
note explains which entry still grants the right, or why the user still doesn't have it.

Exit codes: 0 nobody gains or loses access, and the queues and the admission settings are the same; 1 something \
differs, or an object of the change would be refused; 2 the command line is invalid; 3 undecided. With \
--fail-on-widening, 1 only if someone gains access, or an object would be refused.";

/// Show who gains and loses access, including inherited access, between two configurations
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP, mut_arg("user", |arg| arg.help("Show only what changes for this user")))]
pub struct DiffArgs {
    /// The new configuration: a file or folder with a queues.yaml, ConfigMaps and objects of queuewarden, or
    /// -; QueueAcls and AdmissionPolicy objects alone are applied to the old one; may be repeated
    #[arg(
        short = 'f',
        long = "filename",
        id = "new",
        value_name = "PATH",
        required_unless_present = "delete"
    )]
    new: Vec<PathBuf>,
    /// An object that is deleted from the old one, such as queueacl/prod; may be repeated
    #[arg(long, value_name = "KIND/NAME", value_parser = |text: &str| request::object(text, &[ResourceKind::QueueAcl, ResourceKind::AdmissionPolicy]))]
    delete: Vec<ObjectRef>,
    /// The old configuration, instead of the cluster's; may be repeated
    #[arg(
        long = "from", id = "filename", value_name = "PATH",
        conflicts_with_all = ["kubeconfig", "context"]
    )]
    old: Vec<PathBuf>,
    /// Read subfolders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Time to evaluate at, instead of now; for objects with notBefore or expiresAt
    #[arg(long, value_name = "TIME", value_parser = times::now)]
    now: Option<Timestamp>,
    /// Version of YuniKorn that is to read the files: 1.8 or 1.9. Without it: the one in a YuniKornConfig
    /// that is given, or else the strictest of both
    #[arg(long, value_name = "VERSION", value_parser = yunikorn_version)]
    yunikorn_version: Option<Version>,
    #[command(flatten)]
    only: OnlyArgs,
    /// Exit with 1 only if someone may do more than before, now or at any later time
    #[arg(long)]
    fail_on_widening: bool,
    /// The cluster, if no old configuration is given.
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Runs the command.
///
/// # Errors
/// When one of the two cannot be read or evaluated, or the output cannot be written.
pub fn run(args: &DiffArgs, console: Console) -> Result<Exit, Failure> {
    let (old, new, change) = args.configurations(console)?;
    let answer = args.only.compare(&old, &new, Some(&change), console)?;
    answer.print(args.output, console)?;
    let counts = if args.fail_on_widening { answer.widens } else { !answer.is_empty() };
    Ok(Exit::yes(!counts && answer.refused.is_empty()))
}

impl DiffArgs {
    /// Returns the old configuration, the new one, and the objects that are changed, unless the new one is
    /// whole.
    fn configurations(
        &self,
        console: Console,
    ) -> Result<(Configuration, Configuration, ObjectChange), Failure> {
        let new = if self.new.is_empty() { None } else { Some(self.given(&self.new, console)?) };
        // `None` for a whole configuration.
        let change = new.as_ref().map_or_else(|| Some(ObjectChange::default()), FileSource::change);
        if change.is_none() && !self.delete.is_empty() {
            let why = "--delete requires QueueAcls and AdmissionPolicies instead of a complete configuration";
            return Err(Failure::Usage(why.to_owned()));
        }
        let whole = new.filter(|_| change.is_none()).map(|new| new.configuration(console)).transpose()?;
        let change = ObjectChange { deleted: self.delete.clone(), ..change.unwrap_or_default() };
        let old = if self.old.is_empty() {
            times::not_past(self.now)?;
            Source::Cluster(Box::new(Cluster::connect(&self.cluster.server)?))
        } else {
            Source::Files(Box::new(self.given(&self.old, console)?))
        };
        let files = FileArgs { now: self.now, ..FileArgs::default() };
        let args = SourceArgs { files, cluster: self.cluster.clone(), ..SourceArgs::default() };
        let before = old.current(&args, console)?;
        let after = whole.map_or_else(|| old.changed(&args, &change, console), Ok)?;
        before.note(None, console);
        after.note(Some(&before), console);
        Ok((before, after, change))
    }

    fn given(&self, paths: &[PathBuf], console: Console) -> Result<FileSource, Failure> {
        let Self { recursive, now, yunikorn_version, .. } = *self;
        let files = FileArgs { recursive, base: None, now, yunikorn_version };
        let namespace = self.cluster.cluster_namespace.as_deref();
        files.read(paths, namespace, None, console)?.checked(console)
    }
}
