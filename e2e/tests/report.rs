//! Tests the output of `queuewarden report` for a real cluster: changes with their authors, and data that its
//! reader may not read.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::{Capability, Operator, TestCluster};
use serde_json::Value;

use crate::cli::{ask, asker};
use crate::operator::{configure, grant};

/// Returns whether a start at this queue lets a user submit.
fn starts_at(report: &Value, user: &str, queue: &str) -> Option<bool> {
    let number = |list: &Value, is: &dyn Fn(&Value) -> bool| list.as_array()?.iter().position(is);
    let subject = number(&report["subjects"], &|subject| subject["name"] == user)?;
    let queue = number(&report["queues"], &|of| of["path"] == queue)?;
    let mut rights = report["rights"].as_array()?.iter();
    let right = rights.find(|right| right["subject"] == subject && right["verb"] == "submit")?;
    Some(right["starts"].as_array()?.iter().any(|start| start["queue"] == queue))
}

/// Returns the report as data, and the messages.
async fn report(kubeconfig: &Path) -> Result<(Value, String)> {
    let ended = ask(kubeconfig, "report -o json").await?;
    ensure!(ended.code == Some(0), "{ended}");
    Ok((serde_json::from_str(&ended.out)?, ended.err))
}

#[tokio::test]
async fn what_may_not_be_read_is_named() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster
            .set_base(&BASE.replace("- name: prod\n", "- name: prod\n            submitacl: alice\n"))
            .await?;
        cluster.install().await?;
        let (data, notes) = report(&asker(cluster, true, false).await?).await?;
        ensure!(starts_at(&data, "alice", "root.prod") == Some(true), "{data:#}");
        ensure!(
            notes
                .contains("origins are places in the ConfigMaps: cannot read the objects of kind QueueAcl: "),
            "{notes}"
        );
        // The page also contains them, because the messages are lost when the file is forwarded.
        let notes = data["notes"].to_string();
        for missing in ["objects of kind QueueAcl", "objects of kind AdmissionPolicy", "the YuniKornConfig"] {
            ensure!(notes.contains(missing), "{missing}: {notes}");
        }
        ensure!(data["schedulerRuns"].is_null(), "{data:#}");
        ensure!(data["cluster"]["context"].is_string() && data["cluster"]["server"].is_string(), "{data:#}");
        let ended = ask(&asker(cluster, false, false).await?, "report -o json").await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("cannot read ConfigMap yunikorn/yunikorn-"), "{ended}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn report_shows_location_and_author_of_changes() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        let _operator = Operator::start(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [sue]}").await?;
        let (data, _) = report(cluster.kubeconfig()).await?;
        ensure!(starts_at(&data, "sue", "root.prod") == Some(true), "{data:#}");
        ensure!(
            data["schedulerRuns"] == true && data["program"].to_string().contains("queuewarden "),
            "{data:#}"
        );
        ensure!(data["origins"].to_string().contains(r#""kind":"QueueAcl""#), "{data:#}");
        let changes = data["changes"].as_array().context("no changes")?;
        let by = |kind: &str, manager: &str| {
            changes.iter().find(|change| change["kind"] == kind && change["manager"] == manager)
        };
        let change = by("QueueAcl", "kubectl-client-side-apply").with_context(|| format!("{changes:?}"))?;
        ensure!(
            change["time"].is_string() && change["fields"].to_string().contains("spec.submit"),
            "{change}"
        );
        let queue = change["queue"].as_u64().context("the change is about no queue")?;
        ensure!(data["queues"][usize::try_from(queue)?]["path"] == "root.prod", "{change}");
        ensure!(by("ConfigMap", "queuewarden").is_some(), "{changes:?}");
        Ok(())
    })
    .await
}
