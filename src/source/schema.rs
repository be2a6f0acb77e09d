//! Checks objects of ours against the schema that the API server enforces, with the location of every
//! mistake.
//!
//! The schema is the generated one (`api::crds`), so nothing is written twice. Its CEL rules are not
//! evaluated here: the conversion (`api::convert`) and `model` check the same with better messages.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Map, Value};

use crate::output::findings::MAX_FINDINGS;
use crate::output::format::visible;
use crate::source::input::object::{Kind, Object, token};
use go_compat::diag::{Code, Diagnostic, Replacement, cut, quoted};
use queuewarden_plan::ResourceKind;
use yunikorn::queue::nearest;

/// The kind has no such field.
pub const UNKNOWN_FIELD: Code = Code::new(6101, "unknown-field");
/// A field that must be there is not.
pub const MISSING_FIELD: Code = Code::new(6102, "missing-field");
/// A value of another type than the field has.
pub const WRONG_TYPE: Code = Code::new(6103, "wrong-type");
/// A value of the right type that the field does not take.
pub const BAD_VALUE: Code = Code::new(6104, "bad-value");

/// All codes of this module.
pub const CODES: &[Code] = &[UNKNOWN_FIELD, MISSING_FIELD, WRONG_TYPE, BAD_VALUE];

/// Fields that are known and not checked: the API server checks the first three, and manifests do not set
/// the last.
const UNCHECKED: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// Characters of the name of a field that messages show.
const MAX_FIELD: usize = 80;

/// Returns the findings of the kind's schema about `object`, up to just above the limit for a file.
pub fn check(object: &Object) -> Vec<Diagnostic> {
    let Some((_, schema)) = SCHEMAS.iter().find(|(kind, _)| *kind == object.kind) else {
        return Vec::new();
    };
    let mut check = SchemaCheck { object, found: Vec::new() };
    check.value(schema, &Path::default(), &object.document.value);
    check.found
}

/// Schema of each kind, cached because building them costs more than using them.
static SCHEMAS: LazyLock<Vec<(Kind, JSONSchemaProps)>> = LazyLock::new(|| {
    ResourceKind::ALL.into_iter().filter_map(|kind| Some((kind.into(), schema(kind.name())?))).collect()
});

fn schema(kind: &str) -> Option<JSONSchemaProps> {
    let crd = queuewarden_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let version = crd.spec.versions.into_iter().find(|version| version.name == queuewarden_api::VERSION)?;
    let mut schema = version.schema?.open_api_v3_schema?;
    let unchecked = UNCHECKED.map(|name| (name.to_owned(), JSONSchemaProps::default()));
    schema.properties.get_or_insert_default().extend(unchecked);
    Some(schema)
}

/// The location of a value: its JSON pointer, and the same as people write it, `spec.submit.users[0]`.
#[derive(Default)]
struct Path {
    pointer: String,
    name: String,
}

impl Path {
    fn field(&self, field: &str) -> Self {
        let dot = if self.name.is_empty() { "" } else { "." };
        let pointer = format!("{}/{}", self.pointer, token(field));
        Self { pointer, name: format!("{}{dot}{}", self.name, cut(&visible(field), MAX_FIELD)) }
    }

    fn item(&self, index: usize) -> Self {
        Self { pointer: format!("{}/{index}", self.pointer), name: format!("{}[{index}]", self.name) }
    }
}

/// The check of one object with its findings.
struct SchemaCheck<'a> {
    object: &'a Object,
    found: Vec<Diagnostic>,
}

