//! Tests other writers of the same `ConfigMap`: by hand, by client-side apply, by server-side apply with and
//! without force.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Bed, Capability, yunikorn};

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
    Bed::with(async |bed| {
        let operator = running(bed).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        bed.set_configs(&open_base()).await?;
        live_when(bed, "our text to be back", |text| text.contains("'alice'") && !text.contains("'*'"))
            .await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        ensure!(bed.submit("bob", &["ops"], "root.prod").await?.is_rejected());
        bed.delete_config_map(yunikorn::CONFIGS).await?;
        live_when(bed, "our text to be back", |text| text.contains("'alice'")).await?;
        for kind in ["kind=\"external_edit\"", "kind=\"deleted\""] {
            ensure!(operator.metric("queuewarden_config_drift_total", kind).await? > 0.0, "{kind}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn other_keys_of_the_config_map_are_left_alone() -> Result<()> {
    Bed::with(async |bed| {
        let _operator = running(bed).await?;
        let other = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata: {{log.level: DEBUG}}\n",
            yunikorn::CONFIGS,
            yunikorn::NAMESPACE
        );
        bed.apply_text(&other, "argocd-controller").await?;
        for round in 0..5 {
            grant(bed, "prod", "root.prod", &format!("submit: {{users: [user{round}]}}")).await?;
            bed.apply_text(&other, "argocd-controller").await?;
            ensure!(bed.config_value(yunikorn::CONFIGS, "log.level").await?.as_deref() == Some("DEBUG"));
            ensure!(live(bed).await?.contains(&format!("'user{round}'")));
        }
        // Without force, an apply of our key is refused: it is ours.
        let error = bed.apply_text(&manifest(BASE), "helm").await.unwrap_err().to_string();
        ensure!(error.contains("conflict") && error.contains("queuewarden"), "{error}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_key_that_someone_else_wrote_first_is_theirs_until_it_is_handed_over() -> Result<()> {
    Bed::with(async |bed| {
        bed.apply_text(&manifest(&open_base()), "argocd-controller").await?;
        bed.install().await?;
        configure(bed, "").await?;
        let _operator = queuewarden_e2e::Operator::start(bed).await?;
        let conflict = config_is(bed, is_false("Applied", "FieldConflict"), PATIENCE).await?;
        ensure!(conflict.message.contains("\"argocd-controller\" (Apply)"), "{}", conflict.message);
        ensure!(live(bed).await?.contains("submitacl: '*'"));

        // Force keeps a copy.
        configure(bed, "  adoption: Force\n").await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        ensure!(!live(bed).await?.contains("'*'"));
        let maps = bed.kubectl(&["get", "configmaps", "-n", yunikorn::NAMESPACE, "-o", "name"]).await?;
        ensure!(maps.contains("yunikorn-configs-backup-"), "{maps}");
        submits(bed, "alice", &["devs"], "root.prod", false).await
    })
    .await
}

#[tokio::test]
async fn import_takes_a_live_tree_over_without_a_change_of_access() -> Result<()> {
    Bed::with(async |bed| {
        let live_tree =
            BASE.replace("- name: prod\n", "- name: prod\n            submitacl: alice # since ever\n");
        bed.set_configs(&live_tree).await?;
        bed.install().await?;
        configure(bed, "  base: {configMap: yunikorn-queues}\n  adoption: Import\n").await?;
        let _operator = queuewarden_e2e::Operator::start(bed).await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        ensure!(bed.config_value("yunikorn-queues", KEY).await?.as_deref() == Some(live_tree.as_str()));
        ensure!(live(bed).await?.contains("submitacl: alice # since ever"));
        ensure!(bed.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        grant(bed, "dev", "root.dev", "submit: {users: [bob]}").await?;
        ensure!(bed.submit("bob", &["ops"], "root.dev").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_writer_that_insists_on_an_open_text_is_put_right_every_second_and_named() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let _operator = running(bed).await?;
        let mark = bed.audit()?.mark()?;
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
            bed.kubectl_with_input(&args, &insistent).await?;
            rounds += 1;
        }
        let contended = config_is(bed, is_false("Applied", "Contended"), PATIENCE).await?;
        ensure!(contended.message.contains("argocd-controller"), "{}", contended.message);
        let count = output_writes(bed, mark)?;
        let seconds = usize::try_from(start.elapsed().as_secs())?;
        ensure!(
            rounds > 10 && count <= seconds + 5,
            "{count} writes in {seconds} s against {rounds} of the other"
        );
        // It gives up, and the desired text is live again.
        config_is(bed, is_true("Applied"), LONG).await?;
        ensure!(!live(bed).await?.contains("'*'"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_client_side_apply_of_an_unchanged_file_is_repaired() -> Result<()> {
    Bed::with(async |bed| {
        bed.kubectl_with_input(&["apply", "-f", "-"], &manifest(BASE)).await?;
        bed.install().await?;
        configure(bed, "  adoption: Force\n").await?;
        let _operator = queuewarden_e2e::Operator::start(bed).await?;
        config_is(bed, is_true("Ready"), PATIENCE).await?;
        grant(bed, "prod", "root.prod", "submit: {users: [alice]}").await?;
        bed.kubectl_with_input(&["apply", "-f", "-"], &manifest(BASE)).await?;
        live_when(bed, "our text to be back", |text| text.contains("'alice'")).await?;
        Ok(())
    })
    .await
}
