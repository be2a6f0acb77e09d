//! Checks `-o sarif`: what the specification of SARIF 2.1.0 requires, and that every region is the text that
//! the finding is about.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::process::{err, out, run};

/// Returns the one run of a log.
fn logged(folder: &Path, args: &[&str]) -> Value {
    let ended = run(&[args, &["-o", "sarif"]].concat(), folder, "");
    let log: Value = serde_json::from_str(&out(&ended)).unwrap_or_else(|_| panic!("{}", err(&ended)));
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&json!("2.1.0"), 1));
    log["runs"][0].clone()
}

/// Returns the text of a region: lines and columns count from 1, and its end is behind it.
fn text_of(region: &Value, text: &str) -> String {
    let at = |name: &str| usize::try_from(region[name].as_u64().unwrap()).unwrap();
    let offset = |line: usize, column: usize| {
        let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        start + text.get(start..).unwrap().chars().take(column - 1).map(char::len_utf8).sum::<usize>()
    };
    let (start, end) = (offset(at("startLine"), at("startColumn")), offset(at("endLine"), at("endColumn")));
    text.get(start..end).unwrap().to_owned()
}

#[test]
fn a_log_is_complete() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cases");
    for (folder, args, least) in [
        (
            "validate.in",
            vec!["validate", "-f", "fields.yaml", "names.yaml", "odd.yaml", "config-map.yaml"],
            25,
        ),
        ("validate.in", vec!["validate", "-f", "good.yaml"], 0),
        ("changes.in", vec!["lint", "-f", "lint.yaml"], 10),
    ] {
        let folder = cases.join(folder);
        let log = logged(&folder, &args);
        let driver = &log["tool"]["driver"];
        assert_eq!(
            (&driver["name"], &log["columnKind"]),
            (&json!("queuewarden"), &json!("unicodeCodePoints"))
        );
        let rules: BTreeSet<&str> =
            driver["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        for rule in driver["rules"].as_array().unwrap() {
            for text in ["shortDescription", "fullDescription", "help"] {
                assert!(rule[text]["text"].as_str().is_some_and(|text| !text.is_empty()), "{rule}");
            }
            let page = rule["helpUri"].as_str().unwrap().split_once("/blob/main/").unwrap().1;
            let (page, anchor) = page.split_once('#').unwrap();
            let page = std::fs::read_to_string(cases.join("../../..").join(page)).unwrap();
            assert!(page.to_lowercase().replace(' ', "-").contains(&format!("\n##-{anchor}\n")), "{anchor}");
        }
        let results = log["results"].as_array().unwrap();
        assert!(results.len() >= least, "{args:?}: {}", results.len());
        let found: BTreeSet<&str> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
        assert_eq!(found, rules, "the rules are those that were found");
        for result in results {
            assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()), "{result}");
            assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()), "{result}");
            let location = &result["locations"][0]["physicalLocation"];
            let file = location["artifactLocation"]["uri"].as_str().unwrap();
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            assert!(!text_of(&location["region"], &text).contains("\n\n"), "{result}");
        }
    }
}

#[test]
fn a_region_is_what_the_finding_is_about() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: a}\n\
                spec: {queue: root.a, submit: {users: [\"ü*\", sue]}, sumbit: {}}\n";
    std::fs::create_dir(folder.path().join("a b")).unwrap();
    let path = folder.path().join("a b/ü.yaml");
    std::fs::write(&path, text).unwrap();
    for given in [Path::new("./a b/ü.yaml"), &path] {
        let log = logged(folder.path(), &["validate", "-f", given.to_str().unwrap()]);
        let placed: Vec<(String, String, String)> = log["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| {
                let location = &result["locations"][0];
                let at = &location["physicalLocation"];
                assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "QueueAcl/a");
                let uri = at["artifactLocation"]["uri"].as_str().unwrap().to_owned();
                (result["ruleId"].as_str().unwrap().to_owned(), uri, text_of(&at["region"], text))
            })
            .collect();
        let expected = [("QW6502", "\"ü*\""), ("QW6101", "sumbit")];
        let expected =
            expected.map(|(code, at)| (code.to_owned(), "a%20b/%C3%BC.yaml".to_owned(), at.to_owned()));
        assert_eq!(placed, expected);
    }
}