impl SchemaCheck<'_> {
    fn report(&mut self, path: &Path, finding: Diagnostic) {
        self.found.push(finding.at(self.object.document.span(&path.pointer)));
    }

    fn bad_value(&mut self, path: &Path, message: String) {
        self.report(path, Diagnostic::error(BAD_VALUE, message));
    }

    fn is_full(&self) -> bool {
        self.found.len() > MAX_FINDINGS
    }

    fn value(&mut self, schema: &JSONSchemaProps, path: &Path, value: &Value) {
        if self.is_full() {
            return;
        }
        if let Some(wanted) = &schema.type_
            && !is_of_type(value, wanted)
        {
            return self.wrong_type(path, wanted, value);
        }
        match value {
            Value::Object(fields) => self.object(schema, path, fields),
            Value::Array(items) => self.array(schema, path, items),
            Value::String(text) => self.string(schema, path, text),
            Value::Number(number) => self.number(schema, path, number.as_f64()),
            Value::Null | Value::Bool(_) => {}
        }
        self.choice(schema, path, value);
    }

    fn wrong_type(&mut self, path: &Path, wanted: &str, value: &Value) {
        let message = format!("`{}` must be {}, this is {}", path.name, article(wanted), describe(value));
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let finding = Diagnostic::error(WRONG_TYPE, message);
        let finding = match (wanted, value) {
            ("string", Value::Number(_) | Value::Bool(_)) => finding
                .help("put it in quotes")
                .replace(Replacement::new(value.to_string(), format!("\"{value}\""))),
            ("array", Value::String(text)) => finding
                .help("write it as a list: `[...]`")
                .replace(is_name(text).then(|| Replacement::new(text, format!("[{text}]")))),
            ("boolean", Value::String(text)) => {
                let is_boolean = text == "true" || text == "false";
                finding
                    .help("write `true` or `false` without quotes")
                    .replace(is_boolean.then(|| Replacement::new(value.to_string(), text)))
            }
            _ => finding,
        };
        self.report(path, finding);
    }

    fn object(&mut self, schema: &JSONSchemaProps, path: &Path, fields: &Map<String, Value>) {
        let document = &self.object.document;
        let missing =
            schema.required.iter().flatten().filter(|name| fields.get(*name).is_none_or(Value::is_null));
        let missing = missing.map(|name| {
            let parent =
                if path.name.is_empty() { "the object".to_owned() } else { format!("`{}`", path.name) };
            let message = format!("{parent} has no field `{name}`, which it needs");
            Diagnostic::error(MISSING_FIELD, message).at(document.span_of_key(&path.pointer))
        });
        self.found.extend(missing);
        for (name, value) in fields {
            let known = schema.properties.as_ref().and_then(|properties| properties.get(name));
            match (known, &schema.additional_properties) {
                // The API server removes a field that is null, except from lists.
                _ if value.is_null() && known.is_some() => {}
                (Some(known), _) => self.value(known, &path.field(name), value),
                (None, Some(JSONSchemaPropsOrBool::Schema(rest))) => {
                    self.value(rest, &path.field(name), value);
                }
                // It is one of those that are not checked.
                (None, _) if schema.type_.is_none() => {}
                (None, _) => self.unknown(schema, path, name),
            }
        }
    }

    fn unknown(&mut self, schema: &JSONSchemaProps, path: &Path, name: &str) {
        if self.is_full() {
            return;
        }
        let known: Vec<&str> = schema.properties.iter().flatten().map(|(name, _)| name.as_str()).collect();
        let parent = if path.name.is_empty() { self.object.kind.name() } else { &path.name };
        let message = format!("`{parent}` has no field {}", quoted(name));
        let at = self.object.document.span_of_key(&path.field(name).pointer);
        let help = nearest_or_all(&known, name, "its fields are");
        let same = known.iter().find_map(|known| Replacement::in_case(name, known));
        self.found.push(Diagnostic::error(UNKNOWN_FIELD, message).at(at).help(help).replace(same));
    }

    fn array(&mut self, schema: &JSONSchemaProps, path: &Path, items: &[Value]) {
        self.size(path, items.len(), "items", schema.min_items, schema.max_items);
        let set = schema.x_kubernetes_list_type.as_deref() == Some("set");
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let path = path.item(index);
            if let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items {
                self.value(schema, &path, item);
            }
            if set && !seen.insert(item.to_string()) {
                let message = format!("{item} appears twice in this list");
                self.report(&path, Diagnostic::error(BAD_VALUE, message).help("remove one of them"));
            }
        }
    }

    fn size(&mut self, path: &Path, size: usize, unit: &str, least: Option<i64>, most: Option<i64>) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let has = format!("`{}` has {size} {unit}", path.name);
        if let Some(most) = most.filter(|most| size > *most) {
            self.bad_value(path, format!("{has}, more than the {most} that are allowed"));
        }
        if let Some(least) = least.filter(|least| size < *least) {
            self.bad_value(path, format!("{has}, it needs at least {least}"));
        }
    }

    fn string(&mut self, schema: &JSONSchemaProps, path: &Path, text: &str) {
        let name = &path.name;
        if text.is_empty() && schema.min_length > Some(0) {
            self.bad_value(path, format!("`{name}` must not be empty"));
        } else {
            // The API server counts characters.
            self.size(path, text.chars().count(), "characters", schema.min_length, schema.max_length);
        }
        if schema.format.as_deref() == Some("date-time") && text.parse::<jiff::Timestamp>().is_err() {
            let message = format!("`{name}` must be a time, but {} is not one", quoted(text));
            let help = "write it like `2026-12-01T00:00:00Z`";
            self.report(path, Diagnostic::error(BAD_VALUE, message).help(help));
        }
    }

    fn number(&mut self, schema: &JSONSchemaProps, path: &Path, number: Option<f64>) {
        let Some(number) = number else { return };
        let low = schema.minimum.is_some_and(|least| number < least);
        let high = schema.maximum.is_some_and(|most| number > most);
        if low || high {
            self.bad_value(path, format!("`{}` does not take {number}", path.name));
        }
    }

    fn choice(&mut self, schema: &JSONSchemaProps, path: &Path, value: &Value) {
        let Some(choices) = &schema.enum_ else { return };
        if choices.iter().any(|choice| choice.0 == *value) {
            return;
        }
        let texts: Vec<&str> = choices.iter().filter_map(|choice| choice.0.as_str()).collect();
        let written = value.as_str().unwrap_or_default();
        let help = nearest_or_all(&texts, written, "write one of");
        let same = texts.iter().find_map(|text| Replacement::in_case(written, text));
        let message = format!("`{}` does not take {value}", path.name);
        self.report(path, Diagnostic::error(BAD_VALUE, message).help(help).replace(same));
    }
}

