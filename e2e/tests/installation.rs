//! Tests `status` and `check` on a real cluster: with everything in order, and with each thing broken that
//! they check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Endpoints, Kind, Operator, TestCluster, eventually, operator, yunikorn};
use serde_json::{Value, json};

use crate::cli::{ask, asker};
use crate::operator::{configure, grant};

/// The level of each check.
type Levels = BTreeMap<String, String>;

/// Starts the operator with its endpoints and a webhook for its own kinds, and a Deployment that claims to
/// run.
pub(crate) async fn installed(cluster: &TestCluster) -> Result<(Operator<'_>, Endpoints)> {
    cluster.install().await?;
    configure(cluster, "").await?;
    cluster.install_https().await?;
    cluster.apply_file("manifests/validating/rbac.yaml").await?;
    let (operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    cluster.register(&endpoints, "validating").await?;
    // No pods are started here, so the test writes the statuses that the kubelet and the controllers would
    // write.
    let status = json!({"status": {"replicas": 2, "readyReplicas": 2}}).to_string();
    cluster
        .kubectl(&[
            "-n",
            operator::NAMESPACE,
            "patch",
            "deployment",
            operator::NAME,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ])
        .await?;
    grant(cluster, "prod", "root.prod", "submit: {users: [alice]}").await?;
    Ok((operator, endpoints))
}

/// Returns the output of `check`, and its exit code.
async fn checked(kubeconfig: &Path) -> Result<(Option<i32>, Levels, String)> {
    let ended = ask(kubeconfig, "check -o json").await?;
    let answer: Value = serde_json::from_str(&ended.out).with_context(|| ended.to_string())?;
    let checks = answer.get("checks").and_then(Value::as_array).context("no checks")?;
    let word =
        |line: &Value, field: &str| line.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let levels = checks.iter().map(|line| (word(line, "check"), word(line, "level"))).collect();
    Ok((ended.code, levels, ended.out))
}

/// Checks that an answer matches its schema, and that the schema refuses others.
fn valid(schema: &str, answer: &Value) -> Result<()> {
    let validator = jsonschema::validator_for(&serde_json::from_str(schema)?)?;
    let problems: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
    ensure!(problems.is_empty(), "{problems:?}: {answer}");
    let mut spoilt = answer.clone();
    let version = spoilt.get_mut("version").context("no version")?;
    *version = json!("one");
    ensure!(!validator.is_valid(&spoilt), "{schema}");
    Ok(())
}

/// Waits until a check has this level.
async fn until(kubeconfig: &Path, check: &str, level: &str) -> Result<String> {
    eventually(&format!("check {check} to be {level}"), PATIENCE, || async {
        let (code, levels, text) = checked(kubeconfig).await?;
        let found = levels.get(check).map(String::as_str) == Some(level);
        ensure!(!found || level != "fail" || code == Some(1), "a failure is no success: {text}");
        Ok(found.then_some(text))
    })
    .await
}

#[tokio::test]
async fn healthy_installation_passes_all_checks() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _endpoints) = installed(cluster).await?;
        let (code, levels, text) = checked(cluster.kubeconfig()).await?;
        ensure!(levels.values().all(|level| level == "ok") && code == Some(0), "{text}");
        let names: BTreeSet<&str> = levels.keys().map(String::as_str).collect();
        for name in [
            "admission",
            "api-server",
            "authorities",
            "definitions",
            "endpoints",
            "leader",
            "objects",
            "ownership",
            "replicas",
            "rights",
            "scheduler",
            "shadowing",
            "size",
            "starts",
            "version",
            "webhook-answers",
            "webhooks",
            "yunikornconfig",
        ] {
            ensure!(names.contains(name), "{name} was not checked: {text}");
        }
        let ended = ask(cluster.kubeconfig(), "status -o json").await?;
        let status: Value = serde_json::from_str(&ended.out).with_context(|| ended.to_string())?;
        valid(include_str!("../../docs/schema/status.json"), &status)?;
        valid(include_str!("../../docs/schema/check.json"), &serde_json::from_str(&text)?)?;
        ensure!(ended.code == Some(0) && status.get("ready") == Some(&json!(true)), "{ended}");
        let kinds = status.get("kinds").and_then(Value::as_array).context("no kinds")?;
        let acls =
            kinds.iter().find(|kind| kind.get("kind") == Some(&json!("QueueAcl"))).context("no QueueAcl")?;
        ensure!(
            *acls == json!({"kind": "QueueAcl", "total": 1, "ready": 1, "inForce": 1, "reasons": {}}),
            "{ended}"
        );
        let ended = ask(cluster.kubeconfig(), "status").await?;
        ensure!(
            ended.out.contains("runs the written configuration") && ended.out.contains(" writes"),
            "{ended}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn broken_parts_are_reported() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::SchedulerProcess])? {
            return Ok(());
        }
        let (operator, _endpoints) = installed(cluster).await?;
        let admin = cluster.kubeconfig();
        objects_and_maps(cluster, admin).await?;
        rights(cluster, admin).await?;
        // The writing replica stops and releases its Lease.
        operator.process()?.terminate()?;
        operator.process()?.exited(Duration::from_secs(30)).await?;
        let text = until(admin, "leader", "fail").await?;
        ensure!(text.contains("no replica holds Lease"), "{text}");
        until(admin, "webhook-answers", "fail").await?;
        cluster.remove_webhooks().await?;
        // Another writer takes the key, and it is not restored.
        let theirs = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, namespace: {}}}\ndata:\n  queues.yaml: |\n    partitions: [{{name: default, queues: [{{name: root}}]}}]\n",
            yunikorn::CONFIGS, yunikorn::NAMESPACE
        );
        let force = ["apply", "--server-side", "--force-conflicts", "--field-manager", "argocd-controller", "-f", "-"];
        cluster.kubectl_with_input(&force, &theirs).await?;
        let text = until(admin, "ownership", "fail").await?;
        ensure!(text.contains("owned by argocd-controller"), "{text}");
        cluster.scheduler()?.kill()?;
        until(admin, "scheduler", "unknown").await?;
        let ended = ask(admin, "status").await?;
        ensure!(ended.code == Some(1) && ended.out.contains("no replica holds Lease"), "{ended}");
        Ok(())
    })
    .await
}

