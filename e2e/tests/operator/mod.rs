//! Tests the operator in a real cluster, with the permissions it is shipped with: applied objects, the
//! scheduler's decisions, and statuses.

mod behind_tls;
mod crds;
mod events;
mod failures;
mod forms;
mod gitops;
mod history;
pub(crate) mod mirror;
mod promise;
mod queue_operator;
mod quickstart;
mod reasons;
mod refusing;
mod releases;
mod story;
mod submission_policy;
mod versions;
mod writers;

use std::time::Duration;

use ::yunikorn::version::Version;
use anyhow::{Context as _, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::DynamicObject;
pub(crate) use queuewarden_api::config_map::gzip;
use queuewarden_e2e::conditions::{Expected, is_true};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{FaultProxy, Kind, Operator, Outcome, TestCluster, eventually, operator, yunikorn};

/// The key with the queue tree.
pub(crate) const KEY: &str = "queues.yaml";

/// Returns the base with a root where everyone may submit.
pub(crate) fn open_base() -> String {
    BASE.replace("- name: root\n", "- name: root\n        submitacl: '*'\n")
}

/// Returns a version that the scheduler does not have, but might.
fn other_version() -> Result<Version> {
    let ours = yunikorn::version()?;
    Version::PROVEN.into_iter().find(|&version| version != ours).context("there is only one version")
}

/// Sets whether the scheduler loads new texts without a restart: a JSON value.
async fn hot_refresh(cluster: &TestCluster, value: &str) -> Result<()> {
    let patch = format!(r#"{{"data": {{"service.enableConfigHotRefresh": {value}}}}}"#);
    let (map, namespace) = (yunikorn::DEFAULTS, yunikorn::NAMESPACE);
    cluster
        .kubectl(&["patch", "configmap", map, "-n", namespace, "--type=merge", "-p", &patch])
        .await
        .map(drop)
}

/// Stops the scheduler from loading new texts.
pub(crate) async fn refresh_no_more(cluster: &TestCluster) -> Result<()> {
    hot_refresh(cluster, "\"false\"").await?;
    // The scheduler notices the switch when it next reads the ConfigMaps.
    eventually("hot refresh to be off", PATIENCE, || async {
        let log = cluster.scheduler()?.log();
        Ok((log.contains("hot-refresh disabled") || log.contains("enableConfigHotRefresh")).then_some(()))
    })
    .await
}

/// Starts the operator with a `YuniKornConfig` that reads the scheduler back, and waits until that is in
/// order.
pub(crate) async fn running(cluster: &TestCluster) -> Result<Operator<'_>> {
    cluster.install().await?;
    configure(cluster, "").await?;
    let operator = Operator::start(cluster).await?;
    cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
    Ok(operator)
}

/// Starts the operator behind this proxy.
async fn start_behind<'cluster>(
    cluster: &'cluster TestCluster,
    proxy: &FaultProxy,
) -> Result<Operator<'cluster>> {
    let kubeconfig = proxy.kubeconfig(cluster).await?;
    Operator::start_with(cluster, &[], &[("KUBECONFIG", &kubeconfig.to_string_lossy())]).await
}

/// Applies the `YuniKornConfig`, with further lines of its spec (indented by two).
pub(crate) async fn configure(cluster: &TestCluster, more: &str) -> Result<()> {
    let url = cluster.scheduler_url();
    let text = format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec:\n  schedulerUrl: {url}\n{more}"
    );
    apply(cluster, &text).await
}

/// Applies a text as most people do with `kubectl apply`: client-side.
async fn apply(cluster: &TestCluster, text: &str) -> Result<()> {
    cluster.kubectl_with_input(&["apply", "-f", "-"], text).await.map(drop)
}

/// Returns a `QueueAcl` as text; `spec` in flow style without its queue.
pub(crate) fn acl(name: &str, queue: &str, spec: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: {name}}}\nspec: {{queue: {queue}, {spec}}}\n"
    )
}

/// Applies a `QueueAcl` and waits until it is ready.
pub(crate) async fn grant(cluster: &TestCluster, name: &str, queue: &str, spec: &str) -> Result<()> {
    apply(cluster, &acl(name, queue, spec)).await?;
    cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
    Ok(())
}

async fn delete(cluster: &TestCluster, kind: &str, name: &str) -> Result<()> {
    cluster.kubectl(&["delete", kind, name]).await.map(drop)
}

/// Waits until submitting has this outcome.
async fn submits(
    cluster: &TestCluster,
    user: &str,
    groups: &[&str],
    queue: &str,
    allowed: bool,
) -> Result<()> {
    eventually(&format!("{user} into {queue} to be allowed: {allowed}"), LONG, || async {
        let outcome: Outcome = cluster.submit(user, groups, queue).await?;
        Ok((outcome.is_allowed() == allowed).then_some(()))
    })
    .await
}

/// Returns the queue tree in the output; an error if it has no such key.
pub(crate) async fn live(cluster: &TestCluster) -> Result<String> {
    cluster.config_value(yunikorn::CONFIGS, KEY).await?.context("no queue tree in the output")
}

/// Waits until the queue tree in the output satisfies `wanted` and the scheduler runs it.
async fn live_when(cluster: &TestCluster, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
    let text = eventually(what, PATIENCE, || async {
        let text = live(cluster).await?;
        Ok(wanted(&text).then_some(text))
    })
    .await?;
    cluster.yunikorn()?.wait_for_text(&text, PATIENCE).await?;
    Ok(text)
}

/// Waits for a condition of the `YuniKornConfig`.
pub(crate) async fn config_is(
    cluster: &TestCluster,
    expected: Expected<'_>,
    timeout: Duration,
) -> Result<Condition> {
    cluster.wait_for(Kind::YuniKornConfig, "default", expected, timeout).await
}

/// Returns the checksums in the status of the `YuniKornConfig`: of the `ConfigMap`, and of the scheduler's
/// text.
pub(crate) async fn hashes(cluster: &TestCluster) -> Result<(String, String)> {
    let object: DynamicObject = cluster.objects(Kind::YuniKornConfig)?.get("default").await?;
    let hash = |field: &str| {
        let value = object.data.pointer(&format!("/status/{field}")).and_then(|value| value.as_str());
        value.map(str::to_owned).with_context(|| format!("no {field} in status"))
    };
    Ok((hash("configHash")?, hash("loadedHash")?))
}

/// Returns the number of accepted writes of the operator since `mark` to a resource, without dry runs.
pub(crate) fn writes(
    cluster: &TestCluster,
    mark: queuewarden_e2e::audit::Mark,
    resource: &str,
    subresource: &str,
) -> Result<usize> {
    cluster.audit()?.count(mark, |write| {
        write.user == operator::USER
            && write.resource == resource
            && write.subresource == subresource
            && write.accepted()
            && !write.dry_run()
    })
}

/// Returns the same number for the output alone, without the last good base, which is in a `ConfigMap` too.
pub(crate) fn output_writes(cluster: &TestCluster, mark: queuewarden_e2e::audit::Mark) -> Result<usize> {
    cluster.audit()?.count(mark, |write| {
        write.user == operator::USER
            && write.resource == "configmaps"
            && write.name == yunikorn::CONFIGS
            && write.accepted()
            && !write.dry_run()
    })
}
