//! Compares the prediction of `queuewarden diff` about a change of a real cluster with the scheduler's
//! behavior after it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually};

use crate::cli::{ask, asker};

/// Returns a `QueueAcl` that lets these users and groups submit to root.team, and a new one for a queue below
/// it.
fn change(user: &str, group: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: team}}\n\
         spec: {{queue: root.team, submit: {{users: [{user}], groups: [{group}]}}}}\n---\n\
         apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: batch}}\n\
         spec: {{queue: root.team.batch, submit: {{users: [carol]}}}}\n"
    )
}

/// The users to check, each with a group, and the queues.
const PEOPLE: [(&str, &str); 4] = [("alice", "qa"), ("bob", "qa"), ("carol", "qa"), ("dave", "devs")];
const QUEUES: [&str; 2] = ["root.team.batch", "root.team.adhoc"];

/// Returns, for each user and queue, whether the running scheduler lets the user submit.
async fn really(cluster: &TestCluster) -> Result<Vec<bool>> {
    let mut allowed = Vec::new();
    for (user, group) in PEOPLE {
        for queue in QUEUES {
            allowed.push(cluster.submit(user, &[group], queue).await?.is_allowed());
        }
    }
    Ok(allowed)
}

/// Returns the rows of the difference between the cluster's objects and the file's.
async fn difference(kubeconfig: &Path, file: &Path, expected: i32) -> Result<Vec<String>> {
    let ended = ask(kubeconfig, &format!("diff -f {} -o csv --no-headers", file.display())).await?;
    ensure!(ended.code == Some(expected), "{ended}");
    Ok(ended.out.lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn predicted_changes_match_the_scheduler() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let config = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{}'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: team}}\nspec: {{queue: root.team, submit: {{users: [alice], groups: [devs]}}}}\n",
            cluster.scheduler_url()
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &config).await?;
        let _operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::QueueAcl, "team", is_true("Ready"), PATIENCE).await?;
        let kubeconfig = asker(cluster, true, true).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("change.yaml");
        std::fs::write(&file, change("bob", "devs"))?;

        let rows = difference(&kubeconfig, &file, 1).await?;
        let expected = [
            "gains,user bob,submit,root.team and 2 below,submitacl,QueueAcl/team",
            "gains,user carol,submit,root.team.batch,submitacl,QueueAcl/batch",
            "loses,user alice,submit,root.team and 2 below,submitacl,QueueAcl/team",
        ];
        ensure!(rows == expected, "{rows:#?}");

        ensure!(really(cluster).await? == [true, true, false, false, false, false, true, true]);
        cluster.kubectl_with_input(&["apply", "-f", "-"], &change("bob", "devs")).await?;
        let after = [false, false, true, true, true, false, true, true];
        eventually("the scheduler does what was said", PATIENCE, || async {
            Ok((really(cluster).await? == after).then_some(()))
        })
        .await
        .context("after the change")?;
        // It exists now, so applying it again changes nothing.
        let rows = difference(&kubeconfig, &file, 0).await?;
        ensure!(rows.is_empty(), "{rows:#?}");
        for (now, code, who) in [("carol, dave", 1, "user/dave\n"), ("", 0, "user/carol\n")] {
            std::fs::write(&file, change("bob", "devs").replace("carol", now))?;
            let command = format!("diff -f {} --fail-on-widening -o name", file.display());
            ask(&kubeconfig, &command).await?.expect(code, who)?;
        }
        Ok(())
    })
    .await
}

/// An existing grant to zoe, with this end.
fn of_zoe(end: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: zoe}}\nspec: {{queue: root.team, \
         baseAcl: Extend, submit: {{users: [zoe]}}{end}}}\n"
    )
}

#[tokio::test]
async fn diff_compares_both_sides_at_the_same_time() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let config = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{}'}}\n---\n{}",
            cluster.scheduler_url(),
            of_zoe(", expiresAt: '2099-01-01T00:00:00Z'")
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &config).await?;
        let _operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::QueueAcl, "zoe", is_true("Ready"), PATIENCE).await?;
        let kubeconfig = asker(cluster, true, true).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("change.yaml");
        let rows = async |options: &str, code| -> Result<String> {
            let command = format!("diff -f {} -o csv --no-headers {options}", file.display());
            let ended = ask(&kubeconfig, &command).await?;
            ensure!(ended.code == Some(code), "{ended}");
            Ok(ended.out)
        };
        std::fs::write(&file, of_zoe(""))?;
        let extends = "extends,user zoe,submit,root.team and 2 below,submitacl,QueueAcl/zoe,2099-01-01T00:00:00Z → never\n";
        ensure!(rows("--fail-on-widening", 1).await? == extends);
        std::fs::write(&file, of_zoe(", expiresAt: '2098-01-01T00:00:00Z'"))?;
        ensure!(rows("--fail-on-widening", 0).await?.starts_with("shortens,user zoe,"));
        // Nothing is reported about zoe, whose grant has ended by then on both sides.
        let of_bob = of_zoe("").replace("zoe", "bob");
        std::fs::write(&file, of_bob)?;
        let gains = "gains,user bob,submit,root.team and 2 below,submitacl,QueueAcl/bob\n";
        ensure!(rows("--now 2099-06-01", 1).await? == gains);
        Ok(())
    })
    .await
}
