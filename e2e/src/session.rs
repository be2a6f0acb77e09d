//! The resources of one test process: its temporary directory, its reaper and its turn on this machine.
//!
//! Everything that a test cluster starts must end with the test process, even if that is killed with SIGKILL
//! and runs no destructor. The first thing started is therefore the *reaper*, a shell that reads from a pipe
//! which process groups exist. The kernel closes the pipe when the test process ends in any way; the shell
//! then kills the groups and removes the directory.
//!
//! `YuniKorn`'s ports are hard-coded, so only one test process at a time can use them in its network
//! namespace. The turn is an advisory lock on a file, which the reaper holds as well: the next process gets
//! it only when the last server of this one has ended.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result, bail};

/// Keeps the directory (logs, etcd data, kubeconfigs) after the process has ended.
const KEEP: &str = "QUEUEWARDEN_E2E_KEEP";

/// Reads `group N` and `forget N` lines until the end of its input, then cleans up. `$1` is the directory to
/// remove, or empty to keep it. Five seconds after it was killed, a group is considered ended even if no one
/// collects its exit status.
const REAPER: &str = r#"
groups=' '
while read -r word group; do
    case $word in
        group) groups="$groups$group " ;;
        forget) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
tries=100
for group in $groups; do
    while [ $tries -gt 0 ] && kill -s 0 -- "-$group" 2>/dev/null; do sleep 0.05; tries=$((tries - 1)); done
done
[ -z "$1" ] || rm -rf -- "$1"
"#;

#[derive(Debug)]
pub(crate) struct Session {
    directory: PathBuf,
    reaper: Mutex<Child>,
    _turn: File,
}

impl Session {
    /// Returns the session of this process, which starts on the first call. Waits for the turn; blocks the
    /// calling thread meanwhile.
    pub(crate) fn get() -> Result<&'static Self> {
        static SESSION: OnceLock<std::result::Result<Session, String>> = OnceLock::new();
        match SESSION.get_or_init(|| Self::begin().map_err(|error| format!("{error:#}"))) {
            Ok(session) => Ok(session),
            Err(message) => bail!("no cluster: {message}"),
        }
    }

    fn begin() -> Result<Self> {
        let turn = take_turn()?;
        let directory = tempfile::Builder::new().prefix("queuewarden-e2e-").tempdir()?.keep();
        let keep = std::env::var_os(KEEP).is_some();
        if keep {
            announce(&format!("{KEEP}: everything stays in {}", directory.display()));
        }
        let reaper = Command::new("sh")
            .args(["-c", REAPER, "reaper"])
            .arg(if keep { Path::new("") } else { &directory })
            .stdin(Stdio::piped())
            .stdout(turn.try_clone()?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start the reaper (sh)")?;
        Ok(Self { directory, reaper: Mutex::new(reaper), _turn: turn })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Registers `group`, so that it ends with this process.
    pub(crate) fn adopt(&self, group: u32) -> Result<()> {
        self.tell(&format!("group {group}\n"))
    }

    /// Forgets `group`, which has ended. The kernel may reuse its number for an unrelated process.
    pub(crate) fn forget(&self, group: u32) -> Result<()> {
        self.tell(&format!("forget {group}\n"))
    }

    fn tell(&self, line: &str) -> Result<()> {
        let mut reaper = self.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = reaper.stdin.as_mut().context("the reaper has no input")?;
        pipe.write_all(line.as_bytes()).context("the reaper is gone")
    }
}

fn take_turn() -> Result<File> {
    let namespace = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let path = std::env::temp_dir().join(format!("queuewarden-e2e-{digits}.lock"));
    // Read access is enough for a lock, and another user's file allows no more.
    let file = File::open(&path)
        .or_else(|_| File::options().create(true).append(true).open(&path))
        .with_context(|| format!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            announce(&format!("waiting for another test process's cluster ({})", path.display()));
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    Ok(file)
}

/// Prints a line for the person at the terminal. It bypasses libtest's capture, which would show the line
/// only on failure.
pub(crate) fn announce(line: &str) {
    // A closed standard error is no reason to fail a test.
    let _ = writeln!(std::io::stderr(), "queuewarden-e2e: {line}");
}
