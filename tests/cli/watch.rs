//! Tests `render --watch` as a process: files change, and the output follows.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::process::{BASE, acl, command};

/// Longer than any machine needs; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn watching(args: &[&str], folder: &Path) -> Running {
    let mut command = command(&[&["render", "--watch"], args].concat(), folder);
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Waits until the file holds `text`.
fn holds(path: &Path, text: &str) {
    let start = Instant::now();
    while !fs::read_to_string(path).is_ok_and(|content| content.contains(text)) {
        let content = fs::read_to_string(path);
        assert!(start.elapsed() < PATIENCE, "no `{text}` in {content:?}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_changed_file_is_rendered_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("base.yaml"), BASE).unwrap();
    fs::write(at("acl.yaml"), acl("sue")).unwrap();
    let _running =
        watching(&["-f", "acl.yaml", "--base", "base.yaml", "--output-file", "out.yaml"], dir.path());
    holds(&at("out.yaml"), "sue");
    fs::write(at("acl.yaml"), acl("bob")).unwrap();
    holds(&at("out.yaml"), "bob");
    // Editors save this way: a new file takes the name of the old one.
    fs::write(at("acl.yaml.new"), acl("eve")).unwrap();
    fs::rename(at("acl.yaml.new"), at("acl.yaml")).unwrap();
    holds(&at("out.yaml"), "eve");
    // A mistake in between is reported, and the next version is read.
    fs::write(at("acl.yaml"), "kind: [").unwrap();
    fs::write(at("base.yaml"), BASE.replace("- name: b", "- name: c")).unwrap();
    fs::write(at("acl.yaml"), acl("ann")).unwrap();
    holds(&at("out.yaml"), "ann");
    holds(&at("out.yaml"), "- name: c");
}

#[test]
fn files_that_come_into_a_folder_count() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("in")).unwrap();
    fs::write(at("base.yaml"), BASE).unwrap();
    fs::write(at("in/first.yaml"), acl("sue")).unwrap();
    let _running = watching(&["-f", "in", "--base", "base.yaml", "--output-file", "out.yaml"], dir.path());
    holds(&at("out.yaml"), "sue");
    fs::write(at("in/second.yaml"), acl("bob").replace("name: a", "name: second")).unwrap();
    holds(&at("out.yaml"), "bob,sue");
    fs::remove_file(at("in/first.yaml")).unwrap();
    holds(&at("out.yaml"), "'bob'");
}

/// Nothing changes but the time.
#[test]
fn a_window_that_opens_is_rendered() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let begin = now().checked_add(jiff::SignedDuration::from_secs(3)).unwrap();
    // Rounded to the second, as Kubernetes stores times.
    let begin = jiff::Timestamp::from_second(begin.as_second()).unwrap();
    fs::write(at("base.yaml"), BASE).unwrap();
    fs::write(at("acl.yaml"), format!("{}  baseAcl: Extend\n  notBefore: {begin}\n", acl("sue"))).unwrap();
    let _running =
        watching(&["-f", "acl.yaml", "--base", "base.yaml", "--output-file", "out.yaml"], dir.path());
    holds(&at("out.yaml"), "sue");
    assert!(now() >= begin, "granted before its begin");
}

#[expect(clippy::disallowed_methods, reason = "the watched process goes by the real clock")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
