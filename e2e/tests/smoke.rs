//! Tests the test cluster itself, without which a green end-to-end test would prove nothing.

use std::fs;
use std::path::PathBuf;

use ::yunikorn::config::verdict;
use ::yunikorn::version::Version;
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams};
use queuewarden_e2e::assets::{CORE, KUBERNETES_LINES, KUBERNETES_SERVERS, SHIM, module_version};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{Capability, Outcome, TestCluster, assets, kubeconfig, operator, yunikorn};
use serde_json::Value;

fn granting(acl: &str) -> String {
    BASE.replace(
        "          - name: prod\n",
        &format!("          - name: prod\n            submitacl: '{acl}'\n"),
    )
}

#[tokio::test]
async fn a_closed_root_rejects_and_a_grant_allows() -> Result<()> {
    TestCluster::with(async |cluster| {
        let outcome = cluster.submit("alice", &["devs"], "root.prod").await?;
        let Outcome::Rejected { message } = &outcome else { anyhow::bail!("{outcome:?}") };
        ensure!(message.contains("no placement rule matched"), "{message}");

        let text = granting("alice");
        cluster.set_configs(&text).await?;
        cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;
        let outcome = cluster.submit("alice", &["devs"], "root.prod").await?;
        ensure!(outcome == Outcome::Allowed { queue: "root.prod".to_owned() }, "{outcome:?}");
        ensure!(cluster.submit("bob", &["ops"], "root.prod").await?.is_rejected());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn each_test_starts_with_the_base() -> Result<()> {
    for _ in 0..2 {
        TestCluster::with(async |cluster| {
            ensure!(cluster.config_map(yunikorn::CONFIGS).await?.is_none());
            ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_rejected());
            let text = granting("alice");
            cluster.set_configs(&text).await?;
            cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn yunikorns_webhook_refuses_an_invalid_text() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::AdmissionProcess])? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        let error = cluster.set_configs(&granting("a b c")).await.unwrap_err().to_string();
        ensure!(error.contains("multiple spaces found in ACL"), "{error}");
        // The text is valid for the webhook, and written; the restart below shows the scheduler's reaction to
        // such a text.
        cluster.set_configs(&granting("alice")).await?;
        cluster.yunikorn()?.wait_for_text(&granting("alice"), PATIENCE).await?;
        // Now the identity comes from the API server, not from us.
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        let outcome = cluster.submit_by(("bob", &["ops"]), "alice", &["devs"], "root.prod").await?;
        let Outcome::Refused { message } = &outcome else {
            anyhow::bail!("bob passed as alice: {outcome:?}")
        };
        ensure!(message.contains("not allowed to set user annotation"), "{message}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn scheduler_can_be_killed_paused_and_restarted() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::SchedulerProcess])? {
            return Ok(());
        }
        let text = granting(" devs");
        cluster.set_configs(&text).await?;
        cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;
        cluster.scheduler()?.kill()?;
        ensure!(cluster.yunikorn()?.config_checksum().await.is_err());
        cluster.start_scheduler().await?;
        cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());

        cluster.scheduler()?.pause()?;
        ensure!(cluster.yunikorn()?.config_checksum().await.is_err());
        cluster.scheduler()?.resume()?;
        cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;

        // Two spaces pass YuniKorn's validator and prevent its scheduler from starting the next time.
        cluster.set_configs(&granting("alice  devs")).await?;
        cluster.scheduler()?.kill()?;
        cluster.scheduler()?.start()?;
        let status = cluster.scheduler()?.exited(LONG).await?;
        ensure!(!status.success());
        ensure!(cluster.scheduler()?.log().contains("multiple spaces found in ACL"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn api_server_can_be_killed_and_restarted() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::ApiServerProcess])? {
            return Ok(());
        }
        cluster.set_configs(&granting("alice")).await?;
        cluster.yunikorn()?.wait_for_text(&granting("alice"), PATIENCE).await?;
        cluster.apiserver()?.kill()?;
        ensure!(cluster.config_map(yunikorn::CONFIGS).await.is_err());
        cluster.start_apiserver().await?;
        ensure!(cluster.config_map(yunikorn::CONFIGS).await?.is_some());
        ensure!(cluster.submit("alice", &["devs"], "root.prod").await?.is_allowed());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn every_write_is_in_the_audit_log() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        let mark = cluster.audit()?.mark()?;
        cluster.set_configs(&granting("alice")).await?;
        let written = |write: &queuewarden_e2e::audit::Write| {
            write.user == "admin"
                && write.resource == "configmaps"
                && write.name == yunikorn::CONFIGS
                && write.accepted()
        };
        ensure!(cluster.audit()?.count(mark, written)? == 1, "{:?}", cluster.audit()?.since(mark)?);
        cluster.submit("alice", &["devs"], "root.prod").await?;
        let created =
            cluster.audit()?.count(mark, |write| write.user == "alice" && write.verb == "create")?;
        ensure!(created == 1, "{:?}", cluster.audit()?.since(mark)?);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn controllers_pods_name_its_creator() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::AdmissionProcess, Capability::ControllerManager])? {
            return Ok(());
        }
        cluster.start_admission_controller().await?;
        cluster.start_controller_manager().await?;
        let job = r#"{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "count", "namespace": "queuewarden-e2e"},
            "spec": {"template": {"metadata": {"labels": {"applicationId": "count", "queue": "root.prod"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}"#;
        cluster.kubectl_with_input(&["create", "-f", "-", "--as=alice", "--as-group=system:authenticated"], job).await?;
        let pods = ["get", "pods", "-n", "queuewarden-e2e", "-l", "applicationId=count", "-o", "jsonpath={.items[*].metadata.annotations}"];
        let annotations = queuewarden_e2e::eventually("the job's pod", PATIENCE, || async {
            let text = cluster.kubectl(&pods).await?;
            Ok((!text.is_empty()).then_some(text))
        })
        .await?;
        ensure!(annotations.contains("alice"), "{annotations}");
        cluster.kubectl(&["delete", "job", "count", "-n", "queuewarden-e2e"]).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_operators_account_has_the_shipped_rights_and_no_more() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let kubeconfig = cluster.sa_kubeconfig(operator::NAMESPACE, operator::NAME).await?;
        let client = kube::Client::try_from(kubeconfig::load(&kubeconfig).await?)?;
        let maps: Api<ConfigMap> = Api::namespaced(client, yunikorn::NAMESPACE);
        ensure!(maps.get(yunikorn::DEFAULTS).await?.data.is_some());
        let error = maps.delete(yunikorn::DEFAULTS, &DeleteParams::default()).await.unwrap_err().to_string();
        ensure!(error.contains(operator::USER), "{error}");

        let configs = Some((yunikorn::NAMESPACE, yunikorn::CONFIGS));
        let defaults = Some((yunikorn::NAMESPACE, yunikorn::DEFAULTS));
        ensure!(cluster.may(operator::USER, "patch", "", "configmaps", configs).await?);
        for (verb, map) in [("update", configs), ("patch", defaults), ("update", defaults)] {
            ensure!(!cluster.may(operator::USER, verb, "", "configmaps", map).await?, "{verb}");
        }
        ensure!(!cluster.may(operator::USER, "get", "", "secrets", None).await?);
        ensure!(!cluster.may(operator::USER, "update", "queuewarden.dev", "queueacls", None).await?);
        Ok(())
    })
    .await
}

/// A configuration that one version accepts and another refuses: a queue after one named `root` has wider
/// limits than that one.
const APART: &str = "{partitions: [{name: default, queues: [{name: root, queues: [
    {name: a, queues: [{name: root, limits: [{limit: x, users: [sue], maxapplications: 1}]}]},
    {name: b, limits: [{limit: x, users: [sue], maxapplications: 2}]}]}]}]}\n";

