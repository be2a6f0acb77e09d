//! Disruptions of pods and nodes, under load, with two replicas and each webhook that can block a cluster.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::helm::RELEASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{TestCluster, eventually, operator, yunikorn};
use serde_json::json;

use super::load::Load;
use super::{LABEL, apart, grant, helm, leader, processes, roll_out_again, rolled_out, run, switch_on};

/// The endpoints that are needed to write QueueAcls and to create pods.
const STRICT: [&str; 3] = ["webhooks.enabled=true", "webhooks.validating=true", "webhooks.userInfo=strict"];

async fn strict(cluster: &TestCluster) -> Result<Load> {
    strict_with(cluster, &[]).await
}

async fn strict_with(cluster: &TestCluster, values: &[&str]) -> Result<Load> {
    helm(cluster, &[&["webhooks.enabled=true"], values].concat()).await?;
    helm(cluster, &[&STRICT, values].concat()).await?;
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

/// Returns the name of the worker node.
async fn worker(cluster: &TestCluster) -> Result<String> {
    let nodes = cluster.kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]).await?;
    let worker = nodes.split(' ').find(|node| node.contains("worker")).context("no worker")?;
    Ok(worker.to_owned())
}

async fn scheduler_rolled_out(cluster: &TestCluster) -> Result<()> {
    let scheduler = ["rollout", "status", "deployment/yunikorn-scheduler", "-n", yunikorn::NAMESPACE];
    cluster.kubectl(&[&scheduler[..], &["--timeout=2m"]].concat()).await.map(drop)
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
            roll_out_again(cluster).await?;
            apart(cluster).await?;
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
        let kill = format!(
            "for p in $({}); do [ \"$(cat /proc/$p/comm)\" != queuewarden ] || kill -KILL $p; done",
            processes(&pod)
        );
        run("docker", &["exec", &node, "sh", "-c", &kill]).await?;
        restarted(cluster).await?;
        rolled_out(cluster).await?;
        in_force(cluster, &load.with_failures(3).await?).await
    })
    .await
}

/// A node that hangs does not answer or refuse. A request that reaches its replica waits for the webhook's
/// timeout, and the API server then closes that connection. The Service leads to the other replica alone once
/// the node is not ready, while it still hangs.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn a_node_that_hangs_costs_a_minute() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let load = strict(cluster).await?;
        roll_out_again(cluster).await?;
        apart(cluster).await?;
        let worker = worker(cluster).await?;
        run("docker", &["pause", &worker]).await?;
        let begin = Instant::now();
        let answers = async {
            let unready = ["wait", "--for=condition=Ready=Unknown", "--timeout=2m", "node", &worker];
            cluster.kubectl(&unready).await?;
            println!("not ready after {:?}", begin.elapsed());
            eventually("the other replica to answer", PATIENCE, || async {
                let acl = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
                    "metadata": {"name": "prod"}, "spec": {"queue": "root.prod", "submit": {"users": ["bob"]}}});
                let apply = ["apply", "--server-side", "-f", "-"];
                cluster.kubectl_with_input(&apply, &acl.to_string()).await.map(Some)
            })
            .await?;
            println!("answers after {:?}", begin.elapsed());
            anyhow::Ok(())
        }
        .await;
        run("docker", &["unpause", &worker]).await?;
        answers?;
        cluster.kubectl(&["wait", "--for=condition=Ready", "--timeout=2m", "node", &worker]).await?;
        rolled_out(cluster).await?;
        scheduler_rolled_out(cluster).await?;
        // A request waits for its webhook for 3 or 10 seconds.
        in_force(cluster, &load.with_failures(20).await?).await
    })
    .await
}

/// Certificates and their authority are renewed while the API server calls.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn renewed_certificates_cost_no_request() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        let short = "webhooks.certificateArgs={--tls-certificate-lifetime=15s,--tls-authority-lifetime=45s}";
        // The certificate of other tests is valid for days. It is removed with its installation.
        run("helm", &["uninstall", RELEASE, "--namespace", operator::NAMESPACE, "--wait"]).await?;
        let load = strict_with(cluster, &[short]).await?;
        let text = r#"go-template={{index .data "tls.crt"}} {{index .data "ca.crt"}}"#;
        let seen = RefCell::new((BTreeSet::new(), BTreeSet::new()));
        let secret = ["get", "secret", "queuewarden-tls", "-n", operator::NAMESPACE, "-o", text];
        eventually("each to be renewed twice", Duration::from_mins(4), || async {
            let both = cluster.kubectl(&secret).await?;
            let (certificate, authority) = both.split_once(' ').context("no certificate")?;
            let mut seen = seen.borrow_mut();
            seen.0.insert(certificate.to_owned());
            seen.1.insert(authority.to_owned());
            Ok((seen.0.len() > 2 && seen.1.len() > 2).then_some(()))
        })
        .await?;
        settled(cluster, load).await
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
        // After another test's drain, both are on one node.
        roll_out_again(cluster).await?;
        apart(cluster).await?;
        run("docker", &["restart", &worker(cluster).await?]).await?;
        restarted(cluster).await?;
        rolled_out(cluster).await?;
        scheduler_rolled_out(cluster).await?;
        in_force(cluster, &load.with_failures(3).await?).await
    })
    .await
}
