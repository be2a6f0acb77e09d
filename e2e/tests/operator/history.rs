//! Tests the history: each written text becomes a revision, and recording it never delays a write.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::{Api, DeleteParams, ListParams};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually, operator, yunikorn};
use serde_json::{Value, json};

use super::{acl, apply, configure, delete, grant, live, live_when, running};

/// The role with permission to record.
const ROLE: [&str; 4] = ["role", "queuewarden", "-n", yunikorn::NAMESPACE];

fn revisions(cluster: &TestCluster) -> Result<Api<ControllerRevision>> {
    Ok(Api::namespaced(cluster.client()?, yunikorn::NAMESPACE))
}

/// Returns the numbers, causes and sentences about access of all revisions, the newest last.
async fn recorded(cluster: &TestCluster) -> Result<Vec<(i64, String, String)>> {
    let list = revisions(cluster)?.list(&ListParams::default().labels("queuewarden.dev/revision")).await?;
    let mut found: Vec<_> = list
        .into_iter()
        .map(|object| {
            let data = object.data.map(|data| data.0).unwrap_or_default();
            let causes = data.pointer("/causes").and_then(Value::as_array).into_iter().flatten();
            let causes: Vec<&str> = causes.filter_map(Value::as_str).collect();
            let access = data.pointer("/access").and_then(Value::as_str);
            (object.revision, causes.join(", "), access.unwrap_or_default().to_owned())
        })
        .collect();
    found.sort();
    Ok(found)
}

async fn recorded_until(cluster: &TestCluster, count: usize) -> Result<Vec<(i64, String, String)>> {
    eventually(&format!("{count} revisions"), PATIENCE, || async {
        let found = recorded(cluster).await?;
        ensure!(found.len() <= count, "{found:?}");
        Ok((found.len() == count).then_some(found))
    })
    .await
}

#[tokio::test]
async fn each_written_text_becomes_a_revision() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [bob]}").await?;
        delete(cluster, "queueacl", "prod").await?;
        live_when(cluster, "the deletion to be seen", |text| !text.contains("bob")).await?;
        let found = recorded_until(cluster, 4).await?;
        let numbers: Vec<i64> = found.iter().map(|(number, ..)| *number).collect();
        ensure!(numbers == [1, 2, 3, 4], "{found:?}");
        let expected = [
            ("ConfigMap yunikorn/yunikorn-defaults, key queues.yaml", ""),
            ("QueueAcl/prod", "grants submit on root.prod to user alice"),
            (
                "QueueAcl/prod",
                "takes submit on root.prod from user alice; grants submit on root.prod to user bob",
            ),
            ("QueueAcl/prod deleted", "takes submit on root.prod from user bob"),
        ];
        for ((number, cause, access), (of, says)) in found.iter().zip(expected) {
            ensure!(cause == of && access.contains(says), "{number}: {cause}; {access}");
        }

        let policy = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: p}\nspec: {bypassAuth: false}\n";
        apply(cluster, policy).await?;
        let of_policy = "sets admissionController.accessControl.bypassAuth to `false`";
        let found = recorded_until(cluster, 5).await?;
        ensure!(found.contains(&(4, "AdmissionPolicy/p".into(), of_policy.into())), "{found:?}");
        delete(cluster, "admissionpolicy", "p").await?;
        let found = recorded_until(cluster, 6).await?;
        ensure!(found.iter().any(|(_, cause, _)| cause == "no AdmissionPolicy any more"), "{found:?}");

        // A manual deletion is harmless, and the newest text is found again after a restart.
        let all = revisions(cluster)?;
        all.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        grant(cluster, "test", "root.dev", "submit: {users: [carol]}").await?;
        ensure!(recorded_until(cluster, 1).await?[0].0 == 5);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_process_that_starts_records_the_text_that_it_finds_once() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        recorded_until(cluster, 2).await?;
        operator.kill().await?;
        drop(operator);
        let all = revisions(cluster)?;
        all.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        for _ in 0..2 {
            let operator = running(cluster).await?;
            let found = recorded_until(cluster, 1).await?;
            ensure!(found[0].0 == 2 && found[0].1.starts_with("found"), "{found:?}");
            operator.kill().await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn writes_without_the_right_to_record_are_made_and_recorded_later() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let operator = running(cluster).await?;
        recorded_until(cluster, 1).await?;
        let role = cluster.kubectl(&[&["get", "-o", "json"], &ROLE[..]].concat()).await?;
        let mut less: Value = serde_json::from_str(&role)?;
        let rules = less["rules"].as_array_mut().context("no rules")?;
        rules.retain(|rule| rule["resources"][0] != "controllerrevisions");
        let patch = json!({"rules": rules}).to_string();
        cluster.kubectl(&[&["patch", "--type=merge", "-p", &patch], &ROLE[..]].concat()).await?;
        eventually("the right to be gone", PATIENCE, || async {
            let may = cluster.may(
                operator::USER,
                "create",
                "apps",
                "controllerrevisions",
                Some((yunikorn::NAMESPACE, "")),
            );
            Ok((!may.await?).then_some(()))
        })
        .await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [bob]}")).await?;
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        live_when(cluster, "the withdrawal", |text| !text.contains("alice") && text.contains("bob")).await?;
        eventually("a failure that is counted", PATIENCE, || async {
            let metrics = operator.get("/metrics").await?;
            Ok(metrics.contains("queuewarden_history_record_total{result=\"error\"}").then_some(()))
        })
        .await?;
        let log = operator.process()?.log();
        ensure!(log.contains("allow list, create and delete of controllerrevisions"), "{log}");
        ensure!(recorded(cluster).await?.len() == 1);

        let all: Value = serde_json::from_str(&role)?;
        let patch = json!({"rules": all["rules"]}).to_string();
        cluster.kubectl(&[&["patch", "--type=merge", "-p", &patch], &ROLE[..]].concat()).await?;
        let found = recorded_until(cluster, 3).await?;
        ensure!(found.iter().all(|(_, cause, _)| !cause.starts_with("found")), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn in_mode_observe_nothing_is_recorded() -> Result<()> {
    TestCluster::with(async |cluster| {
        let operator = running(cluster).await?;
        recorded_until(cluster, 1).await?;
        configure(cluster, "  mode: Observe\n").await?;
        let text = live(cluster).await?;
        apply(cluster, &acl("prod", "root.prod", "submit: {users: [alice]}")).await?;
        let observed = is_false("Ready", "ObserveMode");
        cluster.wait_for(Kind::QueueAcl, "prod", observed, PATIENCE).await?;
        operator.kill().await?;
        revisions(cluster)?.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        // The status shows that the next process has planned as the leader.
        let _operator = Operator::start(cluster).await?;
        apply(cluster, &acl("test", "root.dev", "submit: {users: [bob]}")).await?;
        cluster.wait_for(Kind::QueueAcl, "test", observed, LONG).await?;
        ensure!(live(cluster).await? == text && recorded(cluster).await?.is_empty());
        Ok(())
    })
    .await
}

/// Returns a `ControllerRevision` with this data.
fn revision(name: &str, data: &Value, owners: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": data,
        "metadata": {"name": name, "namespace": yunikorn::NAMESPACE, "ownerReferences": owners}})
}