#[tokio::test]
async fn yunikorn_and_kubernetes_match_the_module_files() -> Result<()> {
    let accepts = |version| verdict(APART, &[], version).validates.is_ok();
    ensure!(accepts(Version::V1_8) != accepts(Version::V1_9), "the versions do not differ");
    TestCluster::with(async |cluster| {
        let (version, rest) = (yunikorn::version()?, cluster.yunikorn()?);
        let accepted = rest.validate_conf(APART).await?;
        ensure!(accepted.is_ok() == accepts(version), "{version}: {accepted:?}");
        if !cluster.can_run(&[Capability::SchedulerProcess, Capability::ApiServerProcess])? {
            return Ok(());
        }
        let clusters = rest.get("/ws/v1/clusters").await?;
        let reported = clusters.pointer("/0/rmBuildInformation/0/buildVersion").and_then(Value::as_str);
        ensure!(reported == Some(&module_version(&module("servers", version)?, CORE)?), "{clusters}");
        let kubernetes = cluster.client()?.apiserver_version().await?.git_version;
        ensure!(kubernetes == format!("v{}", kubernetes_release(assets::kubernetes()?)?), "{kubernetes}");
        Ok(())
    })
    .await
}

fn module(folder: &str, version: Version) -> Result<PathBuf> {
    assets::yunikorn_module(folder, assets::release(version)?).context("no module file")
}

