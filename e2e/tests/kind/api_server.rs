//! The API server queries queuewarden through the Service, or uses the ACLs as RBAC.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Kind, TestCluster, assets, eventually, operator};
use serde_json::json;

use super::{grant, helm, rolled_out, run, switch_on};

const QUESTION: [&str; 3] = ["submit", "queues.queuewarden.dev/root.prod", "-A"];

/// The path of the files in the API server's pod.
const THERE: &str = "/etc/kubernetes/queuewarden";

/// `AuthorizationConfiguration` of the API server: another authorizer until this is dropped, then its own
/// ones again.
struct Restored {
    folder: PathBuf,
    before: String,
}

impl Restored {
    fn new() -> Result<Self> {
        let folder = std::env::var_os("KIND_AUTHORIZATION").context("not on the cluster of e2e/kind")?;
        let folder = PathBuf::from(folder);
        let before = std::fs::read_to_string(folder.join("authorization.yaml"))?;
        Ok(Self { folder, before })
    }

    /// Replaces the file atomically, because the API server reads it at the moment of the event.
    fn write(&self, configuration: &str) -> Result<()> {
        let new = self.folder.join("authorization.new");
        std::fs::write(&new, configuration)?;
        Ok(std::fs::rename(&new, self.folder.join("authorization.yaml"))?)
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        if let Err(error) = self.write(&self.before) {
            eprintln!("the API server still asks queuewarden: {error}");
        }
    }
}

async fn asks_queuewarden(cluster: &TestCluster, files: &Restored) -> Result<()> {
    let namespace = ["--namespace", operator::NAMESPACE];
    let address = ["get", "service", "queuewarden", "-o", "jsonpath={.spec.clusterIP}"];
    let address = cluster.kubectl(&[&namespace[..], &address].concat()).await?;
    let token = ["create", "token", "queuewarden-authorizer"];
    let token = cluster.kubectl(&[&namespace[..], &token].concat()).await?;
    let text = r#"go-template={{index .data "ca.crt" | base64decode}}"#;
    let authority = ["get", "secret", "queuewarden-tls", "-o", text];
    let authority = cluster.kubectl(&[&namespace[..], &authority].concat()).await?;
    std::fs::write(files.folder.join("ca.crt"), authority)?;
    std::fs::write(files.folder.join("token"), token.trim())?;
    let made = tempfile::tempdir()?;
    let folder = made.path().to_str().context("no UTF-8")?;
    let program = assets::operator()?;
    let args = ["authorizer-config", "--server", &format!("https://{}", address.trim()), "--dir", folder];
    let files_there = [("--certificate-authority", "ca.crt"), ("--token-file", "token")]
        .map(|(flag, file)| format!("{flag}={THERE}/{file}"));
    let files_there = files_there.each_ref().map(String::as_str);
    run(program.to_str().context("no UTF-8")?, &[&args[..], &files_there].concat()).await?;
    std::fs::copy(made.path().join("kubeconfig"), files.folder.join("kubeconfig"))?;
    files.write(&std::fs::read_to_string(Path::new(folder).join("authorization.yaml"))?)
}

/// An API server started by kubeadm queries queuewarden at the Service's address, and only about queues.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn the_authorizer_answers_about_queues_alone() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        helm(cluster, &["webhooks.enabled=true", "webhooks.authorizer=true"]).await?;
        switch_on(cluster).await?;
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        ensure!(!cluster.can_i("alice", "devs", &QUESTION).await?.yes, "before the API server asks");
        let files = Restored::new()?;
        asks_queuewarden(cluster, &files).await?;
        // If it is not notified, it checks for a new file every minute.
        eventually("a yes for alice", LONG, || async {
            let said = cluster.can_i("alice", "devs", &QUESTION).await?;
            Ok(said.yes.then_some(()))
        })
        .await?;
        let said = cluster.can_i("eve", "devs", &QUESTION).await?;
        ensure!(!said.yes && said.out.contains("root.prod"), "{said:?}");
        let others = ["list", "pods", "-n", "queuewarden-e2e"];
        ensure!(cluster.can_i("eve", "system:authenticated", &others).await?.yes);

        // Without queuewarden RBAC decides, and without delay if the request does not concern queuewarden.
        let scale = ["scale", "deployment/queuewarden", "-n", operator::NAMESPACE, "--timeout=1m"];
        cluster.kubectl(&[&scale[..], &["--replicas=0"]].concat()).await?;
        eventually("a no for alice", PATIENCE, || async {
            let said = cluster.can_i("alice", "devs", &QUESTION).await?;
            Ok((!said.yes).then_some(()))
        })
        .await?;
        let answer = tokio::time::timeout(
            Duration::from_secs(10),
            cluster.can_i("eve", "system:authenticated", &others),
        );
        ensure!(answer.await.context("no answer without queuewarden")??.yes);
        cluster.kubectl(&[&scale[..], &["--replicas=2"]].concat()).await?;
        rolled_out(cluster).await
    })
    .await
}

/// If the API server cannot be configured, its own RBAC answers.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn the_mirror_answers_by_rbac() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        helm(cluster, &["rbacMirror=true"]).await?;
        switch_on(cluster).await?;
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        let mirror = async |value: &str| {
            let patch = json!({"spec": {"rbacMirror": value}}).to_string();
            cluster.kubectl(&["patch", "yunikornconfig", "default", "--type=merge", "-p", &patch]).await
        };
        mirror("Enabled").await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Mirrored"), LONG).await?;
        eventually("a yes for alice", PATIENCE, || async {
            Ok(cluster.can_i("alice", "devs", &QUESTION).await?.yes.then_some(()))
        })
        .await?;
        ensure!(!cluster.can_i("eve", "devs", &QUESTION).await?.yes);
        mirror("Disabled").await?;
        eventually("a no for alice", PATIENCE, || async {
            Ok((!cluster.can_i("alice", "devs", &QUESTION).await?.yes).then_some(()))
        })
        .await
    })
    .await
}
