//! Describes the resources as `OpenAPI` 2 and 3, for `kubectl explain` and for clients that check what they
//! send.
//!
//! Both are made of the types. The API server merges version 2 into one document for the whole cluster, and
//! older clients reject all of it because of one keyword they do not know, so the schemas use only what both
//! versions have: no `nullable`, `anyOf`, `oneOf` or `const`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::queue::{Queue, QueueList};
use super::review::{QueueAccessReview, SelfQueueAccessReview};
use super::{GROUP, ROOT, VERSION};

/// The path of version 3, below `/openapi/v3/`.
pub const PATH: &str = "apis/access.queuewarden.dev/v1alpha1";

/// Keywords of JSON Schema that stay. A field of the same name is in `properties` and is no keyword.
const KEPT: [&str; 9] = [
    "type",
    "format",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "additionalProperties",
    "default",
];

/// The version of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    V2,
    V3,
}

/// An operation on a resource.
struct Operation {
    /// `list`, `get`, `post` or `patch`.
    action: &'static str,
    path: &'static str,
    kind: &'static str,
    about: &'static str,
}

/// Two operations that do not exist are described as well, with 405 as their answer: kubectl reads only from
/// `patch` whether the server checks fields itself
/// (`k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go`). If it does not find a kind there, it lists
/// all CRDs, which most callers may not, and creates nothing.
const NOT_ALLOWED: &str = "405";

const OPERATIONS: [Operation; 6] = [
    Operation {
        action: "list",
        path: "/queues",
        kind: "Queue",
        about: "The queues of a partition with everyone who may.",
    },
    Operation {
        action: "get",
        path: "/queues/{name}",
        kind: "Queue",
        about: "A queue with everyone who may.",
    },
    Operation {
        action: "post",
        path: "/queueaccessreviews",
        kind: "QueueAccessReview",
        about: "May a user submit to a queue, or administer it?",
    },
    Operation {
        action: "post",
        path: "/selfqueueaccessreviews",
        kind: "SelfQueueAccessReview",
        about: "May I submit to a queue, or administer it?",
    },
    Operation {
        action: "patch",
        path: "/queueaccessreviews/{name}",
        kind: "QueueAccessReview",
        about: NOTHING_STORED,
    },
    Operation {
        action: "patch",
        path: "/selfqueueaccessreviews/{name}",
        kind: "SelfQueueAccessReview",
        about: NOTHING_STORED,
    },
];
const NOTHING_STORED: &str = "Not allowed: nothing is stored that could be changed.";

/// `/openapi/v3`; `hash` is that of [`v3`], and changes with it.
pub fn root(hash: &str) -> Value {
    json!({"paths": {PATH: {"serverRelativeURL": format!("/openapi/v3/{PATH}?hash={hash}")}}})
}

/// `/openapi/v3/apis/access.queuewarden.dev/v1alpha1`
pub fn v3() -> Value {
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths(Dialect::V3),
        "components": {"schemas": schemas()},
    })
}

/// `/openapi/v2`
pub fn v2() -> Value {
    json!({"swagger": "2.0", "info": info(), "paths": paths(Dialect::V2), "definitions": schemas()})
}

fn info() -> Value {
    json!({"title": "queuewarden", "version": env!("CARGO_PKG_VERSION")})
}

fn name(kind: &str) -> String {
    format!("dev.queuewarden.access.{VERSION}.{kind}")
}

fn schemas() -> Value {
    let all = [
        ("Queue", schema::<Queue>("Queue")),
        ("QueueList", schema::<QueueList>("QueueList")),
        ("QueueAccessReview", schema::<QueueAccessReview>("QueueAccessReview")),
        ("SelfQueueAccessReview", schema::<SelfQueueAccessReview>("SelfQueueAccessReview")),
    ];
    Value::Object(all.into_iter().map(|(kind, schema)| (name(kind), schema)).collect())
}

fn schema<T: JsonSchema>(kind: &str) -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.clear();
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = tidy(schema.to_value());
    if let Value::Object(fields) = &mut schema {
        let kind = json!([{"group": GROUP, "version": VERSION, "kind": kind}]);
        fields.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    }
    schema
}

/// Rewrites a schema with the keywords that both versions know.
fn tidy(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        // `true` means anything.
        return json!({});
    };
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(cases)) = fields.remove(choice) {
            merge(&mut fields, &cases);
        }
    }
    if let Some(only) = fields.remove("const") {
        fields.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let real = types.iter().find(|name| *name != "null").cloned();
        fields.insert("type".to_owned(), real.unwrap_or_else(|| "object".into()));
    }
    fields.retain(|name, _| KEPT.contains(&name.as_str()));
    for (name, value) in &mut fields {
        match (name.as_str(), &mut *value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| *property = tidy(property.take()));
            }
            ("items", _) => *value = tidy(value.take()),
            ("description", Value::String(text)) => {
                *text = text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
            }
            _ => {}
        }
    }
    Value::Object(fields)
}

/// Merges a choice between something and null into that something, and one between words into a list of
/// words.
fn merge(fields: &mut Map<String, Value>, cases: &[Value]) {
    let is_null = |case: &&Value| case.get("type").is_some_and(|name| name == "null");
    let real: Vec<&Value> = cases.iter().filter(|case| !is_null(case)).collect();
    if let [Value::Object(only)] = real.as_slice() {
        for (name, value) in only {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        return;
    }
    let words = |case: &&Value| -> Vec<Value> {
        let list = case.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
        case.get("const").cloned().into_iter().chain(list).collect()
    };
    let words: Vec<Value> = real.iter().flat_map(words).collect();
    fields.insert("type".to_owned(), "string".into());
    fields.insert("enum".to_owned(), Value::Array(words));
}

fn paths(dialect: Dialect) -> Value {
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let path = format!("{ROOT}{}", operation.path);
        let method = if operation.action == "list" { "get" } else { operation.action };
        paths.insert(path, json!({method: operation.document(dialect)}));
    }
    Value::Object(paths)
}

