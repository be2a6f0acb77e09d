//! Converts a YAML tree to the JSON that kubectl sends for it.
//!
//! kubectl reads manifests with `sigs.k8s.io/yaml` (v1.6.0), which resolves scalars with `go.yaml.in/yaml/v2`
//! (v2.4.2, `resolve.go`). That is YAML 1.1, in which `yes`, `on` and `y` are booleans and `010` is eight,
//! unlike the v3 rules that `YuniKorn` applies to queues.yaml ([`super::decode`]). This module is stricter
//! than kubectl in one point: it rejects a duplicate key instead of overwriting the first value.

use serde_json::{Map, Value};

use super::{DUPLICATE_KEY, Kind, NOT_JSON, Node, Number, Style, boolean, number};
use crate::diag::{Diagnostic, quoted};

/// Returns the JSON value of a tree, or the first reason why JSON cannot represent it.
///
/// # Errors
/// [`DUPLICATE_KEY`] and [`NOT_JSON`].
pub fn to_json(node: &Node) -> Result<Value, Diagnostic> {
    match &node.kind {
        Kind::Scalar { value, style } => scalar(node, value, *style),
        Kind::Sequence(items) => items.iter().map(to_json).collect(),
        Kind::Mapping(pairs) => mapping(pairs).map(Value::Object),
    }
}

/// Returns a key as the name of a JSON field.
///
/// # Errors
/// [`NOT_JSON`] if it is not a string, number or boolean.
pub fn key(node: &Node) -> Result<String, Diagnostic> {
    let value = match &node.kind {
        Kind::Scalar { value, style } => scalar(node, value, *style)?,
        _ => Value::Null,
    };
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        _ => {
            let message = "a field name must be a string";
            Err(Diagnostic::error(NOT_JSON, message).at(node.span).help("put it in quotes"))
        }
    }
}

fn mapping(pairs: &[(Node, Node)]) -> Result<Map<String, Value>, Diagnostic> {
    let mut map = Map::new();
    let mut written = std::collections::BTreeSet::new();
    for (name, node) in pairs {
        if name.is_merge() {
            merge(node, &mut map)?;
            continue;
        }
        let name_text = key(name)?;
        let value = to_json(node)?;
        if !written.insert(name_text.clone()) {
            let message = format!("{} appears twice in this mapping", quoted(&name_text));
            let help = "remove one of them; YAML libraries disagree about which one to use";
            return Err(Diagnostic::error(DUPLICATE_KEY, message).at(name.span).help(help));
        }
        map.insert(name_text, value);
    }
    Ok(map)
}

/// Merges `<<: *map` and `<<: [*map, *other]`; in a list the earlier mapping wins (v2 `decode.go`, `merge`).
fn merge(node: &Node, into: &mut Map<String, Value>) -> Result<(), Diagnostic> {
    let merged = node.as_sequence().unwrap_or(std::slice::from_ref(node));
    for node in merged.iter().rev() {
        let Some(pairs) = node.as_mapping() else {
            return Err(Diagnostic::error(NOT_JSON, "only mappings can be merged with `<<`").at(node.span));
        };
        into.extend(mapping(pairs)?);
    }
    Ok(())
}

fn scalar(node: &Node, text: &str, style: Style) -> Result<Value, Diagnostic> {
    if style != Style::Plain {
        return Ok(Value::String(text.to_string()));
    }
    resolve(text).ok_or_else(|| {
        let message = format!("JSON cannot represent the number {}", quoted(text));
        Diagnostic::error(NOT_JSON, message).at(node.span).help("put it in quotes if it is meant as text")
    })
}

/// Resolves the value of a plain scalar (v2 `resolve.go:85`). Returns `None` for a number that JSON cannot
/// express.
fn resolve(text: &str) -> Option<Value> {
    if let "" | "~" | "null" | "Null" | "NULL" = text {
        return Some(Value::Null);
    }
    if let Some(truth) = boolean(text, true) {
        return Some(Value::Bool(truth));
    }
    match number(text) {
        Some(Number::Integer(integer)) => serde_json::Number::from_i128(integer).map(Value::Number),
        Some(Number::Float(float)) => serde_json::Number::from_f64(float).map(Value::Number),
        None => Some(Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, Diagnostic> {
        to_json(&parse(text).unwrap().unwrap())
    }

    #[test]
    fn scalars_equal_kubectls() {
        // Checked with sigs.k8s.io/yaml v1.6.0.
        let cases = [
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("y", json!(true)),
            ("'yes'", json!("yes")),
            ("~", json!(null)),
            ("010", json!(8)),
            ("08", json!(8.0)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("1e3", json!(1000.0)),
            ("-0b11", json!(-3)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            (".5", json!(0.5)),
            ("1.2.3", json!("1.2.3")),
            ("+", json!("+")),
            ("-", json!([null])),
            ("2026-12-01T00:00:00Z", json!("2026-12-01T00:00:00Z")),
            ("\"*\"", json!("*")),
            ("1e999", json!("1e999")),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn keys_become_strings() {
        assert_eq!(read("{1: a, true: b, c: d}"), Ok(json!({"1": "a", "true": "b", "c": "d"})));
        assert_eq!(read("{~: a}").unwrap_err().code, NOT_JSON);
    }

    #[test]
    fn own_keys_override_merged_ones() {
        let text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {x: 9, z: 8}]}\n";
        let expected = json!({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2, "z": 8}});
        let text = text.replace("y: 2", "'y': 2").replace("y: 3", "'y': 3");
        assert_eq!(read(&text), Ok(expected));
        assert_eq!(read("<<: 1").unwrap_err().code, NOT_JSON);
    }

    #[test]
    fn duplicate_key_is_refused_at_its_second_occurrence() {
        let error = read("a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!((error.code, error.span.map(|span| span.start)), (DUPLICATE_KEY, Some(10)));
    }

    #[test]
    fn value_without_json_equivalent_is_refused() {
        for text in [".inf", "[.NaN]"] {
            assert_eq!(read(text).unwrap_err().code, NOT_JSON, "{text:?}");
        }
    }
}
