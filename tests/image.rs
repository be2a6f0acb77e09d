//! Checks that `Dockerfile` copies every file that the program includes: the image is built from less than
//! the checkout.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::cli::docs::sources;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files outside of the sources that the program includes, from the root of the checkout; files that only
/// tests include are not among them.
fn included() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for source in sources() {
        let text = std::fs::read_to_string(&source).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
        for part in program.split("include_str!(\"").skip(1) {
            let path = part.split('"').next().unwrap_or_default();
            let path = normal(&source.parent().unwrap().join(path)).strip_prefix(root()).unwrap().to_owned();
            if !["src", "crates", "tests"].iter().any(|folder| path.starts_with(folder)) {
                found.insert(path);
            }
        }
    }
    found
}

/// Returns a path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn what_the_program_includes_is_in_the_image() {
    let dockerfile = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    let copied: Vec<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("COPY ")?.split_once(' ').map(|(from, _)| from))
        .collect();
    let context = std::fs::read_to_string(root().join(".dockerignore")).unwrap();
    let sent: Vec<&str> = context.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let included = included();
    assert!(included.len() >= 7, "{included:?}");
    for from in copied.iter().filter(|from| !from.starts_with("--")) {
        let is_sent = from.split(' ').all(|from| sent.iter().any(|sent| Path::new(from).starts_with(sent)));
        assert!(is_sent, "{from} is copied, and not sent to the builder: {sent:?}");
    }
    for path in included {
        for list in [&copied, &sent] {
            assert!(list.iter().any(|from| path.starts_with(from)), "{} is not in {list:?}", path.display());
        }
    }
}
