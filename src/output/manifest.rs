//! Builds manifests, and formats them for people: YAML with texts as block scalars, so that a diff shows the
//! lines of a queues.yaml.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use serde_saphyr::ser_options;

use super::format::escaped_json;
use go_compat::diag::is_obeyed;
use go_compat::yaml::json::to_json;
use go_compat::yaml::parse;
use queuewarden_api::API_VERSION;
use queuewarden_api::convert::LAST_APPLIED;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::BaseAcl;

/// The partition if none is given.
pub const DEFAULT_PARTITION: &str = "default";

/// Fields that the API server adds and a manifest does not have.
const SERVER_FIELDS: &[&str] =
    &["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Builds the manifest of a ConfigMap: as `written`, without the fields of the API server, and with these
/// annotations and this data.
pub fn config_map(
    written: Option<&Value>,
    (namespace, name): (&str, &str),
    annotations: &BTreeMap<String, String>,
    data: &BTreeMap<String, String>,
) -> Value {
    let mut meta = written.and_then(|value| value.get("metadata")?.as_object().cloned()).unwrap_or_default();
    meta.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
    meta.insert("name".into(), name.into());
    meta.insert("namespace".into(), namespace.into());
    meta.remove("annotations");
    if !annotations.is_empty() {
        meta.insert("annotations".into(), json!(annotations));
    }
    let mut manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data});
    for field in ["binaryData", "immutable"] {
        if let (Some(value), Some(fields)) =
            (written.and_then(|value| value.get(field)), manifest.as_object_mut())
        {
            fields.insert(field.into(), value.clone());
        }
    }
    manifest
}

/// Returns an object as a manifest: without the fields of the API server, and without the copy that
/// `kubectl apply` keeps.
pub fn to_apply(object: &Value) -> Value {
    let mut manifest = object.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("status");
    }
    if let Some(meta) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
        if let Some(notes) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
            notes.remove(LAST_APPLIED);
            if notes.is_empty() {
                meta.remove("annotations");
            }
        }
    }
    manifest
}

/// Builds the manifest of an object of queuewarden's kinds.
pub fn object(kind: ResourceKind, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": kind.name(), "metadata": {"name": name}, "spec": spec})
}

/// Builds the manifest of a `QueueAcl` with these fields; leaves out the partition and `baseAcl` if they are
/// the default.
pub fn queue_acl(
    name: &str,
    (partition, queue): (&str, &str),
    base_acl: BaseAcl,
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let partition = (partition != DEFAULT_PARTITION).then(|| ("partition", json!(partition)));
    let base_acl = (base_acl != BaseAcl::default()).then(|| ("baseAcl", json!(base_acl)));
    let fields = fields.into_iter().chain([("queue", json!(queue))]).chain(partition).chain(base_acl);
    let spec: Map<String, Value> = fields.map(|(name, value)| (name.to_owned(), value)).collect();
    object(ResourceKind::QueueAcl, name, &spec.into())
}

/// Maximum length of an object's name.
const MAX_NAME: usize = 253;

/// Makes a name of an object: the text in the characters that Kubernetes accepts.
pub fn object_name(text: &str) -> String {
    let name = text.to_ascii_lowercase();
    let letters = name.chars().map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' });
    let name: String = letters.take(MAX_NAME).collect();
    name.trim_matches('-').to_owned()
}

/// Formats manifests as the documents of one YAML text.
pub fn to_yaml(manifests: &[Value]) -> String {
    manifests.iter().map(document).collect::<Vec<_>>().join("---\n")
}

/// Formats a manifest as YAML: the usual fields first, texts of several lines as `|` blocks. JSON, which is
/// YAML, takes its place for characters that a terminal would obey, and if kubectl would read other values.
fn document(manifest: &Value) -> String {
    let options = ser_options! { folded_wrap_chars: usize::MAX };
    let yaml = serde_saphyr::to_string_with_options(&Ordered(manifest), options).unwrap_or_default();
    let lines = yaml.lines().map(|line| if line.trim_matches(' ').is_empty() { "" } else { line });
    // The library indents the empty lines of a block, too.
    let bare: String = lines.flat_map(|line| [line, "\n"]).collect();
    let reads_back = |yaml: &String| {
        let node = parse(yaml).ok().flatten();
        let value = node.and_then(|node| to_json(&node).ok());
        !yaml.contains(|c| is_obeyed(c) && !matches!(c, '\n' | '\t')) && value.as_ref() == Some(manifest)
    };
    let json = || escaped_json(&format!("{manifest:#}\n"));
    [bare, yaml].into_iter().find(reads_back).unwrap_or_else(json)
}

/// A part of a manifest, with the fields in the usual order.
struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const FIRST: [&str; 4] = ["apiVersion", "kind", "metadata", "queue"];
        match self.0 {
            Value::Object(fields) => {
                let place = |name| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
                let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name, Self(value))).collect();
                fields.sort_by_key(|(name, _)| (place(name.as_str()), *name));
                serializer.collect_map(fields)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Value {
        config_map(
            None,
            ("yunikorn", "yunikorn-configs"),
            &[("a/b".into(), "c,d".into())].into(),
            &[("queues.yaml".into(), text.into())].into(),
        )
    }

    #[test]
    fn a_queues_yaml_stands_as_a_block() {
        let expected = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    a/b: c,d\n  name: yunikorn-configs\n  \
                        namespace: yunikorn\ndata:\n  queues.yaml: |\n    partitions:\n      - name: \"x\"\n\n    # end\n";
        assert_eq!(document(&parsed("partitions:\n  - name: \"x\"\n\n# end\n")), expected);
    }

    #[test]
    fn what_the_server_added_and_nothing_else_goes() {
        let written = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"x.gz": "aGk="},
            "metadata": {"name": "c", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"on": "true"}, "annotations": {"x": "y"}},
            "data": {"old": "1"},
        });
        let map = config_map(Some(&written), ("ns", "c"), &[].into(), &[("new".into(), "2".into())].into());
        let expected = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    \"on\": \"true\"\n  name: c\n  namespace: ns\n\
                        binaryData:\n  x.gz: aGk=\ndata:\n  new: \"2\"\n";
        assert_eq!(document(&map), expected);
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[ \\n\\t\\r#:\\-a|>'\"{}&*!%@\u{85}\u{feff}\u{2028}\u{7f}]{0,12}",
            "( {0,3}[a-z:# -]{0,6}\\n){0,5}",
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(text in any_text(), key in "[A-Za-z0-9_.-]{1,12}") {
            let map = config_map(None, ("n", "c"), &[].into(), &[(key, text)].into());
            let yaml = document(&map);
            let node = parse(&yaml).map_err(|error| TestCaseError::fail(format!("{error}\n{yaml}")))?;
            prop_assert_eq!(node.map(|node| to_json(&node)), Some(Ok(map)), "{}", yaml);
        }
    }
}
