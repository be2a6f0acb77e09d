//! Runs one server of the test cluster as a child process: started, signalled, watched, and certain to end
//! with the test process.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group};

use crate::session::Session;
use crate::wait::eventually;

/// Runs the command in its arguments after a line of input has arrived. The line is sent once the reaper
/// knows the process, so the process never runs without being killed together with us. `exec` preserves the
/// process ID.
const GATE: &str = r#"read -r _ && exec "$0" "$@" </dev/null"#;

/// A command line that can be started repeatedly, with at most one process at a time.
#[derive(Debug)]
pub struct Process {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    log: PathBuf,
    child: Mutex<Option<Child>>,
}

impl Process {
    /// Describes a process without starting it. Its output is appended to `<log_directory>/<name>.log` at
    /// each start.
    pub fn new(name: &str, program: &Path, log_directory: &Path) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            log: log_directory.join(format!("{name}.log")),
            child: Mutex::new(None),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable to the variables of this process.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts the process.
    ///
    /// # Errors
    /// When it runs already, or cannot be started.
    pub fn start(&self) -> Result<()> {
        let mut slot = self.slot();
        if let Some(child) = slot.as_mut()
            && child.try_wait()?.is_none()
        {
            bail!("{} runs already", self.name);
        }
        Self::collect(&mut slot)?;
        let session = Session::get()?;
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(GATE)
            .arg(&self.program)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", self.name))?;
        session.adopt(child.id())?;
        let mut gate = child.stdin.take().context("the child has no input")?;
        *slot = Some(child);
        gate.write_all(b"go\n").with_context(|| format!("cannot start {}", self.name))
    }

    /// Returns whether the process runs; a stopped process does.
    pub fn running(&self) -> bool {
        matches!(self.slot().as_mut().map(Child::try_wait), Some(Ok(None)))
    }

    /// Returns the process ID, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let mut slot = self.slot();
        let child = slot.as_mut()?;
        matches!(child.try_wait(), Ok(None)).then(|| child.id())
    }

    /// Sends SIGKILL, and waits until the process has ended. Does nothing if it does not run.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&self) -> Result<()> {
        let mut slot = self.slot();
        let Some(child) = slot.as_mut() else { return Ok(()) };
        if child.try_wait()?.is_none() {
            send(child.id(), Signal::KILL)?;
            child.wait()?;
        }
        Self::collect(&mut slot)
    }

    /// Sends SIGTERM, without waiting: [`Self::exited`] waits.
    ///
    /// # Errors
    /// When the process does not run.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// Sends SIGSTOP, and waits until all its threads have stopped: the process hangs, its connections stay
    /// open.
    ///
    /// # Errors
    /// When the process does not run.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let pid =
            self.pid().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).context("it ended meanwhile")?;
        // Without NOWAIT, an exit seen here would be lost to `try_wait`.
        let change = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::process::waitid(WaitId::Pid(pid), change)?;
        Ok(())
    }

    /// Sends SIGCONT.
    ///
    /// # Errors
    /// When the process does not run.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Waits until the process has ended by itself or by a signal.
    ///
    /// # Errors
    /// When it still runs after `timeout`, or was never started.
    pub async fn exited(&self, timeout: Duration) -> Result<ExitStatus> {
        let what = format!("{} to end", self.name);
        eventually(&what, timeout, || async {
            self.slot().as_mut().context("it was never started")?.try_wait().map_err(Into::into)
        })
        .await
    }

    /// Returns everything that the process has printed, over all its starts.
    pub fn log(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Returns the last `lines` lines of [`Self::log`].
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let all: Vec<&str> = log.lines().collect();
        all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
    }

    /// Returns the path of [`Self::log`].
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// Returns the name of the process in messages and log files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until `ready` answers `Ok(Some(_))`, and gives up at once when the process ends.
    pub(crate) async fn until<T, F, Probe>(&self, what: &str, timeout: Duration, mut ready: F) -> Result<T>
    where
        F: FnMut() -> Probe,
        Probe: Future<Output = Result<Option<T>>>,
    {
        let outcome = eventually(what, timeout, || {
            let alive = self.running();
            let probe = ready();
            async move { if alive { Ok(probe.await?.map(Some)) } else { Ok(Some(None)) } }
        })
        .await;
        match outcome {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(anyhow!(
                "{} ended while waiting for {what}; its log ends:\n{}",
                self.name,
                self.log_tail(25)
            )),
            Err(error) => {
                Err(error.context(format!("the log of {} ends:\n{}", self.name, self.log_tail(25))))
            }
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.pid().with_context(|| format!("{} does not run", self.name))?;
        send(pid, signal)
    }

    fn collect(slot: &mut Option<Child>) -> Result<()> {
        match slot.take() {
            Some(child) => Session::get()?.forget(child.id()),
            None => Ok(()),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            crate::session::announce(&format!("cannot stop {}: {error:#}", self.name));
        }
    }
}

