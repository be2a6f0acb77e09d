//! Tests other writers of the same `ConfigMap`: by hand, by client-side apply, by server-side apply with and
//! without force.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, TestCluster, yunikorn};

use super::{KEY, config_is, configure, grant, live, live_when, open_base, output_writes, running, submits};

/// Returns `yunikorn-configs` with one queue tree, as a manifest.
fn manifest(text: &str) -> String {
    let mut yaml = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata:\n  {KEY}: |\n",
        yunikorn::CONFIGS,
        yunikorn::NAMESPACE
    );
    for line in text.lines() {
        yaml.extend(["    ", line, "\n"]);
    }
    yaml
}

#[tokio::test]
async fn a_hand_edit_is_put_back() -> Result<()> {
    TestCluster::with(async |cluster| {
        let operator = running(cluster).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        cluster.set_configs(&open_base()).await?;
        live_when(cluster, "our text to be back", |text| text.contains("'alice'") && !text.contains("'*'"))
            .await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        ensure!(cluster.submit("bob", &["ops"], "root.prod").await?.is_rejected());
        cluster.delete_config_map(yunikorn::CONFIGS).await?;
        live_when(cluster, "our text to be back", |text| text.contains("'alice'")).await?;
        for kind in ["kind=\"external_edit\"", "kind=\"deleted\""] {
            ensure!(operator.metric("queuewarden_config_drift_total", kind).await? > 0.0, "{kind}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn other_keys_of_the_config_map_are_left_alone() -> Result<()> {
    TestCluster::with(async |cluster| {
        let _operator = running(cluster).await?;
        let other = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata: {{log.level: DEBUG}}\n",
            yunikorn::CONFIGS,
            yunikorn::NAMESPACE
        );
        cluster.apply_text(&other, "argocd-controller").await?;
        for round in 0..5 {
            grant(cluster, "prod", "root.prod", &format!("submit: {{users: [user{round}]}}")).await?;
            cluster.apply_text(&other, "argocd-controller").await?;
            ensure!(cluster.config_value(yunikorn::CONFIGS, "log.level").await?.as_deref() == Some("DEBUG"));
            ensure!(live(cluster).await?.contains(&format!("'user{round}'")));
        }
        // Without force, an apply of our key is refused, because we own it.
        let error = cluster.apply_text(&manifest(BASE), "helm").await.unwrap_err().to_string();
        ensure!(error.contains("conflict") && error.contains("queuewarden"), "{error}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn foreign_key_stays_foreign_until_handed_over() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.apply_text(&manifest(&open_base()), "argocd-controller").await?;
        cluster.install().await?;
        configure(cluster, "").await?;
        let _operator = queuewarden_e2e::Operator::start(cluster).await?;
        let conflict = config_is(cluster, is_false("Applied", "FieldConflict"), PATIENCE).await?;
        ensure!(conflict.message.contains("\"argocd-controller\" (Apply)"), "{}", conflict.message);
        ensure!(live(cluster).await?.contains("submitacl: '*'"));

        // Force keeps a copy.
        configure(cluster, "  adoption: Force\n").await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        ensure!(!live(cluster).await?.contains("'*'"));
        let maps = cluster.kubectl(&["get", "configmaps", "-n", yunikorn::NAMESPACE, "-o", "name"]).await?;
        ensure!(maps.contains("yunikorn-configs-backup-"), "{maps}");
        submits(cluster, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

#[tokio::test]
async fn import_takes_over_a_live_tree_without_changing_access() -> Result<()> {
    TestCluster::with(async |cluster| {
        let live_tree =
            BASE.replace("- name: prod\n", "- name: prod\n            submitacl: alice # since ever\n");
        cluster.set_configs(&live_tree).await?;
        cluster.install().await?;
        configure(cluster, "  base: {configMap: yunikorn-queues}\n  adoption: Import\n").await?;
        let _operator = queuewarden_e2e::Operator::start(cluster).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        ensure!(cluster.config_value("yunikorn-queues", KEY).await?.as_deref() == Some(live_tree.as_str()));
        ensure!(live(cluster).await?.contains("submitacl: alice # since ever"));
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        grant(cluster, "dev", "root.dev", "submit: {users: [bob]}").await?;
        ensure!(cluster.submit("bob", &["ops"], "root.dev").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_writer_that_insists_on_an_open_text_is_put_right_every_second_and_named() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let _operator = running(cluster).await?;
        let mark = cluster.audit()?.mark()?;
        let insistent = manifest(&open_base());
        let start = Instant::now();
        let mut rounds = 0;
        // Like Argo CD with self-heal: whenever the key differs, it is applied again by force.
        while start.elapsed() < Duration::from_secs(20) {
            let args = [
                "apply",
                "--server-side",
                "--force-conflicts",
                "--field-manager",
                "argocd-controller",
                "-f",
                "-",
            ];
            cluster.kubectl_with_input(&args, &insistent).await?;
            rounds += 1;
        }
        let contended = config_is(cluster, is_false("Applied", "Contended"), PATIENCE).await?;
        ensure!(contended.message.contains("argocd-controller"), "{}", contended.message);
        let count = output_writes(cluster, mark)?;
        let seconds = usize::try_from(start.elapsed().as_secs())?;
        ensure!(
            rounds > 10 && count <= seconds + 5,
            "{count} writes in {seconds} s against {rounds} of the other"
        );
        // It gives up, and the desired text is live again.
        config_is(cluster, is_true("Applied"), LONG).await?;
        ensure!(!live(cluster).await?.contains("'*'"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn client_side_apply_of_an_unchanged_file_is_repaired() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.kubectl_with_input(&["apply", "-f", "-"], &manifest(BASE)).await?;
        cluster.install().await?;
        configure(cluster, "  adoption: Force\n").await?;
        let _operator = queuewarden_e2e::Operator::start(cluster).await?;
        config_is(cluster, is_true("Ready"), PATIENCE).await?;
        grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
        cluster.kubectl_with_input(&["apply", "-f", "-"], &manifest(BASE)).await?;
        live_when(cluster, "our text to be back", |text| text.contains("'alice'")).await?;
        Ok(())
    })
    .await
}