/// A revision of a `StatefulSet` is a patch of it, so its pods may get another namespace and account.
/// Permission to create revisions, which RBAC cannot limit to names, is not enough for that.
#[tokio::test]
async fn the_operators_token_writes_no_revision_of_which_pods_are_made() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        let account = cluster.sa_kubeconfig(operator::NAMESPACE, operator::NAME).await?;
        let text = json!({"at": "2026-01-01T00:00:00Z", "queues.yaml.gz": ""});
        let template = json!({"metadata": {"namespace": "kube-system"},
            "spec": {"template": {"spec": {"serviceAccountName": "namespace-controller"}}}});
        let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "set", "uid": "1", "controller": true}]);
        for object in [revision("set-1", &template, &json!([])), revision("queuewarden-9", &template, &owner)] {
            cluster.apply_text(&object.to_string(), "e2e").await?;
        }
        let create = async |object: Value| {
            cluster.kubectl_as(&account, &["create", "--dry-run=server", "-f", "-"], &object.to_string()).await
        };
        let refused = |answer: Result<String>, words: &str| {
            let error = answer.err().context("it was let through")?.to_string();
            ensure!(error.contains("queuewarden-history") && error.contains(words), "{error}");
            anyhow::Ok(())
        };
        eventually("the policy to be in force", PATIENCE, || async {
            Ok(refused(create(revision("x", &text, &json!([]))).await, "names begin with").ok())
        })
        .await?;
        create(revision("queuewarden-1", &text, &json!([]))).await?;
        refused(create(revision("queuewarden-1", &text, &owner)).await, "which nothing owns")?;
        for data in [template, json!({"Spec": {}}), json!({"metadata": {}})] {
            let answer = create(revision("queuewarden-1", &data, &json!([]))).await;
            refused(answer, "nothing in them of which a controller makes pods")?;
        }
        for name in ["set-1", "queuewarden-9"] {
            let delete = ["delete", "controllerrevision", name, "-n", yunikorn::NAMESPACE];
            refused(cluster.kubectl_as(&account, &delete, "").await, "names begin with")?;
        }
        Ok(())
    })
    .await
}
