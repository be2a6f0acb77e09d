//! Tests the monitoring of queuewarden: its alerts and its dashboard with Prometheus, and its log while it
//! runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, assets, eventually};
use serde_json::{Value, json};

use crate::operator::configure;

fn of_the_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns promtool's output; an error if it finds problems.
fn promtool(args: &[&str]) -> Result<String> {
    let output = Command::new(assets::promtool()?).args(args).output().context("cannot run promtool")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said)?;
    ensure!(output.status.success(), "promtool {args:?}: {said}");
    Ok(said)
}

#[test]
fn alerts_fire_in_prometheus() -> Result<()> {
    let rules = of_the_project("manifests/monitoring/rules.yaml");
    let rules = rules.to_str().context("no text")?;
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", rules])?;
    let tests = of_the_project("tests/monitoring/rules.test.yaml");
    promtool(&["test", "rules", tests.to_str().context("no text")?])?;
    Ok(())
}

/// Queries are checked as recording rules, with Grafana's variables filled in.
#[test]
fn dashboard_queries_are_valid() -> Result<()> {
    let text = std::fs::read_to_string(of_the_project("manifests/monitoring/dashboard.json"))?;
    let dashboard: Value = serde_json::from_str(&text)?;
    let panels = dashboard.pointer("/panels").and_then(Value::as_array).context("no panels")?;
    let targets = panels.iter().filter_map(|panel| panel.get("targets")?.as_array()).flatten();
    let queries = targets.filter_map(|target| target.get("expr")?.as_str());
    let rules: Vec<Value> = queries
        .enumerate()
        .map(|(number, query)| {
            let query = query.replace("$__rate_interval", "5m").replace("$job", ".*");
            json!({"record": format!("panel:query_{number}"), "expr": query})
        })
        .collect();
    ensure!(rules.len() > 20, "{} queries", rules.len());
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("queries.yaml");
    std::fs::write(&file, json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string())?;
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", file.to_str().context("no text")?])?;
    Ok(())
}

/// An annotation of the `YuniKornConfig` sets the level, and its removal resets it.
#[tokio::test]
async fn log_level_changes_at_run_time() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        cluster.install().await?;
        configure(cluster, "").await?;
        let operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let log = || Ok::<_, anyhow::Error>(operator.process()?.log());
        ensure!(!log()?.contains("\"DEBUG\""), "{}", log()?);
        let annotate = async |value: &str| {
            let level = format!("queuewarden.dev/log-level{value}");
            cluster.kubectl(&["annotate", "--overwrite", "yunikornconfig", "default", &level]).await
        };
        let reported = async |what: &str, words: &str| {
            eventually(what, PATIENCE, || async { Ok(log()?.contains(words).then_some(())) }).await
        };
        annotate("=debug").await?;
        reported("the level to change", "\"message\":\"Changed the log level\",\"level\":\"debug\"").await?;
        reported("a line of that level", "\"level\":\"DEBUG\"").await?;
        annotate("=kube=trace").await?;
        reported("a word that is no level to be reported", "Not a log level").await?;
        annotate("-").await?;
        reported("the level to change back", "\"level\":\"as started\"").await?;
        // The last change decides: everything logged since then has the old level.
        let log = log()?;
        let after = log.rsplit_once("as started").context("it was reported")?.1.to_owned();
        ensure!(!after.contains("\"DEBUG\""), "{after}");
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        Ok(())
    })
    .await
}
