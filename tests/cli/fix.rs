//! Tests `validate --fix`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::process::{err, out, run};

const ACL: &str = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\n";

/// Returns the text of `a.yaml` after `--fix`, and the messages.
fn fixed(text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, text).unwrap();
    let said = err(&run(&["validate", "--fix", "-f", "."], folder.path(), ""));
    (fs::read_to_string(&path).unwrap(), said)
}

#[test]
fn what_is_exact_is_written() {
    let acl = |spec: &str| format!("{ACL}spec: {spec} # stays\n");
    let queues = |acl: &str| {
        format!("partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: {acl}\n")
    };
    let map = |acl: &str| {
        let text = queues(acl).replace('\n', "\n    ");
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yunikorn-defaults}}\ndata:\n  queues.yaml: |\n    {text}\n"
        )
    };
    let policy = |user: &str| {
        format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: a}}\nspec: {{externalUsers: [{user}]}}\n"
        )
    };
    for (written, expected) in [
        (acl("{queue: root.a, submit: {users: sue}}"), acl("{queue: root.a, submit: {users: [sue]}}")),
        (
            acl("{queue: root.a, Submit: {users: [7, true]}}"),
            acl("{queue: root.a, submit: {users: [7, true]}}"),
        ),
        (
            acl("{queue: root.a, submit: {users: [7, true]}}"),
            acl("{queue: root.a, submit: {users: [\"7\", \"true\"]}}"),
        ),
        (
            acl("{queue: root.a, submit: {everyone: \"true\"}}"),
            acl("{queue: root.a, submit: {everyone: true}}"),
        ),
        (
            acl("{queue: root.a, submit: {acl: 'sue  dev '}, baseAcl: extend}"),
            acl("{queue: root.a, submit: {acl: 'sue dev'}, baseAcl: Extend}"),
        ),
        (acl("{queue: root}").replace("QueueAcl", "QueueACL"), acl("{queue: root}")),
        (queues("\"sue,bob  dev\""), queues("\"sue,bob dev\"")),
        (queues("'  dev'"), queues("' dev'")),
        (queues("\"  dev \""), queues("\" dev\"")),
        (map("\"sue  dev \""), map("\"sue dev\"")),
        (queues("sue").replace("root", "Root"), queues("sue")),
        (policy("'^a$ '"), policy("'^a$'")),
        // Nothing is guessed, and nothing that is written in another way.
        (
            acl("{queue: root.a, sumbit: {users: 'sue bob'}}"),
            acl("{queue: root.a, sumbit: {users: 'sue bob'}}"),
        ),
        (
            acl("{queue: root.a, submit: {users: [yes, 0x7]}}"),
            acl("{queue: root.a, submit: {users: [yes, 0x7]}}"),
        ),
        (queues("\"sue\\x20\\x20dev\""), queues("\"sue\\x20\\x20dev\"")),
        (queues("sue, bob"), queues("sue, bob")),
        (queues("\"sue dev ops\""), queues("\"sue dev ops\"")),
    ] {
        let (text, said) = fixed(&written);
        assert_eq!(text, expected, "{said}");
        assert_eq!(said.contains("fixed["), written != expected, "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left() {
    let fixable = format!("{ACL}spec: {{queue: root, submit: {{users: sue}}}}\n");
    for rest in ["a: [", "spec: {submit: {}, submit: {}}", "spec: [.inf]"] {
        let text = format!("{fixable}---\n{ACL}{rest}\n");
        let (after, said) = fixed(&text);
        assert!(!said.contains("fixed["), "{said}");
        assert!(
            said.contains("note: ./a.yaml is not fixed: it cannot be read; correct that first\n"),
            "{said}"
        );
        assert_eq!(after, text);
    }
    // The right name is there already, and no key may be there twice.
    let twice = fixable.replace("users: sue", "users: [sue], Users: [bob]");
    let (after, said) = fixed(&twice);
    assert_eq!(after, twice);
    assert!(said.contains("note: ./a.yaml is not fixed: it would no longer be readable; "), "{said}");
}

#[test]
fn a_dry_run_prints_a_diff() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let text = format!("{ACL}spec:\n  queue: root\n  submit:\n    users: sue");
    fs::write(&path, &text).unwrap();
    let args = ["validate", "--fix", "--dry-run", "-f", "a.yaml"];
    let ended = run(&args, folder.path(), "");
    let end = "\\ No newline at end of file\n";
    let expected =
        format!("--- a.yaml\n+++ a.yaml\n@@ -7 +7 @@\n-    users: sue\n{end}+    users: [sue]\n{end}");
    assert_eq!((ended.status.code(), out(&ended)), (Some(1), expected), "{}", err(&ended));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let ended = run(&["validate", "--fix", "-f", "a.yaml"], folder.path(), "");
    let said = err(&ended);
    assert!(said.starts_with("fixed[QW6103]: a.yaml:7:12: `[sue]` instead of `sue`\n"), "{said}");
    assert!(said.ends_with("0 errors, 0 warnings; 1 object in 1 file checked\n"), "{said}");
    let ended = run(&args, folder.path(), "");
    assert_eq!((ended.status.code(), out(&ended).as_str()), (Some(0), ""));
    assert_eq!(run(&["validate", "--fix", "-f", "-"], folder.path(), &text).status.code(), Some(2));
}

/// Code hosts offer what `--fix` writes.
#[test]
fn fixes_are_in_sarif() {
    let text = format!("{ACL}spec: {{queue: root, submit: {{users: sue}}, sumbit: {{}}}}\n");
    let log = out(&run(&["validate", "-o", "sarif", "-f", "-"], Path::new("."), &text));
    let log: Value = serde_json::from_str(&log).unwrap();
    let fixes =
        log["runs"][0]["results"].as_array().unwrap().iter().filter(|result| !result["fixes"].is_null());
    let fixes: Vec<&Value> = fixes.collect();
    assert_eq!(fixes.len(), 1, "{log:#}");
    let change = &fixes[0]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"], fixes[0]["locations"][0]["physicalLocation"]["artifactLocation"]);
    let replacement = &change["replacements"][0];
    assert_eq!(replacement["deletedRegion"], fixes[0]["locations"][0]["physicalLocation"]["region"]);
    assert_eq!(replacement["insertedContent"]["text"], "[sue]");
}
