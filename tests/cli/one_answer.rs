//! Tests that `validate` and `lint` are one command, and that it finds each class of faults.

use std::collections::BTreeSet;

use serde_json::Value;

use super::process::{err, out, run};

/// Returns a ConfigMap with these entries in `data`.
fn map(name: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: yunikorn}}\ndata:\n{data}---\n"
    )
}

/// Returns an entry of `data` with a tree of queues.
fn tree(key: &str, queues: &str) -> String {
    let head = "    partitions:\n    - name: default\n      queues:\n      - name: root\n        adminacl: \" platform\"\n";
    format!("  {key}: |\n{head}        queues: [{queues}]\n")
}

/// Runs the check by both of its names, which must give the same. Returns the exit code, and the codes and
/// texts of all findings.
fn found(text: &str) -> (Option<i32>, BTreeSet<String>, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let answers = ["validate", "lint"].map(|name| run(&[name, "-o", "json", "-f", "-"], root, text));
    let [validate, lint] = &answers;
    assert_eq!((out(validate), err(validate)), (out(lint), err(lint)), "{text}");
    assert_eq!(validate.status.code(), lint.status.code(), "{text}");
    let answer: Value = serde_json::from_str(&out(validate)).unwrap_or_else(|_| panic!("{}", err(validate)));
    let findings = answer["diagnostics"].as_array().unwrap();
    let codes = findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect();
    let texts = findings.iter().map(|finding| format!("{} {}\n", finding["message"], finding["help"]));
    (validate.status.code(), codes, texts.collect())
}

const TEAM: &str = "{name: team, submitacl: \" devs\"}";

/// A text, the exit code, the codes of the findings, and words in them.
type Fault<'a> = (String, i32, &'a [&'a str], &'a str);

fn with(setting: &str) -> String {
    map("yunikorn-configs", &format!("{setting}\n{}", tree("queues.yaml", TEAM)))
}

fn rules(rule: &str) -> String {
    format!(
        "partitions:\n- name: default\n  {rule}\n  queues: [{{name: root, submitacl: ann, queues: [{{name: lab}}]}}]\n"
    )
}

