//! Runs the commands of the GitHub action and of the hook for pre-commit.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::process::{command, err, out, run};

/// The file of a result in SARIF.
pub(super) const FILE: &str = "/locations/0/physicalLocation/artifactLocation/uri";

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// Returns a folder with a tree whose ACL is this one.
fn repository(acl: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: \"{acl}\"\n        queues: [{{name: lab}}]\n"
    );
    std::fs::create_dir(folder.path().join("queues")).unwrap();
    std::fs::write(folder.path().join("queues/queues.yaml"), text).unwrap();
    folder
}

/// Returns the arguments of the hook for pre-commit.
pub(super) fn hook() -> Vec<String> {
    let hooks = read(".pre-commit-hooks.yaml");
    let [hook] = hooks.as_array().unwrap().as_slice() else { panic!("{hooks}") };
    for field in ["id", "name", "entry", "language"] {
        assert!(hook[field].as_str().is_some_and(|text| !text.is_empty()), "pre-commit needs {field}");
    }
    let entry = shlex::split(hook["entry"].as_str().unwrap()).unwrap();
    let args = hook["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    assert_eq!(hook["language"], "script");
    let expected = ("release/queuewarden.sh", &Value::from(false));
    assert_eq!((entry[0].as_str(), &hook["pass_filenames"]), expected);
    entry.iter().cloned().chain(args).skip(1).collect()
}

/// Runs the command of the action in a folder. Returns its output, and the results in its SARIF.
pub(super) fn action(folder: &Path) -> (Output, Vec<Value>) {
    let action = read("action.yml");
    for field in ["name", "description", "runs"] {
        assert!(!action[field].is_null(), "GitHub needs {field}");
    }
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().unwrap();
    assert!(
        steps.iter().all(|step| step["shell"] == "bash"),
        "each step of a composite action names its shell"
    );
    let step = steps.last().unwrap();
    // The shell that GitHub runs for `bash`.
    let mut bash = std::process::Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
    let program = command(&[], folder);
    let path = Path::new(program.get_program()).parent().unwrap().to_str().unwrap().to_owned();
    bash.env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR"));
    bash.current_dir(folder).env("PATH", path + ":" + &std::env::var("PATH").unwrap());
    for (name, value) in step["env"].as_object().unwrap() {
        let input = value.as_str().unwrap().trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        bash.env(name, action["inputs"][input]["default"].as_str().unwrap());
    }
    let ended = bash.output().unwrap();
    let log = std::fs::read_to_string(folder.join("queuewarden.sarif")).unwrap();
    let log: Value = serde_json::from_str(&log).unwrap();
    (ended, log["runs"][0]["results"].as_array().unwrap().clone())
}

#[test]
fn the_hook_of_pre_commit_checks_the_whole_repository() {
    let hook = hook();
    let args: Vec<&str> = hook.iter().map(String::as_str).collect();
    for (acl, code) in [("sue dev", 0), ("sue  dev", 1)] {
        let ended = run(&args, repository(acl).path(), "");
        assert_eq!(ended.status.code(), Some(code), "{}", err(&ended));
    }
}

#[test]
fn the_action_writes_sarif_and_fails_on_errors() {
    for (acl, code, count) in [("sue dev", 0, 0), ("sue  dev", 1, 1)] {
        let folder = repository(acl);
        let (ended, results) = action(folder.path());
        assert_eq!(ended.status.code(), Some(code), "{}{}", out(&ended), err(&ended));
        assert_eq!(results.len(), count, "{results:#?}");
        let file = results.first().and_then(|result| result.pointer(FILE));
        assert!(count == 0 || file == Some(&Value::from("queues/queues.yaml")), "{results:#?}");
    }
}
