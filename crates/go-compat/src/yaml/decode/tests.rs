//! Decoded values compared with Go's (`tests/vectors/go-yaml-typed.json`), errors, and locations.

use serde_json::{Map as Object, Value, json};

use super::{Decode, List, Location, Map, Record, Spanned, decode, items};
use crate::diag::Diagnostic;
use crate::yaml::edit::Step;
use crate::yaml::{DECODE, UNSURE, parse_in};

/// The type `T` of the oracle, which has a field of each type used in `YuniKorn`'s configuration.
#[derive(Debug, Default)]
struct T {
    location: Location,
    name: String,
    acl: Spanned,
    parent: bool,
    maxapps: u64,
    props: Map<String>,
    w: Map<f64>,
    l: List<String>,
    p: Option<bool>,
    q: List<T>,
    s: Option<Box<T>>,
}

impl Record for T {
    const NAME: &'static str = "a thing";
    const FIELDS: &'static [&'static str] =
        &["name", "acl", "parent", "maxapps", "props", "w", "l", "p", "q", "s"];

    fn field(&mut self, name: &str) -> Option<&mut dyn Decode> {
        Some(match name {
            "name" => &mut self.name,
            "acl" => &mut self.acl,
            "parent" => &mut self.parent,
            "maxapps" => &mut self.maxapps,
            "props" => &mut self.props,
            "w" => &mut self.w,
            "l" => &mut self.l,
            "p" => &mut self.p,
            "q" => &mut self.q,
            "s" => &mut self.s,
            _ => return None,
        })
    }

    fn located(&mut self, location: Location) {
        self.location = location;
    }
}

impl T {
    /// Formats the value like the oracle, which omits empty fields.
    fn shown(&self) -> Value {
        let fields = [
            ("name", (!self.name.is_empty()).then(|| json!(self.name))),
            ("acl", (!self.acl.is_empty()).then(|| json!(self.acl.value))),
            ("parent", self.parent.then_some(json!(true))),
            ("maxapps", (self.maxapps != 0).then(|| json!(self.maxapps))),
            ("props", self.props.as_ref().filter(|map| !map.is_empty()).map(|map| json!(map))),
            ("w", self.w.as_ref().filter(|map| !map.is_empty()).map(|map| json!(map))),
            ("l", self.l.as_ref().filter(|list| !list.is_empty()).map(|list| json!(list))),
            ("p", self.p.map(|truth| json!(truth))),
            (
                "q",
                self.q
                    .as_ref()
                    .filter(|list| !list.is_empty())
                    .map(|list| list.iter().map(T::shown).collect()),
            ),
            ("s", self.s.as_ref().map(|thing| thing.shown())),
        ];
        let set = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(set.collect::<Object<_, _>>())
    }
}

fn decoded(text: &str) -> Result<T, Vec<Diagnostic>> {
    decode(parse_in(text).map_err(|problem| vec![problem])?.as_ref())
}

/// Compares numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let equal =
                |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

#[test]
fn decodes_like_go_or_refuses() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../../../tests/vectors/go-yaml-typed.json")).unwrap();
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        match decoded(text) {
            Ok(_) if row["infinite"] == true => {}
            Ok(thing) => assert!(same(&thing.shown(), &row["value"]), "{text:?}: {thing:?}"),
            Err(problems) => {
                let unsure = problems.iter().any(|problem| problem.code == UNSURE);
                assert!(row["error"] == true || unsure, "{text:?}: {problems:?}");
            }
        }
    }
    assert!(rows.len() > 500);
}

#[test]
fn value_with_platform_dependent_conversion_is_unsure() {
    for text in
        ["maxapps: -0.5", "maxapps: 18446744073709551616", "props: {~: x}", "~: x", "props: {'<<': x}"]
    {
        assert_eq!(decoded(text).unwrap_err()[0].code, UNSURE, "{text}");
    }
}

#[test]
fn error_has_a_span_and_help() {
    for (text, location, message, help) in [
        ("submitACL: x", "submitACL", "a thing has no field `submitACL`", "remove it; the fields are name, "),
        ("Max-Apps: 1", "Max-Apps", "a thing has no field `Max-Apps`", "write `maxapps`"),
        ("nam: x", "nam", "a thing has no field `nam`", "write `name`"),
        ("name: [a]", "[a]", "expected a string, found a list", "write a string, such as `\"a\"`"),
        ("name: [{}]", "[{}]", "expected a string, found a list", "write a string"),
        (
            "parent: 'true'",
            "'true'",
            "expected `true` or `false`, found the string `true`",
            "write `true` or `false`, without quotes",
        ),
        (
            "maxapps: \"5\"",
            "\"5\"",
            "expected a non-negative integer, found the string `5`",
            "write digits, without quotes",
        ),
        ("l: x", "x", "expected a list, found `x`", "write `[a, b]`"),
        ("props: [a]", "[a]", "expected a mapping, found a list", "write it as"),
        ("s: x", "x", "expected a thing, found `x`", "write it as"),
        ("name: a\n'name': b", "'name'", "the key `name` appears twice in this mapping", "remove one"),
        ("props: {a: b, c: d, a: e}", "a", "the key `a` appears twice in this mapping", "remove one"),
        ("<<: x", "x", "expected a mapping to merge, found `x`", "write `<<: *name`"),
    ] {
        let problems = decoded(text).unwrap_err();
        let span = problems[0].span.unwrap();
        assert_eq!((problems.len(), problems[0].code, &*problems[0].message), (1, DECODE, message), "{text}");
        assert_eq!(text.get(span.start..span.end), Some(location), "{text}");
        assert!(problems[0].help.as_ref().unwrap().starts_with(help), "{text}: {problems:?}");
    }
}

#[test]
fn errors_are_bounded_and_in_the_order_of_the_text() {
    let problems = decoded("q: [{nope: 1}]\nname: []\nx: y\n").unwrap_err();
    assert!(problems.len() == 3 && problems.is_sorted_by_key(|problem| problem.span));
    let many = format!("q: [{}]", "{nope: 1},".repeat(1_000));
    assert_eq!(decoded(&many).unwrap_err().len(), 100);
}

#[test]
fn map_with_many_keys_has_each_once() {
    let keys = (0..100).map(|key| format!("  k{key}: v\n")).collect::<Vec<_>>().concat();
    assert_eq!(decoded(&format!("props:\n{keys}")).unwrap().props.unwrap().len(), 100);
    assert_eq!(decoded(&format!("props:\n{keys}  k7: v\n")).unwrap_err()[0].code, DECODE);
}

#[test]
fn locations_lead_to_the_mappings() {
    let thing = decoded("q:\n- name: a\n- &x {acl: b}\ns: {q: [*x], <<: {s: {name: c}}}\n").unwrap();
    assert!(thing.location.path.is_root() && !thing.location.shared);
    let list = items(&thing.q);
    assert_eq!(list[0].location.path.steps(), [Step::Key("q".into()), Step::Index(0)]);
    assert!(!list[0].location.shared && list[1].location.shared);
    let inner = thing.s.unwrap();
    assert_eq!(
        items(&inner.q)[0].location.path.steps(),
        [Step::Key("s".into()), Step::Key("q".into()), Step::Index(0)]
    );
    assert!(items(&inner.q)[0].location.shared && inner.s.unwrap().location.shared && !inner.location.shared);
}