/// Checks an object that grants nothing, an invalid level, and a key that hides the tree.
async fn objects_and_maps(cluster: &TestCluster, admin: &Path) -> Result<()> {
    let lost = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: lost}\nspec: {queue: root.nowhere, submit: {users: [x]}}\n";
    cluster.kubectl_with_input(&["apply", "-f", "-"], lost).await?;
    cluster.wait_for(Kind::QueueAcl, "lost", is_false("Ready", "QueueNotFound"), PATIENCE).await?;
    let text = until(admin, "objects", "warn").await?;
    ensure!(text.contains("QueueAcl/lost QueueNotFound"), "{text}");
    let ended = ask(admin, "status").await?;
    ensure!(ended.code == Some(1) && ended.out.contains("QueueAcl/lost: QueueNotFound"), "{ended}");
    cluster.kubectl(&["delete", "queueacl", "lost"]).await?;
    cluster.kubectl(&["annotate", "yunikornconfig", "default", "queuewarden.dev/log-level=loud"]).await?;
    until(admin, "log-level", "warn").await?;
    cluster.kubectl(&["annotate", "yunikornconfig", "default", "queuewarden.dev/log-level-"]).await?;
    let patch = async |value: Value| {
        let patch = json!({"binaryData": {"queues.yaml.gz": value}}).to_string();
        cluster
            .kubectl(&[
                "-n",
                yunikorn::NAMESPACE,
                "patch",
                "configmap",
                yunikorn::CONFIGS,
                "--type=merge",
                "-p",
                &patch,
            ])
            .await
    };
    // An empty gzip.
    patch(json!("H4sIAAAAAAAAAwMAAAAAAAAAAAA=")).await?;
    let text = until(admin, "shadowing", "fail").await?;
    ensure!(text.contains("queues.yaml.gz"), "{text}");
    until(admin, "yunikornconfig", "fail").await?;
    patch(Value::Null).await?;
    until(admin, "yunikornconfig", "ok").await?;
    until(admin, "scheduler", "ok").await?;
    Ok(())
}

