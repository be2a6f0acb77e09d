//! Tests the policy `queuewarden-own-names`: the API server checks names by itself, with no queuewarden
//! running.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, TestCluster, eventually};
use serde_json::{Value, json};

use super::{FIXTURES, claim, controller, create, kubectl, merged, pod, refused, strict};

const REFUSED: &[&str] = &["queuewarden-own-names", "user mallory may not set yunikorn.apache.org/user.info"];

/// Installs the policy with this `AdmissionPolicy`, without a webhook server; `false` if the cluster cannot
/// do that.
async fn policy(cluster: &TestCluster, spec: &Value) -> Result<bool> {
    if !cluster.can_run(&[Capability::OperatorProcess])? {
        return Ok(false);
    }
    cluster.install().await?;
    cluster.apply_text(FIXTURES, "queuewarden-e2e").await?;
    cluster.apply_file("manifests/user-info/policy.yaml").await?;
    set(cluster, spec).await?;
    Ok(true)
}

async fn set(cluster: &TestCluster, spec: &Value) -> Result<()> {
    let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "default"}, "spec": spec});
    cluster.apply_text(&policy.to_string(), "e2e").await
}

/// Waits until the API server refuses mallory the name of the boss.
async fn enforced(cluster: &TestCluster) -> Result<()> {
    eventually("the API server to decide by the policy", PATIENCE, || async {
        let answer = kubectl(
            cluster,
            "mallory",
            &["create", "--dry-run=server"],
            &pod("probe", NAMESPACE, &claim("boss")),
        )
        .await;
        Ok(refused(answer, REFUSED).ok())
    })
    .await
}

/// Returns this user's own annotation.
fn own(user: &str) -> Value {
    let text = format!(r#"{{"user":"{user}","groups":["people","system:authenticated"]}}"#);
    json!({"yunikorn.apache.org/user.info": text})
}

fn cron_job(name: &str, annotations: &Value) -> Value {
    let job = controller("Job", name, annotations);
    let template = job.pointer("/spec/template").cloned().unwrap_or_default();
    let template = merged(template, &json!({"spec": {"restartPolicy": "Never"}}));
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}})
}

fn revision(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, "namespace": NAMESPACE}, "revision": 1,
        "data": {"spec": {"template": {"metadata": {"annotations": annotations}}}}})
}

#[tokio::test]
async fn nobody_takes_another_name_while_queuewarden_is_down() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let dry = ["create", "--dry-run=server"];
        let kinds = |annotations: &Value| {
            [
                pod("p", NAMESPACE, annotations),
                pod("p", "kube-public", annotations),
                controller("Deployment", "d", annotations),
                controller("ReplicationController", "rc", annotations),
                controller("StatefulSet", "s", annotations),
                cron_job("c", annotations),
                revision("r", annotations),
            ]
        };
        for object in kinds(&claim("boss")) {
            refused(kubectl(cluster, "mallory", &dry, &object).await, REFUSED)?;
        }
        // Her own name, as the webhook writes it, and none at all.
        for object in kinds(&own("mallory")).into_iter().chain(kinds(&json!({}))) {
            kubectl(cluster, "mallory", &dry, &object).await?;
        }
        refused(kubectl(cluster, "mallory", &dry, &pod("p", NAMESPACE, &own("alice"))).await, REFUSED)?;

        // Existing names stay, when anybody changes the rest.
        create(cluster, "alice", &controller("Deployment", "web", &own("alice"))).await?;
        let patch = async |user: &str, patch: &Value| {
            let (who, text) = (format!("--as={user}"), patch.to_string());
            let args = ["patch", "deployment", "web", "-n", NAMESPACE, "--type=merge", "-p", &text, &who];
            cluster
                .kubectl(&[&args[..], &["--as-group=people", "--as-group=system:authenticated"]].concat())
                .await
        };
        let named =
            |annotations: Value| json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        patch("mallory", &json!({"spec": {"replicas": 2}})).await?;
        for stolen in [claim("boss"), json!({"yunikorn.apache.org/user.info": null})] {
            refused(
                patch("mallory", &named(stolen)).await,
                &["queuewarden-own-names", "which was set before"],
            )?;
        }

        // Controllers set the names that they are given.
        let system = "system:serviceaccount:kube-system:replicaset-controller";
        kubectl(cluster, system, &dry, &pod("p", NAMESPACE, &claim("boss"))).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_binding_carries_no_name() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        create(cluster, "alice", &pod("bound", NAMESPACE, &own("alice"))).await?;
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let bind = async |annotations: Value| {
            let binding =
                json!({"target": {"kind": "Node", "name": "node"}, "metadata": {"name": "bound", "annotations": annotations}});
            pods.create_subresource::<Value, Value>("binding", "bound", &PostParams::default(), &binding).await
        };
        let answer = bind(claim("boss")).await.map(|_| String::new()).map_err(Into::into);
        refused(answer, &["queuewarden-own-names", "Binding"])?;
        bind(json!({})).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn lists_and_modes_hold_as_in_the_webhook() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !policy(cluster, &strict()).await? {
            return Ok(());
        }
        enforced(cluster).await?;
        let pod = pod("p", NAMESPACE, &claim("boss"));
        let passes =
            async || kubectl(cluster, "mallory", &["create", "--dry-run=server"], &pod).await.is_ok();
        for (more, expected) in [
            (json!({"externalUsers": ["^mallory$"]}), true),
            (json!({"externalUsers": ["^mal$"]}), false),
            (json!({"externalGroups": ["^people$"]}), true),
            (json!({"systemUsers": ["^mallory$"]}), true),
            (json!({"systemUsers": ["^mallory$"], "trustControllers": false}), false),
            (json!({"bypassAuth": true}), true),
            (json!({"userInfo": {"mode": "Audit"}}), true),
            (json!({"userInfo": {"mode": "Enforce", "profile": "yunikorn"}}), true),
            (json!({}), false),
        ] {
            set(cluster, &merged(strict(), &more)).await?;
            eventually(&format!("{more} to hold"), PATIENCE, || async {
                Ok((passes().await == expected).then_some(()))
            })
            .await?;
        }
        cluster.kubectl(&["delete", "admissionpolicy", "default"]).await?;
        eventually("nothing to be enforced", PATIENCE, || async { Ok(passes().await.then_some(())) }).await?;
        ensure!(passes().await);
        Ok(())
    })
    .await
}
