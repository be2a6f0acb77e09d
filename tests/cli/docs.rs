//! Generates docs/codes.md and docs/codes/: the meaning of a code is the comment where it is declared, its
//! example a case in tests/codes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use go_compat::diag::Code;
use queuewarden::source::catalog;

use super::examples;

const HEAD: &str = "# Codes of all diagnostics\n\n\
    Look up a code: `queuewarden codes QW1003` prints what is here about it.\n\n\
    * A code keeps its number and its meaning.\n\
    * Whether it is an error or a warning can depend on where it is found: a name that YuniKorn drops is a\n  \
    warning in a queues.yaml, which YuniKorn accepts, and an error in a `QueueAcl`, which must not promise what\n  \
    does not hold.\n\n\
    Generated from the sources by `UPDATE=1 cargo test --test all cli::docs`.\n\n";

/// The subjects of the codes, for each thousand.
const ABOUT: [&str; 7] = [
    "an ACL",
    "YAML text",
    "the scheduler's configuration",
    "the admission controller's access keys and their regular expressions",
    "queuewarden's own objects and the plan",
    "files and manifests given to the command line",
    "access questions: who a user is, the rules of applications, what a tree grants, imports, reviews",
];

/// Longer lines of examples are cut on the pages, in characters.
const WIDEST: usize = 300;

/// Returns the sources of the program and its crates.
pub(crate) fn sources() -> Vec<PathBuf> {
    ["src", "crates"].into_iter().flat_map(rust_files).collect()
}

/// Returns the Rust files in a folder of the repository.
pub(crate) fn rust_files(folder: &str) -> Vec<PathBuf> {
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).into_iter();
    all.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// Returns all files in a folder and the folders in it, or the file itself.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    std::fs::read_dir(path).unwrap().flat_map(|entry| files(&entry.unwrap().path())).collect()
}

/// Returns the comment above the declaration of each code, by its number.
fn meanings() -> BTreeMap<u16, String> {
    let mut meanings = BTreeMap::new();
    for file in sources() {
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

/// The targets of links in comments, with the values that replace them for readers.
fn values() -> [(&'static str, String); 10] {
    use go_compat::go_regex;
    use yunikorn::{acl, application::settings, queue};
    [
        ("USER_NAME", acl::USER_NAME.to_owned()),
        ("GROUP_NAME", acl::GROUP_NAME.to_owned()),
        ("QUEUE_NAME", queue::QUEUE_NAME.to_owned()),
        ("MAX_PATH", queue::MAX_PATH.to_string()),
        ("MAX_BYTES", go_regex::MAX_BYTES.to_string()),
        ("MAX_DEPTH", go_regex::MAX_DEPTH.to_string()),
        ("MAX_SIZE", go_regex::MAX_SIZE.to_string()),
        ("lint::MAX_FINDINGS", acl::lint::MAX_FINDINGS.to_string()),
        ("settings::MAX_TEXT", settings::MAX_TEXT.to_string()),
        ("MULTIPLE_SPACES", "QW1001".to_owned()),
    ]
}

/// Replaces the links in a text by the values of their targets.
fn without_links(text: &str) -> String {
    match text.split_once("[`").and_then(|(head, rest)| Some((head, rest.split_once("`]")?))) {
        Some((head, (link, rest))) => {
            let values = values();
            let value = values.iter().find(|(name, _)| link == *name || link.ends_with(&format!("::{name}")));
            let (_, value) = value.unwrap_or_else(|| panic!("what is {link} to a reader?"));
            format!("{head}`{value}`{}", without_links(rest))
        }
        None => text.to_string(),
    }
}

/// Returns the first sentence of a text.
fn first_sentence(text: &str) -> String {
    let mut first = String::new();
    for part in text.split_inclusive(". ") {
        first.push_str(part);
        if !part.ends_with("e.g. ") {
            break;
        }
    }
    first.trim_end().to_owned()
}

/// Returns the anchor of a code on its page, as GitHub and mdBook name it.
fn anchor(code: Code) -> String {
    format!("{}-{}", code.to_string().to_lowercase(), code.title)
}

/// Returns a text in a fence, with overlong lines cut.
fn fenced(language: &str, text: &str) -> String {
    let mut shown = format!("```{language}\n");
    for line in text.lines() {
        shown.extend(line.chars().take(WIDEST));
        shown.push_str(if line.chars().nth(WIDEST).is_some() { "\u{2026}\n" } else { "\n" });
    }
    shown.push_str("```\n");
    shown
}

/// Returns the example of a code, or the test that shows it: files, the command, and its output.
fn shown(code: Code) -> String {
    let Some(example) = examples::examples().get(&code.number) else {
        let row = examples::elsewhere(code).unwrap_or_else(|| panic!("{code} has no example"));
        return format!("No small file shows it. {}\n", row.when);
    };
    let mut shown = String::new();
    for (name, text) in &example.files {
        let language = match name.rsplit_once('.').map_or("", |(_, end)| end) {
            "yaml" => "yaml",
            "xml" => "xml",
            "jsonl" => "json",
            _ => "text",
        };
        shown.extend([&format!("`{name}`:\n\n"), &fenced(language, text), "\n"]);
    }
    shown + &fenced("console", &format!("$ {}\n{}", example.command, example.shown.trim_end()))
}

/// Returns the pages by their paths in docs/: the table of all codes, and one page for each thousand.
fn pages() -> BTreeMap<String, String> {
    let meanings = meanings();
    let mut index = HEAD.to_owned() + "| codes | about |\n|---|---|\n";
    for (thousand, about) in (1..).zip(ABOUT) {
        index.extend([format!("| [QW{thousand}xxx](codes/qw{thousand}.md) | {about} |\n")]);
    }
    index.push_str("\n| code | title | meaning |\n|---|---|---|\n");
    let mut pages = BTreeMap::new();
    for code in catalog::all() {
        let meaning = meanings.get(&code.number).cloned().unwrap_or_default();
        assert!(!meaning.is_empty(), "{code} has no comment that says what it means");
        let thousand = code.number / 1000;
        let first = first_sentence(&meaning).replace('|', "\\|");
        let link = format!("codes/qw{thousand}.md#{}", anchor(code));
        index.extend([format!("| [{code}]({link}) | {} | {first} |\n", code.title)]);
        let page = pages.entry(format!("codes/qw{thousand}.md")).or_insert_with(|| {
            let about = ABOUT[usize::from(thousand) - 1];
            format!(
                "# QW{thousand}xxx: {about}\n\nGenerated from the sources and tests/codes by `UPDATE=1 cargo test --test all cli::docs`.\n\n"
            )
        });
        page.extend([format!("## {code} {}\n\n{meaning}\n\n{}\n", code.title, shown(code))]);
    }
    assert_eq!(pages.len(), ABOUT.len());
    pages
        .into_iter()
        .map(|(path, text)| (path, text.trim_end().to_owned() + "\n"))
        .chain([("codes.md".to_owned(), index)])
        .collect()
}

#[test]
fn codes_are_documented() {
    let declared: Vec<u16> =
        meanings().keys().copied().filter(|number| (1000..8000).contains(number)).collect();
    let listed: Vec<u16> = catalog::all().iter().map(|code| code.number).collect();
    assert_eq!(declared, listed, "every declared code is listed by `queuewarden codes`");
    for (path, text) in pages() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(path);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).is_ok_and(|found| found == text),
            "{} is out of date: UPDATE=1 cargo test --test all cli::docs",
            path.display()
        );
    }
}
