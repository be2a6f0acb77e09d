//! Follows docs/service-accounts.md from `helm install` to a driver with executors, together with
//! `YuniKorn`'s own admission controller.
//!
//! There are no kubelets here. The test starts the operator in place of the Deployment, creates the pods as
//! `spark-submit` and the driver would, and writes the status `Running` of pods that the scheduler has bound.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::helm::{Helm, Version};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually, operator};
use serde_json::{Value, json};
use yunikorn_access::alias;

use super::{merged, refused, said};
use crate::chart::{clean, values};
use crate::operator::configure;
use crate::pages::{blocks, root};

const PAGE: &str = "docs/service-accounts.md";
const SPARK: &str = "spark";
const QUEUE: &str = "root.prod";

/// Returns the settings of the command `spark-submit` on the page.
fn settings() -> Result<BTreeMap<String, String>> {
    let texts = blocks(PAGE, "text")?;
    let command = texts.iter().find(|text| text.starts_with("spark-submit")).context("no spark-submit")?;
    let pairs =
        command.split("--conf ").skip(1).filter_map(|rest| rest.split_whitespace().next()?.split_once('='));
    Ok(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// Returns a pod of an application as Spark creates it from these settings: driver or executor.
fn pod(settings: &BTreeMap<String, String>, id: &str, role: &str, name: &str) -> Result<Value> {
    let setting =
        |key: &str| settings.get(&format!("spark.kubernetes.{key}")).with_context(|| key.to_owned());
    let prefix = format!("spark.kubernetes.{role}.label.");
    let given = settings
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), json!(value))));
    let own = json!({"spark-app-selector": id, "spark-app-name": "job", "spark-role": role, "spark-version": "4.0.1"});
    let container = json!({"name": format!("spark-kubernetes-{role}"), "image": setting("container.image")?,
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    Ok(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": setting("namespace")?, "labels": merged(own, &Value::Object(given.collect()))},
        "spec": {"schedulerName": setting("scheduler.name")?, "restartPolicy": "Never", "containers": [container],
            "serviceAccountName": setting("authenticate.driver.serviceAccountName")?}}))
}

/// Returns an executor of this driver.
fn executor(settings: &BTreeMap<String, String>, driver: &Pod, number: usize) -> Result<Value> {
    let id = driver.labels().get("spark-app-selector").context("no application")?;
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": driver.name_any(), "uid": driver.uid(), "controller": true});
    let more =
        json!({"metadata": {"labels": {"spark-exec-id": number.to_string()}, "ownerReferences": [owner]}});
    Ok(merged(pod(settings, id, "executor", &format!("job-exec-{number}"))?, &more))
}

async fn create(cluster: &TestCluster, kubeconfig: &Path, pod: &Value) -> Result<String> {
    cluster.kubectl_as(kubeconfig, &["create", "-o", "json", "-f", "-"], &pod.to_string()).await
}

/// Returns the object that would be stored.
async fn tried(cluster: &TestCluster, kubeconfig: &Path, pod: &Value) -> Result<String> {
    let dry = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    cluster.kubectl_as(kubeconfig, &dry, &pod.to_string()).await
}

/// Waits until the scheduler has bound a pod, and sets its status to running.
async fn runs(cluster: &TestCluster, name: &str) -> Result<Pod> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, SPARK);
    let bound = eventually(&format!("{name} to be bound"), PATIENCE, || async {
        let pod = pods.get(name).await?;
        let status = pod.status.as_ref().and_then(|status| status.message.clone());
        ensure!(status.is_none(), "{status:?}");
        Ok(pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()).then_some(pod))
    })
    .await?;
    let running = json!({"status": {"phase": "Running"}}).to_string();
    let patch = ["patch", "pod", name, "-n", SPARK, "--subresource=status", "--type=merge", "-p", &running];
    cluster.kubectl(&patch).await?;
    Ok(bound)
}

/// Removes everything of queuewarden, including objects that other tests have installed and Helm would not
/// take over.
async fn nothing_installed(cluster: &TestCluster, helm: &Helm) -> Result<()> {
    clean(cluster).await?;
    let all = helm.template(&["--namespace", operator::NAMESPACE, "--values", &values("https")]).await?;
    cluster.kubectl_with_input(&["delete", "--ignore-not-found", "-f", "-"], &all).await.map(drop)
}

