//! Tests the program as a plugin of the real kubectl.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::assets::{self, Servers};

const QUEUES: &str =
    "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: sue}]}]}]";

/// Returns kubectl's output, with this folder before all others in `PATH`.
fn kubectl(folder: &Path, args: &[&str]) -> Result<(Option<i32>, String)> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&old)))?;
    let output = Command::new(Servers::get()?.kubectl())
        .args(args)
        .current_dir(folder)
        .env("PATH", path)
        .env("KUBECONFIG", folder.join("none"))
        .output()
        .context("cannot run kubectl")?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

#[test]
fn kubectl_runs_and_completes_the_plugin() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    symlink(assets::operator()?, at("kubectl-queuewarden"))?;
    std::fs::write(at("queues.yaml"), QUEUES)?;

    let (code, help) = kubectl(folder.path(), &["queuewarden", "can-i", "--help"])?;
    ensure!(code == Some(0) && help.contains("Usage: kubectl queuewarden can-i"), "{code:?} {help}");
    let asked = ["queuewarden", "can-i", "submit", "root.prod", "-f", "queues.yaml", "--as"];
    for (user, expected) in [("sue", (Some(0), "yes\n")), ("bob", (Some(1), "no - "))] {
        let (code, out) = kubectl(folder.path(), &[&asked[..], &[user]].concat())?;
        ensure!(code == expected.0 && out.starts_with(expected.1), "{user}: {code:?} {out}");
    }

    let (_, script) = kubectl(folder.path(), &["queuewarden", "completion", "kubectl"])?;
    std::fs::write(at("kubectl_complete-queuewarden"), script)?;
    std::fs::set_permissions(at("kubectl_complete-queuewarden"), PermissionsExt::from_mode(0o755))?;
    let words = ["__complete", "queuewarden", "can-i", "submit", "-f", "queues.yaml", "root."];
    let (_, offered) = kubectl(folder.path(), &words)?;
    ensure!(offered == "root.prod\n:4\n", "{offered}");
    Ok(())
}
