//! Patches statuses, but only if the plan differs from the current status, and never on a new object of the
//! same name.
//!
//! The precondition is the resource version. A uid in the patch would be ignored, because for a status the
//! API server takes `metadata` from the stored object (apiextensions-apiserver
//! `pkg/registry/customresource/status_strategy.go` `PrepareForUpdate`).

use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::Client;
use kube::api::{DynamicObject, Patch};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::cluster_watches::ClusterWatches;
use queuewarden_api::status::{self, Reported};
use queuewarden_client::call::{CallError, call};
use queuewarden_client::objects::{api, patch_params};
use queuewarden_plan::snapshot::{Entry, Meta, Snapshot};
use queuewarden_plan::{ObjectRef, ObjectStatus, Plan, ResourceKind};

/// Number of concurrent patches.
const CONCURRENCY: usize = 8;

/// One patch to send.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusPatch {
    /// The object to patch.
    pub object: ObjectRef,
    /// Its `metadata.uid`.
    pub uid: Arc<str>,
    /// The body of the patch.
    pub body: Value,
}

/// Returns the patches that make the statuses in `world` equal to `plan`, made from `snapshot`. Each is
/// created when the iterator reaches it. Patches of `QueueAcl`s come last, and start after the name `after`:
/// a caller that cannot send all of them at once continues there the next time.
pub fn patches<'a>(
    snapshot: &'a Snapshot,
    plan: &'a Plan,
    world: &'a ClusterWatches,
    after: &str,
) -> impl Iterator<Item = StatusPatch> + Send + 'a {
    let config = snapshot.config.iter();
    let config = config
        .filter_map(|entry| patch(world, ResourceKind::YuniKornConfig, &entry.meta, plan.config.as_ref()?));
    let policies = snapshot.policies.iter().filter_map(|Entry { meta, .. }| {
        patch(world, ResourceKind::AdmissionPolicy, meta, plan.policies.get(&meta.name)?)
    });
    let tests = snapshot.access_tests.iter().filter_map(|Entry { meta, .. }| {
        patch(world, ResourceKind::QueueAccessTest, meta, plan.access_tests.get(&meta.name)?)
    });
    let first = snapshot.queue_acls.partition_point(|entry| *entry.meta.name <= *after);
    let (before, behind) = snapshot.queue_acls.split_at_checked(first).unwrap_or_default();
    let acls = behind.iter().chain(before).filter_map(|entry| {
        patch(world, ResourceKind::QueueAcl, &entry.meta, plan.queue_acls.get(&entry.meta.name)?)
    });
    config.chain(policies).chain(tests).chain(acls)
}

/// Returns the patch that makes the status equal to `planned`.
fn patch<S: Serialize>(
    world: &ClusterWatches,
    kind: ResourceKind,
    meta: &Meta,
    planned: &ObjectStatus<S>,
) -> Option<StatusPatch> {
    // An object of the same name, created since the plan, gets its status from the next plan.
    let current = world.current_object(kind, &meta.name).filter(|current| current.uid == planned.uid)?;
    let rest = Reported { observed_generation: meta.generation, rest: &planned.rest };
    // They are nearly always equal, so the values need not be compared.
    if current.has_status(&serde_json::to_string(&rest).ok()?, &planned.conditions) {
        return None;
    }
    let new = status::whole(serde_json::to_value(&rest).ok()?, &planned.conditions);
    let change = difference(&current.status()?, &new)?;
    let body = json!({"metadata": {"resourceVersion": current.resource_version}, "status": change});
    Some(StatusPatch { object: kind.object(Arc::clone(&meta.name)), uid: current.uid, body })
}

/// Returns the JSON merge patch (RFC 7396) that turns `old` into `new`; `None` when they are equal.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return Some(new.clone());
    };
    let removed = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter_map(|(key, value)| {
        let change = before.get(key).map_or_else(|| Some(value.clone()), |old| difference(old, value))?;
        Some((key.clone(), change))
    });
    Some(Value::Object(removed.chain(changed).collect::<Map<_, _>>()))
}

/// The result of a patch that did not fail.
#[derive(Debug)]
pub enum PatchResult {
    /// The object with its new status.
    Patched(Box<DynamicObject>),
    /// Someone else changed the object since; this is its current version.
    Stale(Box<DynamicObject>),
    /// The object no longer exists.
    Removed,
}

/// Sends the patches while `may_send` holds. Returns each result as it arrives, so that not all of them are
/// in memory at once.
pub fn send(
    client: &Client,
    patches: impl Iterator<Item = StatusPatch> + Send,
    may_send: impl Fn() -> bool + Send,
) -> impl Stream<Item = (StatusPatch, Result<PatchResult, CallError>)> + Send {
    let requests = patches.take_while(move |_| may_send()).map(move |patch| async move {
        let answer = send_one(client, &patch).await;
        (patch, answer)
    });
    futures::stream::iter(requests).buffer_unordered(CONCURRENCY)
}

async fn send_one(client: &Client, patch: &StatusPatch) -> Result<PatchResult, CallError> {
    let ObjectRef { kind, name } = &patch.object;
    let api = api(*kind, client.clone());
    match call(api.patch_status(name, &patch_params(), &Patch::Merge(&patch.body))).await {
        Ok(object) => Ok(PatchResult::Patched(Box::new(object))),
        Err(error) if error.is_not_found() => Ok(PatchResult::Removed),
        // The watch is not enough here, because a change of a label, for example, triggers no run.
        Err(error) if error.is_conflict() => {
            let current = call(api.get_opt(name)).await?;
            Ok(current.map_or(PatchResult::Removed, |object| PatchResult::Stale(Box::new(object))))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies a patch as the API server does (RFC 7396 §2).
    fn apply(target: &Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch.clone();
        };
        let mut result = target.as_object().cloned().unwrap_or_default();
        for (key, value) in patch {
            if value.is_null() {
                result.remove(key);
            } else {
                let merged = apply(result.get(key).unwrap_or(&Value::Null), value);
                result.insert(key.clone(), merged);
            }
        }
        Value::Object(result)
    }

    #[test]
    fn a_patch_turns_the_old_status_into_the_new_one() {
        let values = [
            json!({}),
            json!({"submit": "sue", "conditions": [{"type": "Ready", "status": "True"}]}),
            json!({"submit": "sue", "inForce": {"queue": "root.a", "submit": "sue"}, "conditions": []}),
            json!({"submit": "bob", "inForce": {"queue": "root.a", "admin": "sue"}}),
        ];
        for old in &values {
            assert_eq!(difference(old, old), None);
            for new in values.iter().filter(|new| *new != old) {
                let patch = difference(old, new).unwrap();
                assert_eq!(&apply(old, &patch), new, "{old} -> {new} by {patch}");
            }
        }
    }

    #[test]
    fn an_absent_status_is_written_whole() {
        let new = json!({"submit": "sue"});
        assert_eq!(difference(&Value::Null, &new), Some(new));
    }
}
