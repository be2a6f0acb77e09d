//! Reads an `AdmissionReview` as the admission controller of `YuniKorn` does, and writes its response.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::envelope::{AdmissionRequest, AdmissionResponse, JsonPatch};
use super::part::{at, decode_part, named_texts};
use super::{codes, nullable_object};
use crate::extended;
use go_compat::diag::Diagnostic;
use go_compat::go_json::{self, nullable};
use yunikorn::admission::request::{Kind, Operation, Patch, Pod, Request, Workload};
use yunikorn::admission::{Evaluation, Outcome};

/// A pod, or a template of pods.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template<'p> {
    #[serde(borrow, deserialize_with = "nullable_object")]
    metadata: Metadata<'p>,
    #[serde(deserialize_with = "nullable_object")]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata<'p> {
    #[serde(borrow)]
    labels: Option<&'p RawValue>,
    #[serde(borrow)]
    annotations: Option<&'p RawValue>,
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

/// Reads a request as far as the admission controller reads it.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`] and [`codes::DECIDED_ELSEWHERE`].
pub fn read(request: &AdmissionRequest) -> Result<Request, Diagnostic> {
    let kind = Kind::parse(&request.group, &request.kind);
    if request.group.is_empty() && request.kind == "ConfigMap" {
        let message = "the admission controller asks the scheduler about ConfigMaps";
        let help = "`queuewarden validate -f FILE` says what it answers";
        return Err(Diagnostic::error(codes::DECIDED_ELSEWHERE, message).help(help));
    }
    Ok(Request {
        operation: Operation::parse(&request.operation),
        pod: pod(request.object.as_deref(), &kind)?,
        old_pod: pod(request.old.as_deref(), &kind)?,
        kind,
        namespace: request.namespace.clone(),
        user: request.by.user.clone(),
        groups: request.by.groups.clone(),
    })
}

/// Returns the path of the pod template in objects of a kind; empty for a pod, `None` for other kinds.
pub(super) fn template_path(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Pod => Some(""),
        Kind::Workload(Workload::CronJob) => Some("spec.jobTemplate.spec.template"),
        Kind::Workload(_) => Some("spec.template"),
        Kind::Other(_) => None,
    }
}

/// Returns the pod that an object is, or the template of those that it creates.
pub(super) fn template<'o>(
    object: Option<&'o RawValue>,
    kind: &Kind,
) -> Result<Option<&'o RawValue>, Diagnostic> {
    let Some((object, path)) = object.zip(template_path(kind)) else { return Ok(None) };
    let way: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    at(object, &way)
}

fn pod(object: Option<&RawValue>, kind: &Kind) -> Result<Pod, Diagnostic> {
    let Some(template) = template(object, kind)? else { return Ok(Pod::default()) };
    let Template { metadata, spec } = decode_part(template)?;
    Ok(Pod {
        labels: named_texts(metadata.labels)?,
        annotations: named_texts(metadata.annotations)?,
        uid: metadata.uid,
        priority_class: spec.priority_class_name,
        scheduler_name: spec.scheduler_name,
    })
}

/// Returns the same review with its response. A request that cannot be decided is not allowed.
#[must_use]
pub fn filled(review: Value, uid: &str, evaluation: &Evaluation) -> Value {
    extended(review, Value::from_iter([("response", response(uid, evaluation))]))
}

/// Returns `response` (`admissionResponseBuilder`, `admission_controller.go:107-123`). Its `warnings`, which
/// kubectl prints, say what would allow a refused request; the admission controller itself has none.
pub fn response(uid: &str, evaluation: &Evaluation) -> Value {
    let refusal = match &evaluation.outcome {
        Outcome::Allowed => None,
        Outcome::Denied(message) => Some(message.clone()),
        Outcome::Unknown(key) => Some(format!("{key} decides, but its content is unknown")),
    };
    json!(AdmissionResponse {
        uid: uid.to_owned(),
        allowed: refusal.is_none(),
        status: status(refusal.as_deref().unwrap_or_default()),
        patch: patch(evaluation),
        warnings: evaluation.remedies.clone(),
        ..AdmissionResponse::default()
    })
}

/// Returns the `Status` of a refusal, with neither code nor reason; null without a message.
pub fn status(message: &str) -> Value {
    if message.is_empty() { Value::Null } else { json!({"message": message}) }
}

/// Returns the changes that the admission controller makes.
pub fn patch(evaluation: &Evaluation) -> Option<JsonPatch> {
    let patches = &evaluation.patches;
    (!patches.is_empty()).then(|| JsonPatch::new(json_patch(patches)))
}

/// Writes the operations as Go does, byte for byte.
pub fn json_patch(patches: &[Patch]) -> String {
    let operation = |patch: &Patch| json!({"op": "add", "path": patch.path, "value": patch.value});
    go_json::write(&patches.iter().map(operation).collect::<Value>())
}