fn are_found(faults: &[Fault<'_>]) {
    for (text, exit, codes, words) in faults {
        let (code, all, texts) = found(text);
        let expected: BTreeSet<String> = codes.iter().map(|code| (*code).to_owned()).collect();
        assert_eq!((code, &all), (Some(*exit), &expected), "{text}\n{texts}");
        assert!(texts.contains(words), "{text}\n{texts}");
    }
}

#[test]
fn faults_of_trees_are_found_by_both_names() {
    are_found(&[
        // Everyone may submit, because the tree is not where it is read.
        (
            map("yunikorn-configs", &tree("queues.yml", TEAM)),
            0,
            &["QW3035"],
            "rename `queues.yml` to `queues.yaml`",
        ),
        (
            map("yunikorn-defaults", &tree("Queue.yaml", TEAM)),
            0,
            &["QW3035"],
            "rename `Queue.yaml` to `queues.yaml`",
        ),
        (
            map("yunikorn-configs", &format!("  service.policyGroup: batch\n{}", tree("queues.yaml", TEAM))),
            0,
            &["QW3035"],
            "rename `queues.yaml` to `batch.yaml`",
        ),
        (
            map("yunikorn-configs", "  queues.yaml.gz: H4sIAAAAAAAA\n"),
            0,
            &["QW3035"],
            "move `queues.yaml.gz` to `binaryData`",
        ),
        (
            map("yunikorn-configs", "  service.clusterId: east\n"),
            0,
            &["QW3035"],
            "everyone may submit everywhere",
        ),
        (
            map("yunikorn-configs", "  queues.yaml: H4sIAAAAAAAA\n"),
            1,
            &["QW3040"],
            "decompresses only values of `binaryData`",
        ),
        // Names that YuniKorn drops.
        (
            rules("limits: []").replace("submitacl: ann", "submitacl: 'system:serviceaccount:etl:run'"),
            0,
            &["QW1016", "QW1024"],
            "is dropped",
        ),
        (
            rules("limits: []").replace("submitacl: ann", "submitacl: ' data.science'"),
            0,
            &["QW1019", "QW1024"],
            "is dropped",
        ),
        // ACLs of the tree, and lists where a text is expected.
        (
            map("yunikorn-configs", &tree("queues.yaml", "{name: a, submitacl: ' platform'}")),
            0,
            &["QW7203"],
            "queues above already",
        ),
        (
            map("yunikorn-configs", &tree("queues.yaml", "{name: a, submitacl: [dev, test]}")),
            1,
            &["QW2003"],
            r#"\"dev,test\""#,
        ),
    ]);
}

#[test]
fn keys_and_rules_without_effect_are_found_by_both_names() {
    are_found(&[
        // Keys that nothing reads, or not as meant.
        (
            with("  admissionController.accesscontrol.systemUsers: ^a$"),
            0,
            &["QW3045"],
            "accessControl.systemUsers",
        ),
        (with("  service.operatorPlugins: general"), 0, &["QW3045"], "ignored since YuniKorn 1.5"),
        (with("  event.trackingEnabled: maybe"), 1, &["QW3046"], "so the default is in force"),
        (with("  service.dispatchTimeout: '300'"), 1, &["QW3042"], "a new one does not start"),
        (with("  admissionController.filtering.bypassNamespaces: '^(a'"), 1, &["QW4102"], "is ignored"),
        (with("  backup.yaml: 'partitions: [{name: gpu}]'\n  notes.yaml: 'a: ['"), 0, &[], ""),
        // Rules and resolvers without effect on Kubernetes.
        (rules("placementrules: [{name: tag, value: department}]"), 0, &["QW3043"], "no tag `department`"),
        (rules("usergroupresolver: {type: os}"), 0, &["QW3044"], "asked for pods without groups only"),
    ]);
}

#[test]
fn whom_lists_trust_is_found_by_both_names() {
    let trusts = |list: &str, expression: &str| {
        with(&format!("  admissionController.accessControl.{list}: \"{expression}\""))
    };
    are_found(&[
        // Whom lists trust.
        (trusts("externalGroups", "^devs$"), 0, &["QW4120"], "trusts group `devs`"),
        (trusts("externalGroups", "devs"), 0, &["QW4106", "QW4120"], "trusts group `devs`"),
        (trusts("externalGroups", "^platform$"), 0, &[], ""),
        (
            trusts("externalGroups", "^system:unauthenticated$"),
            0,
            &["QW4118"],
            "everyone who has not logged in",
        ),
        (trusts("externalUsers", "^system:anonymous$"), 0, &["QW4121"], "unauthenticated requests"),
        (
            trusts("externalUsers", "^system:serviceaccount:air:*"),
            0,
            &["QW4112", "QW4114"],
            "`system:serviceaccount:air-dev:default`",
        ),
        (
            trusts("systemUsers", "^system:serviceaccount:default:"),
            0,
            &["QW4114"],
            "every account of namespace `default`",
        ),
        (
            trusts("systemUsers", "^system:serviceaccount:kube-system:"),
            0,
            &["QW4115"],
            "every account of kube-system",
        ),
        (
            with("  admissionController.accessControl.trustControllers: 'true'"),
            0,
            &["QW4119"],
            "can copy `user.info`",
        ),
        (trusts("bypassAuth", "true"), 0, &["QW4117"], "submit as anyone"),
    ]);
}

/// A file that fails open fails a strict check.
#[test]
fn warnings_fail_a_strict_check_by_both_names() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = map("yunikorn-configs", &tree("queue.yaml", "{name: a}"));
    for name in ["validate", "lint"] {
        let ended = run(&[name, "--strict", "-f", "-"], root, &text);
        assert_eq!(ended.status.code(), Some(1));
        assert!(err(&ended).contains("0 errors, 1 warning; 1 object in 1 file checked"), "{}", err(&ended));
        assert!(out(&ended).contains("--> <stdin>:5:3"), "{}", out(&ended));
    }
}

/// Several trees in a folder are checked each by itself.
#[test]
fn every_tree_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.yaml", "b.yaml"] {
        let text = "partitions:\n- name: default\n  queues: [{name: root, submitacl: '*', queues: [{name: a}]}]\n- name: gpu\n  queues: [{name: root, submitacl: '*', queues: [{name: b}]}]\n";
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["validate", "lint"] {
        let ended = run(&[name, "-f", "."], folder.path(), "");
        assert!(
            err(&ended).starts_with("0 errors, 4 warnings; 2 queue trees in 2 files checked"),
            "{}",
            err(&ended)
        );
    }
}
