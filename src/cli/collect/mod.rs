//! `queuewarden collect`: gathers a support bundle without secrets in one archive.
//!
//! Secrets are never read. The kinds to collect are listed explicitly, and every text goes through
//! [`redact`], because people write passwords where they do not belong. Every part has a size limit.
//!
//! * [`gather`]: reads the contents; [`bundle`]: the files, their limits, and the archive; [`redact`]:
//!   removes secrets.

pub mod bundle;
pub mod gather;
pub mod redact;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::console::Console;
use super::installed::ReachArgs;
use super::{Exit, Failure, clock};

/// Gather a support bundle as a .tar.gz: queuewarden's objects, YuniKorn's ConfigMaps, the configuration that
/// the scheduler runs, `status`, `check`, pods, events, logs and metrics. Secrets are never read, and tokens,
/// keys and environment variables are removed from the rest. The bundle contains names of users, groups and
/// queues: review it before you pass it on.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    /// File to write, or - for standard output [default: queuewarden-TIME.tar.gz]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out the logs of queuewarden and of YuniKorn's scheduler
    #[arg(long)]
    no_logs: bool,
}

/// Runs the command.
///
/// # Errors
/// When the cluster cannot be reached, or the file is there already or cannot be written.
pub fn run(args: &Args, console: Console) -> Result<Exit, Failure> {
    let installed = args.reach.open()?;
    installed.notes.tell(console);
    let now = clock();
    let bundle = gather::gather(&installed, &args.reach, !args.no_logs, now);
    let folder = format!("queuewarden-{}", now.strftime("%Y%m%dT%H%M%SZ"));
    let failed = |error: std::io::Error| Failure::Output(format!("cannot make the archive: {error}"));
    let archive = bundle.archive(&folder, now).map_err(failed)?;
    let path = args.output.clone().unwrap_or_else(|| format!("{folder}.tar.gz").into());
    if path.as_os_str() == "-" {
        // Fails on a closed pipe, too, because a part of an archive is of no use.
        let lost = |error| Failure::Output(format!("cannot write the archive to standard output: {error}"));
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&archive).and_then(|()| stdout.flush()).map_err(lost)?;
    } else {
        write(&path, &archive)?;
        console.out(&format!("{}\n", path.display()))?;
    }
    let (files, problems) = (bundle.files().count(), bundle.problems().len());
    console.note(&format!(
        "{files} files, {} KiB; {problems} things could not be read, index.json names them; it holds names \
        of users, groups and queues",
        archive.len().div_ceil(1024)
    ));
    Ok(Exit::Clean)
}

/// Writes a new file that only its owner can read; never replaces one.
fn write(path: &Path, archive: &[u8]) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::Output(format!("cannot write to `{}`: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(archive).map_err(failed)
}
