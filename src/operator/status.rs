//! Status patches: only where what the plan says differs from what stands there, and never on a namesake.

use futures::StreamExt as _;
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call::{Error, call};
use super::world::{Kind, World};
use crate::api::status;
use crate::plan::snapshot::{FIELD_MANAGER, Meta, Snapshot};
use crate::plan::{Plan, Subject};

/// Patches under way at one time.
const CONCURRENCY: usize = 8;

/// One patch to send.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusPatch {
    /// Of which object.
    pub subject: Subject,
    /// The body.
    pub body: Value,
}

impl StatusPatch {
    /// The kind and the name of the object.
    pub fn target(&self) -> (Kind, &str) {
        target(&self.subject)
    }
}

/// The kind and the name of an object.
pub fn target(subject: &Subject) -> (Kind, &str) {
    match subject {
        Subject::Config(name) => (Kind::YuniKornConfig, name),
        Subject::QueueAcl(name) => (Kind::QueueAcl, name),
        Subject::AdmissionPolicy(name) => (Kind::AdmissionPolicy, name),
    }
}

/// The patches that make the statuses in `world` what `plan`, made from `snapshot`, says.
pub fn patches(snapshot: &Snapshot, plan: &Plan, world: &World) -> Vec<StatusPatch> {
    let acls = snapshot.queue_acls.iter().filter_map(|entry| {
        let status = plan.queue_acls.get(&entry.meta.name)?;
        let status = status::queue_acl(entry.meta.generation, status);
        patch(world, Subject::QueueAcl(entry.meta.name.clone()), &entry.meta, &status)
    });
    let policies = snapshot.policies.iter().filter_map(|entry| {
        let status = plan.policies.get(&entry.meta.name)?;
        let status = status::admission_policy(entry.meta.generation, status);
        patch(world, Subject::AdmissionPolicy(entry.meta.name.clone()), &entry.meta, &status)
    });
    let config = snapshot.config.iter().filter_map(|entry| {
        let status = status::yunikorn_config(entry.meta.generation, plan.config.as_ref()?);
        patch(world, Subject::Config(entry.meta.name.clone()), &entry.meta, &status)
    });
    acls.chain(policies).chain(config).collect()
}

fn patch<S: Serialize>(world: &World, subject: Subject, meta: &Meta, status: &S) -> Option<StatusPatch> {
    let (kind, name) = target(&subject);
    let old = world.status(kind, name)?;
    let new = serde_json::to_value(status).ok()?;
    let change = difference(&old, &new)?;
    // With the uid as precondition the API server refuses the patch for an object that was deleted and made again.
    Some(StatusPatch { subject, body: json!({"metadata": {"uid": meta.uid}, "status": change}) })
}

/// The JSON merge patch (RFC 7396) that turns `old` into `new`; `None` when they are equal.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return Some(new.clone());
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter_map(|(key, value)| {
        let change = before.get(key).map_or_else(|| Some(value.clone()), |old| difference(old, value))?;
        Some((key.clone(), change))
    });
    Some(Value::Object(gone.chain(changed).collect::<Map<_, _>>()))
}

/// Sends the patches; what came of each.
pub async fn send(
    client: &Client,
    patches: Vec<StatusPatch>,
) -> Vec<(StatusPatch, Result<DynamicObject, Error>)> {
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
    let requests = patches.into_iter().map(|patch| {
        let (client, params) = (client.clone(), params.clone());
        async move {
            let (kind, name) = patch.target();
            let body = Patch::Merge(&patch.body);
            let answer = call(kind.api(client).patch_status(name, &params, &body)).await;
            (patch, answer)
        }
    });
    futures::stream::iter(requests).buffer_unordered(CONCURRENCY).collect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7396 §2, as the API server applies it.
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