/// Returns the likely intended name, or `words` followed by all names.
fn nearest_or_all(known: &[&str], name: &str, words: &str) -> String {
    match nearest(known.iter().copied(), name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{words} `{}`", known.join("`, `")),
    }
}

fn is_of_type(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        _ => true,
    }
}

fn article(wanted: &str) -> String {
    match wanted {
        "object" => "a mapping".to_owned(),
        "array" => "a list".to_owned(),
        "integer" => "a whole number".to_owned(),
        other => format!("a {other}"),
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".to_owned(),
        Value::Bool(truth) => format!("the boolean `{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::text::Source;
    use crate::source::input::Inputs;

    /// Returns the code, the text of the span, and the help of each finding.
    fn found(spec: &str) -> Vec<(u16, String, String)> {
        let text =
            format!("apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: a}}\n{spec}");
        let inputs = Inputs::new(vec![Source::new("x", text.clone())]);
        let object = inputs.objects.first().unwrap();
        let shown = |d: &Diagnostic| {
            d.span.map(|span| text.get(span.start..span.end).unwrap().to_string()).unwrap_or_default()
        };
        check(object).iter().map(|d| (d.code.number, shown(d), d.help.clone().unwrap_or_default())).collect()
    }

    #[test]
    fn a_good_object_passes() {
        let spec = "spec: {queue: root.a, submit: {users: [sue], groups: null}, baseAcl: Extend, notBefore: 2026-12-01T00:00:00Z}\nstatus: {x: 1}\n";
        assert_eq!(found(spec), []);
    }

    #[test]
    fn each_mistake_is_found_where_it_is() {
        let cases = [
            ("spec: {queue: root.a, sumbit: {}}\n", UNKNOWN_FIELD, "sumbit", "did you mean `submit`?"),
            (
                "spec: {queue: root.a, submit: {user: [sue]}}\n",
                UNKNOWN_FIELD,
                "user",
                "did you mean `users`?",
            ),
            ("spek: {}\nspec: {queue: root}\n", UNKNOWN_FIELD, "spek", "did you mean `spec`?"),
            ("spec: {submit: {}}\n", MISSING_FIELD, "spec", ""),
            ("spec: {queue: 5}\n", WRONG_TYPE, "5", "put it in quotes"),
            ("spec: {queue: root, submit: {users: sue}}\n", WRONG_TYPE, "sue", "write it as a list: `[...]`"),
            ("spec: {queue: root, submit: {users: [yes]}}\n", WRONG_TYPE, "yes", "put it in quotes"),
            (
                "spec: {queue: root, submit: {everyone: 'true'}}\n",
                WRONG_TYPE,
                "'true'",
                "write `true` or `false` without quotes",
            ),
            ("spec: {queue: root, submit: {users: [~]}}\n", WRONG_TYPE, "~", ""),
            (
                "spec: {queue: root, submit: {users: [sue, bob, sue]}}\n",
                BAD_VALUE,
                "sue",
                "remove one of them",
            ),
            ("spec: {queue: root, baseAcl: extend}\n", BAD_VALUE, "extend", "did you mean `Extend`?"),
            (
                "spec: {queue: root, expiresAt: tomorrow}\n",
                BAD_VALUE,
                "tomorrow",
                "write it like `2026-12-01T00:00:00Z`",
            ),
            ("spec: {queue: root, partition: ''}\n", BAD_VALUE, "''", ""),
        ];
        for (spec, code, place, help) in cases {
            assert_eq!(found(spec), [(code.number, place.to_string(), help.to_string())], "{spec}");
        }
    }

    #[test]
    fn every_kind_has_a_schema() {
        for kind in ResourceKind::ALL {
            assert!(schema(kind.name()).is_some_and(|schema| schema.properties.is_some()), "{kind:?}");
        }
    }
}
