//! Checks objects against the size limits in the CRDs' schemas. The objects in a hand-written review have not
//! been checked by an API server.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use serde_json::Value;

use super::crd::crds;
use super::review::codes::TOO_LARGE;
use go_compat::diag::Diagnostic;

/// Maximum total size of annotations, in bytes (Kubernetes, `TotalAnnotationSizeLimitB` of
/// `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`).
const ANNOTATIONS: usize = 256 * 1024;
/// Limit in bytes for a text without a limit in the definition, such as an ACL in a status: 512 of the
/// longest names.
const TEXT: usize = 256 * 1024;

/// The schemas of all kinds, by name.
static SCHEMAS: LazyLock<BTreeMap<String, JSONSchemaProps>> = LazyLock::new(|| {
    let versions = crds().into_iter().flat_map(|crd| {
        let kind = crd.spec.names.kind;
        crd.spec.versions.into_iter().map(move |version| (kind.clone(), version))
    });
    versions.filter_map(|(kind, version)| Some((kind, version.schema?.open_api_v3_schema?))).collect()
});

/// Checks that an object of one of our kinds is not larger than its definition allows.
///
/// # Errors
/// [`TOO_LARGE`], with the field.
pub fn check(kind: &str, object: &DynamicObject) -> Result<(), Diagnostic> {
    annotations(&object.metadata)?;
    within(SCHEMAS.get(kind), &object.data, &mut String::new())
}

/// Checks that an object of any kind has no more annotations than Kubernetes allows.
///
/// # Errors
/// As [`check`].
pub fn annotations(metadata: &ObjectMeta) -> Result<(), Diagnostic> {
    let lengths = metadata.annotations.iter().flatten().map(|(name, text)| name.len() + text.len());
    let bytes = lengths.sum();
    if bytes > ANNOTATIONS {
        return Err(beyond("metadata.annotations", bytes, ANNOTATIONS, "bytes"));
    }
    Ok(())
}

/// Checks a value recursively. `path` is its path, for error messages.
fn within(schema: Option<&JSONSchemaProps>, value: &Value, path: &mut String) -> Result<(), Diagnostic> {
    let limit = |limit: fn(&JSONSchemaProps) -> Option<i64>| {
        schema.and_then(limit).and_then(|limit| usize::try_from(limit).ok())
    };
    let checked = |count: usize, limit: Option<usize>, of: &str, path: &str| match limit {
        Some(limit) if count > limit => Err(beyond(path, count, limit, of)),
        _ => Ok(()),
    };
    match value {
        Value::String(text) => match limit(|schema| schema.max_length) {
            // A text never has more characters than bytes.
            Some(limit) if text.len() > limit => {
                checked(text.chars().count(), Some(limit), "characters", path)
            }
            Some(_) => Ok(()),
            None => checked(text.len(), Some(TEXT), "bytes", path),
        },
        Value::Array(items) => {
            checked(items.len(), limit(|schema| schema.max_items), "elements", path)?;
            let of_items = match schema.and_then(|schema| schema.items.as_ref()) {
                Some(JSONSchemaPropsOrArray::Schema(items)) => Some(&**items),
                _ => None,
            };
            items.iter().enumerate().try_for_each(|(number, item)| {
                inside(path, &format!("[{number}]"), |path| within(of_items, item, path))
            })
        }
        Value::Object(fields) => {
            checked(fields.len(), limit(|schema| schema.max_properties), "fields", path)?;
            let others = match schema.and_then(|schema| schema.additional_properties.as_ref()) {
                Some(JSONSchemaPropsOrBool::Schema(others)) => Some(&**others),
                _ => None,
            };
            let known = schema.and_then(|schema| schema.properties.as_ref());
            fields.iter().try_for_each(|(name, field)| {
                let schema = known.and_then(|known| known.get(name)).or(others);
                inside(path, &format!(".{name}"), |path| within(schema, field, path))
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Checks a part of the value at `path`.
fn inside(
    path: &mut String,
    part: &str,
    check: impl FnOnce(&mut String) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let length = path.len();
    path.push_str(part);
    check(path)?;
    path.truncate(length);
    Ok(())
}

fn beyond(path: &str, count: usize, limit: usize, of: &str) -> Diagnostic {
    let path = go_compat::diag::cut(path.trim_start_matches('.'), 128);
    Diagnostic::error(TOO_LARGE, format!("{path} has {count} {of}; at most {limit} are allowed"))
        .help("make the object smaller")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(kind: &str, object: &Value) -> Result<(), String> {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        check(kind, &object).map_err(|why| why.message)
    }

    #[test]
    fn each_kind_has_a_schema() {
        let kinds: Vec<_> = SCHEMAS.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["AdmissionPolicy", "QueueAccessTest", "QueueAcl", "YuniKornConfig"]);
    }

    #[test]
    fn what_the_definition_does_not_allow_is_refused() {
        let names = |count: usize| vec!["a"; count];
        for (kind, object, expected) in [
            ("QueueAcl", json!({"spec": {"submit": {"acl": "ä".repeat(16_384)}}}), None),
            (
                "QueueAcl",
                json!({"spec": {"submit": {"acl": "ä".repeat(16_385)}}}),
                Some("spec.submit.acl has 16385 characters; at most 16384 are allowed"),
            ),
            ("QueueAcl", json!({"spec": {"admin": {"users": names(256)}}}), None),
            (
                "QueueAcl",
                json!({"spec": {"admin": {"users": names(257)}}}),
                Some("spec.admin.users has 257 elements; at most 256 are allowed"),
            ),
            (
                "QueueAcl",
                json!({"spec": {"admin": {"groups": ["a", "b".repeat(257)]}}}),
                Some("spec.admin.groups[1] has 257 characters; at most 256 are allowed"),
            ),
            (
                "QueueAcl",
                json!({"status": {"inForce": {"submit": "a".repeat(TEXT + 1)}}}),
                Some("status.inForce.submit has 262145 bytes; at most 262144 are allowed"),
            ),
            (
                "QueueAcl",
                json!({"spec": {"unknown": ["a".repeat(TEXT + 1)]}}),
                Some("spec.unknown[0] has 262145 bytes; at most 262144 are allowed"),
            ),
            (
                "AdmissionPolicy",
                json!({"spec": {"systemUsers": names(65)}}),
                Some("spec.systemUsers has 65 elements; at most 64 are allowed"),
            ),
            (
                "YuniKornConfig",
                json!({"spec": {"schedulerUrl": "a".repeat(513)}}),
                Some("spec.schedulerUrl has 513 characters; at most 512 are allowed"),
            ),
            (
                "QueueAccessTest",
                json!({"spec": {"cases": [{"placements": [{"labels":
                    (0..33).map(|i| (i.to_string(), "x")).collect::<BTreeMap<_, _>>()}]}]}}),
                Some("spec.cases[0].placements[0].labels has 33 fields; at most 32 are allowed"),
            ),
            (
                "QueueAcl",
                json!({"metadata": {"annotations": {"a": "b".repeat(ANNOTATIONS)}}}),
                Some("metadata.annotations has 262145 bytes; at most 262144 are allowed"),
            ),
        ] {
            assert_eq!(checked(kind, &object).err().as_deref(), expected, "{kind}");
        }
    }
}
