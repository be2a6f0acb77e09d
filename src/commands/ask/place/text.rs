//! Output for people: the outcome, the question, each rule, and changes to another outcome.

use crate::output::explanation;
use std::fmt::Write as _;

use super::answer::{OutcomeKind, PlaceAnswer, RuleResult, number};
use crate::output::console::wrapped;
use crate::output::format::{Table, visible};
use yunikorn_access::placement::{RuleName, RuleStep, Step};
use yunikorn_access::{Origin, TextLocation};

/// Formats the whole answer; the steps are those of its rules.
pub fn text(answer: &PlaceAnswer, steps: &[Step], width: Option<usize>) -> String {
    let mut shown = headline(answer, steps);
    // Writing to a String cannot fail.
    let _ = write!(shown, "\n\n{}", facts(answer).text(false, width));
    if !answer.rules.is_empty() {
        let _ = write!(shown, "\n{}", rules(answer, steps).text(true, width));
    }
    if let Some(message) = &answer.message {
        shown.push_str("\nYuniKorn says:\n");
        message.lines().for_each(|line| {
            let _ = writeln!(shown, "  {}", visible(line));
        });
    }
    if !answer.remedies.is_empty() {
        shown.push_str(match answer.outcome {
            OutcomeKind::Placed => "\nWhat would let it run where it asks to:\n",
            _ => "\nWhat would change it:\n",
        });
        for remedy in &answer.remedies {
            let _ = writeln!(shown, "- {}", wrapped(&visible(remedy), 2, width));
        }
        if answer.remedies.iter().any(|remedy| remedy.contains("user-info webhook")) {
            shown.push_str(explanation::WEBHOOK);
        }
    }
    shown
}

fn headline(answer: &PlaceAnswer, steps: &[Step]) -> String {
    let reason = visible(&answer.reason);
    match (answer.outcome, &answer.queue) {
        (OutcomeKind::Placed, Some(queue)) => {
            let created = if answer.created.is_empty() { "" } else { ", which is created" };
            let by =
                steps.iter().enumerate().next_back().map(|(at, step)| by(at, &step.rule)).unwrap_or_default();
            format!("placed in {}{created}{}", visible(queue), visible(&by))
        }
        (OutcomeKind::Crashes, _) => format!("the scheduler crashes: {reason}"),
        (OutcomeKind::Rejected, _) => format!("rejected: {reason}"),
        _ => format!("not decided: {reason}"),
    }
}

fn by(at: usize, rule: &RuleStep) -> String {
    match (number(at, rule), &rule.name) {
        (Some(number), _) => format!(", by rule {number} ({})", rule.label()),
        (None, RuleName::Default) => ", as no rule fits".to_owned(),
        (None, RuleName::Recovery) => ", as it runs already".to_owned(),
        (None, name) => format!(", by the rule {}", name.key()),
    }
}

fn facts(answer: &PlaceAnswer) -> Table {
    let mut table = Table::new(["", ""]);
    let tag = |name: &str| answer.tags.get(name).map(String::as_str);
    table.row(["user", &answer.user]);
    table.row(["groups", &answer.groups.join(", ")]);
    table.row(["namespace", tag("namespace").unwrap_or_default()]);
    if let Some(parent) = tag("namespace.parentqueue") {
        table.row(["parent queue", &format!("{parent} (tag namespace.parentqueue)")]);
    }
    table.row(["asks for", answer.asked_queue.as_deref().unwrap_or("no queue")]);
    table.row(["in", &explanation::location(&answer.about)]);
    table
}

/// Builds a row for each rule.
fn rules(answer: &PlaceAnswer, steps: &[Step]) -> Table {
    let mut table = Table::new(["#", "RULE", "AT", "QUEUE", "RESULT"]);
    for (rule, step) in answer.rules.iter().zip(steps) {
        let number = rule.number.map(|number| number.to_string()).unwrap_or_default();
        let written_in = rule.written_in.as_ref().map(|place| line(place, answer)).unwrap_or_default();
        let result = match rule.result {
            RuleResult::Places => format!("placed: {}", rule.reason),
            RuleResult::Ends => format!("ends: {}", rule.reason),
            RuleResult::Names | RuleResult::Passes => format!("skipped: {}", rule.reason),
        };
        let queue = rule.queue.as_deref().unwrap_or("-");
        table.row([&number, &step.rule.label(), &written_in, queue, &result]);
    }
    table
}

/// Formats a location; in the text that the whole answer is about, the line is enough.
fn line(place: &Origin, answer: &PlaceAnswer) -> String {
    match place {
        Origin::Text(TextLocation { name, line: Some(line), .. }) if **name == *answer.about.source => {
            format!("line {line}")
        }
        _ => place.words(),
    }
}
