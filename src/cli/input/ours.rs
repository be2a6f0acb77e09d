//! Decides which documents messages may quote: queuewarden's objects, and the configuration of `YuniKorn`.
//!
//! Other files may hold credentials, and the output of a check is often public. So nothing of them is shown
//! but the location, the code, and the words of the message.

use serde_json::Value;

use super::NOT_AN_OBJECT;
use go_compat::diag::Diagnostic;
use queuewarden_api::GROUP;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

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
fn is_read(name: &str) -> bool {
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
    use crate::cli::input::DUPLICATE_KEY;
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
        let found = Diagnostic::error(DUPLICATE_KEY, "`pass`word` stands twice").help("write `pass`");
        let left = without_values(found);
        assert_eq!((left.message.as_str(), left.help.as_deref()), ("`…` stands twice", Some("write `…`")));
        let object = Diagnostic::error(NOT_AN_OBJECT, "it has no `kind`");
        assert_eq!(without_values(object.clone()), object);
    }
}
