//! docs/codes.md is generated from the sources: the meaning of a code is the comment where it is declared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use queuewarden::cli::codes;

const HEAD: &str = "# Codes of all diagnostics\n\n\
    Generated from the sources by `UPDATE=1 cargo test --test all cli::docs`. A code keeps its number and its meaning. Whether it is an error or a\n\
    warning can depend on where it is found: a name that YuniKorn drops is a warning in a queues.yaml, which YuniKorn accepts, and an error in a\n\
    `QueueAcl`, which must not promise what does not hold.\n\n\
    | codes | about |\n|---|---|\n\
    | QW1xxx | an ACL |\n| QW2xxx | YAML text |\n| QW3xxx | the scheduler's configuration |\n| QW4xxx | the admission controller's access keys and their regular expressions |\n\
    | QW5xxx | queuewarden's own objects and the plan |\n| QW6xxx | files and manifests given to the command line |\n\
    | QW7xxx | access questions: who a user is, the rules of applications, what a tree grants, imports, reviews |\n\n\
    | code | title | meaning |\n|---|---|---|\n";

pub(super) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Per code number the comment above its declaration.
fn meanings() -> BTreeMap<u16, String> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut meanings = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let mut comment = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(words) = line.strip_prefix("///") {
                comment.push(words.trim());
            } else if let Some((_, rest)) = line.split_once("Code::new(").filter(|_| line.contains("const "))
            {
                let number = rest.split(',').next().unwrap().trim().replace('_', "");
                if let Ok(number) = number.parse() {
                    // Links are for rustdoc; an empty comment line is a paragraph there and nothing here.
                    let words: Vec<&str> =
                        comment.iter().copied().filter(|words| !words.is_empty()).collect();
                    meanings.insert(number, without_links(&words.join(" ")));
                }
                comment.clear();
            } else {
                comment.clear();
            }
        }
    }
    meanings
}

/// The text with rustdoc's links as plain code.
fn without_links(text: &str) -> String {
    match text.split_once("[`").and_then(|(head, rest)| Some((head, rest.split_once("`]")?))) {
        Some((head, (code, rest))) => format!("{head}`{code}`{}", without_links(rest)),
        None => text.to_string(),
    }
}

#[test]
fn codes_are_documented() {
    let meanings = meanings();
    let mut text = HEAD.to_string();
    for code in codes::all() {
        let meaning = meanings.get(&code.number).cloned().unwrap_or_default();
        assert!(!meaning.is_empty(), "{code} has no comment that says what it means");
        let meaning = meaning.replace('|', "\\|");
        text.extend(["| ", &code.to_string(), " | ", code.title, " | ", &meaning, " |\n"]);
    }
    let declared: Vec<u16> =
        meanings.keys().copied().filter(|number| (1000..8000).contains(number)).collect();
    let listed: Vec<u16> = codes::all().iter().map(|code| code.number).collect();
    assert_eq!(declared, listed, "every declared code is listed by `queuewarden codes`");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/codes.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|found| found == text),
        "docs/codes.md is out of date: UPDATE=1 cargo test --test all cli::docs"
    );
}