/// Removes a permission, and restores it.
async fn rights(cluster: &TestCluster, admin: &Path) -> Result<()> {
    cluster.kubectl(&["-n", yunikorn::NAMESPACE, "delete", "rolebinding", operator::NAME]).await?;
    let text = until(admin, "rights", "fail").await?;
    ensure!(text.contains("watch configmaps yunikorn/yunikorn-defaults"), "{text}");
    cluster.apply_file("manifests/rbac.yaml").await?;
    let ended = ask(admin, "check --quiet --strict --wait 30s").await?;
    ensure!(ended.code == Some(0) && ended.out.ends_with("0 worth a look, 0 unknown, 0 broken\n"), "{ended}");
    Ok(())
}

/// A user without permissions gets a message for each line, and the lines that they may see. The role in the
/// messages lets them see everything.
#[tokio::test]
async fn who_may_not_look_is_informed() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _endpoints) = installed(cluster).await?;
        cluster.apply_file("manifests/users.yaml").await?;
        for ours in [true, false] {
            let kubeconfig = asker(cluster, false, ours).await?;
            let (code, levels, text) = checked(&kubeconfig).await?;
            ensure!(code == Some(3), "nothing fails, and much is unknown: {text}");
            let unknown = ["definitions", "rights", "webhooks", "replicas", "leader", "configmaps"];
            let objects = ["yunikornconfig", "objects"].into_iter().filter(|_| !ours);
            for check in unknown.into_iter().chain(objects) {
                ensure!(levels.get(check).map(String::as_str) == Some("unknown"), "{check}: {text}");
            }
            ensure!(text.contains("--clusterrole queuewarden-checker"), "{text}");
            let ended = ask(&kubeconfig, "status").await?;
            ensure!(ended.code == Some(3) && ended.out.contains("queuewarden-checker"), "{ended}");
            ensure!(!ended.out.contains("no YuniKornConfig exists"), "{ended}");
            ensure!(ours || ended.out.contains("YuniKornConfig   not known: "), "{ended}");
            let ended = ask(&kubeconfig, "can-i submit root.prod").await?;
            let roles = ["the ClusterRole view", "queuewarden-viewer"];
            ensure!(ended.code == Some(3) && roles.iter().all(|role| ended.err.contains(role)), "{ended}");
        }
        let kubeconfig = asker(cluster, false, false).await?;
        let user = format!("--serviceaccount={}:asker", queuewarden_e2e::test_cluster::NAMESPACE);
        let role = "--clusterrole=queuewarden-checker";
        cluster.kubectl(&["create", "clusterrolebinding", "e2e-checker", role, &user]).await?;
        let done = eventually("the role to let them see everything", PATIENCE, || async {
            let (code, levels, text) = checked(&kubeconfig).await?;
            // They do not write QueueAcls, even as a test.
            let seen = levels.iter().all(|(check, level)| level == "ok" || check == "webhook-answers");
            ensure!(code == Some(0) && seen, "{text}");
            let ended = ask(&kubeconfig, "status").await?;
            ensure!(ended.code == Some(0), "{ended}");
            Ok(Some(()))
        })
        .await;
        cluster.kubectl(&["delete", "clusterrolebinding", "e2e-checker"]).await?;
        done?;
        let ended = ask(Path::new("/nonexistent"), "status").await?;
        let none = "no kubeconfig: looked at $KUBECONFIG, ~/.kube/config and the pod's account";
        ensure!(ended.code == Some(3) && ended.err.contains(none), "{ended}");
        Ok(())
    })
    .await
}

/// A feature with a missing part fails, with the command that installs it.
#[tokio::test]
async fn half_of_a_feature_is_a_failure() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _endpoints) = installed(cluster).await?;
        let admin = cluster.kubeconfig();
        let enable = r#"{"spec":{"delegation":"Enabled"}}"#;
        cluster.kubectl(&["patch", "yunikornconfig", "default", "--type=merge", "-p", enable]).await?;
        let text = until(admin, "features", "fail").await?;
        ensure!(text.contains("ValidatingAdmissionPolicy queuewarden-delegation and its binding"), "{text}");
        ensure!(text.contains("kubectl apply --server-side -k manifests/delegation"), "{text}");
        for file in ["role", "policy"] {
            cluster.apply_file(&format!("manifests/delegation/{file}.yaml")).await?;
        }
        until(admin, "features", "ok").await?;
        cluster.kubectl(&["delete", "validatingwebhookconfiguration", "queuewarden"]).await?;
        let text = until(admin, "features", "fail").await?;
        ensure!(text.contains("without ValidatingWebhookConfiguration queuewarden"), "{text}");
        Ok(())
    })
    .await
}
