//! Prints the figures side by side, as Markdown.

use std::fmt::Write as _;

use super::{Figures, inputs};

/// One line: the measurement, its name here and in the other programs, and how many times as fast as Go it
/// should be.
struct Row {
    what: String,
    ours: String,
    theirs: String,
    goal: Option<f64>,
}

impl Row {
    fn new(what: impl Into<String>, ours: &str, theirs: &str, goal: Option<f64>) -> Self {
        Self { what: what.into(), ours: ours.to_owned(), theirs: theirs.to_owned(), goal }
    }
}

/// Returns the whole table; missed goals are marked.
pub(super) fn table(ours: &Figures, go: &Figures, java: &Figures) -> String {
    let mut text = "| | queuewarden | YuniKorn (Go) | Hadoop (Java) | ratio to Go | goal |\n\
                    |---|---:|---:|---:|---:|---|\n"
        .to_owned();
    for Row { what, ours: name, theirs, goal } in rows() {
        let (mine, theirs, hadoop) = (ours.get(&name), go.get(&theirs), java.get(&name));
        let ratio = theirs.zip(mine).map(|(theirs, mine)| theirs / mine);
        let times = ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}"));
        let goal = match (goal, ratio) {
            (Some(goal), Some(ratio)) => with_result(&format!("≥ {goal}"), ratio >= goal),
            _ => String::new(),
        };
        _ = writeln!(
            text,
            "| {what} | {} | {} | {} | {times} | {goal} |",
            shown(mine),
            shown(theirs),
            shown(hadoop)
        );
    }
    let review = shown(ours.get("Review"));
    _ = writeln!(
        text,
        "| a SubjectAccessReview, allowed, from its JSON to that of the answer | {review} | | | | |"
    );
    let who_can = ours.get("WhoCan");
    let goal = who_can.map_or_else(String::new, |time| with_result("< 1 ms", *time < 1e6));
    _ = writeln!(
        text,
        "| who-can on {} queues, per 1,000 results | {} | | | | {goal} |",
        inputs::QUEUES,
        shown(who_can)
    );
    text
}

fn with_result(goal: &str, met: bool) -> String {
    if met { goal.to_owned() } else { format!("{goal}: **missed**") }
}

fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("read an ACL of 40 names", "Parse", "Parse", Some(6.0)),
        Row::new(format!("load {} queues (Go: validate)", inputs::QUEUES), "Load", "Load", Some(4.0)),
        Row::new("the same (Go: start)", "Load", "Start", None),
    ];
    for (prefix, what, goal) in [("Decision", "", Some(8.0)), ("OnQueue", ", queue known", None)] {
        for decision in inputs::decisions() {
            let name = format!("{prefix}/{}", decision.name);
            let (kind, depth) = decision.name.split_once('/').unwrap_or_default();
            let kind = match kind {
                "miss" => "denied",
                "far" => "root's list",
                _ => "own list",
            };
            rows.push(Row::new(format!("decide, {kind}, depth {depth}{what}"), &name, &name, goal));
        }
    }
    rows
}

/// Prints a figure with the unit that suits it.
fn shown(nanoseconds: Option<&f64>) -> String {
    match nanoseconds {
        None => String::new(),
        Some(time) if *time < 1e3 => format!("{time:.0} ns"),
        Some(time) if *time < 1e6 => format!("{:.2} µs", time / 1e3),
        Some(time) => format!("{:.1} ms", time / 1e6),
    }
}
