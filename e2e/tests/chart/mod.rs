//! Tests the Helm chart: its output equals what `manifests/` installs, and it can be installed.

mod installed;
mod rendered;
mod rights;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use queuewarden_e2e::TestCluster;
use queuewarden_e2e::helm::CHART;
use serde_json::Value;

/// Objects by identity: kind, namespace and name.
type Objects = BTreeMap<String, Value>;

/// The namespace that `manifests/` names, and the examples of the documentation.
const NAMESPACE: &str = "queuewarden-system";

/// Returns the arguments that give the chart the values of `charts/queuewarden/ci/NAME-values.yaml`.
pub(crate) fn values(name: &str) -> String {
    format!("{CHART}/ci/{name}-values.yaml")
}

/// Returns objects by identity; of two with the same identity, the latter is used.
fn by_identity(objects: Vec<Value>) -> Result<Objects> {
    objects.into_iter().map(|object| Ok((identity(&object)?, object))).collect()
}

fn identity(object: &Value) -> Result<String> {
    let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = word("/kind").context("an object without a kind")?;
    let name = word("/metadata/name").context("an object without a name")?;
    Ok(format!("{kind} {}/{name}", word("/metadata/namespace").unwrap_or_default()))
}

/// Removes everything of queuewarden and its releases that tests have left over, except the namespace.
pub(crate) async fn clean(cluster: &TestCluster) -> Result<()> {
    cluster.remove_webhooks().await?;
    cluster.apply_file("manifests/namespace.yaml").await?;
    cluster.kubectl(&["delete", "secrets", "-n", NAMESPACE, "-l", "owner=helm"]).await?;
    cluster.remove_installation().await?;
    cluster.take_rights_away().await
}
