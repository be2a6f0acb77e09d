//! Checks the translations in docs/zh against their originals: the blocks are the same, so that the tests of
//! the originals cover them, and a changed original needs a new look at its translation.
//!
//! `UPDATE=1` copies the blocks. After you have translated a change, `TRANSLATED=1 cargo test --test all
//! cli::translations` records the new version of the original.

use std::path::Path;

use yunikorn::config::checksum;

/// The translations in docs/zh, each with its original.
const PAGES: [(&str, &str); 4] = [
    ("README.md", "README.md"),
    ("quick-start.md", "docs/quick-start.md"),
    ("concepts.md", "docs/concepts.md"),
    ("tasks.md", "docs/tasks.md"),
];

/// Number of characters of a checksum that are recorded.
const LENGTH: usize = 16;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn write(path: &str, text: &str) {
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), text).unwrap();
}

/// Splits a page at its fences: every second part is a block.
fn parts(text: &str) -> Vec<&str> {
    text.split("```").collect()
}

/// Returns the version of an original. Comments, which name tests, need no translation.
fn version(original: &str) -> String {
    let mut parts = original.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once("-->").map_or(part, |(_, rest)| rest));
    checksum(&text).chars().take(LENGTH).collect()
}

/// Returns the first line of a translation.
fn header(original: &str) -> String {
    format!("<!-- translation of {original}: {} -->\n", version(&read(original)))
}

#[test]
fn translations_have_the_blocks_of_their_originals() {
    for (page, original) in PAGES {
        let path = format!("docs/zh/{page}");
        let (translated, text) = (read(&path), read(original));
        let (prose, blocks) = (parts(&translated), parts(&text));
        assert_eq!(prose.len(), blocks.len(), "{path}: {original} has another number of blocks");
        assert!(blocks.len() > 1 || page == "concepts.md", "{original} has no blocks");
        let expected: Vec<&str> = (0..)
            .zip(prose.iter().zip(&blocks))
            .map(|(at, (prose, block))| if at % 2 == 1 { *block } else { *prose })
            .collect();
        let expected = expected.join("```");
        if std::env::var_os("UPDATE").is_some() {
            write(&path, &expected);
        }
        assert!(read(&path) == expected, "{path}: blocks differ from {original}: UPDATE=1 copies them");
    }
}

#[test]
fn translations_are_of_the_current_originals() {
    for (page, original) in PAGES {
        let path = format!("docs/zh/{page}");
        let header = header(original);
        if std::env::var_os("TRANSLATED").is_some() {
            let text = read(&path);
            let (_, rest) = text.split_once('\n').unwrap();
            write(&path, &(header.clone() + rest));
        }
        assert!(
            read(&path).starts_with(&header),
            "{path} is older than {original}: translate the change, then run TRANSLATED=1 cargo test --test \
             all cli::translations"
        );
    }
}

#[test]
fn version_changes_with_the_text_and_not_with_comments() {
    assert_eq!(version("A <!-- test: a::b -->b"), version("A <!-- test: c::d -->b"));
    assert_ne!(version("A b"), version("A c"));
    assert_eq!(version("A b").len(), LENGTH);
}
