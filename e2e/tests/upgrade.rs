//! Tests that an upgrade changes nothing: objects stay ready, and not a single byte of `YuniKorn`'s
//! configuration changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, assets, eventually, operator, yunikorn};
use queuewarden_plan::snapshot::{EPOCH, OBJECTS};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::operator::output_writes;

/// A folder for each version.
const VERSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/upgrade");
/// The objects used for recording a version.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/quickstart");
/// The scheduler's address in those objects.
const SCHEDULER: &str = "http://yunikorn-service.yunikorn:9080";

/// The objects that a version has left in a cluster.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Left {
    config_maps: Vec<ConfigMap>,
    /// The objects of each kind, in the order of [`Kind::ALL`]; with their status.
    objects: Vec<Vec<DynamicObject>>,
}

#[tokio::test]
async fn an_upgrade_changes_nothing() -> Result<()> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(VERSIONS)? {
        folders.extend(Some(entry?.path()).filter(|path| path.is_dir()));
    }
    ensure!(!folders.is_empty(), "no version is recorded");
    for folder in folders {
        TestCluster::with(async |cluster| {
            if !cluster.can_run(&[Capability::OperatorProcess, Capability::Audit])? {
                return Ok(());
            }
            upgrade(cluster, &folder).await.with_context(|| format!("from {}", folder.display()))
        })
        .await?;
    }
    Ok(())
}

async fn upgrade(cluster: &TestCluster, folder: &Path) -> Result<()> {
    cluster.remove_installation().await?;
    let crds = std::fs::read_to_string(folder.join("crds.yaml"))?;
    cluster.apply_text(&crds, "the-version-before").await?;
    cluster.crds_established().await?;
    let left: Left = serde_json::from_str(&std::fs::read_to_string(folder.join("left.json"))?)?;
    bring_back(cluster, &left).await?;
    let before = State::of(cluster).await?;
    ensure!(before.text() == text_of(&left), "not brought back");
    cluster.yunikorn()?.wait_for_text(&before.text(), PATIENCE).await?;

    let mark = cluster.audit()?.mark()?;
    let operator = Operator::start(cluster).await?;
    eventually("the new version to lead, and to have read the scheduler back", PATIENCE, || async {
        let led = operator.metric("queuewarden_leader", "").await? > 0.0;
        let fenced = output_writes(cluster, mark)? > 0;
        Ok((led && fenced && operator.metric("queuewarden_config_in_sync", "").await? > 0.0).then_some(()))
    })
    .await?;
    let mut after = State::of(cluster).await?;
    after.forget_what_is_new(&before);
    ensure!(after == before, "before:\n{before:#?}\nafter:\n{after:#?}");
    // A new leader changes the epoch, so that no late write of the previous one is accepted.
    ensure!(output_writes(cluster, mark)? == 1, "{:?}", cluster.audit()?.since(mark)?);

    // It works nevertheless, and continues where the other one stopped.
    cluster.apply_text(GRANT, "somebody").await?;
    cluster.wait_for(Kind::QueueAcl, "after-the-upgrade", is_true("Ready"), PATIENCE).await?;
    ensure!(output_writes(cluster, mark)? == 2, "{:?}", cluster.audit()?.since(mark)?);
    let text = State::of(cluster).await?.text();
    let changed = text.lines().filter(|line| !before.text().lines().any(|old| old == *line)).count();
    ensure!(text.contains("newcomer") && changed <= 3, "{changed} lines have changed:\n{text}");
    Ok(())
}

const GRANT: &str = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: after-the-upgrade}\n\
                     spec: {queue: root.prod, submit: {users: [newcomer]}}\n";

/// The state that an upgrade must not change.
#[derive(Debug, PartialEq)]
struct State {
    /// The output with its annotations, except the epoch and the number of objects.
    output: (BTreeMap<String, String>, BTreeMap<String, String>),
    /// The status of each object, including the times of its conditions.
    statuses: BTreeMap<String, Value>,
}

impl State {
    async fn of(cluster: &TestCluster) -> Result<Self> {
        let output = cluster.config_map(yunikorn::CONFIGS).await?.context("there is no output")?;
        let mut statuses = BTreeMap::new();
        for kind in Kind::ALL {
            for object in cluster.objects(kind)?.list(&ListParams::default()).await? {
                let status = object.data.get("status").cloned().unwrap_or_default();
                statuses.insert(format!("{kind:?} {}", object.name_any()), status);
            }
        }
        let mut annotations = output.annotations().clone();
        annotations.remove(EPOCH);
        annotations.remove(OBJECTS);
        Ok(Self { output: (output.data.unwrap_or_default(), annotations), statuses })
    }

    /// Removes the fields of a status and the types of conditions that the previous version did not have, and
    /// new wordings.
    fn forget_what_is_new(&mut self, before: &Self) {
        for (name, status) in &mut self.statuses {
            let had = before.statuses.get(name).and_then(Value::as_object);
            if let (Some(fields), Some(had)) = (status.as_object_mut(), had) {
                fields.retain(|field, _| had.contains_key(field));
                let types: BTreeSet<_> = conditions(had.get("conditions")).collect();
                if let Some(all) = fields.get_mut("conditions").and_then(Value::as_array_mut) {
                    all.retain(|condition| condition["type"].as_str().is_some_and(|it| types.contains(it)));
                    for condition in all {
                        with_previous_message(condition, had.get("conditions"));
                    }
                }
            }
        }
    }