/// A known finding may move in its file. One more of the same kind is new, and errors are not left out.
#[test]
fn baseline_of_a_former_run_leaves_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let ends = |command: &[&str], more: &[&str]| {
        let ended = run(&[command, more].concat(), folder.path(), "");
        (ended.status.code(), out(&ended), err(&ended))
    };
    let queues = |acls: &[&str]| {
        let queue =
            |(number, acl): (usize, &&str)| format!("      - {{name: q{number}, submitacl: '{acl}'}}\n");
        let below: String = acls.iter().enumerate().map(queue).collect();
        format!("partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n{below}")
    };
    let (sarif, known) = (["-o", "sarif"], ["--baseline", "known.sarif"]);
    let validate = ["validate", "--strict", "-f", "queues.yaml"];
    write("queues.yaml", &queues(&["none", "none"]));
    let (code, log, _) = ends(&validate, &sarif);
    assert_eq!((code, log.matches("\"ruleId\": \"QW1014\"").count()), (Some(1), 2), "{log}");
    write("known.sarif", &log);
    write("queues.yaml", &format!("# moved\n{}", queues(&["none", "none"])));
    let (code, shown, said) = ends(&validate, &known);
    assert_eq!((code, shown.as_str()), (Some(0), ""), "{said}");
    assert!(said.starts_with("0 errors, 0 warnings, 2 in the baseline; "), "{said}");
    write("queues.yaml", &queues(&["none", "none", "none"]));
    let (code, shown, _) = ends(&validate, &known);
    assert_eq!((code, shown.matches("[QW1014]").count()), (Some(1), 1), "{shown}");
    write("queues.yaml", &queues(&["none"]));
    let (code, _, said) = ends(&validate, &known);
    assert!(
        code == Some(0)
            && said
                .contains("note: 1 finding of the baseline no longer there, first QW1014 in queues.yaml: "),
        "{said}"
    );

    let error = queues(&["sue  devs"]);
    write("queues.yaml", &error);
    write("known.sarif", &ends(&validate, &sarif).1);
    let (code, shown, _) = ends(&validate, &known);
    assert!(code == Some(1) && shown.contains("[QW1001]"), "{shown}");

    let lint = ["lint", "--strict", "-f", "queues.yaml"];
    let open = queues(&["sue"]).replace("root\n", "root\n    submitacl: '*'\n");
    write("queues.yaml", &open);
    write("known.sarif", &ends(&lint, &sarif).1);
    assert_eq!(ends(&lint, &known).0, Some(0));
    write("queues.yaml", &open.replace("'sue'", "'sue', adminacl: eve"));
    assert_eq!(ends(&lint, &known).0, Some(1));
    for text in ["a: 1", "{}"] {
        write("known.sarif", text);
        let (code, _, said) = ends(&lint, &known);
        assert!(
            code == Some(2) && said.contains("known.sarif is not SARIF: create it with -o sarif"),
            "{said}"
        );
    }
}

/// The text of an object is in its file, at the right that it is about.
#[test]
fn lint_places_findings_in_the_files_of_objects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let log = logged(
        folder,
        &["lint", "-f", "examples/quickstart", "--users", "tests/cli/cases/changes.in/users.txt"],
    );
    let results = log["results"].as_array().unwrap();
    let of_objects = results.iter().filter(|result| !result["locations"][0]["logicalLocations"].is_null());
    let mut found = 0;
    for result in of_objects {
        let at = &result["locations"][0]["physicalLocation"];
        let file = at["artifactLocation"]["uri"].as_str().unwrap();
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text_of(&at["region"], &text).is_empty(), "{result}");
        found += 1;
    }
    assert!(found > 0, "{results:#?}");
}
