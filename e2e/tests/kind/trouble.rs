//! Disruptions of pods and nodes, under load, with two replicas and each webhook that can block a cluster.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{TestCluster, eventually, operator, yunikorn};
use serde_json::json;

use super::load::Load;
use super::{LABEL, grant, helm, leader, rolled_out, run, switch_on};

/// The endpoints that are needed to write QueueAcls and to create pods.
const STRICT: [&str; 3] = ["webhooks.enabled=true", "webhooks.validating=true", "webhooks.userInfo=strict"];

async fn strict(cluster: &TestCluster) -> Result<Load> {
    helm(cluster, &["webhooks.enabled=true"]).await?;
    helm(cluster, &STRICT).await?;
    switch_on(cluster).await?;
    grant(cluster, "prod", json!({"users": ["alice"]})).await?;
    Load::start(cluster, "dev")
}

/// The scheduler finally runs the text of the last write, so no change was lost.
async fn settled(cluster: &TestCluster, load: Load) -> Result<()> {
    in_force(cluster, &load.without_failure().await?).await
}

async fn in_force(cluster: &TestCluster, user: &str) -> Result<()> {
    eventually("the last change to be in force", LONG, || async {
        let config = cluster.yunikorn()?.config_json().await?.to_string();
        Ok(config.contains(user).then_some(()))
    })
    .await
}

/// Waits until a container of queuewarden was restarted. Its pod may still be reported as ready before that,
/// until the kubelet notices.
async fn restarted(cluster: &TestCluster) -> Result<()> {
    let counts = "jsonpath={.items[*].status.containerStatuses[0].restartCount}";
    eventually("a restart", LONG, || async {
        let counts = cluster.kubectl(&["get", "pods", "-n", operator::NAMESPACE, "-o", counts]).await?;
        Ok(counts.split(' ').any(|count| count != "0").then_some(()))
    })
    .await
}

#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn rolling_updates_fail_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        for _ in 0..2 {
            cluster
                .kubectl(&["rollout", "restart", "deployment/queuewarden", "-n", operator::NAMESPACE])
                .await?;
            rolled_out(cluster).await?;
        }
        settled(cluster, load).await
    })
    .await
}

/// For about a second, until the kubelet has noticed that a replica was killed, the Service still leads to
/// it, and requests to it are refused.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn killed_leader_interrupts_requests_for_a_second() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let (node, pod) = leader(cluster).await?;
        // The slice of a pod has its ID with underscores.
        let slice = pod.replace('-', "_");
        let kill = format!(
            "for p in $(grep -l {slice} /proc/[0-9]*/cgroup | cut -d/ -f3); do [ \"$(cat /proc/$p/comm)\" != queuewarden ] || kill -KILL $p; done"
        );
        run("docker", &["exec", &node, "sh", "-c", &kill]).await?;
        restarted(cluster).await?;
        rolled_out(cluster).await?;
        in_force(cluster, &load.with_failures(3).await?).await
    })
    .await
}

/// The `PodDisruptionBudget` lets them go one after the other.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn drained_node_fails_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let (node, _) = leader(cluster).await?;
        let drain = ["drain", &node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=2m"];
        let selector = ["--pod-selector", LABEL];
        let drained = cluster.kubectl(&[&drain[..], &selector].concat()).await;
        let ready = rolled_out(cluster).await;
        cluster.kubectl(&["uncordon", &node]).await?;
        drained?;
        ready?;
        let (other, _) = leader(cluster).await?;
        ensure!(other != node, "the leader is still on {node}");
        settled(cluster, load).await
    })
    .await
}

/// A node that restarts ends its pods without notice. Requests that are waiting for its replica wait until
/// the webhook's timeout; the other replica answers later ones.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn restarted_node_fails_only_its_own_requests() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let nodes = cluster.kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]).await?;
        let worker = nodes.split(' ').find(|node| node.contains("worker")).context("no worker")?;
        run("docker", &["restart", worker]).await?;
        restarted(cluster).await?;
        rolled_out(cluster).await?;
        let scheduler = ["rollout", "status", "deployment/yunikorn-scheduler", "-n", yunikorn::NAMESPACE];
        cluster.kubectl(&[&scheduler[..], &["--timeout=2m"]].concat()).await?;
        in_force(cluster, &load.with_failures(3).await?).await
    })
    .await
}
