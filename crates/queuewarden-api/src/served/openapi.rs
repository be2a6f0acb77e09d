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
    method: &'static str,
    path: &'static str,
    action: &'static str,
    kind: &'static str,
    answer: &'static str,
    about: &'static str,
}

/// Two operations that do not exist are described as well, with 405 as their answer: kubectl reads only from
/// `patch` whether the server checks fields itself
/// (`k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go`). If it does not find a kind there, it lists
/// all CRDs, which most callers may not, and creates nothing.
const NOT_ALLOWED: &str = "405";

const OPERATIONS: [Operation; 6] = [
    Operation {
        method: "get",
        path: "/queues",
        action: "list",
        kind: "Queue",
        answer: "QueueList",
        about: "The queues of a partition with everyone who may.",
    },
    Operation {
        method: "get",
        path: "/queues/{name}",
        action: "get",
        kind: "Queue",
        answer: "Queue",
        about: "A queue with everyone who may.",
    },
    Operation {
        method: "post",
        path: "/queueaccessreviews",
        action: "post",
        kind: "QueueAccessReview",
        answer: "QueueAccessReview",
        about: "May a user submit to a queue, or administer it?",
    },
    Operation {
        method: "post",
        path: "/selfqueueaccessreviews",
        action: "post",
        kind: "SelfQueueAccessReview",
        answer: "SelfQueueAccessReview",
        about: "May I submit to a queue, or administer it?",
    },
    Operation {
        method: "patch",
        path: "/queueaccessreviews/{name}",
        action: "patch",
        kind: "QueueAccessReview",
        answer: "QueueAccessReview",
        about: "Not allowed: nothing is stored that could be changed.",
    },
    Operation {
        method: "patch",
        path: "/selfqueueaccessreviews/{name}",
        action: "patch",
        kind: "SelfQueueAccessReview",
        answer: "SelfQueueAccessReview",
        about: "Not allowed: nothing is stored that could be changed.",
    },
];

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
        paths.insert(path, json!({operation.method: operation.document(dialect)}));
    }
    Value::Object(paths)
}

impl Operation {
    fn document(&self, dialect: Dialect) -> Value {
        let mut document = json!({
            "operationId": format!("{}QueuewardenAccess{}{}", self.action, VERSION, self.answer),
            "description": self.about,
            "tags": ["queuewardenAccess_v1alpha1"],
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": self.kind},
        });
        let code = match self.method {
            "post" => "201",
            "patch" => NOT_ALLOWED,
            _ => "200",
        };
        let more = match dialect {
            Dialect::V2 => json!({
                "consumes": ["*/*"],
                "produces": ["application/json"],
                "schemes": ["https"],
                "parameters": self.parameters(dialect),
                "responses": {code: self.answer(dialect)},
            }),
            Dialect::V3 => json!({
                "parameters": self.parameters(dialect),
                "responses": {code: self.answer(dialect)},
            }),
        };
        if let (Value::Object(document), Value::Object(more)) = (&mut document, more) {
            document.extend(more);
            if self.method == "post" && dialect == Dialect::V3 {
                let body =
                    json!({"required": true, "content": content(&self.reference("components/schemas"))});
                document.insert("requestBody".to_owned(), body);
            }
        }
        document
    }

    fn answer(&self, dialect: Dialect) -> Value {
        match (self.method, dialect) {
            ("patch", _) => json!({"description": "Method Not Allowed"}),
            (_, Dialect::V2) => json!({"description": "OK", "schema": self.reference("definitions")}),
            (_, Dialect::V3) => {
                json!({"description": "OK", "content": content(&self.reference("components/schemas"))})
            }
        }
    }

    fn reference(&self, home: &str) -> Value {
        json!({"$ref": format!("#/{home}/{}", name(self.answer))})
    }

    fn parameters(&self, dialect: Dialect) -> Value {
        let parameter = |name: &str, place: &str, about: &str| {
            let mut parameter = json!({"name": name, "in": place, "description": about});
            let more = match dialect {
                Dialect::V2 => json!({"type": "string", "uniqueItems": true}),
                Dialect::V3 => json!({"schema": {"type": "string"}}),
            };
            if let (Value::Object(parameter), Value::Object(more)) = (&mut parameter, more) {
                parameter.extend(more);
                if place == "path" {
                    parameter.insert("required".to_owned(), true.into());
                }
            }
            parameter
        };
        let mut parameters = match self.action {
            "list" => {
                vec![parameter(
                    "fieldSelector",
                    "query",
                    "Which queues, by name, partition, parent, leaf or dynamic.",
                )]
            }
            "get" => vec![parameter("name", "path", "The queue's full path.")],
            "patch" => vec![
                parameter("name", "path", "The name."),
                parameter(
                    "fieldValidation",
                    "query",
                    "What becomes of unknown fields: Ignore, Warn or Strict.",
                ),
            ],
            _ => vec![
                parameter("dryRun", "query", "Makes no difference: nothing is stored."),
                parameter(
                    "fieldValidation",
                    "query",
                    "What becomes of unknown fields: Ignore, Warn or Strict.",
                ),
            ],
        };
        if self.method == "post" && dialect == Dialect::V2 {
            parameters.push(
                json!({"name": "body", "in": "body", "required": true, "schema": self.reference("definitions")}),
            );
        }
        Value::Array(parameters)
    }
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