fn send(group: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(group).ok().and_then(Pid::from_raw).context("not a process id")?;
    kill_process_group(pid, signal)
        .with_context(|| format!("cannot send {signal:?} to process group {group}"))
}

pub(crate) fn last_lines(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;
    use crate::wait::PATIENCE;

    /// The variable that marks the test process to be killed.
    const VICTIM: &str = "QUEUEWARDEN_E2E_VICTIM";

    /// The victim: starts a long-running process, prints its ID, and waits to be killed.
    #[tokio::test]
    async fn victim() -> Result<()> {
        if std::env::var_os(VICTIM).is_none() {
            return Ok(());
        }
        let directory = Session::get()?.directory();
        let process =
            Process::new("sleep", "/bin/sh".as_ref(), directory).args(["-c", "sleep 600 & echo up; wait"]);
        process.start()?;
        let pid = process.pid().context("it does not run")?;
        eventually("the process to run", PATIENCE, || async { Ok((process.log() == "up\n").then_some(())) })
            .await?;
        println!("victim {pid} {}", directory.display());
        process.exited(Duration::from_mins(10)).await?;
        Ok(())
    }

    #[tokio::test]
    async fn killed_test_process_ends_its_children() -> Result<()> {
        // With a separate temporary directory, the victim does not wait for its turn.
        let temporary = tempfile::tempdir()?;
        let mut victim = Command::new(std::env::current_exe()?)
            .args(["--exact", "process::tests::victim", "--nocapture"])
            .env(VICTIM, "1")
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(victim.stdout.take().context("no output")?);
        let line = output.lines().map_while(std::result::Result::ok).find(|line| line.contains("victim "));
        let line = line.context("the victim did not start")?;
        let words: Vec<&str> = line.split_whitespace().rev().take(2).collect();
        let [directory, pid] = words.as_slice() else { bail!("{line}") };
        let group = Pid::from_raw(pid.parse()?).context("no process id")?;
        assert!(Path::new(directory).is_dir());
        rustix::process::test_kill_process_group(group)?;

        victim.kill()?;
        victim.wait()?;
        eventually("the victim's process to end and its directory to go", PATIENCE, || async {
            let gone =
                rustix::process::test_kill_process_group(group).is_err() && !Path::new(directory).exists();
            Ok(gone.then_some(()))
        })
        .await
    }

    #[tokio::test]
    async fn process_starts_again_after_a_stop() -> Result<()> {
        let temporary = tempfile::tempdir()?;
        let process = Process::new("counter", "/bin/sh".as_ref(), temporary.path())
            .args(["-c", "echo up; exec sleep 600"]);
        assert!(!process.running() && process.terminate().is_err());
        process.start()?;
        assert!(process.running() && process.start().is_err());
        let ups = |times: usize| process.log().lines().count() == times;
        eventually("the first start", PATIENCE, || async { Ok(ups(1).then_some(())) }).await?;
        process.pause()?;
        assert!(process.running());
        process.resume()?;
        process.terminate()?;
        assert!(!process.exited(PATIENCE).await?.success());
        assert!(!process.running());
        process.start()?;
        eventually("the second start", PATIENCE, || async { Ok(ups(2).then_some(())) }).await?;
        process.kill()?;
        assert!(!process.running() && process.pid().is_none());
        Ok(())
    }
}
