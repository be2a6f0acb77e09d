//! The positions of pod templates in objects of other kinds.
//!
//! A path consists of names separated by dots. The last name determines the target: `annotations` is the map
//! of annotations itself, as in `spec.driver.annotations` of a `SparkApplication`; everything else is a pod
//! template with `metadata` and `spec`, as in `spec.headGroupSpec.template` of a `RayCluster`. `*` matches
//! every item of a list or map, as in `spec.pytorchReplicaSpecs.*.template`. The meaning of a path never
//! depends on the content of an object. Otherwise its author could decide what is not checked.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use go_compat::diag::quoted;

/// Maximum number of names in a path.
pub const MAX_NAMES: usize = 16;
/// Maximum length of a path in bytes.
pub const MAX_LENGTH: usize = 256;
/// Maximum number of templates per policy, enough for all of `examples/operators` and more.
pub const MAX_TEMPLATES: usize = 64;

/// Path of the pod templates in the objects of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Template {
    /// The API group, e.g. sparkoperator.k8s.io.
    #[schemars(length(max = 253))]
    pub group: String,
    /// The version, e.g. v1beta2. Left out: all versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
    /// The resource's plural name, e.g. sparkapplications.
    #[schemars(length(min = 1, max = 63))]
    pub resource: String,
    /// Path to a pod template (spec.headGroupSpec.template), or to annotations that the operator copies to
    /// pods (spec.driver.annotations), as names separated by dots. * matches every item of a list or map
    /// (spec.pytorchReplicaSpecs.*.template).
    #[schemars(schema_with = "path_schema")]
    pub path: String,
}

/// Returns the schema of a path, which accepts the same texts as [`Path`].
fn path_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": MAX_LENGTH,
        "x-kubernetes-validations": [
            {
                "rule": "self.matches('^[a-zA-Z0-9_-]+([.]([a-zA-Z0-9_-]+|[*]))*$')",
                "message": "must be names of letters, digits, - and _ with one dot between them, or * for every member \
                            of a list or map, e.g. spec.pytorchReplicaSpecs.*.template",
            },
            {
                "rule": "self != 'annotations'",
                "message": "must name a field of the object, e.g. spec.driver.annotations",
            },
        ],
    })
}

impl Template {
    /// Returns whether it belongs to this resource, in any version.
    pub fn is_of(&self, group: &str, resource: &str) -> bool {
        self.group == group && self.resource == resource
    }

    /// Returns whether it applies to this version.
    pub fn has(&self, version: &str) -> bool {
        self.version.as_deref().is_none_or(|only| only == version)
    }
}

/// A path to a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The steps to the template, or to the object that contains the annotations.
    pub segments: Vec<Segment>,
    /// The target.
    pub leads_to: LeadsTo,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The field of this name.
    Name(String),
    /// Every element of a list, every value of a map.
    Every,
}

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadsTo {
    /// A pod template, with annotations in its `metadata`.
    Template,
    /// An object with its own fields `annotations` and `labels`.
    Annotated,
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// The error with its help.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("a path has at most {MAX_LENGTH} characters"));
        }
        let mut segments = text.split('.').map(segment).collect::<Result<Vec<_>, _>>()?;
        if segments.len() > MAX_NAMES {
            return Err(format!("{} has more than {MAX_NAMES} names", quoted(text)));
        }
        if segments.first() == Some(&Segment::Every) {
            return Err(format!(
                "{} begins with `*`; begin with a field, as in `spec.template`",
                quoted(text)
            ));
        }
        let annotations = Segment::Name("annotations".to_owned());
        let leads_to = match segments.pop_if(|last| *last == annotations) {
            Some(_) => LeadsTo::Annotated,
            None => LeadsTo::Template,
        };
        if segments.is_empty() {
            return Err("`annotations` refers to the object itself; write the path of a field, as in \
                `spec.driver.annotations`"
                .to_owned());
        }
        Ok(Self { segments, leads_to })
    }
}

fn segment(text: &str) -> Result<Segment, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match text {
        "*" => Ok(Segment::Every),
        name if is_name => Ok(Segment::Name(name.to_owned())),
        other => Err(format!(
            "{} is not a field; write names of letters, digits, `-` and `_`, or `*`, separated by single dots, \
             as in `spec.replicaSpecs.*.template`",
            quoted(other)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Formats a path as text.
    fn written(path: &Path) -> String {
        let names = path.segments.iter().map(|segment| match segment {
            Segment::Name(name) => name.as_str(),
            Segment::Every => "*",
        });
        let end = Some("annotations").filter(|_| path.leads_to == LeadsTo::Annotated);
        names.chain(end).collect::<Vec<_>>().join(".")
    }

    #[test]
    fn last_name_determines_the_target() {
        for (text, leads_to, steps) in [
            ("spec.driver.annotations", LeadsTo::Annotated, 2),
            ("spec.headGroupSpec.template", LeadsTo::Template, 3),
            ("spec.pytorchReplicaSpecs.*.template", LeadsTo::Template, 4),
            ("template", LeadsTo::Template, 1),
            ("spec.annotations.template", LeadsTo::Template, 3),
            ("spec.tasks.*", LeadsTo::Template, 3),
        ] {
            let path = Path::read(text).unwrap();
            assert_eq!((path.leads_to, path.segments.len(), written(&path)), (leads_to, steps, text.into()));
        }
    }

    #[test]
    fn invalid_path_is_reported() {
        for (text, reported) in [
            ("", "`` is not a field"),
            ("annotations", "refers to the object itself"),
            ("*.template", "begins with `*`"),
            ("spec..template", "`` is not a field"),
            ("spec.a b", "`a b` is not a field"),
            ("spec.é", "is not a field"),
            ("spec[0]", "is not a field"),
        ] {
            let error = Path::read(text).unwrap_err();
            assert!(error.contains(reported), "{text}: {error}");
        }
    }

    #[test]
    fn path_longer_than_the_limit_is_refused() {
        let names = |count| Path::read(&vec!["a"; count].join("."));
        assert_eq!(names(MAX_NAMES).unwrap().segments.len(), MAX_NAMES);
        assert!(names(MAX_NAMES + 1).unwrap_err().contains("more than 16 names"));
        let long = |length| Path::read(&"a".repeat(length));
        assert_eq!(written(&long(MAX_LENGTH).unwrap()).len(), MAX_LENGTH);
        assert!(long(MAX_LENGTH + 1).unwrap_err().contains("at most 256 characters"));
    }

    #[test]
    fn template_without_version_applies_to_all() {
        let path = "spec.template".into();
        let mut template = Template { group: "g".into(), version: None, resource: "r".into(), path };
        assert!(template.is_of("g", "r") && template.has("v1") && template.has("v2"));
        assert!(!template.is_of("h", "r") && !template.is_of("g", "s"));
        template.version = Some("v1".into());
        assert!(template.has("v1") && !template.has("v2"));
    }

    proptest! {
        #[test]
        fn any_path_parses_or_fails_and_formats_as_its_text(text in r"[a-z.*\-]{0,30}|\PC{0,12}") {
            if let Ok(path) = Path::read(&text) {
                prop_assert_eq!(written(&path), text);
            }
        }
    }
}