    fn text(&self) -> String {
        self.output.0.get("queues.yaml").cloned().unwrap_or_default()
    }
}

/// Replaces a condition's message with the previous one. No version promises the wording of a message, so
/// only `status` and `reason` are compared.
fn with_previous_message(condition: &mut Value, before: Option<&Value>) {
    let mut before = before.and_then(Value::as_array).into_iter().flatten();
    if let Some(old) = before.find(|old| old["type"] == condition["type"]) {
        condition["message"] = old["message"].clone();
    }
}

/// Returns the types of the conditions of a status.
fn conditions(all: Option<&Value>) -> impl Iterator<Item = &str> {
    all.and_then(Value::as_array).into_iter().flatten().filter_map(|condition| condition["type"].as_str())
}

fn text_of(left: &Left) -> String {
    let output = left.config_maps.iter().find(|map| map.name_any() == yunikorn::CONFIGS);
    output.and_then(|map| map.data.as_ref()?.get("queues.yaml").cloned()).unwrap_or_default()
}

/// Restores the objects as the previous version had written them, each under the name of its writer.
async fn bring_back(cluster: &TestCluster, left: &Left) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client()?, yunikorn::NAMESPACE);
    for map in &left.config_maps {
        let name = map.name_any();
        if maps.get_opt(&name).await?.is_some() {
            maps.replace(&name, &PostParams::default(), map).await?;
        } else {
            let ours = PostParams { field_manager: Some(operator::NAME.to_owned()), ..PostParams::default() };
            maps.create(&ours, map).await?;
        }
    }
    for (kind, objects) in Kind::ALL.into_iter().zip(&left.objects) {
        let api = cluster.objects(kind)?;
        for object in objects {
            api.create(&PostParams::default(), object).await?;
            let mut status = json!({"status": object.data.get("status")});
            // The status records which object the operator writes, which is a different one here.
            if let Some(uid) = status.pointer_mut("/status/output/uid") {
                let output = maps.get(yunikorn::CONFIGS).await?;
                *uid = json!(output.uid().context("the output has no uid")?);
            }
            // It also records the scheduler's version; only queuewarden is upgraded, not the scheduler.
            if let Some(found) = status.pointer_mut("/status/version") {
                let version = yunikorn::version()?;
                found["reported"] = json!(assets::release(version)?);
                found["version"] = json!(version.as_str());
            }
            let ours =
                PatchParams { field_manager: Some(operator::NAME.to_owned()), ..PatchParams::default() };
            api.patch_status(&object.name_any(), &ours, &Patch::Merge(status)).await?;
        }
    }
    Ok(())
}

/// `just record-upgrade VERSION`: records the state that the current build leaves behind.
#[tokio::test]
#[ignore = "writes files, once for each release"]
async fn record_what_this_version_leaves() -> Result<()> {
    let version = std::env::var("VERSION").context("VERSION says how the folder is called")?;
    let folder = PathBuf::from(VERSIONS).join(version);
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        for entry in std::fs::read_dir(EXAMPLES)? {
            let text = std::fs::read_to_string(entry?.path())?.replace(SCHEDULER, cluster.scheduler_url());
            let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
            cluster.kubectl_with_input(&apply, &text).await?;
        }
        let operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let settled = eventually("two looks at the same state", PATIENCE, || async {
            let first = State::of(cluster).await?;
            operator.get("/readyz").await?;
            let all = first.statuses.values().all(|status| status.get("conditions").is_some());
            Ok((all && first == State::of(cluster).await?).then_some(()))
        });
        settled.await?;
        operator.kill().await?;
        let mut left = Left { config_maps: Vec::new(), objects: Vec::new() };
        for name in [yunikorn::DEFAULTS, yunikorn::CONFIGS] {
            let mut map = cluster.config_map(name).await?.context("a ConfigMap is missing")?;
            map.metadata = bare(&map.metadata);
            left.config_maps.push(map);
        }
        for kind in Kind::ALL {
            let mut objects = cluster.objects(kind)?.list(&ListParams::default()).await?.items;
            for object in &mut objects {
                object.metadata = bare(&object.metadata);
            }
            left.objects.push(objects);
        }
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("left.json"), serde_json::to_string_pretty(&left)? + "\n")?;
        let crds = cluster.kubectl(&["kustomize", concat!(env!("CARGO_MANIFEST_DIR"), "/../crds")]).await?;
        std::fs::write(folder.join("crds.yaml"), crds)?;
        Ok(())
    })
    .await
}

/// Returns metadata without the fields that are specific to one cluster.
fn bare(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: metadata.name.clone(),
        annotations: metadata.annotations.clone(),
        ..ObjectMeta::default()
    }
}
