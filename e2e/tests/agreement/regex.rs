//! Regular expressions: Go's decision, or a refusal, never a decision of our own.

use anyhow::{Result, ensure};
use proptest::collection::vec;
use proptest::prelude::*;
use queuewarden::text::go_regex::{GoRegex, Verdict};
use queuewarden_e2e::Oracle;
use queuewarden_e2e::oracle::{PatternAnswer, PatternQuestion};
use std::cell::Cell;

use super::agree;

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
fn the_model_matches_as_go_does() -> Result<()> {
    let judged = Cell::new((0_usize, 0_usize));
    agree(8_000, &(patterns(), subjects()), |inputs| {
        let questions: Vec<PatternQuestion> = inputs
            .iter()
            .map(|(pattern, subjects)| PatternQuestion {
                pattern: pattern.clone(),
                subjects: subjects.clone(),
            })
            .collect();
        let answers = Oracle::get()?.pattern(&questions)?;
        let accepted = answers.iter().filter(|answer| answer.error.is_empty()).count();
        let (before, unjudged) = judged.get();
        let refused = questions
            .iter()
            .zip(&answers)
            .filter(|(question, answer)| answer.error.is_empty() && GoRegex::new(&question.pattern).is_err());
        judged.set((before + accepted, unjudged + refused.count()));
        Ok(questions.iter().zip(&answers).map(|(question, answer)| difference(question, answer)).collect())
    })?;
    // Refusing everything would agree, too.
    let (accepted, unjudged) = judged.get();
    ensure!(unjudged * 100 <= accepted, "{unjudged} of {accepted} patterns that Go accepts are refused");
    Ok(())
}

fn difference(question: &PatternQuestion, answer: &PatternAnswer) -> Option<String> {
    let wrong = match GoRegex::new(&question.pattern) {
        Ok(regex) => {
            let matches: Vec<bool> =
                question.subjects.iter().map(|subject| regex.is_match(subject)).collect();
            (!answer.error.is_empty() || matches != answer.matches).then(|| format!("{matches:?}"))
        }
        Err(refusal) if Verdict::of(&refusal) == Verdict::Unjudged => None,
        Err(refusal) => (refusal.message != answer.error).then_some(refusal.message),
    };
    wrong.map(|wrong| format!("the model says {wrong}, Go {answer:?}"))
}
