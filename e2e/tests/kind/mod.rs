//! Tests that need nodes: running pods, the network of Services, drained and restarted nodes. They run on the
//! cluster of `e2e/kind.sh`, where Helm has installed queuewarden, in sequence: `just kind`.

mod api_server;
mod endpoints;
mod installing;
mod load;
mod network;
mod trouble;
mod workloads;

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::helm::{CHART, RELEASE};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Kind, TestCluster, eventually, operator};
use serde_json::{Value, json};
use tokio::process::Command;

/// The image that the nodes have (`charts/queuewarden/ci/kind-values.yaml`).
const IMAGE: &str = "queuewarden:e2e";
/// The label of all objects of an installation.
const LABEL: &str = "app.kubernetes.io/name=queuewarden";
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the output of a program that `e2e/kind/cluster.sh run` has in its `PATH`: docker, helm or kind.
async fn run(program: &str, args: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(REPOSITORY).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", args.join(" "), said.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns a shell command that lists the processes of a pod on its node.
fn processes(uid: &str) -> String {
    // The slice of a pod has its ID with underscores.
    let slice = uid.replace('-', "_");
    format!("grep -l {slice} /proc/[0-9]*/cgroup 2> /dev/null | cut -d/ -f3")
}

/// Installs the chart, or upgrades it to exactly these values and the values for the image, and waits until
/// everything is ready.
async fn helm(cluster: &TestCluster, values: &[&str]) -> Result<()> {
    let image = format!("{CHART}/ci/kind-values.yaml");
    let set = values.join(",");
    let mut args = vec!["upgrade", "--install", RELEASE, CHART, "--namespace", operator::NAMESPACE];
    args.extend(["--reset-values", "--values", &image, "--wait", "--timeout", "3m", "--set", &set]);
    run("helm", &args).await?;
    replaced(cluster).await?;
    // The API server does not trust the webhooks until a replica has filled in the caBundle.
    eventually("caBundle of each webhook", PATIENCE, || async {
        let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        let list = cluster.kubectl(&["get", kinds, "-l", LABEL, "-o", "json"]).await?;
        let list: Value = serde_json::from_str(&list)?;
        let objects = list.get("items").and_then(Value::as_array).context("no list")?;
        let webhooks = objects.iter().filter_map(|object| object.get("webhooks")?.as_array()).flatten();
        let trusted = |webhook: &Value| webhook.pointer("/clientConfig/caBundle").is_some();
        Ok(webhooks.into_iter().all(trusted).then_some(()))
    })
    .await
}

/// Enables queuewarden, following docs/install.md, and waits until the scheduler runs its text.
async fn switch_on(cluster: &TestCluster) -> Result<()> {
    cluster.apply_kustomization("manifests/config").await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await.map(drop)
}

/// Grants by a QueueAcl and waits until it is in force.
async fn grant(cluster: &TestCluster, queue: &str, submit: Value) -> Result<()> {
    let acl = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": queue},
        "spec": {"queue": format!("root.{queue}"), "submit": submit}});
    cluster.kubectl_with_input(&["apply", "--server-side", "-f", "-"], &acl.to_string()).await?;
    cluster.wait_for(Kind::QueueAcl, queue, is_true("Ready"), LONG).await.map(drop)
}

/// Creates an object in the namespace of the tests as this user.
async fn create_as(cluster: &TestCluster, user: &str, object: &Value) -> Result<String> {
    let args = ["create", "-n", NAMESPACE, "-f", "-", "--as", user, "--as-group", "system:authenticated"];
    cluster.kubectl_with_input(&args, &object.to_string()).await
}

