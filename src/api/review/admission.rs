//! `AdmissionReview`: what the admission controller of `YuniKorn` reads of a request, and its response.

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::envelope::request;
use super::{codes, decode, malformed, nullable, nullable_object};
use crate::model::admission::patch::{self, Patch};
use crate::model::admission::request::{Kind, Operation, Pod, Request, Texts, Workload};
use crate::model::admission::{Evaluation, Outcome};
use crate::text::diag::Diagnostic;
use crate::text::go_json::push_string;

/// A request with what its response must repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `request.uid`
    pub uid: String,
    /// What the admission controller reads.
    pub request: Request,
}

/// A pod, or a template of pods.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "nullable_object")]
    metadata: Metadata,
    #[serde(deserialize_with = "nullable_object")]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "nullable")]
    labels: Texts,
    #[serde(deserialize_with = "nullable")]
    annotations: Texts,
    #[serde(deserialize_with = "nullable")]
    uid: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(deserialize_with = "nullable")]
    priority_class_name: String,
    #[serde(deserialize_with = "nullable")]
    scheduler_name: String,
}

/// Reads a review.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`] and [`codes::JUDGED_ELSEWHERE`].
pub fn read(review: &Value) -> Result<Asked, Diagnostic> {
    let raw = request(review)?;
    let kind = Kind::of(&raw.kind.group, &raw.kind.kind);
    if raw.kind.group.is_empty() && raw.kind.kind == "ConfigMap" {
        let message = "the admission controller asks the scheduler about ConfigMaps";
        let help = "`queuewarden validate -f FILE` says what it answers";
        return Err(malformed(codes::JUDGED_ELSEWHERE, message).help(help));
    }
    Ok(Asked {
        uid: raw.uid,
        request: Request {
            operation: Operation::of(&raw.operation),
            pod: pod(&raw.object, &kind)?,
            old_pod: pod(&raw.old_object, &kind)?,
            kind,
            namespace: raw.namespace,
            user: raw.user_info.username,
            groups: raw.user_info.groups,
        },
    })
}

/// The pod that an object is, or that it makes; empty where there is no object.
fn pod(object: &Value, kind: &Kind) -> Result<Pod, Diagnostic> {
    let template = match kind {
        Kind::Pod => Some(object),
        Kind::Workload(Workload::CronJob) => object.pointer("/spec/jobTemplate/spec/template"),
        Kind::Workload(_) => object.pointer("/spec/template"),
        Kind::Other(_) => None,
    };
    let Some(template) = template.filter(|template| !template.is_null()) else {
        return Ok(Pod::default());
    };
    let Template { metadata, spec } = decode(template)?;
    Ok(Pod {
        labels: metadata.labels,
        annotations: metadata.annotations,
        uid: metadata.uid,
        priority_class: spec.priority_class_name,
        scheduler_name: spec.scheduler_name,
    })
}

/// The same review with its response. What cannot be known is not allowed.
#[must_use]
pub fn filled(mut review: Value, uid: &str, evaluation: &Evaluation) -> Value {
    if let Value::Object(fields) = &mut review {
        fields.insert("response".to_owned(), response(uid, evaluation));
    }
    review
}

/// `response` (`admissionResponseBuilder`, `admission_controller.go:107-123`). What would allow a refused request stands in `warnings`, which
/// kubectl prints; the admission controller itself has none.
pub fn response(uid: &str, evaluation: &Evaluation) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), uid.into());
    response.insert("allowed".to_owned(), (evaluation.outcome == Outcome::Allowed).into());
    let message = match &evaluation.outcome {
        Outcome::Allowed => String::new(),
        Outcome::Denied(message) => message.clone(),
        Outcome::Unknown(key) => format!("{key} decides, and what it holds is not known"),
    };
    if !message.is_empty() {
        response.insert("status".to_owned(), json!({"message": message}));
    }
    if !evaluation.patches.is_empty() {
        response.insert("patch".to_owned(), encoded(&evaluation.patches));
        response.insert("patchType".to_owned(), "JSONPatch".into());
    }
    let warnings: Vec<Value> = evaluation.remedies.iter().map(|remedy| remedy.to_string().into()).collect();
    if !warnings.is_empty() {
        response.insert("warnings".to_owned(), warnings.into());
    }
    Value::Object(response)
}

/// The operations in base64, as JSON has bytes.
pub fn encoded(patches: &[Patch]) -> Value {
    serde_json::to_value(ByteString(json_patch(patches).into_bytes())).unwrap_or_default()
}

/// The operations as Go writes them, byte for byte.
pub fn json_patch(patches: &[Patch]) -> String {
    let mut text = String::from("[");
    for (index, patch) in patches.iter().enumerate() {
        text.push_str(if index == 0 { "{\"op\":\"add\",\"path\":" } else { ",{\"op\":\"add\",\"path\":" });
        push_string(&mut text, patch.path);
        text.push_str(",\"value\":");
        match &patch.value {
            patch::Value::Text(value) => push_string(&mut text, value),
            patch::Value::Texts(texts) => push_texts(&mut text, texts),
        }
        text.push('}');
    }
    text.push(']');
    text
}

fn push_texts(text: &mut String, texts: &Texts) {
    text.push('{');
    for (index, (key, value)) in texts.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_string(text, key);
        text.push(':');
        push_string(text, value);
    }
    text.push('}');
}
