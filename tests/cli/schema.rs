//! Generates `docs/schema` from the types of the answers, and checks that the commands' output is valid by
//! it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use queuewarden::commands::ask::can_i::application::ApplicationAnswer;
use queuewarden::commands::ask::place::answer::PlaceAnswer;
use queuewarden::commands::ask::whoami::WhoamiAnswer;
#[cfg(feature = "import")]
use queuewarden::commands::change::import::answer::ImportAnswer;
use queuewarden::commands::check::test::TestAnswer;
use queuewarden::commands::operate::check::CheckAnswer;
use queuewarden::commands::operate::history::HistoryAnswer;
use queuewarden::commands::operate::status::StatusAnswer;
use queuewarden::output::findings::ValidateAnswer;
use queuewarden::source::comparison::answer::DiffAnswer;
use queuewarden::source::entries::EntriesAnswer;
use queuewarden_api::answer::{DecisionAnswer, Matrix, WhatCan, WhoCanList};
use schemars::schema_for;
use serde_json::Value;

use super::process::{err, out, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema")
}

/// Returns the schemas by the names of their files.
fn generated() -> BTreeMap<String, Value> {
    let schemas = [
        ("application.json", schema_for!(ApplicationAnswer)),
        ("check.json", schema_for!(CheckAnswer)),
        ("decision.json", schema_for!(DecisionAnswer)),
        ("diff.json", schema_for!(DiffAnswer)),
        ("entries.json", schema_for!(EntriesAnswer)),
        ("history.json", schema_for!(HistoryAnswer)),
        #[cfg(feature = "import")]
        ("import.json", schema_for!(ImportAnswer)),
        ("matrix.json", schema_for!(Matrix)),
        ("place.json", schema_for!(PlaceAnswer)),
        ("report.json", schema_for!(queuewarden_report::Report)),
        ("status.json", schema_for!(StatusAnswer)),
        ("test.json", schema_for!(TestAnswer)),
        ("validate.json", schema_for!(ValidateAnswer)),
        ("what-can.json", schema_for!(WhatCan)),
        ("who-can.json", schema_for!(WhoCanList)),
        ("whoami.json", schema_for!(WhoamiAnswer)),
    ];
    let schemas = schemas.into_iter();
    schemas.map(|(name, schema)| (name.to_owned(), serde_json::to_value(schema).unwrap())).collect()
}

#[test]
fn files_are_what_the_code_generates() {
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(folder()).unwrap();
        for (name, schema) in generated() {
            fs::write(folder().join(name), format!("{schema:#}\n")).unwrap();
        }
    }
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeMap<String, Value> = files
        .map(|path| {
            let schema = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), schema)
        })
        .collect();
    assert!(found == generated(), "docs/schema is out of date: UPDATE=1 cargo test --test all cli::schema");
}

/// Answers of each kind, including a yes and a no, with origins in objects and in texts.
#[test]
fn what_is_printed_is_valid() {
    const MOVE: &str = "can-i move root.prod --to root.ml --owner etl-service --dialect yarn-hadoop -D yarn.acl.enable=1 --as ann";
    const KILL: &str =
        "explain kill x --queue root.prod --owner ann --dialect yarn-cloudera -D yarn.admin.acl=bob --as cy";
    let [moves, kills] = [MOVE, KILL].map(|line| line.split(' ').collect::<Vec<_>>());
    let cases: [(&str, &[&str]); 18] = [
        ("application.json", &moves),
        ("application.json", &kills),
        ("decision.json", &["can-i", "submit", "root.prod.etl", "--as", "ann", "--as-group", "platform"]),
        ("decision.json", &["can-i", "administer", "root.prod.etl", "--as", "ann"]),
        ("decision.json", &["explain", "submit", "root.prod.etl.new", "--as", "etl-service"]),
        ("decision.json", &["explain", "submit", "root.@recovery@", "--as", "etl-service"]),
        ("who-can.json", &["who-can", "submit", "root.prod.etl"]),
        ("what-can.json", &["what-can", "--as", "sue"]),
        ("entries.json", &["what-can", "--as", "sue", "--all"]),
        ("whoami.json", &["whoami", "--as", "oidc:sue", "--as-group", "devs"]),
        ("matrix.json", &["matrix"]),
        ("place.json", &["place", "--queue", "root.prod.etl", "--as", "etl-service"]),
        ("place.json", &["place", "--queue", "root.prod.etl.new", "--as", "ann"]),
        ("place.json", &["place", "--as", "auth0|7", "--as-group", "platform"]),
        ("diff.json", &["diff", "--from", "tests/cli/cases/changes.in/old.yaml"]),
        ("diff.json", &["diff", "--from", "tests/cli/cases/changes.in/old.yaml", "--as", "ann"]),
        ("report.json", &["report", "--now", "2026-06-01"]),
        (
            "validate.json",
            &["validate", "--users", "tests/cli/cases/changes.in/users.txt", "--until", "2099-12-31"],
        ),
    ];
    let schemas = generated();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, args) in cases {
        let validator = jsonschema::validator_for(&schemas[name]).unwrap();
        let args = [args, &["-f", "examples/quickstart", "-o", "json"]].concat();
        let ended = run(&args, root, "");
        let answer: Value = serde_json::from_str(&out(&ended)).unwrap_or_else(|_| panic!("{}", err(&ended)));
        let problems: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{args:?}: {problems:?}");
        let yaml = [&args[..args.len() - 1], &["yaml"]].concat();
        let yaml: Value = serde_saphyr::from_str(&out(&run(&yaml, root, ""))).unwrap();
        assert_eq!(yaml, answer, "YAML says the same: {args:?}");
        // A validator that lets everything through would prove nothing.
        let mut spoilt = answer.clone();
        spoilt["version"] = Value::from("1");
        assert!(!validator.is_valid(&spoilt));
    }
}

