//! Runs the binary as a child process.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns the binary with these arguments, in this folder, with no settings of the developer's terminal.
pub(super) fn command(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuewarden"));
    command.args(args).current_dir(folder).env("NO_COLOR", "1").env("COLUMNS", "120");
    command
}

/// Runs it to its end, with `input` on standard input.
pub(super) fn run(args: &[&str], folder: &Path, input: &str) -> Output {
    let mut command = command(args, folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read its input may have ended already.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

/// Returns standard output as text.
pub(super) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns standard error as text.
pub(super) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A small queue tree.
pub(super) const BASE: &str = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - name: a\n          - name: b\n";

/// Returns a `QueueAcl` that lets `user` submit to `root.a`.
pub(super) fn acl(user: &str) -> String {
    format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata:\n  name: a\nspec:\n  queue: root.a\n  submit:\n    users: [{user}]\n"
    )
}
