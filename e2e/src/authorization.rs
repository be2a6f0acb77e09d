//! Configures who authorizes requests to the API server: RBAC, and during a test another authorizer before
//! it.
//!
//! The API server reloads its `--authorization-config` when the file changes, so nothing has to be restarted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::assets;
use crate::endpoints::Endpoints;
use crate::operator::NAMESPACE;
use crate::session::Session;
use crate::test_cluster::TestCluster;
use crate::wait::{PATIENCE, eventually};

/// The name of the file in the cluster's directory.
pub(crate) const FILE: &str = "authorization.yaml";
/// The content of the file between tests. A type that is missing when the API server starts cannot be added
/// later.
pub(crate) const RBAC: &str = "\
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - {type: Node, name: node}
  - {type: RBAC, name: rbac}
";
/// The metric for the API server's reloads of the file.
const RELOADS: &str = "apiserver_authorization_config_controller_automatic_reloads_total";

impl TestCluster {
    /// Makes the API server use the authorizers of this `AuthorizationConfiguration`.
    ///
    /// # Errors
    /// When the API server does not accept it.
    pub async fn authorize_by(&self, configuration: &str) -> Result<()> {
        let path = self.directory.join(FILE);
        if fs::read_to_string(&path)? == configuration {
            return Ok(());
        }
        self.local()?;
        let before = self.reloads().await?;
        // The file is replaced atomically, because the API server reads its content at the moment of the
        // event.
        let new = path.with_extension("new");
        fs::write(&new, configuration)?;
        fs::rename(&new, &path)?;
        eventually("the API server to read its authorization configuration", PATIENCE, || async {
            let now = self.reloads().await?;
            anyhow::ensure!(now.failed <= before.failed, "the API server refuses the configuration");
            Ok((now.taken > before.taken).then_some(()))
        })
        .await
    }

    /// Returns to RBAC alone.
    pub(crate) async fn authorize_by_rbac(&self) -> Result<()> {
        self.authorize_by(RBAC).await
    }

    async fn reloads(&self) -> Result<Reloads> {
        let metrics = self.kubectl(&["get", "--raw", "/metrics"]).await?;
        let count = |status: &str| {
            let status = format!("status=\"{status}\"");
            let line = metrics.lines().find(|line| line.starts_with(RELOADS) && line.contains(&status));
            let value = line.and_then(|line| line.rsplit(' ').next()).unwrap_or("0");
            value.parse::<f64>().context("a metric is no number")
        };
        Ok(Reloads { taken: count("success")?, failed: count("failure")? })
    }
}

#[derive(Debug, Clone, Copy)]
struct Reloads {
    taken: f64,
    failed: f64,
}

/// The `ServiceAccount` of `manifests/authorizer`.
const ACCOUNT: &str = "queuewarden-authorizer";

/// An API server that queries queuewarden, configured with the output of `queuewarden authorizer-config`.
#[derive(Debug)]
pub struct Authorizer {
    /// The `AuthorizationConfiguration`.
    pub configuration: String,
    /// The kubeconfig that it names.
    pub kubeconfig: PathBuf,
    /// The token that the API server sends.
    pub token: String,
}

/// The output of `kubectl auth can-i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// True for a yes.
    pub yes: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl TestCluster {
    /// Makes the API server query queuewarden at its endpoints.
    ///
    /// # Errors
    /// When the configuration cannot be made, or the API server does not accept it.
    pub async fn authorize_by_queuewarden(
        &self,
        endpoints: &Endpoints,
        flags: &[&str],
    ) -> Result<Authorizer> {
        self.apply_kustomization("manifests/authorizer").await?;
        let folder = tempfile::tempdir_in(Session::get()?.directory())?.keep();
        let token =
            self.kubectl(&["create", "token", ACCOUNT, "--namespace", NAMESPACE]).await?.trim().to_owned();
        fs::write(folder.join("ca.crt"), &endpoints.authority)?;
        fs::write(folder.join("token"), &token)?;
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let program = tokio::task::spawn_blocking(assets::operator).await??;
        let output = tokio::process::Command::new(program)
            .args(["authorizer-config", "--server", &format!("https://{}", endpoints.address)])
            .args(["--tls-server-name", "localhost", "--certificate-authority", &path("ca.crt")])
            .args(["--token-file", &path("token"), "--kubeconfig", &path("kubeconfig")])
            .args(["--dir", &path("")])
            .args(flags)
            .output()
            .await?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let configuration = fs::read_to_string(folder.join("authorization.yaml"))?;
        self.authorize_by(&configuration).await?;
        Ok(Authorizer { configuration, kubeconfig: folder.join("kubeconfig"), token })
    }

    /// Runs `kubectl auth can-i` as another user. A no is an answer; anything other than yes or no is an
    /// error.
    ///
    /// # Errors
    /// When kubectl does not run, or does not answer.
    pub async fn can_i(&self, user: &str, group: &str, question: &[&str]) -> Result<Said> {
        let output = tokio::process::Command::new(self.kubectl_program())
            .args(["auth", "can-i"])
            .args(question)
            .args(["--as", user, "--as-group", group])
            .env("KUBECONFIG", self.kubeconfig())
            .env("KUBECACHEDIR", Session::get()?.directory().join("kubectl-cache"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        let said = Said {
            yes: output.status.success(),
            out: String::from_utf8(output.stdout)?,
            err: String::from_utf8(output.stderr)?,
        };
        let answered = said.out.starts_with(if said.yes { "yes" } else { "no" });
        anyhow::ensure!(answered, "can-i {question:?} as {user}: {said:?}");
        Ok(said)
    }

    fn kubectl_program(&self) -> &Path {
        &self.kubectl
    }
}
