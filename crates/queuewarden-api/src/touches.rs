//! Finds the last writers of an object and their fields in `metadata.managedFields`.
//!
//! For each program and operation, the API server keeps one entry with the time of its last change. Status
//! entries are left out, because controllers write them and they do not change the object.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta};
use serde_json::Value;

use queuewarden_plan::snapshot::Touch;

/// Maximum number of entries reported; API servers keep few
/// (`k8s.io/apimachinery/pkg/util/managedfields/internal/buildmanagerinfo.go`).
const MAX_ENTRIES: usize = 32;
/// Maximum number of fields reported for one entry.
const MAX_FIELDS: usize = 16;

/// Returns all entries except status entries, in their order.
pub fn touches(meta: &ObjectMeta) -> Vec<Touch> {
    let entries = meta.managed_fields.iter().flatten();
    let of_object = entries.filter(|entry| entry.subresource.as_deref().is_none_or(str::is_empty));
    of_object.take(MAX_ENTRIES).map(touch).collect()
}

fn touch(entry: &ManagedFieldsEntry) -> Touch {
    Touch {
        time: entry.time.as_ref().map(|time| time.0),
        manager: entry.manager.clone().unwrap_or_default(),
        operation: entry.operation.clone().unwrap_or_default(),
        fields: entry.fields_v1.as_ref().map(fields).unwrap_or_default(),
    }
}

/// Returns field paths two levels deep: `{"f:spec": {"f:submit": {"f:users": {}}}}` becomes `spec.submit`.
fn fields(FieldsV1(fields): &FieldsV1) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (section, inner) in named(fields) {
        let mut any = false;
        for (field, _) in named(inner) {
            any = true;
            found.insert(format!("{section}.{field}"));
        }
        if !any {
            found.insert(section.to_owned());
        }
    }
    found.into_iter().take(MAX_FIELDS).collect()
}

/// Returns the named fields in a set; `.`, `k:…` and `v:…` belong to list elements.
pub(super) fn named(set: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = set.as_object().into_iter().flatten();
    fields.filter_map(|(key, inner)| Some((key.strip_prefix("f:")?, inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn touches_of(entries: &Value) -> Vec<Touch> {
        touches(&serde_json::from_value(json!({"managedFields": entries})).unwrap())
    }

    #[test]
    fn each_program_wrote_fields_at_a_time() {
        let spec = json!({"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}, "f:spec": {"f:submit": {"f:users": {}}, "f:queue": {}}});
        let reported = touches_of(&json!([
            {"manager": "argocd", "operation": "Apply", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": spec},
            {"manager": "queuewarden", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": "old", "operation": "Update", "fieldsV1": {"f:data": {}}},
        ]));
        let argocd = Touch {
            time: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            manager: "argocd".to_owned(),
            operation: "Apply".to_owned(),
            fields: ["metadata.annotations", "spec.queue", "spec.submit"].map(str::to_owned).to_vec(),
        };
        let old = Touch {
            manager: "old".to_owned(),
            operation: "Update".to_owned(),
            fields: vec!["data".to_owned()],
            ..Touch::default()
        };
        assert_eq!(reported, [argocd, old]);
    }

    #[test]
    fn odd_entries_tell_little_and_many_are_cut() {
        let entry =
            json!({"manager": "m", "operation": "Update", "fieldsV1": {".": [], "k:{}": 1, "f:spec": 7}});
        let reported = touches_of(&json!([entry]));
        assert_eq!(
            reported.first().map(|touch| touch.fields.as_slice()),
            Some(["spec".to_owned()].as_slice())
        );
        let wide: Value =
            (0..100).map(|n| (format!("f:k{n:03}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
        let many: Vec<Value> =
            (0..100).map(|n| json!({"manager": format!("m{n}"), "fieldsV1": {"f:data": wide}})).collect();
        let reported = touches_of(&many.into());
        assert_eq!(
            (reported.len(), reported.first().map(|touch| touch.fields.len())),
            (MAX_ENTRIES, Some(MAX_FIELDS))
        );
    }
}
