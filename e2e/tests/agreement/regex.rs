//! Compares regular expressions: the model makes the same decision as Go or refuses the expression, but never
//! decides differently.

use anyhow::{Result, ensure};
use go_compat::go_regex::{GoRegex, is_undecided};
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden_e2e::oracle::{PatternAnswer, PatternQuestion};
use std::cell::Cell;

use super::agree_in_each;

const PIECES: [&str; 76] = [
    "a",
    "b",
    "k",
    "s",
    "é",
    "ſ",
    "\u{212a}",
    "٣",
    " ",
    ",",
    "-",
    ".",
    "^",
    "$",
    "|",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "{",
    "}",
    "{2}",
    "{1,3}",
    "{,2}",
    "{2,}",
    "{1001}",
    "{0}",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "(?s)",
    "(?m)",
    "(?U)",
    "(?-i:",
    "(?P<n>",
    "(?<m>",
    "(?=",
    "(?x)",
    "[",
    "]",
    "[^",
    "[a-k]",
    "[^a]",
    "[]a]",
    "[a&&b]",
    "[a--b]",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "[[:foo:]]",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\Z",
    "\\pL",
    "\\p{Greek}",
    "\\P{Lu}",
    "\\Q",
    "\\E",
    "\\x41",
    "\\x{e9}",
    "\\141",
    "\\n",
    "\\.",
    "\\-",
    "\\<",
    "\\",
    "\\C",
];

/// Pieces that are common in expressions for the names of users, groups and namespaces.
const USUAL_PIECES: [&str; 40] = [
    "alice",
    "bob",
    "admin",
    "team-",
    "group_",
    "zoë",
    "system:serviceaccount:",
    "kube-system:",
    "@example",
    "-dev",
    "\\.",
    "\\-",
    "/",
    ".",
    ".*",
    ".+",
    ".?",
    "[a-z]",
    "[0-9]+",
    "[a-z0-9-]*",
    "[^:]+",
    "[A-Za-z_]",
    "[.]",
    "[[:alnum:]]",
    "\\d",
    "\\d+",
    "\\w",
    "\\w+",
    "\\S",
    "[\\w.-]+",
    "\\b",
    "(alice|bob)",
    "(dev|prod)?",
    "(?:a|b)+",
    "(?i:Admin)",
    "[a-z]{2}",
    "\\d{1,3}",
    "x{2,}",
    "(^a$|^b$)",
    "|",
];

fn usual_patterns() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec!["", "^", "^", "(?i)^", "^(", "("]);
    let pieces = vec(prop::sample::select(&USUAL_PIECES[..]), 1..6);
    let end = prop::sample::select(vec!["", "$", "$"]);
    (start, pieces, end).prop_map(|(start, pieces, end)| {
        let close = if start.ends_with('(') { ")" } else { "" };
        format!("{start}{}{close}{end}", pieces.concat())
    })
}

fn patterns() -> impl Strategy<Value = String> {
    vec(prop::sample::select(&PIECES[..]), 0..8).prop_map(|pieces| pieces.concat())
}

fn subjects() -> impl Strategy<Value = Vec<String>> {
    let piece = prop::sample::select(vec![
        "a", "b", "A", "K", "k", "\u{212a}", "s", "ſ", "é", "É", "٣", "1", " ", "\n", "-", "&", "{", "<", "_",
    ]);
    vec(vec(piece, 0..5).prop_map(|pieces| pieces.concat()), 1..6)
}

#[test]
fn random_patterns_match_as_in_go_or_are_undecided() -> Result<()> {
    // Refusing everything would agree, too.
    compare(4_000, patterns(), 60)
}

#[test]
fn usual_patterns_match_as_in_go() -> Result<()> {
    compare(2_000, usual_patterns(), 2)
}

/// Compares with Go. Of the patterns that Go accepts, at most this percentage may be undecided.
fn compare(cases: usize, patterns: impl Strategy<Value = String>, most_undecided: usize) -> Result<()> {
    let decided = Cell::new((0_usize, 0_usize));
    agree_in_each(cases, &(patterns, subjects()), |oracle, _, inputs| {
        let questions: Vec<PatternQuestion> = inputs
            .iter()
            .map(|(pattern, subjects)| PatternQuestion {
                pattern: pattern.clone(),
                subjects: subjects.clone(),
            })
            .collect();
        let answers = oracle.pattern(&questions)?;
        let accepted = answers.iter().filter(|answer| answer.error.is_empty()).count();
        let (before, undecided) = decided.get();
        let refused = questions
            .iter()
            .zip(&answers)
            .filter(|(question, answer)| answer.error.is_empty() && GoRegex::new(&question.pattern).is_err());
        decided.set((before + accepted, undecided + refused.count()));
        Ok(questions.iter().zip(&answers).map(|(question, answer)| difference(question, answer)).collect())
    })?;
    let (accepted, undecided) = decided.get();
    ensure!(
        undecided * 100 <= accepted * most_undecided,
        "{undecided} of {accepted} patterns that Go accepts are undecided"
    );
    Ok(())
}

fn difference(question: &PatternQuestion, answer: &PatternAnswer) -> Option<String> {
    let wrong = match GoRegex::new(&question.pattern) {
        Ok(regex) => {
            let matches: Vec<bool> =
                question.subjects.iter().map(|subject| regex.is_match(subject)).collect();
            (!answer.error.is_empty() || matches != answer.matches).then(|| format!("{matches:?}"))
        }
        Err(refusal) if is_undecided(&refusal) => None,
        Err(refusal) => answer.error.is_empty().then_some(refusal.message),
    };
    wrong.map(|wrong| format!("the model says {wrong}, Go {answer:?}"))
}
