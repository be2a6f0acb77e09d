//! Builds a Go module, a Maven project or a Node project, once for all test processes.
//!
//! A directory is named after a hash of everything that affects its content, so that only changed versions
//! are built again.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use super::target_dir;
use crate::network;
use crate::session::announce;
use crate::yunikorn::checksum;

const GO_WANTED: &str = "the end-to-end tests build etcd, Kubernetes and YuniKorn from source. .ci/tools \
                         installs Go, or set QUEUEWARDEN_E2E_ASSETS to a directory of built servers";
const MAVEN_WANTED: &str = "what YARN answers is asked of Hadoop's own classes. .ci/tools installs Maven and \
                            a JDK";
const NPM_WANTED: &str = "the report's page and the YAML reader are tested with packages of npm. .ci/tools \
                          installs Node.js with npm";

/// Builds a Go module with `GOBIN` set.
pub(super) fn go_build(what: &str, module: &Path, args: &[&str]) -> Result<PathBuf> {
    build(what, module, args, |building| {
        announce(&format!("building {} with Go, once; for the servers this takes minutes", module.display()));
        let mut go = Command::new("go");
        go.current_dir(module)
            .args(args)
            .env("GOBIN", building)
            .env("GOFLAGS", "-mod=readonly")
            .env("GOWORK", "off")
            .stderr(Stdio::inherit());
        run(&mut go, GO_WANTED)
    })
}

/// Builds a Maven project: its classes, and the jars they need. It runs single goals, because the other
/// plugins of the life cycle are not needed here.
pub(super) fn maven_build(what: &str, project: &Path) -> Result<PathBuf> {
    let args = ["--batch-mode", "--quiet", "compiler:compile", "dependency:copy-dependencies"];
    build(what, project, &args, |building| {
        announce(&format!("building {} with Maven, once", project.display()));
        let mut maven = Command::new("mvn");
        maven.current_dir(project).args(args).arg(format!("-Dout={}", building.display()));
        run(&mut maven, MAVEN_WANTED)
    })
}

/// Makes a copy of a Node project, with the packages in its lock file.
pub(super) fn npm_build(what: &str, project: &Path) -> Result<PathBuf> {
    // Only our tests run code from the registry.
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    build(what, project, &args, |building| {
        announce(&format!("fetching the packages of {} with npm, once", project.display()));
        for file in source_files(project)? {
            let copy = building.join(file.strip_prefix(project)?);
            fs::create_dir_all(copy.parent().context("a file without a directory")?)?;
            fs::copy(&file, copy)?;
        }
        run(Command::new("npm").current_dir(building).args(args), NPM_WANTED)
    })
}

/// Runs a program without input. The error of a failure contains its output (Maven writes errors to standard
/// output) and the program's name, or what to install if it does not exist.
fn run(command: &mut Command, wanted: &str) -> Result<()> {
    let program = command.get_program().display().to_string();
    match command.stdin(Stdio::null()).output() {
        Ok(output) => ensure!(
            output.status.success(),
            "{command:?} failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("there is no `{program}`: {wanted}"),
        Err(error) => return Err(error).with_context(|| format!("cannot run {program}")),
    }
    Ok(())
}

/// Builds `target/e2e/<what>-<hash>` from the given sources, unless it exists. A file lock protects it,
/// because test processes start together.
fn build(
    what: &str,
    sources: &Path,
    args: &[&str],
    make: impl FnOnce(&Path) -> Result<()> + Send,
) -> Result<PathBuf> {
    let root = target_dir()?.join("e2e");
    fs::create_dir_all(&root)?;
    let done = root.join(format!("{what}-{}", fingerprint(sources, args)?));
    let lock = File::create(root.join(format!("{what}.lock")))?;
    lock.lock()?;
    if done.is_dir() {
        return Ok(done);
    }
    let building = root.join(format!("{what}.building"));
    if building.exists() {
        fs::remove_dir_all(&building)?;
    }
    fs::create_dir_all(&building)?;
    network::outside(|| make(&building))?;
    remove_older(&root, what)?;
    fs::rename(&building, &done)?;
    Ok(done)
}

/// Removes older versions. The servers take 400 MB, and older ones are not needed again.
fn remove_older(root: &Path, what: &str) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let hash = path.file_name().and_then(|name| name.to_str()?.strip_prefix(what)?.strip_prefix('-'));
        if hash.is_some() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Returns the hex digits of a hash over the source files and the command.
fn fingerprint(sources: &Path, args: &[&str]) -> Result<String> {
    let mut content = args.join("\n");
    for file in source_files(sources)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(sources)?.to_string_lossy();
        content.extend(["\n", &name, "\n", &text]);
    }
    Ok(checksum(&content).to_lowercase().chars().take(16).collect())
}

/// Returns the files of one module or project in order, excluding nested modules and build output.
fn source_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if !path.ends_with("target")
            && !path.ends_with("node_modules")
            && !path.join("pom.xml").exists()
        {
            files.extend(source_files(&path)?);
        }
    }
    files.sort();
    Ok(files)
}