#[tokio::test]
async fn page_leads_from_helm_install_to_a_driver_with_executors() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::AdmissionProcess])? {
            return Ok(());
        }
        let commands = blocks(PAGE, "sh")?;
        let [install, grant, look] = commands.as_slice() else { anyhow::bail!("{} blocks", commands.len()) };
        let helm = Helm::get(Version::Three).await?;
        nothing_installed(cluster, &helm).await?;
        cluster.start_admission_controller().await?;

        let (install, wait) = install.split_once("kubectl wait").context("nobody waits")?;
        // No kubelet makes pods ready here.
        cluster.shell_with_helm(&helm, &install.replace(" --wait", "")).await?;
        // The scheduler listens at a different address than in a real cluster, and so does the operator.
        configure(cluster, "").await?;
        let (_operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
        for (kind, name) in [
            ("mutatingwebhookconfiguration", "zz-queuewarden-user-info"),
            ("validatingwebhookconfiguration", "queuewarden-user-info"),
            ("validatingwebhookconfiguration", "queuewarden-submission"),
        ] {
            cluster.redirect_webhooks(kind, name, &endpoints).await?;
        }
        cluster.shell(&root(), &format!("kubectl wait{wait}")).await?;
        cluster.shell(&root(), grant).await?;
        cluster.wait_for(Kind::AdmissionPolicy, "default", is_true("Accepted"), PATIENCE).await?;
        let outcome = submits(cluster, look).await;
        cluster.kubectl(&["delete", "pods", "--all", "-n", SPARK, "--grace-period=0", "--force"]).await?;
        cluster.kubectl(&["delete", "namespace", SPARK, "--wait=false"]).await?;
        outcome?;
        nothing_installed(cluster, &helm).await
    })
    .await
}

/// Submits as another account, which has the same permissions in Kubernetes but no grant, and as the granted
/// one.
async fn submits(cluster: &TestCluster, look: &str) -> Result<()> {
    let settings = settings()?;
    let other = "kubectl create serviceaccount other --namespace spark
        kubectl create rolebinding other --namespace spark --role=driver --serviceaccount=spark:other";
    cluster.shell(&root(), other).await?;
    let [account, other] =
        [cluster.sa_kubeconfig(SPARK, "driver").await?, cluster.sa_kubeconfig(SPARK, "other").await?];
    let job = pod(&settings, "spark-1", "driver", "job-driver")?;
    // An API server calls new webhooks after a moment.
    eventually("the API server to ask queuewarden", PATIENCE, || async {
        let reason = "user `system:serviceaccount:spark:other`: they may not submit to `root.prod`";
        refused(tried(cluster, &other, &job).await, &["submission.queuewarden.dev", reason])?;
        let made: Pod = serde_json::from_str(&tried(cluster, &account, &job).await?)?;
        let alias = alias::alias(alias::Kind::User, "system:serviceaccount:spark:driver");
        ensure!(said(made.annotations())?.is_some_and(|who| who.groups.contains(&alias)), "{made:?}");
        Ok(Some(()))
    })
    .await?;
    create(cluster, &account, &job).await?;
    let driver = runs(cluster, "job-driver").await?;
    let inside = cluster.pod_kubeconfig(SPARK, "driver", &driver).await?;
    for number in [1, 2] {
        create(cluster, &inside, &executor(&settings, &driver, number)?).await?;
        let made = runs(cluster, &format!("job-exec-{number}")).await?;
        let (driver, made) = (said(driver.annotations())?, said(made.annotations())?);
        ensure!(made.is_some() && made == driver, "{made:?}, the driver {driver:?}");
    }
    let application = cluster.yunikorn()?.get("/ws/v1/partition/default/application/spark-1").await?;
    let allocations = application.get("allocations").and_then(Value::as_array).map_or(0, Vec::len);
    let is_in_queue = application.get("queueName").is_some_and(|queue| queue == QUEUE);
    ensure!(is_in_queue && allocations == 3, "{application:#}");
    let shown = cluster.shell(&root(), look).await?;
    for (name, role) in [("job-driver", "driver"), ("job-exec-1", "executor"), ("job-exec-2", "executor")] {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        ensure!([role, "Running", QUEUE].iter().all(|word| words.contains(word)), "{shown}");
    }
    Ok(())
}
