//! Runs Helm, in both versions that people have, with the chart.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::assets::{self, Servers};
use crate::test_cluster::TestCluster;

/// The folder of the chart.
pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/queuewarden");
/// The release of the tests.
pub const RELEASE: &str = "queuewarden";
/// The cluster's version that Helm assumes when it contacts none.
const KUBERNETES: &str = "1.35.0";

/// A version of Helm. Version 3 computes a three-way merge itself, version 4 applies on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Helm 3.
    Three,
    /// Helm 4.
    Four,
}

/// A program `helm`.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
    /// The files that it would write to a user's home directory.
    home: Arc<TempDir>,
}

impl Version {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::Three, Self::Four];
}

impl Helm {
    /// Returns Helm, building it if necessary.
    ///
    /// # Errors
    /// When it cannot be built.
    pub async fn get(version: Version) -> Result<Self> {
        let folder = match version {
            Version::Three => "helm/3",
            Version::Four => "helm/4",
        };
        let program = tokio::task::spawn_blocking(move || assets::helm(folder)).await??;
        Ok(Self { program, home: Arc::new(tempfile::tempdir()?) })
    }

    /// Returns the output of `helm template` for the chart with these arguments.
    ///
    /// # Errors
    /// With Helm's message, when it refuses.
    pub async fn template(&self, args: &[&str]) -> Result<String> {
        let begin = ["template", RELEASE, CHART, "--kube-version", KUBERNETES];
        self.run(&[&begin, args].concat(), Path::new("/dev/null")).await
    }

    /// Returns Helm's output when it runs as the user of this kubeconfig.
    ///
    /// # Errors
    /// With Helm's message, when it fails.
    pub async fn run(&self, args: &[&str], kubeconfig: &Path) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(args);
        self.output(command, kubeconfig).await.with_context(|| format!("helm {}", args.join(" ")))
    }

    /// Returns the output of a command with this kubeconfig, and without any of Helm's files in a user's home
    /// directory.
    async fn output(&self, mut command: Command, kubeconfig: &Path) -> Result<String> {
        let home = self.home.path();
        let output = command
            .env("KUBECONFIG", kubeconfig)
            .env("KUBECACHEDIR", home.join("kubectl"))
            .env("HELM_CACHE_HOME", home.join("cache"))
            .env("HELM_CONFIG_HOME", home.join("config"))
            .env("HELM_DATA_HOME", home.join("data"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", said.trim());
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl TestCluster {
    /// Runs Helm as cluster administrator.
    ///
    /// # Errors
    /// With Helm's message, when it fails.
    pub async fn helm(&self, helm: &Helm, args: &[&str]) -> Result<String> {
        helm.run(args, self.kubeconfig()).await
    }

    /// Runs lines of a page in the repository as a cluster administrator with this Helm and kubectl, up to
    /// the first one that fails.
    ///
    /// # Errors
    /// With the message of the line that failed.
    pub async fn shell_with_helm(&self, helm: &Helm, lines: &str) -> Result<String> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        helm.output(self.bash(&repository, &[&helm.program], lines)?, self.kubeconfig()).await
    }
}

/// Returns the objects that `kubectl apply -k` of a directory of the repository would apply.
///
/// # Errors
/// With kubectl's message, when it is not a kustomization.
pub async fn kustomized(folder: &str) -> Result<Vec<Value>> {
    let servers = tokio::task::spawn_blocking(Servers::get).await??;
    let output = Command::new(servers.kubectl())
        .args(["kustomize", &format!("{}/../{folder}", env!("CARGO_MANIFEST_DIR"))])
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    objects(&String::from_utf8(output.stdout)?)
}

/// Returns the objects of a YAML text. Documents that contain only comments are skipped.
///
/// # Errors
/// When it is not YAML.
pub fn objects(text: &str) -> Result<Vec<Value>> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(all.into_iter().filter(Value::is_object).collect())
}
