//! The shipped `NetworkPolicy` objects, where the network of the cluster enforces them.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::{TestCluster, eventually, operator, yunikorn};
use serde_json::json;

use super::{LABEL, grant, helm, phase, processes, run, switch_on};

/// Returns the status of an HTTP answer that comes in time; `000` without one. The request has the address
/// of this pod.
async fn get(cluster: &TestCluster, (namespace, pod): (&str, &str), url: &str) -> Result<String> {
    let columns = "jsonpath={.spec.nodeName} {.metadata.uid}";
    let pod = cluster.kubectl(&["get", "pod", pod, "-n", namespace, "-o", columns]).await?;
    let (node, uid) = pod.split_once(' ').context("no pod")?;
    let curl = format!(
        "p=$({} | head -n 1); \
         nsenter --net --target $p curl -ks -o /dev/null -m 3 -w '%{{http_code}}' {url} || true",
        processes(uid)
    );
    run("docker", &["exec", node, "sh", "-c", &curl]).await
}

async fn first(cluster: &TestCluster, namespace: &str, selector: &str, field: &str) -> Result<String> {
    let field = format!("jsonpath={{.items[0].{field}}}");
    cluster.kubectl(&["get", "pods", "-n", namespace, "-l", selector, "-o", &field]).await
}

/// Metrics are closed and webhooks open; replicas reach the scheduler, DNS and the API server, and nothing
/// else.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn policies_let_through_what_is_needed_and_nothing_else() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        helm(cluster, &["webhooks.enabled=true", "webhooks.access=true"]).await?;
        switch_on(cluster).await?;
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;
        // YuniKorn leaves a pod with label app=yunikorn to the scheduler of Kubernetes.
        let client = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "client", "labels": {"app": "yunikorn", "name": "client"}},
            "spec": {"terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10", "imagePullPolicy": "Never"}]}});
        cluster.kubectl_with_input(&["create", "-n", NAMESPACE, "-f", "-"], &client.to_string()).await?;
        phase(cluster, "name=client", "Running", 1).await?;

        let replica = first(cluster, operator::NAMESPACE, LABEL, "metadata.name").await?;
        let address = first(cluster, operator::NAMESPACE, LABEL, "status.podIP").await?;
        let scheduler = "component=yunikorn-scheduler";
        let scheduler = first(cluster, yunikorn::NAMESPACE, scheduler, "status.podIP").await?;
        let names = first(cluster, "kube-system", "k8s-app=kube-dns", "status.podIP").await?;
        let client = (NAMESPACE, "client");
        let replica = (operator::NAMESPACE, replica.as_str());
        let livez = format!("http://{address}:8080/livez");
        let health = format!("http://{names}:8080/health");
        let scheduler = format!("http://{scheduler}:9080/ws/v1/clusters");
        eventually("the metrics to be closed: a network plugin enforces policies", LONG, || async {
            Ok((get(cluster, client, &livez).await? == "000").then_some(()))
        })
        .await?;
        ensure!(get(cluster, client, &format!("https://{address}:8443/")).await? == "404");
        ensure!(get(cluster, replica, &scheduler).await? == "200");
        ensure!(get(cluster, replica, &health).await? == "000");
        ensure!(get(cluster, client, &health).await? == "200", "another pod may");
        // It is the policy that closes them.
        cluster.kubectl(&["delete", "networkpolicy", "queuewarden", "-n", operator::NAMESPACE]).await?;
        eventually("the metrics to be open without the policy", LONG, || async {
            Ok((get(cluster, client, &livez).await? == "200").then_some(()))
        })
        .await?;
        ensure!(get(cluster, replica, &health).await? == "200");
        helm(cluster, &[]).await
    })
    .await
}
