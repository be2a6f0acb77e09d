//! Tests the Helm chart's copies of `manifests/` and `crds/`: a chart holds no file from outside of it, and
//! links do not come through Flux. Its output is tested end to end, on machines with Helm.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Folders that are installed in another way: the workload by templates, and objects that are no part of a
/// release.
const NOT_COPIED: [&str; 2] = ["config", "scheduler-secret"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn chart(name: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(root().join("charts/queuewarden").join(name)).unwrap())
        .unwrap()
}

/// Returns the YAML and JSON files of a folder except its kustomization and patches, by name.
fn sources(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "json"));
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .filter(|(name, _)| name != "kustomization.yaml" && !name.ends_with(".patch.yaml"))
        .collect()
}

/// Returns the expected content of `charts/queuewarden/files`.
fn expected() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut copy = |folder: &str, from: BTreeMap<String, String>| {
        files.extend(from.into_iter().map(|(name, text)| (format!("{folder}/{name}"), text)));
    };
    copy("crds", sources("crds"));
    let mut top = sources("manifests");
    copy("users", top.remove_entry("users.yaml").into_iter().collect());
    for entry in fs::read_dir(root().join("manifests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !NOT_COPIED.contains(&name) {
            copy(name, sources(&format!("manifests/{name}")));
        }
    }
    files
}

fn found() -> BTreeMap<String, String> {
    let files = root().join("charts/queuewarden/files");
    fs::read_dir(&files)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.strip_prefix(&files).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn its_files_are_those_that_kubectl_applies() {
    let expected = expected();
    if env::var_os("UPDATE").is_some() {
        let files = root().join("charts/queuewarden/files");
        fs::remove_dir_all(&files).unwrap();
        for (name, text) in &expected {
            let path = files.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let found = found();
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "run with UPDATE=1");
    for (name, text) in &expected {
        assert!(found.get(name) == Some(text), "charts/queuewarden/files/{name} is old: run with UPDATE=1");
    }
}

/// Nobody can install a folder that no template names.
#[test]
fn every_folder_of_files_can_be_chosen() {
    let templates: String = fs::read_dir(root().join("charts/queuewarden/templates"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    for folder in found().keys().map(|name| name.split_once('/').unwrap().0) {
        let ways = [format!("\"{folder}\""), format!("files/{folder}/"), format!("\"path\" \"{folder}/")];
        let named = ways.iter().any(|way| templates.contains(way));
        assert!(named, "no template of the chart installs {folder}");
    }
}

#[test]
fn it_is_this_version() {
    let about = chart("Chart.yaml");
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(about["appVersion"], env!("CARGO_PKG_VERSION"));
}

/// Each value has a default and a description, and each object of values refuses unknown fields.
#[test]
fn the_schema_describes_every_value() {
    describes("", &chart("values.schema.json"), &chart("values.yaml"));
}

/// Returns whether each value of an object is described. The free form of Kubernetes' own types is described
/// as a whole.
fn is_group(schema: &Value, value: &Value) -> bool {
    schema["properties"].is_object()
        && schema["additionalProperties"] != true
        && value.as_object().is_some_and(|value| !value.is_empty())
}

fn describes(path: &str, schema: &Value, values: &Value) {
    let known: BTreeSet<_> =
        schema["properties"].as_object().unwrap().keys().filter(|key| *key != "global").collect();
    let given: BTreeSet<_> = values.as_object().unwrap().keys().collect();
    assert_eq!(known, given, "of {path:?}, in values.schema.json and in values.yaml");
    assert_eq!(schema["additionalProperties"], false, "{path}");
    for key in given {
        let (path, schema, value) = (format!("{path}.{key}"), &schema["properties"][key], &values[key]);
        if is_group(schema, value) {
            describes(&path, schema, value);
        } else {
            assert!(
                schema["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{path} has no description"
            );
        }
    }
}

/// The README lists all values.
#[test]
fn the_readme_lists_every_value() {
    const TITLE: &str = "| value | default | meaning |\n|---|---|---|\n";
    let path = root().join("charts/queuewarden/README.md");
    let text = fs::read_to_string(&path).unwrap();
    let (begin, _) = text.split_once(TITLE).expect("README.md has no table of values");
    let mut expected = format!("{begin}{TITLE}");
    rows("", &chart("values.schema.json"), &chart("values.yaml"), &mut expected);
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), expected, "run with UPDATE=1");
}

fn rows(path: &str, schema: &Value, values: &Value, table: &mut String) {
    for (key, schema) in schema["properties"].as_object().unwrap() {
        let Some(value) = values.get(key) else { continue };
        let path = format!("{path}{key}");
        if is_group(schema, value) {
            rows(&format!("{path}."), schema, value, table);
        } else {
            let meaning = schema["description"].as_str().unwrap();
            writeln!(table, "| `{path}` | `{value}` | {meaning} |").unwrap();
        }
    }
}

/// Artifact Hub shows the CRDs and the image; the image is this version's.
#[test]
fn its_annotations_name_the_definitions_and_the_image() {
    let about = chart("Chart.yaml");
    let note = |name: &str| -> Value {
        serde_saphyr::from_str(about["annotations"][format!("artifacthub.io/{name}")].as_str().unwrap())
            .unwrap()
    };
    let names: BTreeSet<String> =
        note("crds").as_array().unwrap().iter().map(|crd| crd["name"].as_str().unwrap().to_owned()).collect();
    let files = sources("crds").into_keys().map(|name| name.replace(".yaml", ".queuewarden.dev"));
    assert_eq!(names, files.collect());
    let image = format!("ghcr.io/queuewarden/queuewarden:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(note("images")[0]["image"], image);
    let icon = about["icon"].as_str().unwrap().rsplit_once("/main/").unwrap().1;
    assert!(root().join(icon).is_file(), "{icon}");
}