/// The example for readers of the format is valid by it.
#[test]
fn the_example_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(root.join("tests/report/example.json")).unwrap();
    let example: Value = serde_json::from_str(&example).unwrap();
    let validator = jsonschema::validator_for(&generated()["report.json"]).unwrap();
    let problems: Vec<String> = validator.iter_errors(&example).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(example["queues"].as_array().unwrap().len() >= 19);
    let mut spoilt = example.clone();
    spoilt["rights"][0]["starts"][0]["queue"] = Value::from("root");
    assert!(!validator.is_valid(&spoilt));
}

/// Tests print JSON alone, from their own files.
#[test]
fn what_tests_print_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cases/test.in");
    let validator = jsonschema::validator_for(&generated()["test.json"]).unwrap();
    let args = ["test", "-o", "json", "-f", "passes.yaml", "fails.yaml", "undecided.yaml", "queues.yaml"];
    let answer: Value = serde_json::from_str(&out(&run(&args, &root, ""))).unwrap();
    let problems: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        (answer["passed"].as_u64(), answer["failed"].as_u64(), answer["undecided"].as_u64()),
        (Some(8), Some(3), Some(1))
    );
    let mut spoilt = answer.clone();
    spoilt["tests"][0]["checks"][0]["result"] = Value::from("fine");
    assert!(!validator.is_valid(&spoilt));
}

/// Imports take files of other programs, and print a complete answer even when they refuse them.
#[test]
fn what_imports_print_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cases/import.in");
    let validator = jsonschema::validator_for(&generated()["import.json"]).unwrap();
    let to_root = ["--yarn-site", "yarn-site.xml", "--cluster-admins", "root"];
    let fair = ["import", "yarn-fair", "cloudera.xml"];
    let spark = ["import", "spark", "spark-defaults.conf", "--user-map", "eve.txt", "--queue", "root.spark"];
    let accepted = ["--accept", "QW7527", "--accept", "QW7528"];
    // The command, its success, and the numbers of manifests, settings, differences and unacknowledged codes
    // in its output.
    let cases: [(Vec<&str>, bool, [usize; 4]); 6] = [
        ([&fair[..], &to_root].concat(), false, [0, 0, 4, 1]),
        ([&fair[..], &to_root, &["--dialect", "yarn-cloudera"]].concat(), true, [9, 0, 2, 0]),
        (vec!["import", "yarn-capacity", "empty.xml"], false, [0, 0, 0, 0]),
        (spark.to_vec(), false, [0, 0, 4, 2]),
        ([&spark[..], &accepted].concat(), true, [1, 6, 4, 0]),
        (vec!["import", "yunikorn", "-f", "queues.yaml"], true, [5, 0, 0, 0]),
    ];
    for (args, imported, counts) in cases {
        let ended = run(&[&args[..], &["-o", "json"]].concat(), &root, "");
        assert_eq!(err(&ended), "", "everything is in the answer: {args:?}");
        let answer: Value = serde_json::from_str(&out(&ended)).unwrap();
        let problems: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{args:?}: {problems:?}");
        let found = ["manifests", "settings", "differences", "unacknowledged"]
            .map(|list| answer[list].as_array().map_or(usize::MAX, Vec::len));
        assert_eq!((answer["imported"].as_bool(), found), (Some(imported), counts), "{args:?}");
        assert_eq!(ended.status.success(), imported, "{args:?}");
        let steps =
            answer["steps"].as_str().is_some_and(|steps| steps.contains("kubectl apply -f imported.yaml"));
        assert_eq!(steps, args[1] == "yunikorn", "{args:?}");
        let mut spoilt = answer.clone();
        spoilt["imported"] = Value::from("maybe");
        assert!(!validator.is_valid(&spoilt));
    }
}
