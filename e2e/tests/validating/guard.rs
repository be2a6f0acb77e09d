//! Tests the webhook on `YuniKorn`'s ConfigMaps.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually, yunikorn};
use serde_json::json;

use super::{ACLS, acl, create, decided, send};

const BASE: &str = "\
partitions:
  - name: default
    placementrules: [{name: provided, create: false}]
    queues: [{name: root, queues: [{name: prod}]}]
";

#[tokio::test]
async fn only_hanging_or_hiding_texts_are_refused() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (operator, endpoints) = decided(cluster, BASE, &json!({})).await?;
        let admin = cluster.client()?;
        cluster.register(&endpoints, "configmaps").await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/{}", yunikorn::NAMESPACE, yunikorn::CONFIGS);
        let change = |patch| {
            let (admin, path) = (&admin, &path);
            async move { send(admin, "PATCH", path, "application/merge-patch+json", &patch).await }
        };
        let no_partition = "partitions: [{name: gpu, queues: [{name: root}]}]";
        let dry = format!("{path}?dryRun=All");
        eventually("the guard to be asked", PATIENCE, || async {
            let bad = json!({"data": {"queues.yaml": no_partition}});
            let answer = send(&admin, "PATCH", &dry, "application/merge-patch+json", &bad).await?;
            Ok((answer.code == 403).then_some(()))
        })
        .await?;
        for (patch, words) in [
            (json!({"data": {"queues.yaml": no_partition}}), "default"),
            (
                json!({"data": {"queues.yaml": "partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]"}}),
                "more than one consecutive space",
            ),
            (json!({"binaryData": {"queues.yaml.gz": "H4sIAAAAAAAAAwMAAAAAAAAAAAA="}}), "queues.yaml.gz"),
            (json!({"binaryData": {"queues.yaml.bak": "YQ=="}}), "queues.yaml.bak"),
        ] {
            let answer = change(patch).await?;
            ensure!(answer.code == 403 && answer.message.contains(words), "{words}: {answer:?}");
        }
        // It ignores other keys, and the operator's own writes, which continue.
        let answer = change(json!({"data": {"log.level": "INFO"}})).await?;
        ensure!(answer.code == 200 && answer.warnings.is_empty(), "{answer:?}");
        let grant = acl("grant", &json!({"queue": "root.prod", "submit": {"users": ["sue"]}}));
        ensure!(create(&admin, ACLS, &grant).await?.code == 201);
        cluster.wait_for(Kind::QueueAcl, "grant", is_true("Ready"), PATIENCE).await?;
        let answer = change(json!({"data": {"queues.yaml": BASE}})).await?;
        ensure!(answer.code == 200 && answer.warns("reverts this change"), "{answer:?}");
        // A webhook that is down blocks no one.
        operator.kill().await?;
        let text = BTreeMap::from([("queues.yaml".to_owned(), BASE.to_owned())]);
        cluster.write_config_map(yunikorn::CONFIGS, text).await?;
        cluster.delete_config_map(yunikorn::CONFIGS).await
    })
    .await
}
