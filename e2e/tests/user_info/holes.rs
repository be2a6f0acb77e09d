//! The holes of `YuniKorn`'s own admission controller: each used by mallory to submit as boss, and each closed by the guard.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use queuewarden::model::admission::request::USER_INFO;
use queuewarden_e2e::bed::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Bed, eventually, yunikorn};
use serde_json::{Value, json};

use super::{
    BYPASSED, UNLABELLED, application, claim, controller, create, kubectl, pod, pods_say, said, template,
    yunikorn_alone,
};

const NOTHING: &[&str] = &[];

/// `kubectl patch` by this user.
async fn patch(bed: &Bed, user: &str, what: &str, name: &str, patch: &Value) -> Result<String> {
    let text = patch.to_string();
    let who = format!("--as={user}");
    let args = ["patch", what, name, "-n", NAMESPACE, "--type=merge", "-p", text.as_str(), who.as_str()];
    bed.kubectl(&[&args[..], &["--as-group=people", "--as-group=system:authenticated"]].concat()).await
}

/// Makes a template say that it is boss's, and its pods those of another application.
fn become_boss(id: &str) -> Value {
    let metadata = json!({"labels": {"applicationId": id}, "annotations": claim("boss")});
    json!({"spec": {"template": {"metadata": metadata}}})
}

#[tokio::test]
async fn an_update_of_a_deployment() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        create(bed, "mallory", &controller("Deployment", "web", &json!({}))).await?;
        ensure!(pods_say(bed, "web", "mallory").await?.groups == ["people", "system:authenticated"]);
        patch(bed, "mallory", "deployment", "web", &become_boss("bosses-web")).await?;
        ensure!(pods_say(bed, "web", "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "bosses-web").await?.user == "boss");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_replication_controller() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        create(bed, "mallory", &controller("ReplicationController", "rc", &claim("boss"))).await?;
        ensure!(pods_say(bed, "rc", "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "rc").await?.user == "boss");
        // And an honest person's are nobody's.
        create(bed, "alice", &controller("ReplicationController", "honest", &json!({}))).await?;
        let controller = "system:serviceaccount:kube-system:replication-controller";
        pods_say(bed, "honest", controller).await?;
        Ok(())
    })
    .await
}

/// Whom the operator of `SparkApplication`s is to the API server.
const SPARK: &str = "system:serviceaccount:spark:operator";

fn spark_application(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"driver": {"cores": 1, "annotations": annotations}, "executor": {"instances": 1}}})
}

/// What the operator of `SparkApplication`s does with one: a driver that has the annotations of `spec.driver`.
async fn drive(bed: &Bed, name: &str) -> Result<()> {
    let text = bed.kubectl(&["get", "sparkapplication", name, "-n", NAMESPACE, "-o", "json"]).await?;
    let found: Value = serde_json::from_str(&text)?;
    let annotations = found.pointer("/spec/driver/annotations").cloned().unwrap_or_else(|| json!({}));
    let driver = pod(name, NAMESPACE, &annotations);
    create(bed, SPARK, &driver).await.map(drop)
}

/// `YuniKorn` reads its keys when it hears of them.
async fn trust_spark(bed: &Bed) -> Result<()> {
    let key = "admissionController.accessControl.externalUsers".to_owned();
    bed.write_config_map(yunikorn::CONFIGS, [(key, format!("^{SPARK}$"))].into()).await?;
    eventually("YuniKorn to trust the operator", PATIENCE, || async {
        let probe = pod("probe", NAMESPACE, &claim("boss"));
        Ok(kubectl(bed, SPARK, &["create", "--dry-run=server"], &probe).await.ok())
    })
    .await
    .map(drop)
}

#[tokio::test]
async fn a_custom_workload() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        trust_spark(bed).await?;
        create(bed, "mallory", &spark_application("pi", &claim("boss"))).await?;
        drive(bed, "pi").await?;
        ensure!(pods_say(bed, "pi", "boss").await?.groups == ["bosses"]);
        ensure!(application(bed, "pi").await?.user == "boss");
        // And an honest person's is the operator's.
        create(bed, "alice", &spark_application("honest", &json!({}))).await?;
        drive(bed, "honest").await?;
        ensure!(application(bed, "honest").await?.user == SPARK);
        Ok(())
    })
    .await
}

/// The stored pod's annotation.
async fn stored(bed: &Bed, name: &str, namespace: &str) -> Result<Option<super::Submitter>> {
    let pods: Api<Pod> = Api::namespaced(bed.client()?, namespace);
    said(pods.get(name).await?.annotations())
}

#[tokio::test]
async fn a_namespace_without_labels() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        create(bed, "alice", &pod("lost", UNLABELLED, &json!({}))).await?;
        ensure!(stored(bed, "lost", UNLABELLED).await?.is_none());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_workload_where_yunikorn_does_not_look() -> Result<()> {
    Bed::with(async |bed| {
        if !yunikorn_alone(bed).await? {
            return Ok(());
        }
        for namespace in [UNLABELLED, BYPASSED] {
            let mut deployment = controller("Deployment", "unseen", &claim("boss"));
            deployment["metadata"]["namespace"] = namespace.into();
            let template = &mut deployment["spec"]["template"];
            template["metadata"]["labels"] = json!({"run": "unseen"});
            template["spec"]["schedulerName"] = "yunikorn".into();
            create(bed, "mallory", &deployment).await?;
        }
        Ok(())
    })
    .await
}
