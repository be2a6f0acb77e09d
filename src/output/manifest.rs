//! Builds manifests, and formats them for people: YAML with texts as block scalars, so that a diff shows the
//! lines of a queues.yaml.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use go_compat::diag::is_obeyed;
use go_compat::{go_json, yaml};
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

/// Formats a manifest as YAML: the usual fields first, texts of several lines as `|` blocks.
fn document(manifest: &Value) -> String {
    let mut out = String::new();
    mapping(manifest, 0, &mut out);
    out
}

fn mapping(value: &Value, depth: usize, out: &mut String) {
    for (name, value) in ordered(value) {
        indent(depth, out);
        out.push_str(&plain_or_quoted(name));
        out.push(':');
        entry(value, depth, out);
    }
}

/// Returns the fields of an object in the usual order of manifests.
fn ordered(value: &Value) -> Vec<(&String, &Value)> {
    const FIRST: [&str; 4] = ["apiVersion", "kind", "metadata", "queue"];
    let mut fields: Vec<_> = value.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| {
        (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), name.as_str())
    });
    fields
}

/// Appends the value after `name:` or `-`.
fn entry(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            mapping(value, depth + 1, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                indent(depth, out);
                // JSON is YAML: nested structures in lists (owner references) are rare, and correct this way.
                let item = item.as_str().map_or_else(|| item.to_string(), plain_or_quoted);
                out.extend(["- ", &item, "\n"]);
            }
        }
        Value::String(text) => {
            out.push(' ');
            out.push_str(&string(text, depth + 1));
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        other => out.extend([" ", &other.to_string(), "\n"]),
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Formats a string in the most readable way that reads back as the same string.
fn string(text: &str, depth: usize) -> String {
    // In a block nothing can be escaped.
    if text.contains('\n')
        && !text.contains(|c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
        && let Some(block) = block(text, depth)
    {
        return block;
    }
    plain_or_quoted(text)
}

/// Formats a text as a `|` block; `None` if a block cannot hold it.
fn block(text: &str, depth: usize) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let chomp = match text.len().saturating_sub(body.len()) {
        0 => "-",
        1 => "",
        _ => "+",
    };
    // A block that begins with a space must declare its indentation.
    let hint = if body.starts_with([' ', '\n']) { "2" } else { "" };
    let lines = |depth: usize| {
        let mut out = format!("|{hint}{chomp}\n");
        for line in text.split_terminator('\n') {
            if !line.is_empty() {
                indent(depth, &mut out);
                out.push_str(line);
            }
            out.push('\n');
        }
        out
    };
    let read_back = yaml::parse(&format!("k: {}", lines(1))).ok()??;
    let (_, value) = read_back.as_mapping()?.first()?;
    (value.as_scalar() == Some(text)).then(|| lines(depth))
}

/// Formats a string on one line. JSON's quotes are YAML's, except for characters that only YAML's parser
/// rejects.
fn plain_or_quoted(text: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ',');
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let word = text.split(['-', '_', '.', '/', ',']).next().unwrap_or(text).to_ascii_lowercase();
    let reserved =
        matches!(word.as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null");
    if starts && !reserved && text.chars().all(simple) {
        return text.to_string();
    }
    // A byte order mark would be read as layout, and noncharacters would be rejected.
    let is_escaped = |c| is_obeyed(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    go_json::escaped_json(&Value::from(text).to_string(), is_escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::input::value::to_json;
    use go_compat::yaml::parse;
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
                        binaryData:\n  x.gz: \"aGk=\"\ndata:\n  new: \"2\"\n";
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
