//! Describes the resources as `OpenAPI` 2 and 3, for `kubectl explain` and for clients that validate what
//! they send.
//!
//! Both documents are generated from the types. The API server merges version 2 into one document for the
//! whole cluster, and older clients reject that document if it contains a single keyword they do not know.
//! The schemas therefore use only what both versions support: no `nullable`, `anyOf`, `oneOf` or `const`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::queue::{Queue, QueueList};
use super::review::{QueueAccessReview, SelfQueueAccessReview};
use super::{GROUP, ROOT, VERSION};
use crate::extended;

/// The path of version 3, below `/openapi/v3/`.
pub const PATH: &str = "apis/access.queuewarden.dev/v1alpha1";

/// Keywords of JSON Schema to keep. A field with the same name is in `properties` and is not a keyword.
const RETAINED: [&str; 9] = [
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

/// The operations: action, path, kind and description.
///
/// Two operations that do not exist are described as well, with the response 405. kubectl uses `patch`, and
/// only `patch`, to find out whether the server validates fields
/// (`k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go`). If the kind has no `patch`, kubectl lists
/// all CRDs, which most callers are not allowed to do, and creates nothing.
const OPERATIONS: [(&str, &str, &str, &str); 6] = [
    ("list", "/queues", "Queue", "The queues of a partition with everyone who has access."),
    ("get", "/queues/{name}", "Queue", "A queue with everyone who has access."),
    ("post", "/queueaccessreviews", "QueueAccessReview", "May a user submit to a queue, or administer it?"),
    (
        "post",
        "/selfqueueaccessreviews",
        "SelfQueueAccessReview",
        "May I submit to a queue, or administer it?",
    ),
    ("patch", "/queueaccessreviews/{name}", "QueueAccessReview", NOTHING_STORED),
    ("patch", "/selfqueueaccessreviews/{name}", "SelfQueueAccessReview", NOTHING_STORED),
];
const NOTHING_STORED: &str = "Not allowed: the resource is not stored and cannot be changed.";

/// `/openapi/v3`; `hash` is the hash of [`v3`] and changes with it.
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
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    let kind = json!([{"group": GROUP, "version": VERSION, "kind": kind}]);
    extended(schema, json!({"x-kubernetes-group-version-kind": kind}))
}

/// Removes every keyword that one of the versions does not know.
fn tidy(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        // `true` means anything.
        *schema = json!({});
        return;
    };
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(cases)) = fields.remove(choice) {
            merge(fields, &cases);
        }
    }
    fields.retain(|name, _| RETAINED.contains(&name.as_str()));
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(tidy),
            ("items", items) => tidy(items),
            ("description", Value::String(text)) => {
                *text = text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
            }
            _ => {}
        }
    }
}

/// Replaces a choice between a type and null with that type, and a choice between words with a list of words.
fn merge(fields: &mut Map<String, Value>, cases: &[Value]) {
    let words = |case: &Value| case.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    let real: Vec<&Value> = cases.iter().filter(|case| words(case) != [Value::Null]).collect();
    if let [Value::Object(only)] = real.as_slice() {
        for (name, value) in only {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        return;
    }
    fields.insert("type".to_owned(), "string".into());
    fields.insert("enum".to_owned(), real.into_iter().flat_map(words).collect());
}

fn paths(dialect: Dialect) -> Value {
    let paths = OPERATIONS.map(|(action, path, kind, about)| {
        let method = if action == "list" { "get" } else { action };
        (format!("{ROOT}{path}"), json!({method: operation(dialect, action, kind, about)}))
    });
    Value::Object(paths.into_iter().collect())
}

fn operation(dialect: Dialect, action: &str, kind: &str, about: &str) -> Value {
    let answer = if action == "list" { "QueueList" } else { kind };
    let body = match dialect {
        Dialect::V2 => json!({"schema": {"$ref": format!("#/definitions/{}", name(answer))}}),
        Dialect::V3 => {
            let schema = json!({"$ref": format!("#/components/schemas/{}", name(answer))});
            json!({"content": {"application/json": {"schema": schema}}})
        }
    };
    let responses = match action {
        "patch" => json!({"405": {"description": "Method Not Allowed"}}),
        "post" => json!({"201": extended(json!({"description": "OK"}), body.clone())}),
        _ => json!({"200": extended(json!({"description": "OK"}), body.clone())}),
    };
    let required = |more: Value| extended(json!({"required": true}), more);
    let text = |name: &str, place: &str, about: &str| {
        let text = match dialect {
            Dialect::V2 => json!({"type": "string", "uniqueItems": true}),
            Dialect::V3 => json!({"schema": {"type": "string"}}),
        };
        extended(text, json!({"name": name, "in": place, "description": about}))
    };
    let validation =
        || text("fieldValidation", "query", "How to handle unknown fields: Ignore, Warn or Strict.");
    let mut parameters = match action {
        "list" => {
            let about = "Selects queues by name, partition, parent, leaf or dynamic.";
            vec![text("fieldSelector", "query", about)]
        }
        "get" => vec![required(text("name", "path", "The queue's full path."))],
        "patch" => vec![required(text("name", "path", "The name.")), validation()],
        _ => vec![text("dryRun", "query", "Has no effect, because nothing is stored."), validation()],
    };
    let mut more = json!({});
    if dialect == Dialect::V2 {
        more = json!({"consumes": ["*/*"], "produces": ["application/json"], "schemes": ["https"]});
    }
    match (action, dialect) {
        ("post", Dialect::V2) => {
            parameters.push(extended(required(body), json!({"name": "body", "in": "body"})));
        }
        ("post", Dialect::V3) => more = json!({"requestBody": required(body)}),
        _ => {}
    }
    let document = json!({
        "operationId": format!("{action}QueuewardenAccess{VERSION}{answer}"),
        "description": about,
        "tags": ["queuewardenAccess_v1alpha1"],
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": kind},
        "parameters": parameters,
        "responses": responses,
    });
    extended(document, more)
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
