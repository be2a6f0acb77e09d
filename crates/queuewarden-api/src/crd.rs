//! The `CustomResourceDefinition`s, as objects and as the text of `crds/*.yaml`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;

use super::v1alpha1::{AdmissionPolicy, QueueAccessTest, QueueAcl, YuniKornConfig};

/// A column of `kubectl get`: name, type, path, whether it is only shown with `-o wide`, and description,
/// which may be empty.
type Column = (&'static str, &'static str, &'static str, bool, &'static str);

const READY: Column = ("Ready", "string", ".status.conditions[?(@.type=='Ready')].status", false, "");
const REASON: Column = ("Reason", "string", ".status.conditions[?(@.type=='Ready')].reason", false, "");
const AGE: Column = ("Age", "date", ".metadata.creationTimestamp", false, "");
const MESSAGE: Column = ("Message", "string", ".status.conditions[?(@.type=='Ready')].message", true, "");

const ADMISSION_POLICY: &[Column] = &[
    ("Bypass", "boolean", ".spec.bypassAuth", false, "Whether all checks are off"),
    ("Controllers", "boolean", ".spec.trustControllers", false, "Whether systemUsers are trusted"),
    (
        "In Force",
        "string",
        ".status.conditions[?(@.type=='Programmed')].status",
        false,
        "Whether its keys, or those in its last valid version, are written",
    ),
    READY,
    REASON,
    AGE,
    MESSAGE,
];
const QUEUE_ACCESS_TEST: &[Column] = &[
    ("Enforcement", "string", ".spec.enforcement", false, "Whether changes that break it are refused"),
    ("Checks", "integer", ".status.checks", false, ""),
    ("Failed", "integer", ".status.failed", false, ""),
    ("Passing", "string", ".status.conditions[?(@.type=='Passing')].status", false, ""),
    AGE,
    MESSAGE,
];
const QUEUE_ACL: &[Column] = &[
    ("Queue", "string", ".spec.queue", false, "The queue's full path"),
    ("Submit", "string", ".status.submit", false, "Who this object lets submit, or asks for"),
    ("Admin", "string", ".status.admin", false, "Who this object makes administrator, or asks for"),
    ("From", "string", ".spec.notBefore", true, "When it comes into force"),
    ("Until", "string", ".spec.expiresAt", false, "When it ends"),
    ("In Force", "string", ".status.active", false, "Whether a version of it is in force"),
    READY,
    REASON,
    AGE,
    MESSAGE,
];
const YUNIKORN_CONFIG: &[Column] = &[
    ("Mode", "string", ".spec.mode", false, ""),
    ("Applied", "string", ".status.conditions[?(@.type=='Applied')].status", false, ""),
    ("Loaded", "string", ".status.conditions[?(@.type=='Loaded')].status", false, ""),
    ("Revision", "integer", ".status.revision", false, "Incremented by each write"),
    READY,
    REASON,
    AGE,
    (
        "Fail-Open",
        "string",
        ".status.conditions[?(@.type=='FailOpen')].status",
        true,
        "True when everyone may submit everywhere",
    ),
    MESSAGE,
];

/// All definitions, sorted by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let all = [
        (AdmissionPolicy::crd(), ADMISSION_POLICY),
        (QueueAccessTest::crd(), QUEUE_ACCESS_TEST),
        (QueueAcl::crd(), QUEUE_ACL),
        (YuniKornConfig::crd(), YUNIKORN_CONFIG),
    ];
    all.into_iter().map(|(crd, columns)| finished(crd, columns)).collect()
}

/// Adds the parts of a definition that cannot be derived.
fn finished(mut crd: CustomResourceDefinition, columns: &[Column]) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.additional_printer_columns = Some(columns.iter().map(column).collect());
        if let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            tidy(schema);
        }
    }
    crd
}

fn column((name, type_, path, wide, description): &Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: (*name).to_owned(),
        type_: (*type_).to_owned(),
        json_path: (*path).to_owned(),
        priority: wide.then_some(1),
        description: (!description.is_empty()).then(|| (*description).to_owned()),
        format: None,
    }
}

/// Makes a derived schema look like the schemas of Kubernetes' own kinds.
///
/// * Derive marks every `Option` as `nullable`, which keeps a written `null` and makes `has(self.field)` true
///   for it in CEL. Without the mark, the API server drops the `null` and applies the default. An atomic
///   object, which is always a grant, keeps the mark. A rule rejects its `null`, because a reader would take
///   it for "nobody" while it would be treated as "left out".
/// * Descriptions keep the line breaks of the doc comments; `kubectl explain` breaks lines itself.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = schema.nullable.filter(|_| schema.x_kubernetes_map_type.as_deref() == Some("atomic"));
    if let Some(description) = &mut schema.description {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        tidy(property);
    }
}

/// The files of `crds/`: name and content.
///
/// # Errors
/// Fails when a definition cannot be written as YAML. It consists of plain maps and strings, so that does not
/// happen.
pub fn crd_yaml() -> Result<Vec<(String, String)>, serde_saphyr::ser::Error> {
    crds()
        .iter()
        .map(|crd| {
            let yaml = serde_saphyr::to_string(crd)?;
            Ok((format!("{}.yaml", crd.spec.names.plural), format!("{HEADER}{yaml}")))
        })
        .collect()
}

const HEADER: &str =
    "# Generated by `queuewarden crds --dir crds` from crates/queuewarden-api/src/v1alpha1. Do not edit.\n";
