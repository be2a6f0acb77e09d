//! Streams that nobody reads to the end.

use std::io::Read;
use std::process::Stdio;

use super::run::{acl, command};

/// `queuewarden render … | head -1`: no complaint, no panic.
#[test]
fn a_closed_pipe_is_quiet() {
    let dir = tempfile::tempdir().unwrap();
    // More than any pipe holds, so that the writer meets the closed end.
    let queues: String = (0..20_000).map(|n| format!("          - name: queue-number-{n}\n")).collect();
    let base = format!(
        "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - name: a\n{queues}"
    );
    std::fs::write(dir.path().join("base.yaml"), base).unwrap();
    std::fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let args = ["render", "-f", "acl.yaml", "--base", "base.yaml", "--status", "none"];
    let mut child = command(&args, dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 10];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), b"".as_slice()));
}

/// `queuewarden validate … 2>&-`-like: nobody reads standard error, and the result still comes.
#[test]
fn nobody_listening_to_the_notes_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let mut child = command(&["validate", "-f", "acl.yaml", "-o", "json"], dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stdout.starts_with(b"{"));
}
