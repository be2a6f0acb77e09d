//! Tests the limits of the user-info webhook: it does not block a cluster while it is down or hangs, ignores
//! namespaces that a cluster needs for its own repair, and refuses nothing in audit mode.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams, PostParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};

use super::{
    Submitter, UNLABELLED, ask, claim, controller, create, guard, kubectl, merged, nobody_asked, pod,
    refused, said, strict,
};

/// Namespaces that the webhook ignores.
const LEFT_ALONE: [&str; 3] = ["kube-system", "yunikorn", "queuewarden-system"];

/// Creates a pod as an administrator; returns the stored `user.info`.
async fn administrator(cluster: &TestCluster, name: &str, namespace: &str) -> Result<Option<Submitter>> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, namespace);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    // As the namespaces require it.
    let spec = json!({
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "none",
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
    });
    let pod = merged(pod(name, namespace, &json!({})), &json!({"spec": spec}));
    let pod = serde_json::from_value(pod)?;
    said(&pods.create(&dry, &pod).await?.metadata.annotations.unwrap_or_default())
}

/// Checks the changes that a running pod needs: its labels and its status are written, and it is deleted.
async fn lives_on(cluster: &TestCluster, name: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
    let merge = PatchParams::default();
    pods.patch(name, &merge, &Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}))).await?;
    pods.patch_status(name, &merge, &Patch::Merge(json!({"status": {"message": "seen"}}))).await?;
    cluster.kubectl(&["delete", "pod", name, "-n", NAMESPACE, "--grace-period=0", "--force"]).await.map(drop)
}

#[tokio::test]
async fn down_or_hanging_it_is_in_nobodys_way() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        create(cluster, "alice", &pod("before", NAMESPACE, &json!({}))).await?;

        operator.process()?.pause()?;
        let began = std::time::Instant::now();
        create(cluster, "alice", &pod("hanging", NAMESPACE, &json!({}))).await?;
        // Two requests of three seconds each.
        ensure!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
        for namespace in LEFT_ALONE {
            let began = std::time::Instant::now();
            ensure!(administrator(cluster, "asked", namespace).await?.is_none());
            ensure!(began.elapsed() < Duration::from_secs(2), "{namespace} waits for the guard");
        }
        lives_on(cluster, "before").await?;

        operator.kill().await?;
        create(cluster, "alice", &pod("down", NAMESPACE, &json!({}))).await?;
        create(cluster, "alice", &controller("Deployment", "down", &json!({}))).await?;
        lives_on(cluster, "hanging").await
    })
    .await
}

#[tokio::test]
async fn where_it_must_not_be_missing_only_the_guarded_namespaces_wait_for_it() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info-strict", &endpoints).await?;
        create(cluster, "alice", &pod("before", NAMESPACE, &json!({}))).await?;
        operator.kill().await?;
        for namespace in [NAMESPACE, UNLABELLED] {
            let failed = create(cluster, "alice", &pod("after", namespace, &json!({}))).await;
            refused(failed, &["failed calling webhook", "user-info.queuewarden.dev"])?;
        }
        for namespace in LEFT_ALONE {
            ensure!(administrator(cluster, "asked", namespace).await?.is_none());
        }
        // The scheduler can bind it, kubelets can report its status, and anyone can delete it.
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let binding = json!({"target": {"kind": "Node", "name": "node"}, "metadata": {"name": "before"}});
        pods.create_subresource::<Value, Value>("binding", "before", &PostParams::default(), &binding)
            .await
            .context("binding")?;
        lives_on(cluster, "before").await
    })
    .await
}

#[tokio::test]
async fn cluster_namespaces_are_always_ignored() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        let client = endpoints.client()?;
        for (path, namespace) in ["/user-info", "/user-info/check"]
            .into_iter()
            .flat_map(|path| LEFT_ALONE.map(|name| (path, name)))
        {
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": "u", "operation": "CREATE", "namespace": namespace, "name": "asked",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "mallory", "groups": ["people"]},
                "object": pod("asked", namespace, &claim("boss")),
            }});
            let answer: Value = client
                .post(endpoints.url(path))
                .json(&review)
                .send()
                .await?
                .error_for_status()?
                .json()
                .await?;
            let response = &answer["response"];
            ensure!(
                response["allowed"] == true && response["patch"].is_null(),
                "{namespace}{path}: {answer}"
            );
        }
        // The API server does not even call the webhook, although it does so for other namespaces.
        ask(cluster, "user-info", &endpoints).await?;
        for namespace in LEFT_ALONE {
            ensure!(administrator(cluster, "asked", namespace).await?.is_none(), "{namespace}");
        }
        ensure!(administrator(cluster, "asked", NAMESPACE).await?.is_some_and(|found| found.user == "admin"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn audit_mode_allows_logs_and_counts() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let policy = merged(strict(), &json!({"userInfo": {"mode": "Audit"}}));
        let (operator, endpoints) = guard(cluster, &policy).await?;
        cluster.install_webhooks("user-info", &endpoints, |_| ()).await?;
        let refused = r#"verb="user_info",decision="refused",clause="not_allowed""#;
        // Dry runs are checked as well, which shows when the API server calls the webhook.
        eventually("the API server to ask queuewarden", PATIENCE, || async {
            let probe = pod("probe", NAMESPACE, &claim("boss"));
            kubectl(cluster, "mallory", &["create", "--dry-run=server"], &probe).await?;
            Ok((operator.metric("queuewarden_decisions_total", refused).await? > 0.0).then_some(()))
        })
        .await?;
        let before = operator.metric("queuewarden_decisions_total", refused).await?;
        create(cluster, "mallory", &pod("looked-at", NAMESPACE, &claim("boss"))).await?;
        create(cluster, "alice", &pod("plain", NAMESPACE, &json!({}))).await?;
        ensure!(
            operator.metric("queuewarden_decisions_total", refused).await? > before,
            "nothing was counted"
        );
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let annotations = |pod: Pod| said(&pod.metadata.annotations.unwrap_or_default());
        ensure!(annotations(pods.get("looked-at").await?)?.is_some_and(|found| found.user == "boss"));
        ensure!(annotations(pods.get("plain").await?)?.is_none(), "an audit adds nothing");
        let log = operator.log().await?;
        let line = log.lines().find(|line| line.contains("looked-at")).context("nothing is written down")?;
        for word in ["queuewarden::audit", "mallory", "boss", "not_allowed", "refused"] {
            ensure!(line.contains(word), "no {word:?} in {line}");
        }

        // The mode alone makes it enforce.
        cluster
            .kubectl(&[
                "patch",
                "admissionpolicy",
                "default",
                "--type=merge",
                "-p",
                r#"{"spec":{"userInfo":{"mode":"Enforce"}}}"#,
            ])
            .await?;
        eventually("what was only looked at to be refused", PATIENCE, || async {
            let probe = pod("probe", NAMESPACE, &claim("boss"));
            super::refused(
                kubectl(cluster, "mallory", &["create", "--dry-run=server"], &probe).await,
                &["mallory"],
            )?;
            Ok(Some(()))
        })
        .await
    })
    .await
}
