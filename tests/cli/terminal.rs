//! Tests that output fits a terminal of 80 columns without breaking words.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use nix::pty::{Winsize, openpty};

use super::process::{acl as grant, command, out, run};

const EXPECTED: &str = "tests/cli/terminal.txt";
const COLUMNS: u16 = 80;

/// A tree with long paths and names, and one cause of several findings.
const QUEUES: &str = "\
partitions:
  - name: default
    queues:
      - name: root
        adminacl: ' platform-administrators'
        queues:
          - name: production
            submitacl: '*'
            queues:
              - {name: extract-transform-load, submitacl: 'etl-service data-engineers'}
              - {name: reporting, submitacl: 'grafana'}
              - {name: streaming, submitacl: 'flink'}
";

/// Returns both output streams of a command on a terminal, after the command itself.
fn on_terminal(line: &str, folder: &Path) -> String {
    let size = Winsize { ws_row: 24, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).unwrap();
    let mut child = {
        let mut command = command(&line.split(' ').collect::<Vec<_>>(), folder);
        command.env_remove("COLUMNS").stdin(Stdio::null());
        command.stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
        command.spawn().unwrap()
    };
    let mut printed = Vec::new();
    // Linux reports an error when the last writer has gone.
    drop(File::from(terminal.master).read_to_end(&mut printed));
    child.wait().unwrap();
    format!("$ queuewarden {line}\n{}\n", String::from_utf8(printed).unwrap().replace("\r\n", "\n"))
}

fn acl(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn on_80_columns_no_word_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(200);
    let object = acl(
        "reporting-of-last-year",
        "queue: root.production.reporting, submit: {users: [superset, data-scientists-of-the-other-team]}, expiresAt: 2026-01-01T00:00:00Z, baseAcl: Extend",
    );
    let change = acl(
        "extract-transform-load",
        "queue: root.production.extract-transform-load, admin: {users: [the-new-administrator]}",
    );
    let named = acl("long", &format!("queue: root.production.streaming, submit: {{users: [{long}]}}"));
    for (name, text) in
        [("queues.yaml", QUEUES), ("acl.yaml", &object), ("change.yaml", &change), ("long.yaml", &named)]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let lines = [
        "render -f queues.yaml --base queues.yaml -f acl.yaml --now 2026-06-01 --output-file out.yaml",
        "who-can submit root.production.extract-transform-load -f queues.yaml -f change.yaml",
        "what-can --as the-new-administrator -o wide -f queues.yaml -f change.yaml",
        "explain submit root.production.reporting --as nobody -f queues.yaml",
        "explain administer root.production --as nobody -f queues.yaml",
        "matrix -f queues.yaml",
        "diff --from queues.yaml -f change.yaml",
        "lint -f queues.yaml",
        "who-can submit root.production.streaming -f queues.yaml -f long.yaml",
    ];
    let printed: String = lines.iter().map(|line| on_terminal(line, folder.path())).collect();
    let of_matrix = |line: &str| line.starts_with("QUEUE   ") || line.starts_with("root");
    for line in printed.lines().filter(|line| !line.starts_with("$ ") && !of_matrix(line)) {
        let one_word = line.trim().split(' ').count() == 1;
        assert!(line.chars().count() <= usize::from(COLUMNS) || one_word, "{line}");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(EXPECTED, &printed).unwrap();
    }
    let expected = fs::read_to_string(EXPECTED).unwrap_or_default();
    assert_eq!(printed, expected, "run with UPDATE=1, and read the difference");
}

#[test]
fn answers_have_colours_only_where_the_option_or_a_terminal_wants_them() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("queues.yaml", super::process::BASE.to_owned()), ("acl.yaml", grant("sue"))];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for (line, plain, coloured) in [
        ("can-i submit root.a --as sue", "yes\n", "\u{1b}[1;92myes\u{1b}[0m\n"),
        ("can-i submit root.a --as ann", "no - ", "\u{1b}[1;91mno\u{1b}[0m - "),
        ("who-can submit root.a --no-headers", "User   sue ", "User   \u{1b}[1msue\u{1b}[0m "),
    ] {
        let printed = |color: &[&str]| {
            let args: Vec<_> = line.split(' ').chain(["-f", "queues.yaml", "-f", "acl.yaml"]).collect();
            out(&run(&[&args[..], color].concat(), folder.path(), ""))
        };
        assert!(printed(&["--color=always"]).starts_with(coloured), "{line}");
        assert!(printed(&[]).starts_with(plain), "{line}: a pipe is no terminal");
        assert!(printed(&["--color=never"]).starts_with(plain), "{line}");
    }
}

#[test]
fn report_without_output_replaces_its_file_and_prints_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue-access.html");
    fs::write(folder.path().join("queues.yaml"), super::process::BASE).unwrap();
    fs::write(&file, "an older one").unwrap();
    let printed = run(&["report", "-f", "queues.yaml"], folder.path(), "");
    assert_eq!((printed.status.code(), out(&printed).as_str()), (Some(0), "queue-access.html\n"));
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!DOCTYPE html>"));
}
