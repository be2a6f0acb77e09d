//! Checks the generated `crds/`: they match the code, and hold nothing else. An object that the API server
//! accepts can be read.

use std::{collections::BTreeMap, env, fs, path::Path};

use go_compat::diag::Diagnostic;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::DynamicObject;
use queuewarden_api::{API_VERSION, convert, crd_yaml, crds};
use queuewarden_plan::ResourceKind;
use serde_json::{Value, json};

#[test]
fn all_kinds_are_of_the_version_that_manifests_name() {
    for crd in crds() {
        let versions: Vec<String> =
            crd.spec.versions.iter().map(|version| format!("{}/{}", crd.spec.group, version.name)).collect();
        assert_eq!(versions, [API_VERSION], "{}", crd.spec.names.kind);
    }
}

#[test]
fn kind_is_named_as_in_its_definition() {
    let names = crds().into_iter().map(|crd| crd.spec.names);
    let mut defined: Vec<_> =
        names.map(|names| (names.kind, names.plural, names.short_names.unwrap_or_default())).collect();
    let mut known = ResourceKind::ALL.map(|kind| {
        let [name, plural, short] = kind.names().map(str::to_owned);
        (name, plural, vec![short])
    });
    defined.sort();
    known.sort();
    assert_eq!(known.as_slice(), defined);
}

#[test]
fn files_are_what_the_code_generates() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let generated: BTreeMap<String, String> = crd_yaml().unwrap().into_iter().collect();
    if env::var_os("UPDATE").is_some() {
        for (name, text) in &generated {
            fs::write(dir.join(name), text).unwrap();
        }
    }
    let found: BTreeMap<String, String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().is_some_and(|name| name != "kustomization.yaml"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        generated.keys().collect::<Vec<_>>(),
        "files in crds/ (regenerate with `cargo run -- crds --dir crds`)"
    );
    for (name, text) in &generated {
        assert!(
            found.get(name) == Some(text),
            "crds/{name} is out of date: run `cargo run -- crds --dir crds`"
        );
    }
}

/// Promised on docs/api-versions.md. Validation rules (CEL) cannot be compared: e2e/tests/upgrade.rs brings
/// in objects.
#[test]
fn schemas_of_earlier_releases_still_hold() {
    let now: BTreeMap<String, Value> = crds().into_iter().map(named).collect();
    let mut found = Vec::new();
    let mut compared = 0;
    for release in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/upgrade")).unwrap() {
        let Ok(text) = fs::read_to_string(release.unwrap().path().join("crds.yaml")) else { continue };
        for crd in serde_saphyr::from_multiple::<CustomResourceDefinition>(&text).unwrap() {
            let (name, before) = named(crd);
            differences(&before, &now[&name], &name, &mut found);
            compared += 1;
        }
    }
    assert!(compared >= now.len() && found.is_empty(), "{compared} compared, {found:#?}");
}

/// Returns a definition's name and the schema of its version.
fn named(crd: CustomResourceDefinition) -> (String, Value) {
    let schema = crd.spec.versions.into_iter().find(|version| version.name == "v1alpha1").unwrap().schema;
    (crd.spec.names.plural, serde_json::to_value(schema.unwrap().open_api_v3_schema).unwrap())
}

/// Collects the parts of a schema by which an object would be refused, or would mean something else, that was
/// valid before.
fn differences(before: &Value, now: &Value, at: &str, found: &mut Vec<String>) {
    let names =
        |schema: &Value, key: &str| -> Vec<Value> { schema[key].as_array().cloned().unwrap_or_default() };
    for key in ["type", "default", "format", "pattern"] {
        if before[key] != now[key] {
            found.push(format!("{at}: {key}"));
        }
    }
    if names(now, "required").iter().any(|name| !names(before, "required").contains(name)) {
        found.push(format!("{at}: required"));
    }
    if now["enum"].is_array()
        && (!before["enum"].is_array()
            || names(before, "enum").iter().any(|name| !names(now, "enum").contains(name)))
    {
        found.push(format!("{at}: enum"));
    }
    for (limit, sign) in [("maxItems", 1.0), ("maxLength", 1.0), ("maxProperties", 1.0), ("maximum", 1.0)]
        .into_iter()
        .chain([("minItems", -1.0), ("minLength", -1.0), ("minProperties", -1.0), ("minimum", -1.0)])
    {
        let of = |schema: &Value| schema[limit].as_f64().map_or(f64::INFINITY, |limit| limit * sign);
        if of(now) < of(before) {
            found.push(format!("{at}: {limit}"));
        }
    }
    for (name, before) in before["properties"].as_object().into_iter().flatten() {
        match now["properties"].get(name) {
            Some(now) => differences(before, now, &format!("{at}.{name}"), found),
            None => found.push(format!("{at}.{name}: removed")),
        }
    }
    for key in ["items", "additionalProperties"] {
        if before[key].is_object() {
            differences(&before[key], &now[key], &format!("{at}.{key}"), found);
        }
    }
}

#[test]
fn a_narrower_schema_is_noticed() {
    let before = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "maxLength": 9, "default": "x"},
        "b": {"type": "array", "minItems": 1, "items": {"enum": ["x", "y"]}},
        "c": {"type": "boolean"},
    }});
    let now = json!({"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "string", "maxLength": 8, "default": "y"},
        "b": {"type": "array", "minItems": 2, "items": {"enum": ["x", "z"]}},
    }});
    let mut found = Vec::new();
    differences(&before, &before, "x", &mut found);
    assert!(found.is_empty(), "{found:?}");
    differences(&before, &now, "x", &mut found);
    let expected =
        ["x: required", "x.a: default", "x.a: maxLength", "x.b: minItems", "x.b.items: enum", "x.c: removed"];
    assert_eq!(found, expected);
}

/// The end-to-end tests check the cases against a real API server. Here: the conversion accepts what the API
/// server accepts, and finds the mistakes between fields without a server, in files.
#[test]
fn conversion_agrees_with_the_api_server() {
    type Convert = fn(&DynamicObject) -> Result<(), Vec<Diagnostic>>;
    let kinds: [(&str, Convert); 4] = [
        ("queueacls", |object| convert::queue_acl(object).spec.map(drop)),
        ("admissionpolicies", |object| convert::admission_policy(object).spec.map(drop)),
        ("yunikornconfigs", |object| convert::yunikorn_config(object).spec.map(drop)),
        ("queueaccesstests", |object| convert::access_test(object).spec.map(drop)),
    ];
    let between_fields = [
        "acl cannot be combined with other fields",
        "everyone cannot be combined with other fields",
        "everyone can only be true",
        "set at least one of",
        "a cluster has only one YuniKornConfig",
        "must differ",
        "Required value",
        "Unsupported value",
        "must be of type",
        "set allow, deny or placements",
        "set either runsIn",
        "rejected can only be true",
    ];
    let mut seen = vec![0; between_fields.len()];
    for (kind, convert) in kinds {
        for case in cases(kind) {
            let spec = case.get("update").unwrap_or(&case["create"]);
            let name = case["object"].as_str().unwrap_or("default");
            let object = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
            let result = convert(&object);
            let Some(refused) = case["refused"].as_str() else {
                assert_eq!(result, Ok(()), "{kind}: {}", case["name"]);
                continue;
            };
            if let Some(rule) = between_fields.iter().position(|text| refused.contains(text)) {
                seen[rule] += 1;
                assert!(result.is_err(), "{kind}: {}", case["name"]);
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "a rule without a case: {seen:?} of {between_fields:?}");
}

fn cases(kind: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("e2e/tests/cases/crds/{kind}.yaml"));
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