impl Operation {
    fn document(&self, dialect: Dialect) -> Value {
        let code = match self.action {
            "post" => "201",
            "patch" => NOT_ALLOWED,
            _ => "200",
        };
        let document = json!({
            "operationId": format!("{}QueuewardenAccess{VERSION}{}", self.action, self.answer_kind()),
            "description": self.about,
            "tags": ["queuewardenAccess_v1alpha1"],
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": self.kind},
            "parameters": self.parameters(dialect),
            "responses": {code: self.answer(dialect)},
        });
        let more = match (dialect, self.action) {
            (Dialect::V2, _) => {
                json!({"consumes": ["*/*"], "produces": ["application/json"], "schemes": ["https"]})
            }
            (Dialect::V3, "post") => {
                json!({"requestBody": {"required": true, "content": content(&self.reference(dialect))}})
            }
            (Dialect::V3, _) => json!({}),
        };
        extended(document, more)
    }

    /// Returns the kind of the answer.
    fn answer_kind(&self) -> &'static str {
        if self.action == "list" { "QueueList" } else { self.kind }
    }

    fn answer(&self, dialect: Dialect) -> Value {
        match (self.action, dialect) {
            ("patch", _) => json!({"description": "Method Not Allowed"}),
            (_, Dialect::V2) => json!({"description": "OK", "schema": self.reference(dialect)}),
            (_, Dialect::V3) => json!({"description": "OK", "content": content(&self.reference(dialect))}),
        }
    }

    fn reference(&self, dialect: Dialect) -> Value {
        let home = match dialect {
            Dialect::V2 => "definitions",
            Dialect::V3 => "components/schemas",
        };
        json!({"$ref": format!("#/{home}/{}", name(self.answer_kind()))})
    }

    fn parameters(&self, dialect: Dialect) -> Value {
        let parameter = |name: &str, place: &str, about: &str| {
            let parameter = json!({"name": name, "in": place, "description": about});
            let parameter = match dialect {
                Dialect::V2 => extended(parameter, json!({"type": "string", "uniqueItems": true})),
                Dialect::V3 => extended(parameter, json!({"schema": {"type": "string"}})),
            };
            if place == "path" { extended(parameter, json!({"required": true})) } else { parameter }
        };
        let validation = || {
            let about = "What becomes of unknown fields: Ignore, Warn or Strict.";
            parameter("fieldValidation", "query", about)
        };
        match (self.action, dialect) {
            ("list", _) => {
                let about = "Which queues, by name, partition, parent, leaf or dynamic.";
                json!([parameter("fieldSelector", "query", about)])
            }
            ("get", _) => json!([parameter("name", "path", "The queue's full path.")]),
            ("patch", _) => json!([parameter("name", "path", "The name."), validation()]),
            _ => {
                let dry_run = parameter("dryRun", "query", "Makes no difference: nothing is stored.");
                let body = || json!({"name": "body", "in": "body", "required": true, "schema": self.reference(dialect)});
                let body = (dialect == Dialect::V2).then(body);
                [dry_run, validation()].into_iter().chain(body).collect()
            }
        }
    }
}

/// Returns an object with the fields of another.
fn extended(mut object: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
        fields.extend(more);
    }
    object
}

fn content(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every object in the document with its name.
    fn walk<'a>(name: &str, value: &'a Value, visit: &mut impl FnMut(&str, &'a Map<String, Value>)) {
        match value {
            Value::Object(fields) => {
                visit(name, fields);
                fields.iter().for_each(|(name, value)| walk(name, value, visit));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(name, item, visit)),
            _ => {}
        }
    }

    #[test]
    fn schemas_keep_to_what_old_clients_know() {
        for document in [v2(), v3()] {
            walk("", &document, &mut |name, fields| {
                // A key in `properties` is a name, not a keyword.
                for unknown in ["nullable", "anyOf", "oneOf", "allOf", "const", "$schema", "title", "$defs"] {
                    let title = unknown == "title" && name == "info";
                    assert!(
                        name == "properties" || title || !fields.contains_key(unknown),
                        "{name}: {unknown}"
                    );
                }
                if name != "properties"
                    && let Some(kind) = fields.get("type")
                {
                    assert!(kind.is_string(), "{name}: {kind}");
                }
            });
        }
    }

    #[test]
    fn references_lead_somewhere() {
        for document in [v2(), v3()] {
            let mut found = 0;
            walk("", &document, &mut |_, fields| {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    found += 1;
                    assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
                }
            });
            assert!(found >= 4);
        }
    }

    #[test]
    fn the_fields_of_the_answer_are_described() {
        let review = schema::<SelfQueueAccessReview>("SelfQueueAccessReview");
        for path in [
            "/properties/spec/properties/queue/description",
            "/properties/status/properties/trace/items/properties/nearMisses/items/properties/message",
            "/properties/status/properties/evaluationError/description",
            "/properties/status/properties/remedies/items/properties/kind/enum",
        ] {
            assert!(review.pointer(path).is_some(), "{path}: {review:#}");
        }
        assert_eq!(review.pointer("/properties/spec/required"), Some(&json!(["verb", "queue"])));
        assert!(review.pointer("/properties/status/required").is_none());
        let queue = schema::<Queue>("Queue");
        assert!(
            queue
                .pointer("/properties/status/properties/submit/properties/subjects/items/properties/name")
                .is_some()
        );
    }
}
