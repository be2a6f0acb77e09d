//! Drives a real browser, Chromium, with the project's Node program `e2e/browser`, which uses the report's
//! page as people do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::assets;
use crate::process::Process;
use crate::session::Session;

/// A Chromium to use instead of the one in `PATH`.
pub const CHROMIUM: &str = "CHROMIUM";
/// The directory for screenshots of the page, instead of `target/e2e/screenshots`.
pub const SCREENSHOTS: &str = "QUEUEWARDEN_SCREENSHOTS";

/// The program names of Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const CHROMIUM_WANTED: &str = "the report's page is tested in a real browser. .ci/tools installs Chromium, \
                               or set CHROMIUM to its program";
const NODE_WANTED: &str = "the report's page is tested by Node.js. .ci/tools installs it";
/// Maximum duration of a run. On two busy cores it takes minutes.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Runs `e2e/browser` with Node's test runner on the reports in this directory. Blocks only the caller.
///
/// # Errors
/// When a test in it fails, with all its output; when there is no browser or Node, with the packages to
/// install.
pub async fn run(reports: &Path) -> Result<()> {
    let chromium = chromium()?;
    let node = in_path(&["node", "nodejs"]).context(NODE_WANTED)?;
    let tests = tokio::task::spawn_blocking(assets::browser_tests).await??;
    let screenshots =
        std::env::var_os(SCREENSHOTS).map_or_else(|| tests.with_file_name("screenshots"), PathBuf::from);
    std::fs::create_dir_all(&screenshots)?;
    let file = tests.join("all.js");
    let process = Process::new("browser", &node, Session::get()?.directory())
        .args(["--test".as_ref(), file.as_os_str()])
        .env(CHROMIUM, chromium)
        .env(SCREENSHOTS, screenshots)
        .env("QUEUEWARDEN_REPORTS", reports);
    process.start()?;
    let ended = process.exited(TIMEOUT).await.with_context(|| process.log())?;
    let log = process.log();
    ensure!(ended.success(), "{ended} of {}:\n{log}", file.display());
    // A file without tests succeeds, too.
    let ran = log.lines().filter(|line| line.trim_start().starts_with("ok ")).count();
    ensure!(ran > 1, "no test was run:\n{log}");
    println!("{log}");
    Ok(())
}

fn chromium() -> Result<PathBuf> {
    match std::env::var_os(CHROMIUM) {
        Some(program) => Ok(PathBuf::from(program)),
        None => in_path(&NAMES).context(CHROMIUM_WANTED),
    }
}

/// Returns the first of these programs that is installed.
pub(crate) fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_file()
}
