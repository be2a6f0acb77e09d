//! Tests the user-info webhook together with `YuniKorn`'s own controller: the order of installation does not
//! matter, and they do not undo each other's changes.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};

use super::{
    BYPASSED, UNLABELLED, ask, claim, controller, create, guard, kubectl, merged, nobody_asked, pod,
    pods_say, refused, strict,
};

const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";
/// A user who may set the user of a workload.
const AIRFLOW: &str = "airflow";
const USERS: [&str; 3] = ["alice", AIRFLOW, CONTROLLER];

/// Returns the users and the objects that they create.
fn cases() -> Vec<(&'static str, Value)> {
    let mut cases = Vec::new();
    for user in USERS {
        for namespace in [NAMESPACE, UNLABELLED, BYPASSED] {
            for annotations in [
                json!({}),
                claim("boss"),
                json!({"note": "<é>"}),
                json!({"yunikorn.apache.org/user.info": "x"}),
            ] {
                cases.push((user, pod("asked", namespace, &annotations)));
                for kind in ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"]
                {
                    let object = controller(kind, "asked", &annotations);
                    cases.push((user, merged(object, &json!({"metadata": {"namespace": namespace}}))));
                }
            }
        }
    }
    cases
}

/// Returns the API server's result for each: the object that it would store, without parts that differ from
/// run to run, or the refusal.
async fn outcomes(cluster: &TestCluster) -> Result<Vec<Result<Value, String>>> {
    let mut clients = BTreeMap::new();
    for user in USERS {
        clients.insert(user, cluster.as_user(user, &["people"])?);
    }
    let mut outcomes = Vec::new();
    for (user, object) in cases() {
        let client = clients.get(user).cloned().context("no client")?;
        let object: DynamicObject = serde_json::from_value(object)?;
        let types = object.types.clone().context("no kind")?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource);
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        outcomes.push(match api.create(&dry, &object).await {
            Ok(mut stored) => {
                stored.metadata.uid = None;
                stored.metadata.creation_timestamp = None;
                stored.metadata.managed_fields = None;
                Ok(serde_json::to_value(stored)?)
            }
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(error) => return Err(error.into()),
        });
    }
    Ok(outcomes)
}

/// Checks that alice's Deployment rolls out once, because its template is not written repeatedly.
async fn rolls_out_once(cluster: &TestCluster, name: &str) -> Result<()> {
    create(cluster, "alice", &controller("Deployment", name, &json!({}))).await?;
    pods_say(cluster, name, NAMESPACE, "alice").await?;
    eventually("the Deployment to be looked at", PATIENCE, || async {
        let seen = [
            "get",
            "deployment",
            name,
            "-n",
            NAMESPACE,
            "-o",
            "jsonpath={.metadata.generation} {.status.observedGeneration} {.status.replicas}",
        ];
        Ok((cluster.kubectl(&seen).await? == "1 1 1").then_some(()))
    })
    .await?;
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.client()?, NAMESPACE);
    let sets = sets.list(&ListParams::default().labels(&format!("run={name}"))).await?;
    ensure!(sets.items.len() == 1, "{} ReplicaSets of one Deployment", sets.items.len());
    Ok(())
}

fn policy() -> Value {
    merged(strict(), &json!({"externalUsers": [format!("^{AIRFLOW}$")]}))
}

/// Waits until both have read which users the policy trusts.
async fn airflow_is_trusted(cluster: &TestCluster) -> Result<()> {
    eventually("airflow to be trusted", PATIENCE, || async {
        kubectl(cluster, AIRFLOW, &["create", "--dry-run=server"], &pod("asked", NAMESPACE, &claim("boss")))
            .await
            .map(Some)
    })
    .await
    .map(drop)
}

#[tokio::test]
async fn webhook_order_does_not_matter() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_controller_manager().await?;
        let (_operator, endpoints) = guard(cluster, &policy()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        cluster.start_admission_controller().await?;
        airflow_is_trusted(cluster).await?;
        let guard_first = outcomes(cluster).await?;
        rolls_out_once(cluster, "guard-first").await?;

        // The user-info webhook is removed, and comes back after YuniKorn's.
        cluster.remove_webhooks().await?;
        ask(cluster, "user-info", &endpoints).await?;
        let yunikorn_first = outcomes(cluster).await?;
        rolls_out_once(cluster, "yunikorn-first").await?;

        for (((user, object), one), other) in cases().iter().zip(&guard_first).zip(&yunikorn_first) {
            ensure!(one == other, "{user}: {object}\n guard first: {one:?}\n YuniKorn first: {other:?}");
            let reported = object.to_string().contains("user.info");
            let outcome = (one.is_ok(), *user, reported);
            let words = one.as_ref().map_or_else(Clone::clone, ToString::to_string);
            // Alice never names the user, and is always named; pods without a user stay without one.
            ensure!(
                !matches!(outcome, (true, "alice", true) | (false, "alice", false)),
                "{outcome:?}: {words}"
            );
            let named = words.contains("{\\\"user\\\":\\\"alice\\\"");
            ensure!(*user != "alice" || reported || named, "alice is not named: {words}");
        }
        Ok(())
    })
    .await
}

/// API servers call webhooks in the order of their names, which explains the name of ours.
#[tokio::test]
async fn webhook_sorted_before_yunikorns_would_refuse_alice() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        let (_operator, endpoints) = guard(cluster, &policy()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        create(cluster, "alice", &pod("asked", NAMESPACE, &json!({}))).await?;
        cluster.remove_webhooks().await?;
        cluster
            .install_webhooks("user-info", &endpoints, |configuration| {
                configuration["metadata"]["name"] = "a-queuewarden-user-info".into();
            })
            .await?;
        eventually("YuniKorn to refuse what the guard has added", PATIENCE, || async {
            let plain = pod("refused", NAMESPACE, &json!({}));
            let answer = kubectl(cluster, "alice", &["create", "--dry-run=server"], &plain).await;
            refused(answer, &["user alice with groups", "is not allowed to set user annotation"])?;
            Ok(Some(()))
        })
        .await
    })
    .await
}
