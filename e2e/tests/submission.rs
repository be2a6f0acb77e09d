//! Tests the submission webhook's answers to pods and workloads as users see them: the output of `kubectl`,
//! and the real `YuniKorn`'s decision about the rest.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::{BASE, NAMESPACE};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Endpoints, Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

/// The kinds: a bare pod, a pod of a Job, and a pod of a Deployment.
const KINDS: [&str; 3] = ["Pod", "Job", "Deployment"];

/// Returns an object of this kind whose pods request `root.prod`.
fn workload(kind: &str, name: &str) -> Value {
    let container = json!({
        "name": "main", "image": "none", "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}},
    });
    let labels = json!({"applicationId": name, "yunikorn.apache.org/queue": "root.prod", "run": name});
    let restart = if kind == "Deployment" { "Always" } else { "Never" };
    let spec = json!({"restartPolicy": restart, "containers": [container]});
    let pod = json!({"metadata": {"labels": labels}, "spec": spec});
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    match kind {
        "Pod" => json!({"apiVersion": "v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}}),
        "Job" => {
            json!({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"template": pod}})
        }
        _ => json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
            "spec": {"selector": {"matchLabels": {"run": name}}, "template": pod}}),
    }
}

/// Runs `kubectl create -f -` as this user and returns its output, or the error.
async fn create(cluster: &TestCluster, user: &str, object: &Value) -> Result<String> {
    let user = format!("--as={user}");
    let group = "--as-group=system:authenticated";
    cluster
        .kubectl_with_input(&["create", "-f", "-", &user, "--as-group=staff", group], &object.to_string())
        .await
}

/// Starts an operator where `sue` may submit to root.prod, and `bob` may not, which the webhook reports at
/// once.
async fn denying(cluster: &TestCluster) -> Result<(Operator<'_>, Endpoints)> {
    cluster.install().await?;
    cluster.apply_file("manifests/submission/rbac.yaml").await?;
    cluster.set_base(BASE).await?;
    let object = |kind: &str, name: &str, spec: Value| {
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
            .to_string()
    };
    let url = cluster.scheduler_url();
    cluster.apply_text(&object("YuniKornConfig", "default", json!({"schedulerUrl": url})), "e2e").await?;
    let acl = json!({"queue": "root.prod", "submit": {"users": ["sue"]}});
    cluster.apply_text(&object("QueueAcl", "prod", acl), "e2e").await?;
    cluster.apply_text(&object("AdmissionPolicy", "early", json!({"submission": "Deny"})), "e2e").await?;
    let (operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    cluster.wait_for(Kind::AdmissionPolicy, "early", is_true("Ready"), PATIENCE).await?;
    cluster.register(&endpoints, "submission").await?;
    Ok((operator, endpoints))
}

#[tokio::test]
async fn forbidden_submission_is_explained_and_allowed_one_is_scheduled() -> Result<()> {
    TestCluster::with(async |cluster| {
        let needed =
            [Capability::OperatorProcess, Capability::AdmissionProcess, Capability::ControllerManager];
        if !cluster.can_run(&needed)? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        cluster.start_controller_manager().await?;
        let (operator, _endpoints) = denying(cluster).await?;
        // An API server calls a new webhook after a moment.
        eventually("the API server to ask", PATIENCE, || async {
            let mut probe = workload("Pod", "probe");
            probe["metadata"]["labels"]["yunikorn.apache.org/queue"] = "root.nowhere".into();
            let user = ["--as=bob", "--as-group=system:authenticated", "--dry-run=server"];
            let args = [&["create", "-f", "-"][..], &user].concat();
            Ok(cluster.kubectl_with_input(&args, &probe.to_string()).await.is_err().then_some(()))
        })
        .await?;
        for kind in KINDS {
            let name = format!("bobs-{}", kind.to_lowercase());
            let error = create(cluster, "bob", &workload(kind, &name)).await.err();
            let error = error.with_context(|| format!("bob's {kind} was let through"))?.to_string();
            for part in [
                "submission.queuewarden.dev",
                &format!("YuniKorn would reject this {kind} of user `bob`"),
                "no ACL from root.prod up to root names user bob",
            ] {
                ensure!(error.contains(part), "{kind}: no {part:?} in {error}");
            }
        }
        for kind in KINDS {
            let name = format!("sues-{}", kind.to_lowercase());
            create(cluster, "sue", &workload(kind, &name)).await?;
            scheduled(cluster, &name).await?;
        }
        let refused = operator
            .metric("queuewarden_decisions_total", r#"verb="submit",decision="refused",clause="acl""#);
        ensure!(refused.await? >= 3.0);
        let log = operator.log().await?;
        ensure!(log.contains("queuewarden::audit") && log.contains("bobs-job"), "{log}");

        // Without queuewarden everything continues: YuniKorn decides, as always.
        operator.kill().await?;
        create(cluster, "bob", &workload("Pod", "bobs-later")).await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        eventually("YuniKorn to reject it", PATIENCE, || async {
            let status = pods.get("bobs-later").await?.status.unwrap_or_default();
            Ok((status.reason.as_deref() == Some("ApplicationRejected")).then_some(()))
        })
        .await
    })
    .await
}

/// Waits until the real scheduler has found a node for a pod of this workload.
async fn scheduled(cluster: &TestCluster, name: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    let of_it = ListParams::default().labels(&format!("run={name}"));
    eventually("YuniKorn to schedule it", PATIENCE, || async {
        let bound = pods.list(&of_it).await?.into_iter().any(|pod| {
            let spec = pod.spec.unwrap_or_default();
            spec.node_name.is_some() && spec.scheduler_name.as_deref() == Some("yunikorn")
        });
        Ok(bound.then_some(()))
    })
    .await
    .with_context(|| name.to_owned())
}
