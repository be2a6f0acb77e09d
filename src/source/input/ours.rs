//! Decides which documents messages may quote: queuewarden's objects, and the configuration of `YuniKorn`.
//!
//! Other files may hold credentials, and the output of a check is often public. So nothing of them is shown
//! but the location, the code, and the words of the message.

use serde_json::{Map, Value};

use super::NOT_AN_OBJECT;
use super::wrapped::VALUES;
use go_compat::diag::Diagnostic;
use queuewarden_api::GROUP;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// The key of the queue tree, unless a policy group is set.
const QUEUES: &str = "queues.yaml";
/// Prefix of the keys of the admission controller.
const SETTINGS: &str = "admissionController.";
/// The kinds that no other program has.
const OUR_OWN: [ResourceKind; 3] =
    [ResourceKind::QueueAcl, ResourceKind::YuniKornConfig, ResourceKind::QueueAccessTest];

/// Returns whether messages may quote an object: one of queuewarden's, or a ConfigMap with a name that
/// `YuniKorn` reads or with a queue tree, which may be the base under another name.
pub fn is_ours(value: &Value) -> bool {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match (text("/apiVersion"), text("/kind")) {
        ("v1", "ConfigMap") => {
            let mut data = value.get("data").and_then(Value::as_object).into_iter().flatten();
            is_read(text("/metadata/name"))
                || data.any(|(key, value)| {
                    key.strip_suffix(".yaml").is_some() && value.as_str().is_some_and(has_queues)
                })
        }
        (version, _) => version.split_once('/').is_some_and(|(group, _)| group == GROUP),
    }
}

/// Returns whether a file of a folder may hold anything of queuewarden's or `YuniKorn`'s. Any other file need
/// not be parsed.
pub fn mentions(text: &str) -> bool {
    let kinds = ResourceKind::ALL.map(ResourceKind::name);
    let words = [GROUP, "yunikorn", "partitions", "queues.yaml", SETTINGS, "patches"];
    words.iter().chain(&kinds).any(|word| text.contains(word))
}

/// Returns whether a document that cannot be read must be an error: its lines have a kind of ours, the name
/// of a ConfigMap that `YuniKorn` reads, or a wrapper of one.
pub fn claims(text: &str) -> bool {
    let kinds = OUR_OWN.map(ResourceKind::name);
    let values = VALUES.map(|(key, _)| key);
    let is_claim = |line: &str| {
        let words: Vec<&str> =
            line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/'))).collect();
        let has = |word: &str| words.contains(&word);
        let of_group = words.iter().any(|word| word.split_once('/').is_some_and(|(group, _)| group == GROUP));
        (has("apiVersion") && of_group)
            || (has("kind") && kinds.iter().any(|kind| has(kind)))
            || (has("name") && words.iter().any(|word| is_read(word)))
            || values.iter().any(|value| has(value))
    };
    has_queues(text) && text.contains("queues") || text.lines().any(is_claim)
}

/// Returns whether a ConfigMap of any name may hold a queue tree, plain or packed.
pub fn may_hold(value: &Value) -> bool {
    let mut keys = ["data", "binaryData"].into_iter().filter_map(|field| value.get(field)?.as_object());
    is_ours(value) || keys.any(|data| data.keys().any(|key| key.contains(".yaml")))
}

/// Returns whether a ConfigMap holds a queue tree, plain or packed.
pub fn holds_tree(value: &Value) -> bool {
    let texts = value.get("data").and_then(Value::as_object).into_iter().flatten();
    let packed = value.get("binaryData").and_then(Value::as_object).into_iter().flatten();
    texts.filter_map(|(_, text)| text.as_str()).any(is_tree)
        || packed.into_iter().any(|(key, _)| key.contains(".yaml"))
}

/// Returns whether an incomplete object is meant to be one of ours.
pub fn is_meant(value: &Value) -> bool {
    let word = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    word("apiVersion").split_once('/').is_some_and(|(group, _)| group == GROUP)
        || OUR_OWN.iter().any(|kind| kind.name() == word("kind"))
}

/// Returns whether a mapping is the data of a ConfigMap of `YuniKorn`: a key holds a queue tree, or the root
/// of a document has a key of the admission controller.
pub fn is_data(map: &Map<String, Value>, is_root: bool) -> bool {
    map.iter().any(|(key, value)| match value {
        Value::String(text) => {
            key == QUEUES
                || key.strip_suffix(".yaml").is_some() && is_tree(text)
                || is_root && key.starts_with(SETTINGS)
        }
        Value::Object(fields) => key == QUEUES && fields.contains_key("partitions"),
        _ => false,
    })
}

/// Returns whether a text looks like a queues.yaml.
pub fn is_tree(text: &str) -> bool {
    has_queues(text) && text.contains("queues")
}

