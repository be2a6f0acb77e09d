//! Findings as SARIF 2.1.0, which code hosts and editors show at their lines.

use crate::output::{codes, diagnostic};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::Failure;
use crate::output::text::{Source, SourceDiagnostic};
use go_compat::diag::{Code, Span};

/// The published schema of the format.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Returns the base folder of file names.
///
/// # Errors
/// When there is no working directory.
pub fn folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::Output(format!("files cannot be named from the working directory: {error}"))
    })
}

/// Returns the log of one run: the findings, and the codes that are among them as rules. Files in `folder`
/// are named relative to it.
pub fn log(sources: &[Source], findings: &[SourceDiagnostic], folder: &Path) -> Value {
    let codes: BTreeSet<Code> = findings.iter().map(|finding| finding.diagnostic.code).collect();
    let rules: Vec<Value> = codes.into_iter().map(rule).collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(sources, finding, folder)).collect();
    let driver = json!({
        "name": "queuewarden",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules,
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    })
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.to_string(),
        "shortDescription": {"text": code.title.replace('-', " ")},
        "fullDescription": {"text": codes::meaning(code)},
        "help": {"text": codes::explained(code)},
        "helpUri": format!("{}/blob/main/docs/{}", env!("CARGO_PKG_REPOSITORY"), codes::page(code)),
    })
}

/// Returns one finding.
pub fn result(sources: &[Source], finding: &SourceDiagnostic, folder: &Path) -> Value {
    let SourceDiagnostic { source, object, diagnostic, .. } = finding;
    let source = source.and_then(|index| sources.get(index));
    let file = source.map(|source| json!({"uri": uri(&source.name, folder)}));
    let region = source.zip(diagnostic.span).map(|(source, span)| region(source, span));
    let location =
        file.clone().map(|file| present([("artifactLocation", Some(file)), ("region", region.clone())]));
    let location = present([
        ("physicalLocation", location),
        ("logicalLocations", object.as_ref().map(|object| json!([{"fullyQualifiedName": object}]))),
    ]);
    let fixes = source.and_then(|source| diagnostic::edit(source, diagnostic)).map(|(_, instead)| {
        let replacements = json!([{"deletedRegion": region, "insertedContent": {"text": instead}}]);
        json!([{"artifactChanges": [{"artifactLocation": file, "replacements": replacements}]}])
    });
    present([
        ("ruleId", Some(json!(diagnostic.code.to_string()))),
        ("level", Some(json!(diagnostic.severity))),
        ("message", Some(json!({"text": diagnostic.without_code()}))),
        ("locations", Some(json!([location]))),
        ("fixes", fixes),
    ])
}

/// Returns an object of those fields that have a value.
fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn region(source: &Source, span: Span) -> Value {
    let (line, column) = source.position(span.start);
    let (end_line, end_column) = source.position(span.end);
    json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column})
}

/// Returns the address of a file: relative if it is in `folder`.
fn uri(name: &str, folder: &Path) -> String {
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            part => path.push(part),
        }
    }
    let (scheme, path) = match path.strip_prefix(folder) {
        Ok(inside) => ("", inside),
        Err(_) => ("file://", path.as_path()),
    };
    let encoded = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    std::iter::once(scheme.to_owned()).chain(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_folder() {
        for (name, expected) in [
            ("acls/a.yaml", "acls/a.yaml"),
            ("./a b.yaml", "a%20b.yaml"),
            ("/src/repo/ü#1.yaml", "%C3%BC%231.yaml"),
            ("acls/../a.yaml", "a.yaml"),
            ("../repo/a.yaml", "a.yaml"),
            ("../other/a.yaml", "file:///src/other/a.yaml"),
            ("/tmp/a.yaml", "file:///tmp/a.yaml"),
            ("<stdin>", "%3Cstdin%3E"),
        ] {
            assert_eq!(uri(name, Path::new("/src/repo")), expected, "{name}");
        }
    }
}
