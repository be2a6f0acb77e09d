//! Tests `render --output-file`.

use std::fs;

use super::process::{BASE, acl, err, out, run};

#[test]
fn the_file_is_what_standard_output_would_get() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    let args = ["render", "-f", "-", "--base", "base.yaml"];
    let printed = run(&args, dir.path(), &acl("sue"));
    let written = run(&[&args[..], &["--output-file", "out.yaml"]].concat(), dir.path(), &acl("sue"));
    assert_eq!((written.status.code(), out(&written).as_str()), (Some(0), ""), "{}", err(&written));
    assert_eq!(fs::read_to_string(dir.path().join("out.yaml")).unwrap(), out(&printed));
    assert!(out(&printed).contains("submitacl: 'sue'"), "{}", out(&printed));
}

/// The output is in the folder that is read, as in a repository of manifests: it is no input, and rendering
/// again changes nothing.
#[test]
fn rendering_into_the_folder_that_is_read_comes_to_rest() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let args = ["render", "-f", ".", "--base", "base.yaml", "--output-file", "out.yaml"];
    assert_eq!(run(&args, dir.path(), "").status.code(), Some(0));
    let first = fs::read_to_string(dir.path().join("out.yaml")).unwrap();
    assert_eq!(run(&args, dir.path(), "").status.code(), Some(0));
    assert_eq!(fs::read_to_string(dir.path().join("out.yaml")).unwrap(), first);
}

#[test]
fn what_is_refused_leaves_the_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), "partitions: [").unwrap();
    fs::write(dir.path().join("out.yaml"), "old").unwrap();
    let ended = run(
        &["render", "-f", "-", "--base", "base.yaml", "--output-file", "out.yaml"],
        dir.path(),
        &acl("sue"),
    );
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
    assert_eq!(fs::read_to_string(dir.path().join("out.yaml")).unwrap(), "old");
}

#[test]
fn a_place_that_takes_no_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    let ended = run(
        &["render", "-f", "-", "--base", "base.yaml", "--output-file", "none/out.yaml"],
        dir.path(),
        &acl("sue"),
    );
    assert_eq!(ended.status.code(), Some(1));
    assert!(err(&ended).contains("error: cannot write `none/out.yaml`"), "{}", err(&ended));
}

#[test]
fn yaml_and_json_are_the_same_manifest() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    let args = ["render", "-f", "-", "--base", "base.yaml", "-o"];
    let rendered =
        |format: &'static str| out(&run(&[&args[..], &[format]].concat(), dir.path(), &acl("sue")));
    let json: serde_json::Value = serde_json::from_str(&rendered("json")).unwrap();
    let yaml: serde_json::Value = serde_saphyr::from_str(&rendered("yaml")).unwrap();
    assert_eq!(json, yaml);
    assert_eq!(json["data"]["queues.yaml"], rendered("queues"));
}

/// The result among the input is ours, and a second run changes nothing, not even the revision.
#[test]
fn rendering_what_was_rendered_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let first = out(&run(&["render", "-f", "acl.yaml", "--base", "base.yaml"], dir.path(), ""));
    let again = run(&["render", "-f", "acl.yaml", "-", "--base", "base.yaml"], dir.path(), &first);
    assert_eq!((again.status.code(), out(&again)), (Some(0), first.clone()), "{}", err(&again));
    fs::write(dir.path().join("acl.yaml"), acl("bob")).unwrap();
    let changed = out(&run(&["render", "-f", "acl.yaml", "-", "--base", "base.yaml"], dir.path(), &first));
    assert_eq!(changed, first.replace("sue", "bob").replace("revision: 1", "revision: 2"));
}
