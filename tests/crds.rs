//! `crds/` is generated: it must say what the code says, and hold nothing else.

use std::{collections::BTreeMap, env, fs, path::Path};

use queuewarden::api::crd_yaml;

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
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            )
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
