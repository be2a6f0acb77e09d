//! Workloads whose pods are created by Kubernetes' own controllers and run by a kubelet.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::TestCluster;
use queuewarden_e2e::pods::USER_INFO;
use serde_json::{Value, json};

use super::{create_as, grant, helm, phase, pod, switch_on};

/// Each pod runs under the name of the person who applied the workload, never under a controller's.
#[tokio::test]
#[ignore = "needs nodes: just kind"]
async fn workload_pods_run_as_their_author() -> Result<()> {
    TestCluster::with_installed(async |cluster| {
        helm(cluster, &["webhooks.enabled=true"]).await?;
        helm(cluster, &["webhooks.enabled=true", "webhooks.userInfo=true"]).await?;
        switch_on(cluster).await?;
        grant(cluster, "prod", json!({"users": ["sue"]})).await?;
        let job = |name: &str| json!({"template": pod("prod", name, false), "backoffLimit": 0});
        let workloads = [
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "deployment"},
                "spec": {"replicas": 2, "selector": {"matchLabels": {"applicationId": "deployment"}},
                         "template": pod("prod", "deployment", true)}}),
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": job("job")}),
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cronjob"},
                "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job("cronjob")}}}),
        ];
        for workload in &workloads {
            create_as(cluster, "sue", workload).await?;
        }
        for (application, state, count) in
            [("deployment", "Running", 2), ("job", "Succeeded", 1), ("cronjob", "Succeeded", 1)]
        {
            let pods = phase(cluster, &format!("applicationId={application}"), state, count).await?;
            for pod in pods.get("items").and_then(Value::as_array).context("no list")? {
                let annotations = pod.pointer("/metadata/annotations").context("no annotations")?;
                let info = annotations.get(USER_INFO).and_then(Value::as_str).context("no name")?;
                let info: Value = serde_json::from_str(info)?;
                ensure!(info.get("user") == Some(&json!("sue")), "{application}: {info}");
                ensure!(pod.pointer("/spec/schedulerName") == Some(&json!("yunikorn")), "{pod}");
            }
        }
        Ok(())
    })
    .await
}
