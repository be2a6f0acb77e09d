//! Tests completion in a real bash, and the program as a plugin of kubectl.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::process::{BASE, command, out, run};

/// Returns a folder with the program under both its names, and a queue tree.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["queuewarden", "kubectl-queuewarden"] {
        symlink(env!("CARGO_BIN_EXE_queuewarden"), dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("queues.yaml"), BASE).unwrap();
    let acl = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {name: prod}\nspec: {queue: root.a, submit: {users: [ann]}}\n";
    std::fs::write(dir.path().join("acl.yaml"), acl).unwrap();
    dir
}

fn path(dir: &Path) -> std::ffi::OsString {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(dir.to_path_buf()).chain(std::env::split_paths(&old));
    std::env::join_paths(paths).unwrap()
}

/// Returns bash's suggestions for the last of the words.
fn offered(dir: &Path, words: &[&str]) -> Vec<String> {
    let script = r#"
        source <(queuewarden completion bash) || exit 1
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        function=$(complete -p queuewarden | sed 's/.*-F \([^ ]*\) .*/\1/')
        "$function" queuewarden "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", script, "bash"])
        .args(words)
        .current_dir(dir)
        .env("PATH", path(dir))
        // No cluster of the developer's may be queried.
        .env("KUBECONFIG", dir.join("none"))
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut offered: Vec<String> = out(&output).lines().map(str::to_owned).collect();
    offered.sort();
    offered
}

#[test]
fn bash_completes_commands_verbs_files_and_queues() {
    let dir = folder();
    let cases: [(&[&str], &[&str]); 10] = [
        (&["queuewarden", "who"], &["who-can", "whoami"]),
        (&["queuewarden", "can-i", "adm"], &["administer"]),
        (&["queuewarden", "can-i", "submit", "-f", "que"], &["queues.yaml", "queuewarden"]),
        (&["queuewarden", "can-i", "submit", "-f", "queues.yaml", "root."], &["root.a", "root.b"]),
        (&["queuewarden", "who-can", "-f", "queues.yaml", "submit", "ROOT.A"], &["root.a"]),
        (&["queuewarden", "can-i", "submit", "--filename=queues.yaml", "root.x"], &[""]),
        (&["queuewarden", "codes", "QW1003"], &["QW1003"]),
        (&["queuewarden", "suspend", "-f", "acl.yaml", "queue"], &["queueacl/prod"]),
        (&["queuewarden", "resume", "-f", "acl.yaml", "yuni"], &["yunikornconfig/default"]),
        // A source that cannot be read offers nothing, and prints nothing.
        (&["queuewarden", "can-i", "submit", "-f", "none.yaml", "root."], &[""]),
    ];
    for (words, expected) in cases {
        assert_eq!(offered(dir.path(), words), expected, "{words:?}");
    }
}

#[test]
fn other_shells_have_scripts_that_ask_the_program() {
    for shell in ["zsh", "fish", "powershell", "elvish", "kubectl"] {
        let output = run(&["completion", shell], Path::new("."), "");
        assert!(output.status.success());
        assert!(out(&output).contains("QUEUEWARDEN_COMPLETE"), "{shell}");
    }
    assert_eq!(run(&["completion", "csh"], Path::new("."), "").status.code(), Some(2));
}

#[test]
fn as_a_plugin_it_calls_itself_as_it_is_called() {
    let dir = folder();
    let plugin = |args: &[&str]| {
        Command::new(dir.path().join("kubectl-queuewarden"))
            .args(args)
            .env("COLUMNS", "120")
            .output()
            .unwrap()
    };
    let help = out(&plugin(&["can-i", "--help"]));
    assert!(help.contains("Usage: kubectl queuewarden can-i"), "{help}");
    let wrong = plugin(&["cani"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("Usage: kubectl queuewarden"));
    // By its own name it has its own name.
    assert!(out(&command(&["--help"], dir.path()).output().unwrap()).contains("Usage: queuewarden"));
}

#[test]
fn kubectl_completes_the_plugin_by_a_script() {
    let dir = folder();
    let script = dir.path().join("kubectl_complete-queuewarden");
    std::fs::write(&script, out(&run(&["completion", "kubectl"], dir.path(), ""))).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let offered = |args: &[&str]| {
        out(&Command::new(&script)
            .args(args)
            .current_dir(dir.path())
            .env("PATH", path(dir.path()))
            .output()
            .unwrap())
    };
    assert_eq!(offered(&["can-i", "submit", "-f", "queues.yaml", "root.a"]), "root.a\n:4\n");
    assert!(offered(&["what"]).starts_with("what-can\t"));
    // After `--filename=` a file follows without a space.
    assert!(offered(&["can-i", "submit", "--filename="]).contains("queues.yaml"));
}

#[test]
fn manual_pages_go_into_a_folder() {
    let dir = folder();
    let output = run(&["man", "--dir", "man1"], dir.path(), "");
    assert!(output.status.success());
    let page = std::fs::read_to_string(dir.path().join("man1/queuewarden-review.1")).unwrap();
    assert!(page.contains("SubjectAccessReview") && page.contains(".SH OPTIONS"), "{page}");
    assert!(out(&run(&["man"], dir.path(), "")).contains(".TH queuewarden 1"));
}
