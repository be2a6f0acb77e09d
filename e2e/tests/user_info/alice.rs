//! Follows alice from her certificate to the scheduler's view of her application:
//! `/CN=alice/O=users/O=devops` may submit through her group, without writing her name anywhere.

use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, eventually};
use serde_json::json;

use super::{Submitter, application, ask, guard, refused, said, strict, yunikorn_alone};

/// A configuration that places everything in one queue, whose ACLs admit no one.
const CLOSED: &str = "partitions: [{name: default, placementrules: [{name: fixed, value: root.devops}], \
     queues: [{name: root, queues: [{name: devops}]}]}]\n";
/// `YuniKorn`'s name for the application of a namespace's pods that name none.
const UNNAMED: &str = "yunikorn-queuewarden-e2e-autogen";

#[tokio::test]
async fn scheduler_knows_the_creator_of_a_deployment_and_her_groups() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !yunikorn_alone(cluster).await? {
            return Ok(());
        }
        cluster.set_base(CLOSED).await?;
        let (_operator, endpoints) = guard(cluster, &strict()).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let acl = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "devops"},
            "spec": {"queue": "root.devops", "submit": {"groups": ["devops"]}}});
        cluster.apply_text(&acl.to_string(), "e2e").await?;
        cluster.wait_for(Kind::QueueAcl, "devops", is_true("Ready"), PATIENCE).await?;

        let alice = cluster.certified("alice", ["users", "devops"])?;
        kubectl(cluster, &alice, &["create", "deployment", "web", "--image=none"]).await?;
        let groups = ["users", "devops", "system:authenticated"].map(str::to_owned).to_vec();
        let expected = Submitter { user: "alice".to_owned(), groups };
        ensure!(application(cluster, UNNAMED).await? == expected);
        let deployments: Api<Deployment> = Api::namespaced(cluster.client()?, NAMESPACE);
        let web = deployments.get("web").await?.spec.unwrap_or_default();
        let annotations = web.template.metadata.and_then(|metadata| metadata.annotations);
        ensure!(said(&annotations.unwrap_or_default())? == Some(expected));
        eventually("alice's pod to be bound", PATIENCE, || async {
            let bound = ["get", "pods", "-n", NAMESPACE, "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}"];
            Ok((cluster.kubectl(&bound).await? == "node").then_some(()))
        })
        .await?;

        // Mallory, of another group, is identified as well and is therefore refused; and cannot pretend to be
        // alice.
        let mallory = cluster.certified("mallory", ["users", "interns"])?;
        let run = ["run", "mine", "--image=none", "--labels=applicationId=mine"];
        kubectl(cluster, &mallory, &run).await?;
        let rest = cluster.yunikorn()?;
        let turned_away = eventually("the scheduler to turn mallory away", PATIENCE, || async {
            let rejected = rest.rejected_applications().await?;
            Ok(rejected.into_iter().find(|application| application.application_id == "mine"))
        })
        .await?;
        ensure!(turned_away.user == "mallory", "{turned_away:?}");
        ensure!(turned_away.groups == ["users", "interns", "system:authenticated"], "{turned_away:?}");
        let info = r#"--overrides={"metadata":{"annotations":{"yunikorn.apache.org/user.info":"{\"user\":\"alice\",\"groups\":[\"devops\"]}"}}}"#;
        let as_alice = kubectl(cluster, &mallory, &["run", "hers", "--image=none", info]).await;
        refused(as_alice, &["mallory"])
    })
    .await
}

async fn kubectl(cluster: &TestCluster, kubeconfig: &Path, args: &[&str]) -> Result<String> {
    cluster.kubectl_as(kubeconfig, &[args, &["-n", NAMESPACE]].concat(), "").await
}
