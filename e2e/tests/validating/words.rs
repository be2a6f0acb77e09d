//! Tests the messages about changes to our own kinds.

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually};
use serde_json::json;

use super::{ACLS, acl, create, decided, delete, merge};

const BASE: &str = "\
partitions:
  - name: default
    placementrules: [{name: provided, create: false}]
    queues:
      - name: root
        queues:
          - name: prod
            submitacl: 'pat'
            queues: [{name: etl}, {name: bi}]
          - name: test
";

#[tokio::test]
async fn each_change_is_answered_with_effects_and_problems() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (operator, _) = decided(cluster, BASE, &json!({})).await?;
        let admin = cluster.client()?;
        let good =
            acl("good", &json!({"queue": "root.prod", "baseAcl": "Extend", "submit": {"groups": ["devs"]}}));
        let answer = create(&admin, ACLS, &good).await?;
        let impact = "grants submit on root.prod and 2 queues below to group devs; nobody loses access";
        ensure!(answer.code == 201 && answer.warnings == [impact], "{answer:?}");
        // kubectl prints it.
        cluster.wait_for(Kind::QueueAcl, "good", is_true("Ready"), PATIENCE).await?;
        let answer = merge(&admin, "good", &json!({"spec": {"baseAcl": "Replace"}})).await?;
        ensure!(
            answer.code == 200 && answer.warns("takes submit on root.prod and 2 queues below from user pat"),
            "{answer:?}"
        );
        let answer = merge(&admin, "good", &json!({"metadata": {"labels": {"a": "b"}}})).await?;
        ensure!(answer.code == 200 && answer.warnings.is_empty(), "{answer:?}");
        let typo = acl("typo", &json!({"queue": "root.prdo", "submit": {"users": ["sue"]}}));
        let answer = create(&admin, ACLS, &typo).await?;
        ensure!(answer.code == 201 && answer.warns("did you mean `root.prod`?"), "{answer:?}");
        let dropped =
            acl("dropped", &json!({"queue": "root.test", "submit": {"acl": "system:serviceaccount:a:b"}}));
        let answer = create(&admin, ACLS, &dropped).await?;
        ensure!(answer.code == 201 && answer.warns("Invalid: "), "{answer:?}");
        let wrong = acl("wrong", &json!({"queue": "root.test", "submit": {"acl": "a  b"}}));
        let answer = create(&admin, ACLS, &wrong).await?;
        ensure!(
            (400..500).contains(&answer.code) && answer.message.contains("more than one space in an ACL"),
            "{answer:?}"
        );
        // Any object can be deleted and have its status written.
        eventually("its status", PATIENCE, || async {
            let objects = cluster.objects(Kind::QueueAcl)?.get("dropped").await?;
            Ok(objects.data.get("status").is_some().then_some(()))
        })
        .await?;
        let answer = delete(&admin, "good").await?;
        ensure!(answer.code == 200 && answer.warns("from group devs"), "{answer:?}");
        let back =
            "the base's own submitacl of queue `root.prod` is in force again and gives access to user pat";
        ensure!(answer.warns(back), "{answer:?}");
        let unnamed = acl("unnamed", &json!({"queue": "root.test", "submit": {}}));
        let answer = create(&admin, ACLS, &unnamed).await?;
        ensure!(
            answer.code == 201 && answer.warns("if that is intended, write `nobody: true`"),
            "{answer:?}"
        );
        policies(&admin).await?;
        a_webhook_that_is_down_blocks_our_kinds_alone(cluster, operator).await
    })
    .await
}

async fn policies(admin: &kube::Client) -> Result<()> {
    let path = "/apis/queuewarden.dev/v1alpha1/admissionpolicies";
    let policy = |users: &str| {
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "p"},
               "spec": {"externalUsers": [users]}})
    };
    let answer = create(admin, path, &policy("(airflow")).await?;
    ensure!(answer.code == 403 && answer.message.contains("externalUsers"), "{answer:?}");
    let answer = create(admin, path, &policy("^airflow$")).await?;
    ensure!(answer.code == 201 && answer.warns("externalUsers to \"^airflow$\""), "{answer:?}");
    Ok(())
}

async fn a_webhook_that_is_down_blocks_our_kinds_alone(
    cluster: &TestCluster,
    operator: queuewarden_e2e::Operator<'_>,
) -> Result<()> {
    operator.kill().await?;
    let admin = cluster.client()?;
    let object = acl("later", &json!({"queue": "root.test", "submit": {"nobody": true}}));
    let answer = create(&admin, ACLS, &object).await?;
    ensure!(answer.code == 500 && answer.message.contains("validate.queuewarden.dev"), "{answer:?}");
    cluster.set_base(BASE).await?;
    cluster.kubectl(&["create", "configmap", "anything", "-n", "yunikorn"]).await?;
    cluster.kubectl(&["delete", "configmap", "anything", "-n", "yunikorn"]).await?;
    Ok(())
}
