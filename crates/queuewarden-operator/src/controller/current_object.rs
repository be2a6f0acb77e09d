//! Caches our own objects: the entry that the plan uses, and the current status.
//!
//! With ten thousand objects this is most of the operator's memory, so nothing is stored twice. The
//! conditions are already in the plan's entry. The rest of the status is stored as text, which is smaller
//! than its tree, and is only parsed when the status has to change.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cache::Cached;
use queuewarden_api::log_level;
use queuewarden_api::status::{self, CONDITIONS};
use queuewarden_plan::conditions::Condition;
use queuewarden_plan::snapshot::Entry;

/// A cached object of one of our kinds.
#[derive(Debug)]
pub struct CachedObject<E> {
    /// The entry that the plan uses.
    pub entry: Arc<E>,
    /// The log level that an annotation of the object sets, which only has an effect on the `YuniKornConfig`.
    pub log_level: Option<String>,
    status: StoredStatus,
}

/// The `status`, without the parts that the entry already contains.
#[derive(Debug, Clone, PartialEq)]
struct StoredStatus {
    /// The status as JSON, serialized by our own type if that loses nothing; `null` if there is no status.
    text: Arc<str>,
    /// True if the conditions are not in the text because they equal the entry's.
    apart: bool,
}

/// The current version of an object, as the base for a patch of its status.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentObject {
    /// `metadata.uid`
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    conditions: Arc<[Condition]>,
    status: StoredStatus,
}

impl CurrentObject {
    /// Returns the current version of a cached object.
    pub fn from_cached<S, M>(kept: &Cached<CachedObject<Entry<S, M>>>) -> Self {
        let meta = &kept.value.entry.meta;
        Self {
            uid: Arc::clone(&meta.uid),
            resource_version: kept.resource_version.clone(),
            conditions: Arc::clone(&meta.conditions),
            status: kept.value.status.clone(),
        }
    }

    /// Returns whether the status certainly equals this one, without parsing it: `rest` is the status of one
    /// of our types without conditions, as JSON.
    pub fn has_status(&self, rest: &str, conditions: &Arc<[Condition]>) -> bool {
        // Unchanged conditions usually share the allocation, which `==` of slices does not check.
        self.status.apart
            && *self.status.text == *rest
            && (Arc::ptr_eq(conditions, &self.conditions) || *conditions == self.conditions)
    }

    /// Returns the whole status; `None` if our own text cannot be parsed, which should not happen.
    pub fn status(&self) -> Option<Value> {
        let rest = serde_json::from_str(&self.status.text).ok()?;
        Some(if self.status.apart { status::whole(rest, &self.conditions) } else { rest })
    }
}

/// Converts an object whose status is an `S` for the cache. A change matters to the plan if the object is
/// new, or its spec or annotations changed. A change of the status does not matter, because the operator
/// writes it.
pub fn to_cached<E, M, S: Serialize + DeserializeOwned>(
    object: DynamicObject,
    entry: fn(&DynamicObject) -> Entry<E, M>,
) -> Cached<CachedObject<Entry<E, M>>> {
    let entry = entry(&object);
    let DynamicObject { metadata, mut data, .. } = object;
    let status = data.get_mut("status").map(Value::take).unwrap_or_default();
    // Confirmations, log levels and the record of `kubectl apply` change without a new generation.
    let mut annotations = DefaultHasher::new();
    metadata.annotations.hash(&mut annotations);
    let log_level =
        metadata.annotations.and_then(|mut annotations| annotations.remove(log_level::ANNOTATION));
    let (uid, generation) = (metadata.uid.unwrap_or_default(), metadata.generation.unwrap_or_default());
    Cached {
        name: metadata.name.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        stamp: format!("{uid}/{generation}/{:x}", annotations.finish()),
        value: Arc::new(CachedObject {
            log_level,
            status: stored_status::<S>(status, &entry.meta.conditions),
            entry: Arc::new(entry),
        }),
    }
}

/// Creates the cached status. The conditions are left out of the text if the entry's conditions would be
/// written in the same way.
fn stored_status<S: Serialize + DeserializeOwned>(
    mut status: Value,
    conditions: &[Condition],
) -> StoredStatus {
    let apart = status.get(CONDITIONS) == status::conditions(conditions).as_ref();
    if apart && let Some(fields) = status.as_object_mut() {
        fields.remove(CONDITIONS);
    }
    StoredStatus { text: text::<S>(&status), apart }
}

/// Returns a text that can be compared with the status to be written. If our type cannot represent the status
/// completely, it is the unchanged text.
fn text<S: Serialize + DeserializeOwned>(value: &Value) -> Arc<str> {
    let typed = S::deserialize(value)
        .ok()
        .and_then(|typed| serde_json::to_value(&typed).ok().zip(serde_json::to_string(&typed).ok()));
    match typed {
        Some((same, text)) if same == *value => text.into(),
        _ => value.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use queuewarden_api::{convert, v1alpha1 as api};

    fn kept(status: &Value) -> CurrentObject {
        let object = json!({
            "apiVersion": "queuewarden.dev/v1alpha1",
            "kind": "QueueAcl",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"},
            "spec": {"queue": "root.a", "submit": {"nobody": true}},
            "status": status,
        });
        let object = serde_json::from_value(object).unwrap();
        let kept = to_cached::<_, _, api::QueueAclStatus>(object, convert::queue_acl);
        CurrentObject::from_cached(&kept)
    }

    fn condition(type_: &str) -> Value {
        json!({
            "type": type_, "status": "True", "reason": "R", "message": "m", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        })
    }

    #[test]
    fn a_status_of_queuewardens_is_known_by_its_parts() {
        let standing =
            kept(&json!({"observedGeneration": 1, "submit": "sue", "conditions": [condition("Ready")]}));
        let rest = r#"{"observedGeneration":1,"submit":"sue"}"#;
        assert!(standing.has_status(rest, &standing.conditions));
        assert!(standing.has_status(rest, &standing.conditions.to_vec().into()), "not only those very ones");
        assert!(!standing.has_status(rest, &Arc::default()));
        assert!(!standing.has_status(r#"{"observedGeneration":2,"submit":"sue"}"#, &standing.conditions));
    }

    /// A patch must start from the current status, whatever its content.
    #[test]
    fn the_whole_status_comes_back() {
        let odd = json!({"type": "Ready", "status": "Perhaps"});
        let early = json!({"type": "Ready", "status": "Perhaps", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05.5Z"});
        for status in [
            Value::Null,
            json!({}),
            json!("text"),
            json!({"submit": "sue"}),
            json!({"submit": 7, "conditions": [condition("Ready")]}),
            json!({"foreign": {"a": 1}, "conditions": [condition("Ready"), condition("example.com/Other")]}),
            json!({"submit": "sue", "conditions": []}),
            json!({"submit": "sue", "conditions": [condition("Ready"), odd]}),
            json!({"submit": "sue", "conditions": [early]}),
            json!({"submit": "sue", "conditions": "none"}),
        ] {
            let standing = kept(&status);
            assert_eq!(standing.status(), Some(status.clone()));
            let ours = status.get("conditions").is_none_or(|them| *them == json!([condition("Ready")]));
            let rest = r#"{"submit":"sue"}"#;
            assert_eq!(
                standing.has_status(rest, &standing.conditions),
                ours && status["submit"] == "sue",
                "{status}"
            );
        }
    }
}
