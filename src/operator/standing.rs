//! What is held of an object of ours: what the plan takes, and the status as it stands.
//!
//! Of ten thousand objects this is most of what the operator holds, so nothing is held twice. The conditions are in the plan's entry already; the
//! rest of the status is a text, which is smaller than its tree, and which is only read again when it is to be changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cache::Kept;
use crate::telemetry::level;
use queuewarden_api::status::{self, CONDITIONS};
use queuewarden_plan::conditions::Condition;
use queuewarden_plan::snapshot::Entry;

/// An object of ours.
#[derive(Debug)]
pub struct Object<E> {
    /// For the plan.
    pub entry: Arc<E>,
    /// What an annotation of it says about logs; only that of the `YuniKornConfig` counts.
    pub log_level: Option<String>,
    status: Held,
}

/// `status`, as far as the entry does not hold it.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    /// As JSON, as our own type for it is written, if it can be; `null` when there is none.
    text: Arc<str>,
    /// Whether the conditions are not in the text, because they are those of the entry.
    apart: bool,
}

/// An object as it stands, for a patch of its status.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    conditions: Arc<[Condition]>,
    status: Held,
}

impl Standing {
    /// Of an object that is kept.
    pub fn of<S, M>(kept: &Kept<Object<Entry<S, M>>>) -> Self {
        let meta = &kept.value.entry.meta;
        Self {
            uid: meta.uid.clone(),
            resource_version: kept.resource_version.clone(),
            conditions: Arc::clone(&meta.conditions),
            status: kept.value.status.clone(),
        }
    }

    /// Whether the status says this, as far as that is told without reading it: `rest` is what one of our types says without conditions.
    pub fn says(&self, rest: &str, conditions: &Arc<[Condition]>) -> bool {
        let same = || Arc::ptr_eq(conditions, &self.conditions) || *conditions == self.conditions;
        self.status.apart && *self.status.text == *rest && same()
    }

    /// The whole status; `None` would be a text of ours that cannot be read.
    pub fn status(&self) -> Option<Value> {
        let rest = serde_json::from_str(&self.status.text).ok()?;
        Some(if self.status.apart { status::whole(rest, &self.conditions) } else { rest })
    }
}

/// What is kept of an object whose status is an `S`. It matters to the plan when it is another one, or its spec or what it says about logs
/// changed; its status is written by us.
pub fn keep<E, M, S: Serialize + DeserializeOwned>(
    object: DynamicObject,
    entry: fn(&DynamicObject) -> Entry<E, M>,
) -> Kept<Object<Entry<E, M>>> {
    let entry = entry(&object);
    let DynamicObject { metadata, mut data, .. } = object;
    let status = data.get_mut("status").map(Value::take).unwrap_or_default();
    // A confirmation, a level, what `kubectl apply` was given: all of them come without a new generation.
    let mut annotations = DefaultHasher::new();
    metadata.annotations.hash(&mut annotations);
    let log_level = metadata.annotations.and_then(|mut annotations| annotations.remove(level::ANNOTATION));
    let (uid, generation) = (metadata.uid.unwrap_or_default(), metadata.generation.unwrap_or_default());
    Kept {
        name: metadata.name.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        stamp: format!("{uid}/{generation}/{:x}", annotations.finish()),
        value: Arc::new(Object {
            log_level,
            status: held::<S>(status, &entry.meta.conditions),
            entry: Arc::new(entry),
        }),
    }
}

/// The conditions are apart where they read as they stand.
fn held<S: Serialize + DeserializeOwned>(mut status: Value, conditions: &[Condition]) -> Held {
    let apart = status.get(CONDITIONS) == status::conditions(conditions).as_ref();
    if apart && let Some(fields) = status.as_object_mut() {
        fields.remove(CONDITIONS);
    }
    Held { text: text::<S>(&status), apart }
}

/// The text that can be compared with what would be written now; of a status that our type does not hold wholly, the text as it is.
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

    fn kept(status: &Value) -> Standing {
        let object = json!({
            "apiVersion": "queuewarden.dev/v1alpha1",
            "kind": "QueueAcl",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"},
            "spec": {"queue": "root.a", "submit": {"nobody": true}},
            "status": status,
        });
        let object = serde_json::from_value(object).unwrap();
        let kept = keep::<_, _, api::QueueAclStatus>(object, convert::queue_acl);
        Standing::of(&kept)
    }

    fn condition(type_: &str) -> Value {
        json!({
            "type": type_, "status": "True", "reason": "R", "message": "m", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        })
    }

    #[test]
    fn a_status_of_ours_is_told_by_its_parts() {
        let standing =
            kept(&json!({"observedGeneration": 1, "submit": "sue", "conditions": [condition("Ready")]}));
        let rest = r#"{"observedGeneration":1,"submit":"sue"}"#;
        assert!(standing.says(rest, &standing.conditions));
        assert!(standing.says(rest, &standing.conditions.to_vec().into()), "not only those very ones");
        assert!(!standing.says(rest, &Arc::default()));
        assert!(!standing.says(r#"{"observedGeneration":2,"submit":"sue"}"#, &standing.conditions));
    }

    /// What a patch starts from is what stands there, whatever that is.
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
                standing.says(rest, &standing.conditions),
                ours && status["submit"] == "sue",
                "{status}"
            );
        }
    }
}
