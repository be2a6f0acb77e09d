//! Tests Helm, Argo CD and Flux, which apply the objects and the base repeatedly: the output stays correct
//! and is rarely written, and no release fails.
//!
//! The tools themselves are not run. Only their requests matter, so each tool is imitated by requests with
//! its field manager and its handling of conflicts. kubectl cannot do that, because its server-side apply
//! takes over fields that were applied client-side.

use anyhow::{Result, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster, yunikorn};
use serde_json::{Map, Value, json};

use super::{KEY, configure, live_when, output_writes, submits, writes};

const ROUNDS: usize = 20;
/// The ConfigMap of the base, which the tool owns.
const TREE: &str = "yunikorn-queues";

/// A tool that applies from Git or from a release.
struct Tool {
    manager: &'static str,
    strategy: Strategy,
}

/// How a tool applies.
enum Strategy {
    /// A merge of the last applied object, the newly applied one and the current object (Helm 3; `kubectl
    /// apply`, and so Argo CD by default).
    Merge,
    /// Server-side apply; a conflict fails the release (Helm 4), or is ignored (Argo CD with
    /// `ServerSideApply=true`).
    Apply { force: bool },
    /// Server-side apply by force of the objects that differ in a dry run (Flux).
    WhereDifferent,
}

const HELM_3: Tool = Tool { manager: "helm", strategy: Strategy::Merge };
const HELM_4: Tool = Tool { manager: "helm", strategy: Strategy::Apply { force: false } };
const ARGO_CD: Tool = Tool { manager: "argocd-controller", strategy: Strategy::Apply { force: true } };
const FLUX: Tool = Tool { manager: "kustomize-controller", strategy: Strategy::WhereDifferent };

/// Returns the changes from `old` to `new`, based on the current object, as a merge patch.
fn three_way(old: &Value, new: &Value, there: &Value) -> Map<String, Value> {
    let empty = Map::new();
    let [old, new, there] = [old, new, there].map(|value| value.as_object().unwrap_or(&empty));
    let mut patch = Map::new();
    for (key, value) in new {
        let (before, now) = (old.get(key).unwrap_or(&Value::Null), there.get(key).unwrap_or(&Value::Null));
        if value.is_object() && now.is_object() {
            let inner = three_way(before, value, now);
            if !inner.is_empty() {
                patch.insert(key.clone(), Value::Object(inner));
            }
        } else if value != now {
            patch.insert(key.clone(), value.clone());
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key) && there.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    patch
}

/// Returns the part of an object that a tool compares: without owners, and without fields that others set.
fn compared(object: &DynamicObject) -> Result<Value> {
    let mut value = serde_json::to_value(object)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| matches!(key.as_str(), "name" | "labels" | "annotations"));
    }
    Ok(value)
}

impl Tool {
    fn parameters(&self, force: bool) -> PatchParams {
        PatchParams { field_manager: Some(self.manager.to_owned()), force, ..PatchParams::default() }
    }

    /// Syncs one object; `old` is the object that the tool applied last.
    async fn sync(&self, api: &Api<DynamicObject>, old: Option<&Value>, new: &Value) -> Result<()> {
        let name = new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let apply = Patch::Apply(new);
        match self.strategy {
            Strategy::Merge => {
                let Some(there) = api.get_opt(name).await? else {
                    let created =
                        PostParams { field_manager: Some(self.manager.into()), ..PostParams::default() };
                    api.create(&created, &serde_json::from_value(new.clone())?).await?;
                    return Ok(());
                };
                let patch = three_way(old.unwrap_or(&Value::Null), new, &serde_json::to_value(there)?);
                if !patch.is_empty() {
                    api.patch(name, &self.parameters(false), &Patch::Merge(patch)).await?;
                }
            }
            Strategy::Apply { force } => {
                api.patch(name, &self.parameters(force), &apply).await?;
            }
            Strategy::WhereDifferent => {
                if !self.in_sync(api, new).await? {
                    api.patch(name, &self.parameters(true), &apply).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether applying again would change nothing: Argo CD calls that Synced, and Flux finds no
    /// drift.
    async fn in_sync(&self, api: &Api<DynamicObject>, wanted: &Value) -> Result<bool> {
        let name = wanted.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let Some(there) = api.get_opt(name).await? else { return Ok(false) };
        if matches!(self.strategy, Strategy::Merge) {
            return Ok(three_way(wanted, wanted, &serde_json::to_value(there)?).is_empty());
        }
        let trial = PatchParams { dry_run: true, ..self.parameters(true) };
        let after = api.patch(name, &trial, &Patch::Apply(wanted)).await?;
        Ok(compared(&there)? == compared(&after)?)
    }
}

/// Returns the objects of the repository, or the release, in this round; most rounds contain no changes.
fn wanted(round: usize) -> [Value; 2] {
    let (grant, tree) = (round / 4, round / 10);
    let acl = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl",
        "metadata": {"name": "prod", "labels": {"app.kubernetes.io/part-of": "platform"}},
        "spec": {"queue": "root.prod", "submit": {"users": ["alice", format!("user{grant}")]}}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TREE, "namespace": yunikorn::NAMESPACE},
        "data": {KEY: format!("# tree {tree}\n{BASE}")}});
    [map, acl]
}

async fn lives_with(tool: Tool) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::Audit])? {
            return Ok(());
        }
        cluster.install().await?;
        let map = ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
        let maps = Api::namespaced_with(cluster.client()?, yunikorn::NAMESPACE, &map);
        let apis = [maps, cluster.objects(Kind::QueueAcl)?];
        for (api, object) in apis.iter().zip(&wanted(0)) {
            tool.sync(api, None, object).await?;
        }
        configure(cluster, &format!("  base: {{configMap: {TREE}}}\n")).await?;
        let _operator = queuewarden_e2e::Operator::start(cluster).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let mark = cluster.audit()?.mark()?;
        // Objects that changed, and rounds in which any object changed: changes in the same round may be
        // written together.
        let (mut last, mut objects, mut rounds) = (wanted(0), 0, 0);
        for round in 1..=ROUNDS {
            let now = wanted(round);
            for ((api, old), new) in apis.iter().zip(&last).zip(&now) {
                tool.sync(api, Some(old), new).await?;
            }
            if now != last {
                objects += now.iter().zip(&last).filter(|(new, old)| new != old).count();
                rounds += 1;
                let (grant, tree) = (format!("user{}", round / 4), format!("# tree {}\n", round / 10));
                live_when(cluster, "what was applied", |text| text.contains(&grant) && text.contains(&tree))
                    .await?;
            }
            cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
            for (api, object) in apis.iter().zip(&now) {
                ensure!(tool.in_sync(api, object).await?, "round {round}: {object} is not in sync");
            }
            last = now;
        }
        submits(cluster, "alice", &["devs"], "root.prod", true).await?;
        submits(cluster, "user0", &["devs"], "root.prod", false).await?;
        let written = output_writes(cluster, mark)?;
        ensure!(
            (rounds..=objects).contains(&written),
            "{objects} objects in {rounds} rounds, {written} writes"
        );
        let kept = writes(cluster, mark, "configmaps", "")? - written;
        ensure!(kept <= ROUNDS / 10, "the last good base was written {kept} times");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn helm_3() -> Result<()> {
    lives_with(HELM_3).await
}

#[tokio::test]
async fn helm_4() -> Result<()> {
    lives_with(HELM_4).await
}

#[tokio::test]
async fn argo_cd() -> Result<()> {
    lives_with(ARGO_CD).await
}

#[tokio::test]
async fn flux() -> Result<()> {
    lives_with(FLUX).await
}
