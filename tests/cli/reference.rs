//! Generates docs/reference.md from the definitions of the kinds: every field, every rule, every column.

use std::fmt::Write as _;
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use queuewarden_api::crds;

const HEAD: &str = "# Reference of the kinds\n\n\
    Look up a field, its limits and its meaning. In a cluster, `kubectl explain queueacl.spec` prints the same.\n\n\
    * All kinds are of `queuewarden.dev/v1alpha1` and of the whole cluster.\n\
    * A field marked \\* must be written. `[]` is each element of a list, `{}` each value of a map.\n\
    * The rules below each table are the API server's: it refuses such an object before queuewarden reads it.\n\n\
    Generated from the sources by `UPDATE=1 cargo test --test all cli::reference`.\n";

/// Fields whose content is described elsewhere: in Kubernetes' own documentation, and in the table of the
/// spec.
const KNOWN: [&str; 2] = ["conditions", "inForce"];

/// Collects one field and those within it, by their paths.
fn fields<'schema>(
    path: &str,
    schema: &'schema JSONSchemaProps,
    found: &mut Vec<(String, &'schema JSONSchemaProps)>,
) {
    let required = schema.required.as_deref().unwrap_or_default();
    for (name, property) in schema.properties.iter().flatten() {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let mark = if required.contains(name) { "\\*" } else { "" };
        found.push((format!("`{below}`{mark}"), property));
        if !KNOWN.contains(&name.as_str()) {
            within(&below, property, found);
        }
    }
}

fn within<'schema>(
    path: &str,
    schema: &'schema JSONSchemaProps,
    found: &mut Vec<(String, &'schema JSONSchemaProps)>,
) {
    fields(path, schema, found);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        within(&format!("{path}[]"), items, found);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &schema.additional_properties {
        within(&format!("{path}{{}}"), values, found);
    }
}

/// Escapes a text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn kind_of(schema: &JSONSchemaProps) -> String {
    let name = schema.format.as_deref().or(schema.type_.as_deref()).unwrap_or("any");
    match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => format!("list of {}", kind_of(items)),
        _ => name.to_owned(),
    }
}

/// Returns the limits of a value, and its default.
fn bounds(schema: &JSONSchemaProps) -> String {
    let values = schema.enum_.as_ref().map(|values| {
        let names: Vec<String> = values.iter().map(|value| format!("`{}`", value.0)).collect();
        names.join(", ").replace('"', "")
    });
    let default = schema.default.as_ref().map(|value| format!("default `{}`", value.0));
    let limits = [
        schema.min_length.map(|least| format!("at least {least} characters")),
        schema.max_length.map(|most| format!("at most {most} characters")),
        schema.min_items.map(|least| format!("at least {least}")),
        schema.max_items.map(|most| format!("at most {most}")),
        schema.pattern.as_ref().map(|pattern| format!("matches `{pattern}`")),
    ];
    let all: Vec<String> =
        [values, default].into_iter().chain(limits).flatten().map(|text| cell(&text)).collect();
    all.join("; ")
}

fn table(schema: &JSONSchemaProps, text: &mut String) {
    let mut found = Vec::new();
    fields("", schema, &mut found);
    text.push_str("| field | type | | meaning |\n|---|---|---|---|\n");
    for (path, field) in found {
        let meaning = field.description.as_deref().unwrap_or_default();
        assert!(!meaning.is_empty() || path.contains("[]"), "{path} has no description");
        writeln!(text, "| {path} | {} | {} | {} |", kind_of(field), bounds(field), cell(meaning)).unwrap();
    }
}

/// Collects the messages of the rules of a schema and of all within it, each with the fields it is about.
fn rules(path: &str, schema: &JSONSchemaProps, found: &mut Vec<(String, Vec<String>)>) {
    for rule in schema.x_kubernetes_validations.iter().flatten() {
        let message = rule.message.clone().unwrap_or_else(|| format!("`{}`", rule.rule));
        let field = format!("`{path}`");
        match found.iter_mut().find(|(known, _)| *known == message) {
            Some((_, fields)) => fields.push(field),
            None => found.push((message, vec![field])),
        }
    }
    for (name, property) in schema.properties.iter().flatten() {
        rules(&format!("{path}.{name}"), property, found);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        rules(&format!("{path}[]"), items, found);
    }
}

fn part<'schema>(crd: &'schema CustomResourceDefinition, name: &str) -> &'schema JSONSchemaProps {
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    &schema.properties.as_ref().unwrap()[name]
}

fn section(crd: &CustomResourceDefinition, text: &mut String) {
    let names = &crd.spec.names;
    let version = &crd.spec.versions[0];
    let schema = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let short = names.short_names.iter().flatten().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    writeln!(text, "\n## {}\n", names.kind).unwrap();
    writeln!(text, "{}", schema.description.as_deref().unwrap()).unwrap();
    writeln!(text, "\nIn kubectl: `{}`, short {}.\n", names.plural, short.join(", ")).unwrap();
    writeln!(text, "### Spec of {}\n", names.kind).unwrap();
    table(part(crd, "spec"), text);
    let mut refused = Vec::new();
    rules("spec", part(crd, "spec"), &mut refused);
    if !refused.is_empty() {
        text.push_str("\nRefused by the API server:\n\n");
    }
    for (message, mut fields) in refused {
        fields.dedup();
        let message = message.replace('<', "&lt;").replace('*', "\\*");
        writeln!(text, "* {}: {message}", fields.join(", ")).unwrap();
    }
    writeln!(text, "\n### Status of {}\n", names.kind).unwrap();
    table(part(crd, "status"), text);
    text.push_str("\n`kubectl get` shows ");
    let columns = version.additional_printer_columns.iter().flatten().map(|column| {
        let wide =
            if column.priority.is_some_and(|priority| priority > 0) { " (with `-o wide`)" } else { "" };
        format!("{} from `{}`{wide}", column.name, column.json_path)
    });
    writeln!(text, "{}.", columns.collect::<Vec<_>>().join(", ")).unwrap();
}

#[test]
fn kinds_are_documented() {
    let mut text = HEAD.to_owned();
    for crd in &crds() {
        section(crd, &mut text);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|found| found == text),
        "docs/reference.md is out of date: UPDATE=1 cargo test --test all cli::reference"
    );
}
