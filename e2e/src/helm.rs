//! Helm, in both versions that people have, and the chart.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::assets::{self, Servers};
use crate::bed::Bed;

/// Where the chart is.
pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/queuewarden");
/// The release of the tests.
pub const RELEASE: &str = "queuewarden";
/// What Helm takes for the cluster's version where it asks none.
const KUBERNETES: &str = "1.34.0";

/// A version of Helm. They differ: 3 merges three ways on its own, 4 applies on the server.
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
    /// What it would keep in somebody's home.
    home: Arc<TempDir>,
}

impl Version {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Three, Self::Four];
}

impl Helm {
    /// Helm, built if need be.
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

    /// What the chart prints with these arguments to `helm template`.
    ///
    /// # Errors
    /// With what Helm says, when it refuses.
    pub async fn template(&self, args: &[&str]) -> Result<String> {
        let begin = ["template", RELEASE, CHART, "--kube-version", KUBERNETES];
        self.run(&[&begin, args].concat(), Path::new("/dev/null")).await
    }

    /// What Helm prints, as whom this kubeconfig says.
    ///
    /// # Errors
    /// With what Helm says, when it fails.
    pub async fn run(&self, args: &[&str], kubeconfig: &Path) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(args);
        self.output(command, kubeconfig).await.with_context(|| format!("helm {}", args.join(" ")))
    }

    /// What a command prints that is given this kubeconfig, and nothing of Helm's in somebody's home.
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

impl Bed {
    /// Helm as cluster administrator.
    ///
    /// # Errors
    /// With what Helm says, when it fails.
    pub async fn helm(&self, helm: &Helm, args: &[&str]) -> Result<String> {
        helm.run(args, self.kubeconfig()).await
    }

    /// Runs lines of a page in the repository as somebody who has this Helm and kubectl, and is cluster
    /// administrator; up to the first that fails.
    ///
    /// # Errors
    /// With what the one that failed says.
    pub async fn shell_with_helm(&self, helm: &Helm, lines: &str) -> Result<String> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        helm.output(self.bash(&repository, &[&helm.program], lines)?, self.kubeconfig()).await
    }
}

/// The objects that `kubectl apply -k` of a folder of the repository would apply.
///
/// # Errors
/// With what kubectl says, when it is no kustomization.
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

/// The objects of a YAML text; documents with nothing but comments are none.
///
/// # Errors
/// When it is no YAML.
pub fn objects(text: &str) -> Result<Vec<Value>> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(all.into_iter().filter(Value::is_object).collect())
}