/// Returns a pod specification that a kubelet can run without a registry: queuewarden's own image, which
/// prints its version or waits.
fn pod(queue: &str, application: &str, waits: bool) -> Value {
    let container = if waits {
        json!({"name": "c", "image": "registry.k8s.io/pause:3.10"})
    } else {
        json!({"name": "c", "image": IMAGE, "args": ["version"]})
    };
    let container = merged(
        container,
        json!({"imagePullPolicy": "Never", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}),
    );
    json!({
        "metadata": {"name": application, "labels": {"applicationId": application, "queue": format!("root.{queue}")}},
        "spec": {"schedulerName": "yunikorn", "restartPolicy": if waits { "Always" } else { "Never" },
                 "terminationGracePeriodSeconds": 0, "containers": [container]},
    })
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Some(one), Value::Object(other)) = (one.as_object_mut(), other) {
        one.extend(other);
    }
    one
}

/// Waits until this many pods of the namespace are in this phase, and returns the list of all pods.
async fn phase(cluster: &TestCluster, selector: &str, phase: &str, count: usize) -> Result<Value> {
    eventually(&format!("{count} pods {selector} to be {phase}"), LONG, || async {
        let list = cluster.kubectl(&["get", "pods", "-n", NAMESPACE, "-l", selector, "-o", "json"]).await?;
        let list: Value = serde_json::from_str(&list)?;
        let pods = list.get("items").and_then(Value::as_array).context("no list")?;
        let found = pods.iter().filter(|pod| pod.pointer("/status/phase") == Some(&json!(phase))).count();
        ensure!(found >= count, "{found} of {} are", pods.len());
        Ok(Some(list))
    })
    .await
}

/// Waits until the replicas that a rollout has replaced are gone, because they still use their old
/// configuration.
async fn replaced(cluster: &TestCluster) -> Result<()> {
    eventually("the end of replicas that were replaced", LONG, || async {
        let phases = "jsonpath={.items[*].metadata.deletionTimestamp}";
        let ending = ["get", "pods", "-n", operator::NAMESPACE, "-l", LABEL, "-o", phases];
        Ok(cluster.kubectl(&ending).await?.trim().is_empty().then_some(()))
    })
    .await
}

/// Waits until all replicas of queuewarden are ready.
async fn rolled_out(cluster: &TestCluster) -> Result<()> {
    let args = ["rollout", "status", "deployment/queuewarden", "-n", operator::NAMESPACE, "--timeout=3m"];
    cluster.kubectl(&args).await.map(drop)
}

/// Replaces all replicas of queuewarden, and waits until the new ones are ready.
async fn roll_out_again(cluster: &TestCluster) -> Result<()> {
    cluster.kubectl(&["rollout", "restart", "deployment/queuewarden", "-n", operator::NAMESPACE]).await?;
    rolled_out(cluster).await
}

/// Fails unless each replica of queuewarden is on a different node.
async fn apart(cluster: &TestCluster) -> Result<()> {
    let running = ["get", "pods", "-n", operator::NAMESPACE, "-o", "json", "-l"];
    let list = cluster.kubectl(&[&running[..], &[LABEL]].concat()).await?;
    let list: Value = serde_json::from_str(&list)?;
    let pods = list.get("items").and_then(Value::as_array).context("no list")?;
    // Replicas that a rollout has replaced may still exist.
    let stays = |pod: &&Value| pod.pointer("/metadata/deletionTimestamp").is_none();
    let nodes = pods.iter().filter(stays).filter_map(|pod| pod.pointer("/spec/nodeName")?.as_str());
    let mut nodes: Vec<&str> = nodes.collect();
    nodes.sort_unstable();
    ensure!(nodes.len() == 2 && nodes.first() != nodes.last(), "on nodes {nodes:?}");
    Ok(())
}

/// Returns the name of the node, and the ID, of the pod that holds the Lease.
async fn leader(cluster: &TestCluster) -> Result<(String, String)> {
    let holder = eventually("a leader", PATIENCE, || cluster.leader()).await?;
    let columns = "jsonpath={.spec.nodeName} {.metadata.uid}";
    let pod = cluster.kubectl(&["get", "pod", &holder, "-n", operator::NAMESPACE, "-o", columns]).await?;
    let (node, uid) = pod.split_once(' ').context("no pod")?;
    Ok((node.to_owned(), uid.to_owned()))
}

/// The timeout of a client's request, which is longer than a webhook may take.
const REQUEST: Duration = Duration::from_secs(15);