fn kubernetes_release(line: &str) -> Result<String> {
    module_version(&assets::kubernetes_module(line), KUBERNETES_SERVERS)
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/install.md");
const CI: &str = include_str!("../../.ci/run");
/// Runs some tests on each pair.
const SCRIPT: &str = include_str!("../versions.sh");
/// The header of the page's table of test runs.
const HEAD: &str = "| YuniKorn | Kubernetes | test cluster | tests on it |\n|---|---|---|---|\n";

/// Returns the row of the page's table for a line of `YuniKorn` and one of Kubernetes.
fn row((version, line): (Version, &str)) -> Result<String> {
    let servers = module("servers", version)?;
    let (core, shim) = (module_version(&servers, CORE)?, module_version(&servers, SHIM)?);
    let compared = module_version(&module("oracle", version)?, CORE)?;
    ensure!(core == compared, "the oracle has yunikorn-core {compared}, and the test cluster {core}");
    let kubernetes = kubernetes_release(line)?;
    let tests = if (version, line) == (Version::V1_8, KUBERNETES_LINES[0]) { "all" } else { "some" };
    Ok(format!(
        "| {version} | {line} | yunikorn-core {core}, yunikorn-k8shim {shim}, Kubernetes {kubernetes} | {tests} |\n"
    ))
}

/// Writes the table when `UPDATE` is set.
#[test]
fn versions_page_is_up_to_date() -> Result<()> {
    let mut lines = KUBERNETES_LINES;
    lines.sort_unstable();
    for (variable, versions) in [
        (yunikorn::VERSION, Version::PROVEN.map(|version| version.to_string()).join(" ")),
        (assets::KUBERNETES, lines.join(" ")),
    ] {
        ensure!(SCRIPT.contains(&format!("${{{variable}:-{versions}}}")), "not each of {versions} is run");
    }
    ensure!(
        CI.contains("step \"versions\" e2e/versions.sh smoke::"),
        "the pairs are not run with each change"
    );
    let pairs = Version::PROVEN.into_iter().flat_map(|version| KUBERNETES_LINES.map(|line| (version, line)));
    let rows = pairs.map(row).collect::<Result<String>>()?;
    let page = fs::read_to_string(PAGE)?;
    let (before, rest) = page.split_once(HEAD).context("no table of versions")?;
    let (found, after) = rest.split_once("\n\n").context("no end of the table")?;
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, format!("{before}{HEAD}{rows}\n{after}"))?;
    } else {
        ensure!(
            rows.trim_end() == found,
            "out of date: UPDATE=1 cargo test --workspace --test e2e smoke\n{rows}"
        );
    }
    Ok(())
}

#[test]
fn operator_binary_is_built() -> Result<()> {
    let binary = queuewarden_e2e::assets::operator()?;
    ensure!(binary.is_file() && binary.ends_with("queuewarden"), "{}", binary.display());
    Ok(())
}
