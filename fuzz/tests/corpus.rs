//! Runs the fuzz targets for seconds, on known inputs and random changes of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

type Target = fn(&[u8]);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Collects all files below a folder whose names have one of these ends.
fn files(folder: &Path, ends: &[&str], found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ends, found);
        } else if path.extension().is_some_and(|end| ends.iter().any(|wanted| end == *wanted)) {
            found.push(fs::read(path).unwrap());
        }
    }
}

/// Returns the stored inputs of a target: those in `corpus`, and the project's files of the kind.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    files(&own, &["txt", "json"], &mut found);
    match target {
        "yaml" => files(&root().join("tests/samples/yunikorn"), &["yaml"], &mut found),
        "xml" => files(&root().join("tests/samples/yarn"), &["xml"], &mut found),
        _ => {}
    }
    assert!(found.len() >= 5, "{target}: {}", found.len());
    found
}

/// Generates a changed input: some of its bytes are replaced by bytes of another input, or removed.
fn changed(inputs: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let one = proptest::sample::select(inputs.clone());
    let other = proptest::sample::select(inputs);
    let piece = prop_oneof![
        any::<Vec<u8>>().prop_map(|bytes| bytes.into_iter().take(8).collect::<Vec<u8>>()),
        "[ ,*:{}\\[\\]'\"&|>#\\\\\\n\\t\u{0}\u{feff}a-c]{0,6}".prop_map(String::into_bytes),
        (other, any::<prop::sample::Index>(), 0_usize..40).prop_map(|(from, at, length)| {
            let start = at.index(from.len() + 1);
            from[start..from.len().min(start + length)].to_vec()
        }),
    ];
    (one, any::<prop::sample::Index>(), 0_usize..20, piece).prop_map(|(mut input, at, length, piece)| {
        let start = at.index(input.len() + 1);
        let end = input.len().min(start + length);
        input.splice(start..end, piece);
        input
    })
}

fn holds(name: &str, target: Target) {
    let inputs = corpus(name);
    for input in &inputs {
        target(input);
    }
    // `just fuzz` runs for hours. This test covers inputs close to the known ones.
    let mut runner = TestRunner::new(Config { cases: 2000, failure_persistence: None, ..Config::default() });
    runner
        .run(&changed(inputs), |input| {
            target(&input);
            Ok(())
        })
        .unwrap();
}

#[test]
fn acl() {
    holds("acl", queuewarden_fuzz::acl);
}

#[test]
fn yaml() {
    holds("yaml", queuewarden_fuzz::yaml);
}

#[test]
fn regex() {
    holds("regex", queuewarden_fuzz::regex);
}

#[test]
fn admission() {
    holds("admission", queuewarden_fuzz::admission);
}

#[test]
fn access_review() {
    holds("access_review", queuewarden_fuzz::access_review);
}

#[test]
fn xml() {
    holds("xml", queuewarden_fuzz::xml);
}
