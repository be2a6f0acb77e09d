//! Tests streams that nobody reads to the end.

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::process::{BASE, acl, command};

/// Returns a stream that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Returns the exit code of a process that should end by itself.
fn code(mut child: Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("it goes on and on");
}

/// `queuewarden render … | head -1` prints no error and does not panic.
#[test]
fn a_closed_pipe_is_quiet() {
    let dir = tempfile::tempdir().unwrap();
    // More than any pipe holds, so that the writer meets the closed end.
    let queues: Vec<_> = (0..20_000).map(|n| format!("          - name: queue-number-{n}\n")).collect();
    let queues = queues.concat();
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

/// The same holds for one long ACL, which comes from standard input.
#[test]
fn a_closed_pipe_is_quiet_to_an_acl_too() {
    let mut list = tempfile::tempfile().unwrap();
    let names: Vec<String> = (0..100_000).map(|n| format!("user-{n}")).collect();
    list.write_all(names.join(",").as_bytes()).unwrap();
    list.rewind().unwrap();
    let mut child = command(&["acl", "-", "-o", "json"], Path::new("."))
        .stdin(list)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 10];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), b"".as_slice()));
}

/// `queuewarden validate … 2>&-`-like: nobody reads standard error, and the result is still printed.
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

/// A caller who does not read the answer may still check the exit code.
#[test]
fn a_no_to_a_closed_pipe_is_no_yes() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    std::fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    std::fs::write(dir.path().join("broken.yaml"), "kind: [").unwrap();
    let can_i = ["can-i", "submit", "root.a", "-f", "acl.yaml", "--base", "base.yaml", "--as"];
    for (args, expected) in [
        ([&can_i[..], &["sue"]].concat(), 0),
        ([&can_i[..], &["eve"]].concat(), 1),
        (vec!["validate", "-f", "broken.yaml"], 1),
        (vec!["validate", "-f", "broken.yaml", "-o", "json"], 1),
        (vec!["diff", "--from", "base.yaml", "-f", "acl.yaml", "--fail-on-widening"], 1),
    ] {
        let child = command(&args, dir.path()).stdout(closed()).stderr(Stdio::null()).spawn().unwrap();
        assert_eq!(code(child), Some(expected), "{args:?}");
    }
}

/// Returns a review of the verb, as `kubectl` would send it.
fn review(user: &str, queue: &str) -> String {
    let spec = format!(
        r#"{{"user":"{user}","resourceAttributes":{{"verb":"submit","group":"queuewarden.dev","resource":"queues","name":"{queue}"}}}}"#
    );
    format!(r#"{{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{spec}}}"#)
}

/// A caller who checks the exit code gets it for all reviews; a caller who does not, for those until the pipe
/// was closed.
#[test]
fn a_stream_of_reviews_to_a_closed_pipe_has_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    std::fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let (yes, no, unknown) = (review("sue", "root.a"), review("eve", "root.a"), "{}".to_owned());
    for (reviews, flags, expected) in [
        ([&yes, &yes], &["--exit-code"][..], 0),
        ([&yes, &no], &["--exit-code"], 1),
        ([&yes, &unknown], &["--exit-code"], 3),
        ([&no, &yes], &[], 0),
        ([&unknown, &yes], &[], 3),
    ] {
        let lines = reviews.map(|review| review.to_owned() + "\n").concat();
        std::fs::write(dir.path().join("reviews.json"), lines).unwrap();
        let args = ["review", "-f", "reviews.json", "-f", "acl.yaml", "--base", "base.yaml"];
        let child = command(&[&args, flags].concat(), dir.path())
            .stdout(closed())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(code(child), Some(expected), "{reviews:?} {flags:?}");
    }
}

/// `review` runs until its input ends, but stops earlier if nobody reads its output any more.
#[test]
fn a_closed_pipe_ends_what_has_no_end() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("base.yaml"), BASE).unwrap();
    std::fs::write(dir.path().join("acl.yaml"), acl("sue")).unwrap();
    let args = ["review", "-f", "-", "-f", "acl.yaml", "--base", "base.yaml"];
    let mut child = command(&args, dir.path())
        .stdin(Stdio::piped())
        .stdout(closed())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It stays open until the process has ended.
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", review("sue", "root.a")).unwrap();
    assert_eq!(code(child), Some(0));
}
