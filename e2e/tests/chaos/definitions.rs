//! Tests definitions of the operator's kinds that are removed while it runs, and schemas that accept
//! everything.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams};
use queuewarden_e2e::conditions::Expected;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Kind, TestCluster};
use serde_json::{Value, json};

use super::{Chaos, full, last, length};
use crate::operator::{config_is, configure};

const DEFINITIONS: [&str; 4] = [
    "queueacls.queuewarden.dev",
    "admissionpolicies.queuewarden.dev",
    "queueaccesstests.queuewarden.dev",
    "yunikornconfigs.queuewarden.dev",
];

#[tokio::test]
async fn definitions_are_deleted_and_what_they_granted_stays() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        for gone in [&DEFINITIONS[..], &DEFINITIONS[..1]].into_iter().take(if full() { 2 } else { 1 }) {
            cluster.kubectl(&[&["delete", "crd"], gone].concat()).await?;
            last(length(3, 30)).await;
            ensure!(operator.get("/livez").await.is_ok());
            // No grant is withdrawn before the kind is back and shows whether there are objects.
            chaos.grant_history.check().await?;
            let since = chaos.grant_history.now().await?;
            cluster.apply_kustomization("manifests").await?;
            cluster.crds_established().await?;
            chaos.grant_history.revoked_all(since)?;
            configure(cluster, "").await?;
            chaos.grant_history.grant("prod", "root.prod", &["erin"]).await?;
            chaos.grant_history.converged(LONG).await?;
        }
        chaos.rounds = 0;
        chaos.recovers(&operator, LONG).await
    })
    .await
}

/// Returns objects that every schema would refuse.
fn malformed() -> Vec<(&'static str, Value)> {
    let mut deep = json!("alice");
    // serde_json, which stops at a depth of 128, could not parse deeper objects, so the test could not read
    // them back.
    for _ in 0..50 {
        deep = json!({"users": [deep]});
    }
    vec![
        ("null", Value::Null),
        ("text", json!("submit everything")),
        ("list", json!(["root.prod"])),
        ("number", json!({"queue": 7, "submit": {"users": ["mallory"]}})),
        ("nowhere", json!({"submit": {"users": ["mallory"]}})),
        ("path", json!({"queue": "root..prod\n", "submit": {"users": ["mallory"]}})),
        ("listed", json!({"queue": "root.prod", "submit": ["mallory"]})),
        ("single", json!({"queue": "root.prod", "submit": {"users": "mallory"}})),
        ("nulls", json!({"queue": "root.prod", "submit": {"users": [null, "mallory"]}})),
        ("objects", json!({"queue": "root.prod", "submit": {"users": [{"name": "mallory"}]}})),
        ("space", json!({"queue": "root.prod", "submit": {"users": ["mallory,*", " *", "a b"]}})),
        ("quoted", json!({"queue": "root.prod", "submit": {"users": ["mallory'\n        submitacl: '*"]}})),
        ("groups", json!({"queue": "root.prod", "submit": {"users": ["mallory"], "groups": 5}})),
        ("everyone", json!({"queue": "root.prod", "submit": {"everyone": "yes", "users": ["mallory"]}})),
        ("window", json!({"queue": "root.prod", "submit": {"users": ["mallory"]}, "expiresAt": "tomorrow"})),
        ("deep", json!({"queue": "root.prod", "submit": deep})),
        ("long", json!({"queue": "root.".repeat(20_000), "submit": {"users": ["mallory"]}})),
    ]
}

/// Makes the schema accept every object with any content.
async fn without_validation(cluster: &TestCluster) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client()?);
    for name in DEFINITIONS {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let change = json!([
            {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": open},
            // They name fields of the schema.
            {"op": "add", "path": "/spec/versions/0/selectableFields", "value": null},
        ]);
        let patch: Patch<Value> = Patch::Json(serde_json::from_value(change)?);
        definitions.patch(name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}

async fn create(cluster: &TestCluster, kind: &str, name: &str, spec: &Value) -> Result<()> {
    let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let arguments = ["create", "--validate=false", "-f", "-"];
    queuewarden_e2e::eventually("the object to be let in", PATIENCE, || async {
        cluster.kubectl_with_input(&arguments, &object.to_string()).await.map(Some)
    })
    .await
    .map(drop)
}

#[tokio::test]
async fn objects_that_no_schema_would_let_in_grant_nothing_and_stop_nothing() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        without_validation(cluster).await?;
        for (name, spec) in malformed() {
            for kind in ["QueueAcl", "AdmissionPolicy", "QueueAccessTest"] {
                create(cluster, kind, name, &spec).await.with_context(|| format!("{kind} {name}"))?;
            }
        }
        let broken = json!({"status": {"conditions": "none", "inForce": 7, "submit": ["*"]}}).to_string();
        cluster
            .kubectl(&["patch", "queueacl", "dev", "--subresource=status", "--type=merge", "-p", &broken])
            .await?;
        for (name, _) in malformed() {
            let refused = Expected { r#type: "Accepted", status: "False", reason: None };
            cluster.wait_for(Kind::QueueAcl, name, refused, PATIENCE).await?;
        }
        // A status that another client wrote does not trigger a run, but the next run corrects it.
        chaos.change().await?;
        chaos.recovers(&operator, LONG).await?;

        // The same is true of the one object that everything depends on.
        for spec in [json!("text"), json!({"schedulerUrl": 7}), json!({"outputConfigMap": ["*"]})] {
            let change = json!([{"op": "replace", "path": "/spec", "value": spec}]).to_string();
            cluster.kubectl(&["patch", "yunikornconfig", "default", "--type=json", "-p", &change]).await?;
            let refused = Expected { r#type: "Ready", status: "False", reason: Some("Invalid") };
            config_is(cluster, refused, PATIENCE).await?;
        }
        chaos.change().await?;
        configure_anew(cluster).await?;
        for kind in [Kind::QueueAcl, Kind::AdmissionPolicy, Kind::QueueAccessTest] {
            let objects = cluster.objects(kind)?;
            for (name, _) in malformed() {
                objects.delete(name, &kube::api::DeleteParams::default()).await?;
            }
            let left = objects.list(&ListParams::default()).await?.items.len();
            ensure!(kind == Kind::QueueAcl || left == 0, "{left} of {kind:?} are left");
        }
        cluster.apply_kustomization("manifests").await?;
        cluster.crds_established().await?;
        chaos.recovers(&operator, LONG).await
    })
    .await
}

async fn configure_anew(cluster: &TestCluster) -> Result<()> {
    let spec =
        json!([{"op": "replace", "path": "/spec", "value": {"schedulerUrl": cluster.scheduler_url()}}])
            .to_string();
    cluster.kubectl(&["patch", "yunikornconfig", "default", "--type=json", "-p", &spec]).await.map(drop)
}
