//! Status patches: only where what the plan says differs from what stands there, and never on a namesake.
//!
//! The precondition is the resource version. A uid in the patch would be ignored: for a status the API server takes `metadata` from the
//! object as it stands (apiextensions-apiserver `pkg/registry/customresource/status_strategy.go` `PrepareForUpdate`).

use futures::{Stream, StreamExt as _};
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call::{Error, call};
use super::world::{Kind, World};
use queuewarden_api::status;
use queuewarden_plan::snapshot::{FIELD_MANAGER, Snapshot};
use queuewarden_plan::{ObjectStatus, Plan, Subject};

/// Patches under way at one time.
const CONCURRENCY: usize = 8;

/// One patch to send.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusPatch {
    /// Of which object.
    pub subject: Subject,
    /// Its `metadata.uid`.
    pub uid: String,
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
        Subject::QueueAccessTest(name) => (Kind::QueueAccessTest, name),
    }
}

/// The patches that make the statuses in `world` what `plan`, made from `snapshot`, says, each made when it is asked for. Those of
/// `QueueAcl`s come last, and begin behind the name `after`: whoever cannot send all of them at once begins there the next time.
pub fn patches<'a>(
    snapshot: &'a Snapshot,
    plan: &'a Plan,
    world: &'a World,
    after: &str,
) -> impl Iterator<Item = StatusPatch> + Send + 'a {
    let policies = snapshot.policies.iter().filter_map(|entry| {
        let status = plan.policies.get(&entry.meta.name)?;
        let rest = status::admission_policy(entry.meta.generation, status.rest.as_ref());
        patch(world, Subject::AdmissionPolicy(entry.meta.name.clone()), status, &rest)
    });
    let tests = snapshot.access_tests.iter().filter_map(|entry| {
        let status = plan.access_tests.get(&entry.meta.name)?;
        let rest = status::queue_access_test(entry.meta.generation, &status.rest);
        patch(world, Subject::QueueAccessTest(entry.meta.name.clone()), status, &rest)
    });
    let config = snapshot.config.iter().filter_map(|entry| {
        let status = plan.config.as_ref()?;
        let rest = status::yunikorn_config(entry.meta.generation, &status.rest);
        patch(world, Subject::Config(entry.meta.name.clone()), status, &rest)
    });
    let first = snapshot.queue_acls.partition_point(|entry| entry.meta.name.as_str() <= after);
    let (before, behind) = snapshot.queue_acls.split_at_checked(first).unwrap_or_default();
    let acls = behind.iter().chain(before).filter_map(|entry| {
        let status = plan.queue_acls.get(&entry.meta.name)?;
        let rest = status::queue_acl(entry.meta.generation, &status.rest);
        patch(world, Subject::QueueAcl(entry.meta.name.clone()), status, &rest)
    });
    config.chain(policies).chain(tests).chain(acls)
}

/// The patch that makes the status say what `planned` does; `rest` is that without conditions, as the API has it.
fn patch<P, S: Serialize>(
    world: &World,
    subject: Subject,
    planned: &ObjectStatus<P>,
    rest: &S,
) -> Option<StatusPatch> {
    let (kind, name) = target(&subject);
    // A namesake that was made since the plan gets its status from the next one.
    let standing = world.standing(kind, name).filter(|standing| standing.uid == planned.uid)?;
    // Nearly always: the values need not be looked at.
    if standing.says(&serde_json::to_string(rest).ok()?, &planned.conditions) {
        return None;
    }
    let new = status::whole(serde_json::to_value(rest).ok()?, &planned.conditions);
    let change = difference(&standing.status()?, &new)?;
    let body = json!({"metadata": {"resourceVersion": standing.resource_version}, "status": change});
    Some(StatusPatch { subject, uid: standing.uid, body })
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

/// What came of a patch.
#[derive(Debug)]
pub enum Answer {
    /// The object with its new status.
    Patched(Box<DynamicObject>),
    /// Someone changed the object since; as it is now.
    Stale(Box<DynamicObject>),
    /// There is no such object any more.
    Gone,
    /// Neither.
    Failed(Error),
}

/// Sends the patches for as long as `may_send` holds; what came of each that was sent, as it comes: of thousands, not all are held at once.
pub fn send(
    client: &Client,
    patches: impl Iterator<Item = StatusPatch> + Send,
    may_send: impl Fn() -> bool + Send,
) -> impl Stream<Item = (StatusPatch, Answer)> + Send {
    let requests = patches.take_while(move |_| may_send()).map(|patch| {
        let client = client.clone();
        async move {
            let answer = send_one(client, &patch).await;
            (patch, answer)
        }
    });
    futures::stream::iter(requests).buffer_unordered(CONCURRENCY)
}

async fn send_one(client: Client, patch: &StatusPatch) -> Answer {
    let (kind, name) = patch.target();
    let api = kind.api(client);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
    match call(api.patch_status(name, &params, &Patch::Merge(&patch.body))).await {
        Ok(object) => Answer::Patched(Box::new(object)),
        Err(error) if error.is_not_found() => Answer::Gone,
        // Not left to the watch: a change of a label, say, wakes nobody.
        Err(error) if error.is_conflict() => match call(api.get(name)).await {
            Ok(object) => Answer::Stale(Box::new(object)),
            Err(error) if error.is_not_found() => Answer::Gone,
            Err(error) => Answer::Failed(error),
        },
        Err(error) => Answer::Failed(error),
    }
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
