//! What yaml.v3 itself answered (`tests/vectors/go-yaml-typed.json`), and the places of what was decoded.

use serde_json::{Map as Json, Value, json};

use super::super::parse::parse;
use super::*;

/// The struct of the vectors: a field of each kind of type.
#[derive(Debug, Default, PartialEq)]
struct Typed {
    name: String,
    acl: Spanned,
    parent: bool,
    maxapps: u64,
    props: Map<String>,
    weights: Map<f64>,
    list: List<String>,
    pointer: Option<bool>,
    children: List<Typed>,
    nested: Option<Box<Typed>>,
    place: Place,
}

impl Record for Typed {
    const GO_TYPE: &'static str = "main.T";
    const FIELDS: &'static [&'static str] =
        &["name", "acl", "parent", "maxapps", "props", "w", "l", "p", "q", "s"];

    fn field(&mut self, name: &str) -> Option<&mut dyn Decode> {
        Some(match name {
            "name" => &mut self.name,
            "acl" => &mut self.acl,
            "parent" => &mut self.parent,
            "maxapps" => &mut self.maxapps,
            "props" => &mut self.props,
            "w" => &mut self.weights,
            "l" => &mut self.list,
            "p" => &mut self.pointer,
            "q" => &mut self.children,
            "s" => &mut self.nested,
            _ => return None,
        })
    }

    fn placed(&mut self, place: Place) {
        self.place = place;
    }
}

impl Typed {
    /// As Go's `encoding/json` writes it, every field `omitempty`.
    fn json(&self) -> Value {
        let mut fields = Json::new();
        let mut put = |name: &str, value: Value, zero: bool| {
            if !zero {
                fields.insert(name.to_owned(), value);
            }
        };
        put("name", json!(self.name), self.name.is_empty());
        put("acl", json!(self.acl.value), self.acl.is_empty());
        put("parent", json!(self.parent), !self.parent);
        put("maxapps", json!(self.maxapps), self.maxapps == 0);
        put("props", json!(self.props), self.props.iter().flatten().count() == 0);
        put("w", json!(self.weights), self.weights.iter().flatten().count() == 0);
        put("l", json!(self.list), items(&self.list).is_empty());
        put("p", json!(self.pointer), self.pointer.is_none());
        let children: Vec<_> = items(&self.children).iter().map(Self::json).collect();
        put("q", json!(children), children.is_empty());
        put("s", json!(self.nested.as_ref().map(|nested| nested.json())), self.nested.is_none());
        Value::Object(fields)
    }

    fn has_infinite(&self) -> bool {
        self.weights.iter().flatten().any(|(_, weight)| !weight.is_finite())
    }
}

fn typed(text: &str) -> Result<Typed, String> {
    let document = parse(text).map_err(|error| error.message)?;
    decode(document.as_ref()).map_err(|error| error.text)
}

/// Numbers compare by value: Go writes large floats without an exponent.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

#[test]
fn decodes_as_go_does() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../../tests/vectors/go-yaml-typed.json")).unwrap();
    let rows = vectors["rows"].as_array().unwrap();
    assert!(rows.len() > 2000, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let text = row["yaml"].as_str().unwrap();
        let agrees = match typed(text) {
            Ok(value) if row["infinite"] == true => value.has_infinite(),
            Ok(value) => row["error"].is_null() && same(&value.json(), &row["value"]),
            Err(error) => row["error"] == error,
        };
        if !agrees {
            wrong.push(format!("{row} but here {:?}", typed(text).map(|value| value.json().to_string())));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn places_lead_to_what_was_decoded() {
    let text = "s:\n  name: a\n  q: [~, {acl: 'x y'}]\n";
    let value = typed(text).unwrap();
    let child = &items(&value.nested.as_ref().unwrap().children)[0];
    let key = |name: &str| Step::Key(name.to_owned());
    assert_eq!(child.place.path.steps(), [key("s"), key("q"), Step::Index(1)]);
    assert_eq!(text.get(child.place.span.start..child.place.span.end), Some("{acl: 'x y'}"));
    let acl = child.acl.span.unwrap();
    assert_eq!((text.get(acl.start..acl.end), child.acl.style), (Some("'x y'"), Some(Style::SingleQuoted)));
    assert!(!child.place.shared && !child.acl.shared);
}

#[test]
fn what_anchors_aliases_and_merges_touch_is_shared() {
    let value =
        typed("q:\n  - &m {name: m, acl: x}\n  - *m\n  - {<<: *m, name: n}\n  - {acl: &s y}\n  - {acl: z}\n")
            .unwrap();
    let shared: Vec<_> =
        items(&value.children).iter().map(|child| (child.place.shared, child.acl.shared)).collect();
    assert_eq!(shared, [(true, true), (true, true), (false, true), (false, true), (false, false)]);
    let merged = &items(&value.children)[2];
    assert_eq!((merged.name.as_str(), merged.acl.as_str()), ("n", "x"));
    assert_eq!(merged.place.path.steps(), [Step::Key("q".to_owned()), Step::Index(2)]);
}

#[test]
fn an_unknown_field_says_what_to_write() {
    let document = parse("q: [{}, {Name: x}]\n").unwrap();
    let error = decode::<Typed>(document.as_ref()).unwrap_err();
    let [diagnostic] = error.diagnostics.as_slice() else { panic!("{error:?}") };
    assert_eq!(diagnostic.help.as_deref(), Some("write `name`: YuniKorn's keys are all lower case"));
    assert_eq!(diagnostic.span, Some(Span::new(9, 13)));
}
