//! Tests workloads from before the user-info webhook: `queuewarden user-info refresh`, the line of `check`
//! and the metric find their pods with missing and with forged aliases, and their next pods have the aliases
//! that a grant needs.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::alias::{Kind as NameKind, alias};

use super::service_accounts::{DRIVER, closed, example};
use super::{ask, controller, guard_with, info, kubectl, merged, nobody_asked, pod, strict};
use crate::cli;

const METRIC: &str = "queuewarden_pods_with_wrong_aliases";
const GROUP: &str = "system:serviceaccounts:spark";

#[tokio::test]
async fn pods_from_before_the_webhook_are_found_and_get_their_aliases() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let scheduled = json!({"spec": {"schedulerName": "yunikorn"}});
        let old = json!({USER_INFO: info(DRIVER, &[GROUP])});
        let deployment = merged(
            controller("Deployment", "before-deployment", &old),
            &json!({"spec": {"template": scheduled}}),
        );
        let [of_user, of_group] = [alias(NameKind::User, DRIVER), alias(NameKind::Group, GROUP)];
        let pod_before = |name: &str, text: &Value| merged(pod(name, NAMESPACE, text), &scheduled);
        let with_forged = json!({USER_INFO: info("mallory", &["devs", &of_user])});
        for object in [pod_before("before-pod", &old), pod_before("forged-pod", &with_forged), deployment] {
            kubectl(cluster, "boss", &["create"], &object).await?;
        }
        cluster.apply_kustomization("manifests/applications").await?;
        let (operator, endpoints) = guard_with(cluster, &strict(), &["--applications=on"]).await?;
        cluster.set_base(&closed(0)).await?;
        ask(cluster, "user-info", &endpoints).await?;
        let refresh = async |more: &str| {
            let command = format!("user-info refresh -n {NAMESPACE} {more}");
            cli::ask(cluster.kubeconfig(), command.trim()).await
        };
        let no_grant = refresh("").await?;
        ensure!(
            no_grant.code == Some(0) && no_grant.err.contains("all pods have exactly the aliases"),
            "{no_grant}"
        );

        cluster.kubectl_with_input(&["apply", "-f", "-"], &example()?).await?;
        cluster.wait_for(Kind::QueueAcl, "spark", is_true("Ready"), PATIENCE).await?;
        let counted = async |pods: f64| {
            eventually(&format!("{METRIC} to be {pods}"), PATIENCE, || async {
                let found = operator.metric(METRIC, "").await?;
                Ok(((found - pods).abs() < 0.5).then_some(()))
            })
            .await
        };
        counted(2.0).await?;
        let line = checked(cluster).await?;
        let name = format!("{NAMESPACE}/before-pod");
        let is_named = line["found"].as_str().is_some_and(|found| found.contains(&name));
        ensure!(line["level"] == "fail" && is_named, "{line}");

        let listed = refresh("").await?;
        let mut rows = listed.out.lines().skip(1);
        for expected in [
            format!("{name} {DRIVER} user {DRIVER} -"),
            format!("{NAMESPACE}/forged-pod mallory - {of_user}"),
        ] {
            let row = rows.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            ensure!(row == expected, "{listed}");
        }
        ensure!(listed.code == Some(1), "{listed}");
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let written = async |pod: &str| {
            let pod = pods.get(pod).await?;
            pod.annotations().get(USER_INFO).cloned().context("no user.info")
        };
        ensure!(written("before-pod").await? == info(DRIVER, &[GROUP]), "it was only listed");

        let applied = refresh("--apply").await?;
        ensure!(applied.code == Some(0), "{applied}");
        ensure!(applied.err.contains(&format!("pod {name} is refreshed")), "{applied}");
        let expected = info(DRIVER, &[GROUP, &of_user, &of_group]);
        for (pod, expected) in [("before-pod", &expected), ("forged-pod", &info("mallory", &["devs"]))] {
            let written = written(pod).await?;
            ensure!(written == *expected, "{pod}: {written} instead of {expected}");
        }
        counted(0.0).await?;
        let line = checked(cluster).await?;
        ensure!(line["level"] == "ok", "{line}");

        // The Deployment needs no refresh: its pods get their aliases when they are created.
        pods.delete("before-pod", &DeleteParams::default().grace_period(0)).await?;
        cluster.start_controller_manager().await?;
        let of_it = ListParams::default().labels("run=before-deployment");
        let made = eventually("a pod of the Deployment", PATIENCE, || async {
            Ok(pods.list(&of_it).await?.items.into_iter().next())
        })
        .await?;
        let written = made.annotations().get(USER_INFO).cloned().unwrap_or_default();
        ensure!(written == expected, "{written} instead of {expected}");
        Ok(())
    })
    .await
}

/// Returns the line of `check` about aliases.
async fn checked(cluster: &TestCluster) -> Result<Value> {
    let checked = cli::ask(cluster.kubeconfig(), "check -o json").await?;
    let answer: Value = serde_json::from_str(&checked.out)?;
    let lines = answer.get("checks").and_then(Value::as_array);
    lines
        .into_iter()
        .flatten()
        .find(|line| line["check"] == "aliases")
        .cloned()
        .context("no line about aliases")
}
