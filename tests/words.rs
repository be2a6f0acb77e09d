//! Checks the words, the comments and the width of the project's own text: the field's words, comments that
//! begin with a verb or a noun, lines that fit.

use std::path::{Path, PathBuf};

use super::cli::docs::files;

/// A word that the project avoids, and its replacement.
const REPLACED: [(&str, &str); 17] = [
    ("bed", "test cluster"),
    ("blank", "space, empty"),
    ("curious", "caller, poller"),
    ("door", "endpoint, webhook, HTTPS"),
    ("farewell", "shutdown grace"),
    ("furniture", "fixtures"),
    ("judge", "decide, evaluate"),
    ("judged", "decided"),
    ("judgement", "decision"),
    ("knock", "call"),
    ("ledger", "history, managed keys"),
    ("moot", "redundant"),
    ("outrun", "stale"),
    ("rival", "other writer, conflicting manager"),
    ("told", "reported"),
    ("wish", "request, permission"),
    ("wished", "requested"),
];

/// Folders of the project's own text, and files beside them.
const OWN: [&str; 16] = [
    "benches",
    "charts",
    "crates",
    "docs",
    "e2e",
    "examples",
    "fuzz/src",
    "manifests",
    "src",
    "tests",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "Dockerfile",
    "justfile",
    "CONTRIBUTING.md",
];

/// Paths that hold other people's words: recorded answers, an earlier version's manifests, caches of tools,
/// Grafana's format.
const FOREIGN: [&str; 7] = [
    "tests/vectors",
    "tests/words.rs",
    "e2e/upgrade",
    "e2e/browser/node_modules",
    "e2e/oracle/hadoop/target",
    "charts/queuewarden/files/monitoring/dashboard.json",
    "manifests/monitoring/dashboard.json",
];

/// Longest line of a comment.
const WIDTH: usize = 110;

/// Most doc comments in a thousand that may begin with a question word.
const QUESTIONS: usize = 20;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files of the project's own text, with their content.
fn texts() -> Vec<(PathBuf, String)> {
    let is_foreign = |path: &PathBuf| FOREIGN.iter().any(|foreign| path.starts_with(root().join(foreign)));
    let own = OWN.iter().flat_map(|path| files(&root().join(path))).filter(|path| !is_foreign(path));
    // What is no text, such as a picture, has no words.
    let found: Vec<_> =
        own.filter_map(|path| Some((path.clone(), std::fs::read_to_string(path).ok()?))).collect();
    assert!(found.len() > 500, "{} files", found.len());
    found
}

/// Returns the lines of Rust code, each with its location.
fn rust_lines(texts: &[(PathBuf, String)]) -> impl Iterator<Item = (String, &str)> {
    texts.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "rs")).flat_map(
        |(path, text)| {
            (1..).zip(text.lines()).map(move |(number, line)| (format!("{}:{number}", path.display()), line))
        },
    )
}

/// Splits names into words: `MAX_QueueAcl` has three.
fn words(line: &str) -> impl Iterator<Item = String> {
    line.split(|letter: char| !letter.is_ascii_alphabetic()).flat_map(|name| {
        let mut words = vec![String::new()];
        let mut was_lower = false;
        for letter in name.chars() {
            if letter.is_ascii_uppercase() && was_lower {
                words.push(String::new());
            }
            was_lower = letter.is_ascii_lowercase();
            words.last_mut().unwrap().push(letter.to_ascii_lowercase());
        }
        words
    })
}

#[test]
fn words_are_those_of_the_field() {
    let texts = texts();
    let lines = texts.iter().flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
    let wrong: Vec<String> = lines
        .flat_map(|(path, line)| {
            words(line).filter_map(move |word| {
                let (_, instead) =
                    REPLACED.iter().find(|(old, _)| word.strip_suffix('s').unwrap_or(&word) == *old)?;
                Some(format!("{}: {word} (say {instead}): {line}", path.display()))
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(words("FrontDoors of_a_bed").collect::<Vec<_>>(), ["front", "doors", "of", "a", "bed"]);
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    const ASKING: [&str; 7] = ["What", "Who", "Whom", "Whose", "Whether", "Where", "How"];
    let texts = texts();
    let docs: Vec<_> = rust_lines(&texts)
        .filter_map(|(at, line)| {
            let line = line.trim_start();
            let words = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "))?;
            Some((at, words.split(' ').next().unwrap_or_default().to_owned()))
        })
        .collect();
    let asking: Vec<&str> = docs
        .iter()
        .filter(|(_, first)| ASKING.contains(&first.as_str()))
        .map(|(at, _)| at.as_str())
        .collect();
    assert!(
        asking.len() * 1000 < docs.len() * QUESTIONS,
        "{} of {}:\n{}",
        asking.len(),
        docs.len(),
        asking.join("\n")
    );
}

#[test]
fn comments_fit_the_width() {
    let texts = texts();
    let long: Vec<String> = rust_lines(&texts)
        .filter(|(_, line)| line.trim_start().starts_with("//") && line.chars().count() > WIDTH)
        // An address or an expression cannot be broken.
        .filter(|(_, line)| line.split(' ').all(|word| word.len() < WIDTH / 2))
        .map(|(at, _)| at)
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}
