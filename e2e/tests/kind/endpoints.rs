//! The webhooks and served resources, called by the API server through a Service.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::{TestCluster, eventually, wait::LONG, wait::PATIENCE, yunikorn};
use serde_json::json;

use super::{create_as, grant, helm, pod, switch_on};
use crate::cli::ask;

const ALL: [&str; 7] = [
    "webhooks.enabled=true",
    "webhooks.validating=true",
    "webhooks.configMaps=true",
    "webhooks.submission=true",
    "webhooks.userInfo=strict",
    "webhooks.delegation=true",
    "webhooks.access=true",
];

/// The controllers that create pods from templates.
const CONTROLLERS: &str =
    "^system:serviceaccount:kube-system:(cronjob|deployment|job|replicaset)-controller$";

#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn every_endpoint_answers_through_the_service() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        // Webhooks that are installed before a pod listens would refuse the objects that enable them.
        helm(cluster, &["webhooks.enabled=true"]).await?;
        helm(cluster, &ALL).await?;
        switch_on(cluster).await?;
        let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy",
            "metadata": {"name": "default"}, "spec": {"userInfo": {"mode": "Enforce"}, "submission": "Deny", "systemUsers": [CONTROLLERS]}});
        grant(cluster, "prod", json!({"users": ["alice"]})).await?;

        // An expression that YuniKorn cannot read.
        let mut wrong = policy.clone();
        *wrong.pointer_mut("/spec/systemUsers").context("no users")? = json!(["("]);
        let refused = refusal(cluster, &wrong.to_string()).await?;
        ensure!(refused.contains("validate.queuewarden.dev"), "{refused}");
        // The ConfigMaps of YuniKorn.
        let wrong = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": yunikorn::CONFIGS, "namespace": yunikorn::NAMESPACE},
            "data": {"service.schedulingInterval": "soon"}});
        let refused = refusal(cluster, &wrong.to_string()).await?;
        ensure!(refused.contains("configmaps.queuewarden.dev"), "{refused}");
        // The name of another user, and a submission to a queue that is closed to this one.
        cluster.apply_text(&policy.to_string(), "queuewarden-e2e").await.context("the AdmissionPolicy")?;
        eventually("eve's workload to be refused", PATIENCE, || async {
            let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "eve"},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"applicationId": "eve"}},
                         "template": pod("prod", "eve", true)}});
            let refused = create_as(cluster, "eve", &deployment).await.err().map(|error| error.to_string());
            if refused.is_none() {
                cluster.kubectl(&["delete", "deployment", "eve", "-n", NAMESPACE]).await?;
            }
            Ok(refused.filter(|refused| refused.contains("submission.queuewarden.dev")))
        })
        .await?;
        // The served resources, which the API server finds after some seconds, and kubectl after that.
        eventually("the queues", LONG, || async {
            let queues = cluster.kubectl(&["get", "queues.access.queuewarden.dev"]).await?;
            Ok(queues.contains("root.prod").then_some(()))
        })
        .await?;
        // Asks each of them itself.
        let checked = ask(cluster.kubeconfig(), "check --wait 60s").await?;
        ensure!(checked.code == Some(0), "{checked}");
        Ok(())
    })
    .await
}

/// Returns the API server's message when it refuses an object.
async fn refusal(cluster: &TestCluster, object: &str) -> Result<String> {
    let args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    let refused = cluster.kubectl_with_input(&args, object).await.err().context("it was accepted")?;
    Ok(refused.to_string())
}