/// Returns whether messages may quote a document that cannot be read, by its lines.
pub fn looks_like_ours(text: &str) -> bool {
    let fields = |name: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).collect()
    };
    let is_of_group = |version: &&str| version.split_once('/').is_some_and(|(group, _)| group == GROUP);
    let (versions, kinds) = (fields("apiVersion"), fields("kind"));
    if versions.is_empty() {
        // JSON begins like this when kubectl or a program that sorts fields writes it.
        let rest = ["{", "\"apiVersion\"", ":", "\""]
            .iter()
            .try_fold(text, |text, word| text.trim_start().strip_prefix(word));
        return rest.is_some_and(|rest| is_of_group(&rest)) || (kinds.is_empty() && has_queues(text));
    }
    // Two documents without a marker between them are one: both must be ours.
    versions.iter().all(is_of_group)
        || (versions == ["v1"]
            && kinds == ["ConfigMap"]
            && text.lines().any(|line| {
                line.trim().strip_prefix("name:").is_some_and(|name| is_read(name.trim()))
                    || line.trim() == "partitions:"
            }))
}

/// Returns whether a text has the field that every queues.yaml has.
pub fn has_queues(text: &str) -> bool {
    text.lines().any(|line| {
        line.starts_with("partitions:") || line.trim_start_matches(['{', ' ']).starts_with("\"partitions\"")
    })
}

/// Returns whether `YuniKorn` reads a ConfigMap of this name.
pub fn is_read(name: &str) -> bool {
    [YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS].contains(&name)
}

/// Removes what messages have in backticks, which may be values of the document.
pub fn without_values(diagnostic: Diagnostic) -> Diagnostic {
    // These words are the same for every document.
    if diagnostic.code == NOT_AN_OBJECT {
        return diagnostic;
    }
    let message = without(&diagnostic.message);
    let help = diagnostic.help.as_deref().map(without);
    Diagnostic { message, help, replacement: None, ..diagnostic }
}

/// Replaces everything from the first backtick to the last, because a value may have backticks, too. One
/// character shows nothing: `[` is never closed.
fn without(text: &str) -> String {
    match (text.find('`'), text.rfind('`')) {
        (Some(first), Some(last)) if last.saturating_sub(first) > 2 => {
            let (before, behind) = (text.get(..first), text.get(last.saturating_add(1)..));
            format!("{}`…`{}", before.unwrap_or_default(), behind.unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use go_compat::yaml::DUPLICATE_KEY;
    use serde_json::json;

    #[test]
    fn only_our_kinds_and_the_configuration_are_ours() {
        let map = |name: &str, text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a.yaml": text}});
        let ours = [
            json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl"}),
            json!({"apiVersion": "queuewarden.dev/v2", "kind": "X"}),
            map("yunikorn-configs", ""),
            map("base", "# x\npartitions:\n"),
        ];
        let others = [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "yunikorn-configs"}}),
            json!({"apiVersion": "queuewarden.development/v1", "kind": "X"}),
            map("base", "password: x"),
            json!({"auths": {}}),
            json!([]),
        ];
        assert!(ours.iter().all(is_ours) && !others.iter().any(is_ours));
    }

    #[test]
    fn what_cannot_be_read_is_ours_by_its_lines() {
        for text in [
            "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nspec: [",
            "# x\nkind: QueueAcl\napiVersion: queuewarden.dev/v1alpha1\n\tx",
            "{\"apiVersion\": \"queuewarden.dev/v1alpha1\", \"kind\"",
            " {\n  \"apiVersion\" : \"queuewarden.dev/v1alpha1\"",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yunikorn-configs\ndata: [",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  queues.yaml: |\n    partitions:\n\tx",
            "partitions:\n\t- x",
        ] {
            assert!(looks_like_ours(text), "{text:?}");
        }
        for text in [
            "password: [",
            "apiVersion: v1\nkind: Secret\ndata: [",
            "apiVersion: v1\nkind: Secret\nstringData:\n  a: |\n    apiVersion: queuewarden.dev/v1alpha1\nb: [",
            "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\napiVersion: v1\nkind: Secret\ndata: [",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: yunikorn-configs\ndata: [",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata: [",
            "kind: List\nitems:\n- apiVersion: queuewarden.dev/v1alpha1\n- [",
            "{\"auths\": {\"apiVersion\": \"queuewarden.dev/\"",
            "",
        ] {
            assert!(!looks_like_ours(text), "{text:?}");
        }
    }

    #[test]
    fn values_are_left_out() {
        let found = Diagnostic::error(DUPLICATE_KEY, "`pass`word` appears twice").help("write `pass`");
        let left = without_values(found);
        assert_eq!((left.message.as_str(), left.help.as_deref()), ("`…` appears twice", Some("write `…`")));
        let object = Diagnostic::error(NOT_AN_OBJECT, "it has no `kind`");
        assert_eq!(without_values(object.clone()), object);
    }
}
