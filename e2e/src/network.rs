//! Gives each test cluster except the first a separate network, because `YuniKorn`'s ports are hard-coded.
//!
//! A thread is in one network, which its sockets, threads and processes inherit.

use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::process::Process;
use crate::session::announce;
use crate::wait::PATIENCE;

/// The network of the test process, which is the network of its first thread and never changes.
const OF_PROCESS: &str = "/proc/self/ns/net";
const OF_THREAD: &str = "/proc/thread-self/ns/net";
/// Brings up loopback, which is down in a new network.
const LOOPBACK: [&str; 6] = ["ip", "link", "set", "dev", "lo", "up"];

/// A network with nothing but loopback.
#[derive(Debug)]
pub(crate) struct Network {
    namespace: File,
    /// Keeps the network, until the test process ends.
    _keeper: Process,
}

impl Network {
    pub(crate) async fn new(directory: &Path) -> Result<Self> {
        let keep = format!("{} && echo up && exec sleep infinity", LOOPBACK.join(" "));
        let keeper =
            Process::new("network", "unshare".as_ref(), directory).args(["--net", "sh", "-c", &keep]);
        keeper.start()?;
        let up = || async { Ok((keeper.log() == "up\n").then_some(())) };
        keeper.until("a network", PATIENCE, up).await?;
        let pid = keeper.pid().context("the network has ended")?;
        Ok(Self { namespace: File::open(format!("/proc/{pid}/ns/net"))?, _keeper: keeper })
    }
}

/// Returns whether this process may create networks and move threads into them, which requires
/// `CAP_SYS_ADMIN` and iproute2.
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(|| {
        let mut trial = Command::new("unshare");
        trial.arg("--net").args(LOOPBACK).stdin(Stdio::null()).stderr(Stdio::null());
        let possible = trial.status().is_ok_and(|status| status.success());
        if !possible {
            announce("there is one test cluster: for more, be root and run .ci/tools");
        }
        possible
    })
}

/// Moves the calling thread into a network, or into the process's network if it is `None`.
pub(crate) fn enter(network: Option<&Network>) -> Result<()> {
    let own;
    let namespace = match network {
        Some(network) => &network.namespace,
        None if fs::read_link(OF_THREAD)? == fs::read_link(OF_PROCESS)? => return Ok(()),
        None => {
            own = File::open(OF_PROCESS)?;
            &own
        }
    };
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .context("cannot move a thread into a network")
}

/// Runs `work` in the network of the process, which has Internet access.
pub(crate) fn outside<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| enter(None).and_then(|()| work()));
        thread.join().unwrap_or_else(|_| Err(anyhow!("a thread has panicked")))
    })
}
