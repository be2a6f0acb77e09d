//! Tests workloads from before the user-info webhook: `queuewarden user-info refresh`, the line of `check`
//! and the metric find their pods, and their next pods have the aliases that a grant needs.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::NAMESPACE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, eventually};
use serde_json::{Value, json};
use yunikorn::admission::UserInfo;
use yunikorn::admission::request::USER_INFO;
use yunikorn_access::alias::{Kind as NameKind, alias};

use super::service_accounts::{DRIVER, closed, example};
use super::{ask, controller, guard_with, kubectl, merged, nobody_asked, pod, strict};
use crate::cli;

const METRIC: &str = "queuewarden_pods_without_alias";
const GROUP: &str = "system:serviceaccounts:spark";

/// Returns the annotation of the account with these groups.
fn account(groups: &[&str]) -> String {
    UserInfo { user: DRIVER.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }.write()
}

#[tokio::test]
async fn pods_from_before_the_webhook_are_found_and_get_their_aliases() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !nobody_asked(cluster).await? {
            return Ok(());
        }
        let scheduled = json!({"spec": {"schedulerName": "yunikorn"}});
        let old = json!({USER_INFO: account(&[GROUP])});
        let deployment = merged(
            controller("Deployment", "before-deployment", &old),
            &json!({"spec": {"template": scheduled}}),
        );
        for object in [merged(pod("before-pod", NAMESPACE, &old), &scheduled), deployment] {
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
        ensure!(no_grant.code == Some(0) && no_grant.err.contains("no pod lacks an alias"), "{no_grant}");

        cluster.kubectl_with_input(&["apply", "-f", "-"], &example()?).await?;
        cluster.wait_for(Kind::QueueAcl, "spark", is_true("Ready"), PATIENCE).await?;
        let counted = async |pods: f64| {
            eventually(&format!("{METRIC} to be {pods}"), PATIENCE, || async {
                let found = operator.metric(METRIC, "").await?;
                Ok(((found - pods).abs() < 0.5).then_some(()))
            })
            .await
        };
        counted(1.0).await?;
        let line = checked(cluster).await?;
        let name = format!("{NAMESPACE}/before-pod");
        let is_named = line["found"].as_str().is_some_and(|found| found.contains(&name));
        ensure!(line["level"] == "warn" && is_named, "{line}");

        let listed = refresh("").await?;
        let row = listed.out.lines().nth(1).unwrap_or_default();
        ensure!(listed.code == Some(1) && row.starts_with(&name), "{listed}");
        ensure!(row.ends_with(&format!("user {DRIVER}")), "{listed}");
        let pods: Api<Pod> = Api::namespaced(cluster.client()?, NAMESPACE);
        let written = async || {
            let pod = pods.get("before-pod").await?;
            pod.annotations().get(USER_INFO).cloned().context("no user.info")
        };
        ensure!(written().await? == account(&[GROUP]), "it was only listed");

        let applied = refresh("--apply").await?;
        ensure!(applied.code == Some(0), "{applied}");
        ensure!(applied.err.contains(&format!("pod {name} is refreshed")), "{applied}");
        let [of_user, of_group] = [alias(NameKind::User, DRIVER), alias(NameKind::Group, GROUP)];
        let expected = account(&[GROUP, &of_user, &of_group]);
        ensure!(written().await? == expected, "{} instead of {expected}", written().await?);
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
