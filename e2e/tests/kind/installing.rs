//! Installing, upgrading and uninstalling, following the documentation.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::helm::RELEASE;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, assets, operator, yunikorn};
use serde_json::json;

use super::load::Load;
use super::{
    IMAGE, LABEL, REPOSITORY, create_as, grant, helm, merged, phase, pod, rolled_out, run, switch_on,
};

const PAGE: &str = include_str!("../../../docs/install.md");

/// Returns the lines of the first shell block in a section of the page.
fn lines(section: &str) -> Result<&'static str> {
    let text = PAGE.split_once(&format!("\n## {section}\n")).context("no such section")?.1;
    let block = text.split_once("```sh\n").context("no lines for a shell")?.1;
    Ok(block.split_once("```").context("no end")?.0)
}

/// Removes what Helm has installed, and the namespace.
async fn uninstalled(cluster: &TestCluster) -> Result<()> {
    run("helm", &["uninstall", RELEASE, "--namespace", operator::NAMESPACE, "--wait"]).await?;
    cluster.kubectl(&["delete", "namespace", operator::NAMESPACE]).await.map(drop)
}

/// Only the lines of the page are typed. The nodes have the image under its published name, as if they had
/// pulled it.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn install_page_installs_queuewarden() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let published = concat!("ghcr.io/queuewarden/queuewarden:", env!("CARGO_PKG_VERSION"));
        run("docker", &["tag", IMAGE, published]).await?;
        let name = std::env::var("KIND_CLUSTER").unwrap_or_else(|_| "queuewarden-e2e".to_owned());
        run("kind", &["load", "docker-image", "--name", &name, published]).await?;
        uninstalled(cluster).await?;
        cluster.shell(Path::new(REPOSITORY), lines("By Helm")?).await?;
        rolled_out(cluster).await?;
        cluster.shell(Path::new(REPOSITORY), lines("Switching on")?).await?;

        // A first ACL, a pod that runs, and a pod that does not.
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        ensure!(cluster.submit("alice", &[], "root.prod").await?.is_allowed());
        ensure!(cluster.submit("eve", &[], "root.prod").await?.is_rejected());
        for user in ["alice", "eve"] {
            let kind = json!({"apiVersion": "v1", "kind": "Pod"});
            create_as(cluster, user, &merged(kind, pod("prod", user, true))).await?;
        }
        phase(cluster, "applicationId=alice", "Running", 1).await?;
        let failed = phase(cluster, "applicationId=eve", "Failed", 1).await?;
        let reason = failed.pointer("/items/0/status/reason");
        ensure!(reason == Some(&json!("ApplicationRejected")), "{failed}");
        plugin(cluster).await?;
        restricted(cluster).await
    })
    .await
}

/// As a kubectl plugin, the program queries the cluster.
async fn plugin(cluster: &TestCluster) -> Result<()> {
    let folder = tempfile::tempdir()?;
    symlink(assets::operator()?, folder.path().join("kubectl-queuewarden"))?;
    let ask = "PATH=$PWD:$PATH; kubectl queuewarden who-can submit root.prod; kubectl queuewarden check";
    let said = cluster.shell(folder.path(), ask).await?;
    ensure!(said.contains("alice") && said.contains(" 0 broken"), "{said}");
    Ok(())
}

/// The replicas run under Pod Security `restricted`, which refuses noncompliant pods.
async fn restricted(cluster: &TestCluster) -> Result<()> {
    let level = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&["label", "--overwrite", "namespace", operator::NAMESPACE, level]).await?;
    cluster.kubectl(&["rollout", "restart", "deployment/queuewarden", "-n", operator::NAMESPACE]).await?;
    rolled_out(cluster).await?;
    let args = ["run", "root", "--image", IMAGE, "-n", operator::NAMESPACE, "--dry-run=server"];
    let refused = cluster.kubectl(&args).await.err().context("a pod that may be root was accepted")?;
    ensure!(refused.to_string().contains("violates PodSecurity \"restricted"), "{refused}");
    Ok(())
}

/// `OpenShift` gives the pods of a namespace such a user. The hook runs as it, too.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn pods_run_as_the_user_that_they_are_given() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let user = "podSecurityContext.runAsUser=1000680000";
        helm(
            cluster,
            &["webhooks.enabled=true", "webhooks.validating=true", "yunikornConfig.enabled=true", user],
        )
        .await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        let users = "jsonpath={.items[*].spec.securityContext.runAsUser}";
        let users = cluster.kubectl(&["get", "pods", "-n", operator::NAMESPACE, "-o", users]).await?;
        ensure!(users == ["1000680000"; 3].join(" "), "{users}");
        cluster.kubectl(&["delete", "yunikornconfig", "default"]).await?;
        helm(cluster, &[]).await
    })
    .await
}

/// An upgrade, the way back and the end cost no request. Without queuewarden YuniKorn goes on with the last
/// text.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn upgrade_rollback_and_uninstall_fail_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        helm(cluster, &["webhooks.enabled=true", "webhooks.validating=true"]).await?;
        switch_on(cluster).await?;
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        let load = Load::start(cluster, "dev")?;
        helm(
            cluster,
            &[
                "webhooks.enabled=true",
                "webhooks.validating=true",
                "webhooks.userInfo=true",
                "log.level=debug",
                "resources.limits.memory=200Mi",
            ],
        )
        .await?;
        let back = ["rollback", RELEASE, "--namespace", operator::NAMESPACE, "--wait", "--timeout", "3m"];
        run("helm", &back).await?;
        rolled_out(cluster).await?;
        load.without_failure().await?;
        let text = cluster.config_value(yunikorn::CONFIGS, "queues.yaml").await?.context("no text")?;
        ensure!(text != BASE && text.contains("alice"), "{text}");
        cluster.kubectl(&["delete", "yunikornconfig", "default"]).await?;
        run("helm", &["uninstall", RELEASE, "--namespace", operator::NAMESPACE, "--wait"]).await?;
        let left = "validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,clusterroles";
        let left = cluster.kubectl(&["get", left, "-l", LABEL, "-o", "name"]).await?;
        ensure!(left.is_empty(), "{left}");
        cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;
        ensure!(cluster.submit("alice", &[], "root.prod").await?.is_allowed());
        ensure!(cluster.submit("eve", &[], "root.prod").await?.is_rejected());
        helm(cluster, &[]).await
    })
    .await
}
