//! `render --watch`: renders again whenever an input changes or a time window opens or closes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use jiff::Timestamp;
use notify::{RecursiveMode, Watcher};

use super::input::Inputs;
use super::render::{Args, print};
use super::{Console, Exit, Failure, clock};

/// Time without changes before the inputs are read, because editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(50);
/// Maximum number of changes in a row that delay reading, for a busy folder.
const MOST_SPELLS: usize = 20;
/// Longest wait before a timer is set again, because a laptop may sleep, and clocks are corrected.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Renders until the process is interrupted, or nobody reads the output any more.
pub(super) fn run(
    args: &Args,
    console: Console,
    read: impl Fn() -> Result<Inputs, Failure>,
) -> Result<Exit, Failure> {
    let console = console.endless();
    let (sender, changes) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| !event.kind.is_access()) {
            // Without a receiver the process is about to end.
            _ = sender.send(());
        }
    })
    .map_err(|error| unwatchable(&error))?;
    // Watching starts before reading, so that no change is missed.
    for (path, mode) in paths(args) {
        watcher.watch(&path, mode).map_err(|error| unwatchable(&error))?;
    }
    let mut last = read()?;
    let mut printed = print(args, console, &last, false)?;
    console.note("watching for changes");
    loop {
        let due = printed.wake_at.filter(|_| args.input.files.now.is_none());
        match next(&changes, due) {
            Next::Gone => return Ok(printed.exit),
            Next::Changed => match read() {
                Ok(now) if now.sources == last.sources => {}
                Ok(now) => {
                    last = now;
                    printed = print(args, console, &last, true)?;
                }
                // A file that is being replaced causes another event.
                Err(failure) => console.err(&format!("error: {failure}\n")),
            },
            Next::Due => printed = print(args, console, &last, true)?,
        }
    }
}

fn unwatchable(error: &notify::Error) -> Failure {
    Failure::Output(format!("cannot watch the inputs: {error}"))
}

/// Returns the paths to watch: folders themselves, and the folders of files, because editors replace files.
fn paths(args: &Args) -> Vec<(PathBuf, RecursiveMode)> {
    let below =
        if args.input.files.recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
    let paths = args.input.paths();
    paths
        .map(|path| {
            if path.is_dir() {
                return (path.clone(), below);
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            (folder.unwrap_or(Path::new(".")).to_path_buf(), RecursiveMode::NonRecursive)
        })
        .collect()
}

enum Next {
    Changed,
    Due,
    Gone,
}

/// Waits for a change and the end of a series of changes, or for the time that is due.
fn next(changes: &Receiver<()>, due: Option<Timestamp>) -> Next {
    loop {
        let Some(due) = due else {
            return changes.recv().map_or(Next::Gone, |()| settle(changes));
        };
        let left = Duration::try_from(due.duration_since(clock())).unwrap_or_default();
        if left.is_zero() {
            return Next::Due;
        }
        match changes.recv_timeout(left.min(LONGEST_WAIT)) {
            Ok(()) => return settle(changes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Next::Gone,
        }
    }
}

fn settle(changes: &Receiver<()>) -> Next {
    for _ in 0..MOST_SPELLS {
        match changes.recv_timeout(QUIET) {
            // Changes that arrive together count as one.
            Ok(()) => changes.try_iter().for_each(drop),
            Err(RecvTimeoutError::Timeout) => return Next::Changed,
            Err(RecvTimeoutError::Disconnected) => return Next::Gone,
        }
    }
    Next::Changed
}
