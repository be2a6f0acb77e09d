//! Checks the words, the comments and the width of the project's own text: the field's words, plain phrases,
//! comments that begin with a verb or a noun, lines that fit.

use std::path::{Path, PathBuf};

use regex::Regex;

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

/// Turns of phrase that are rare in technical English: an expression for lower-case text, an example, and what to
/// write instead. Some are right now and then, so their number is limited instead of forbidden.
const RARE: [(&str, &str, &str); 22] = [
    (r"\b(some|any|every)body\b", "somebody", "someone, anyone, everyone, a user"),
    (
        r"\b(those|that) (of|in|from) (a|an|the|its|their|other|others|all)\b",
        "that of the",
        "repeat the noun",
    ),
    (r"\b(those|the ones?|one) (that|which|who)\b", "one that", "a noun"),
    (r"\b(there is none|there are none|(is|are|has|have) none)\b", "there is none", "a sentence with a noun"),
    (r"\bof (its|their|his|our) own\b", "of its own", "separate, its own"),
    (r"\b(by|in|of|from|to|with) (which|whom)\b", "by which", "a shorter sentence"),
    (r"\b(whatever|whoever|whichever|anew|alike|besides)\b", "whatever", "regardless of, again, also"),
    (r"\bneither\b", "neither", "not … or"),
    (r"\bas far as\b", "as far as", "if, the parts that"),
    (r"\bthe reason why\b", "the reason why", "the reason, the cause"),
    (r"\b(again and again|on and on|now and then)\b", "again and again", "repeatedly, occasionally"),
    (r"\bat the latest\b", "at the latest", "within"),
    (r"\b(behind|beside) (it|them|the|a|an|this|that)\b", "behind the", "after, next to, with"),
    (r"\bstands? (there|in|for|twice|below|above|alone)\b", "stands there", "is, appears, means"),
    (r"\bgo(es)? (by|on|before|its)\b", "goes by", "uses, continues, precedes"),
    (r"\bgives? way\b", "gives way", "is replaced"),
    (r"\b(says|say|said) (so|why|what|which|who|that|it|how)\b", "says why", "reports, shows, explains"),
    (
        r"\bwhat (it|they|is|was|are|were) (reads?|says?|does|written|read|found|meant|wrong|there)\b",
        "what is written",
        "a noun",
    ),
    (r"\bwhere (there|nobody|nothing|no one|it is|they are)\b", "where there is", "if"),
    (r"\b(is|are) about (a|an|no|none|the|one|somebody|others)\b", "is about no", "concerns, affects"),
    (r"\b(counts|counted) (as|only|for|too)\b", "counts as", "is treated as, is in effect"),
    (r"[;:] (none|nothing|no other|not one)\b", "; none", "a sentence with a verb"),
];

/// Most of these turns in 10,000 words of comments, messages and pages.
const MOST_RARE: usize = 18;

/// Most of them in 10,000 words of one page of the documentation; short pages may have three.
const MOST_RARE_ON_A_PAGE: usize = 45;

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

/// Returns the prose of a file in lower case: comments and longer strings of Rust, and pages without code.
fn prose(path: &Path, text: &str) -> String {
    let joined = match path.extension().and_then(|end| end.to_str()) {
        Some("rs") => {
            let (comments, code): (Vec<&str>, Vec<&str>) =
                text.lines().map(str::trim_start).partition(|line| line.starts_with("//"));
            let comments = comments.into_iter().map(|line| line.trim_start_matches(['/', '!']));
            // Without escaped quotes, every second part is a string.
            let code = code.join("\n").replace("\\\"", "");
            let strings = code.split('"').skip(1).step_by(2).filter(|part| part.split(' ').count() > 3);
            comments.chain(strings).collect::<Vec<_>>().join("\n")
        }
        Some("md") => {
            let pages = text.split("```").step_by(2).flat_map(|part| part.split("<!--"));
            let visible = pages.map(|part| part.split_once("-->").map_or(part, |(_, rest)| rest));
            visible.flat_map(|part| part.split('`').step_by(2)).collect::<Vec<_>>().join(" x ")
        }
        _ => String::new(),
    };
    joined.to_lowercase()
}

#[test]
fn rare_turns_of_phrase_stay_rare() {
    let expressions: Vec<Regex> =
        RARE.iter().map(|(expression, ..)| Regex::new(expression).unwrap()).collect();
    for (expression, (_, example, _)) in expressions.iter().zip(&RARE) {
        assert!(expression.is_match(example), "{expression} does not match {example:?}");
    }
    let (mut rare, mut all) = (0, 0);
    let mut pages = Vec::new();
    for (path, text) in texts() {
        let prose = prose(&path, &text);
        let count =
            prose.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()).count();
        let hits = expressions.iter().zip(&RARE).flat_map(|(expression, (_, _, instead))| {
            expression.find_iter(&prose).map(move |hit| format!("{} (write {instead})", hit.as_str()))
        });
        let hits: Vec<String> = hits.collect();
        (rare, all) = (rare + hits.len(), all + count);
        // Pages of codes consist of comments and messages, which are counted above.
        let is_page = path.starts_with(root().join("docs"))
            && !path.starts_with(root().join("docs/codes"))
            && !path.ends_with("codes.md");
        if is_page && hits.len() > 3 && hits.len() * 10_000 > count * MOST_RARE_ON_A_PAGE {
            pages.push(format!("{}: {} in {count} words: {hits:?}", path.display(), hits.len()));
        }
    }
    assert!(all > 200_000, "{all} words");
    assert!(rare * 10_000 < all * MOST_RARE, "{rare} in {all} words; write plainly, see CONTRIBUTING.md");
    assert!(pages.is_empty(), "{}", pages.join("\n"));
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
