//! What happens to pods and nodes, under load, with two replicas and each webhook that can stop a cluster.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{TestCluster, eventually, operator};
use serde_json::json;

use super::load::Load;
use super::{grant, helm, leader, rolled_out, run, switch_on};

/// The endpoints without which nobody writes a QueueAcl, nor creates pods.
const STRICT: [&str; 3] = ["webhooks.enabled=true", "webhooks.validating=true", "webhooks.userInfo=strict"];

async fn strict(cluster: &TestCluster) -> Result<Load> {
    helm(&["webhooks.enabled=true"]).await?;
    helm(&STRICT).await?;
    switch_on(cluster).await?;
    grant(cluster, "prod", json!({"users": ["alice"]})).await?;
    Load::start(cluster, "dev")
}

/// The text of the last write is what the scheduler runs at the end, so no change was lost.
async fn settled(cluster: &TestCluster, load: Load) -> Result<()> {
    let requests = load.without_failure().await?;
    let last = format!("user{}", requests - 2);
    eventually("the last change to be in force", LONG, || async {
        let config = cluster.yunikorn()?.config_json().await?.to_string();
        Ok(config.contains(&last).then_some(()))
    })
    .await
}

#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn rolling_updates_cost_no_request() -> Result<()> {
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

#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn a_leader_that_is_killed_costs_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let (node, pod) = leader(cluster).await?;
        // The slice of a pod has its ID with underscores.
        let slice = pod.replace('-', "_");
        let kill = format!(
            "for p in $(grep -l {slice} /proc/[0-9]*/cgroup | cut -d/ -f3); do [ \"$(cat /proc/$p/comm)\" != queuewarden ] || kill -KILL $p; done"
        );
        run("docker", &["exec", &node, "sh", "-c", &kill]).await?;
        let restarts = "jsonpath={.items[*].status.containerStatuses[0].restartCount}";
        eventually("a restart", PATIENCE, || async {
            let counts =
                cluster.kubectl(&["get", "pods", "-n", operator::NAMESPACE, "-o", restarts]).await?;
            Ok(counts.contains('1').then_some(()))
        })
        .await?;
        rolled_out(cluster).await?;
        settled(cluster, load).await
    })
    .await
}

/// The `PodDisruptionBudget` lets them go one after the other.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn a_drained_node_costs_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let (node, _) = leader(cluster).await?;
        let drain = ["drain", &node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=2m"];
        let selector = ["--pod-selector", "app.kubernetes.io/name=queuewarden"];
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

/// A node that restarts is a replica that is away for half a minute; the other one answers meanwhile.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn a_restarted_node_costs_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        let nodes = "jsonpath={.items[?(@.metadata.labels.kubernetes\\.io/hostname)].metadata.name}";
        let nodes = cluster.kubectl(&["get", "nodes", "-o", nodes]).await?;
        let worker = nodes.split(' ').find(|node| node.contains("worker")).context("no worker")?;
        run("docker", &["restart", worker]).await?;
        cluster.kubectl(&["wait", "node", worker, "--for=condition=Ready", "--timeout=2m"]).await?;
        rolled_out(cluster).await?;
        settled(cluster, load).await
    })
    .await
}
