//! Output of the comparison for people.

use std::cell::Cell;
use std::io::{self, IsTerminal};

use crate::cli::ask::output::Table;
use crate::cli::console::Console;
use crate::cli::findings::plural;
use crate::cli::input::source::Source as Text;
use go_compat::diag::Code;
use queuewarden_import::proof::{Difference, Direction, Proof};
use queuewarden_import::yarn::Source;
use queuewarden_import::{Place, spark};
use yunikorn_access::check::Subject;

/// Maximum number of rows; more are counted.
const MAX_ROWS: usize = 200;
/// Maximum number of queues in one cell; more are counted.
const MAX_QUEUES: usize = 3;
/// Number of names from which a comparison shows its progress.
const MANY: usize = 500;

/// Formats the differences as a table, and the extent of the comparison.
pub(super) fn text(source: &Source, proof: &Proof, texts: &[Text]) -> String {
    let header = ["ACCESS", "WHO", "IN KUBERNETES", "VERB", "QUEUES", "CODE", "WRITTEN IN"];
    let rows = proof.differences.iter().map(|difference| row(source, difference, texts));
    let asked = format!("{} queues, {} names, both rights", proof.queues, proof.subjects);
    let directions = proof.differences.iter().map(|difference| difference.direction);
    [table(header, rows), summary(&asked, proof.questions(), directions)].concat()
}

/// Formats the same for Spark's applications.
pub(super) fn spark(proof: &spark::Proof, texts: &[Text]) -> String {
    let header = ["ACCESS", "WHO", "IN KUBERNETES", "VERB", "CODE", "WRITTEN IN"];
    let rows = proof.differences.iter().map(|difference| {
        [
            word(difference.direction).to_owned(),
            difference.subject.to_string(),
            renamed(&difference.subject, &difference.identity),
            difference.asked.verb().to_owned(),
            code(difference.code),
            place(difference.place, texts),
        ]
    });
    let asked = format!("{} names, {} verbs", proof.subjects, spark::Asked::ALL.len());
    let directions = proof.differences.iter().map(|difference| difference.direction);
    [table(header, rows), summary(&asked, proof.questions(), directions)].concat()
}

fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl ExactSizeIterator<Item = [String; COLUMNS]>,
) -> String {
    let more = rows.len().saturating_sub(MAX_ROWS);
    let mut table = Table::new(header);
    rows.take(MAX_ROWS).for_each(|row| table.row(row));
    let mut shown = if table.is_empty() { String::new() } else { table.text(true) };
    if more > 0 {
        shown.extend(["and ", &more.to_string(), " more\n"]);
    }
    shown
}

fn summary(asked: &str, questions: usize, differences: impl Iterator<Item = Direction>) -> String {
    let (wider, narrower): (Vec<_>, Vec<_>) = differences.partition(|found| *found == Direction::Wider);
    let found = match (wider.len(), narrower.len()) {
        (0, 0) => "nobody may do more or less than before".to_owned(),
        (0, narrower) => format!(
            "nobody may do more than before; {} {} access",
            plural(narrower, "difference"),
            if narrower == 1 { "narrows" } else { "narrow" }
        ),
        (wider, narrower) => format!(
            "{} {} access, {narrower} {} it",
            plural(wider, "difference"),
            if wider == 1 { "widens" } else { "widen" },
            if narrower == 1 { "narrows" } else { "narrow" }
        ),
    };
    format!("compared: {asked}: {questions} questions; {found}\n")
}

fn row(source: &Source, difference: &Difference, texts: &[Text]) -> [String; 7] {
    [
        word(difference.direction).to_owned(),
        difference.subject.to_string(),
        renamed(&difference.subject, &difference.identity),
        difference.right.verb().to_owned(),
        queues(source, difference),
        code(difference.code),
        place(difference.place, texts),
    ]
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Wider => "wider",
        Direction::Narrower => "narrower",
    }
}

/// Returns the name in Kubernetes, or nothing if it stays the same. A subject that is left out is not shown
/// as everyone, although it is evaluated as everyone else.
fn renamed(subject: &Subject, identity: &Subject) -> String {
    match identity {
        _ if identity == subject => String::new(),
        Subject::Everyone => "(left out)".to_owned(),
        _ => identity.to_string(),
    }
}

fn code(code: Code) -> String {
    format!("{code} {}", code.title)
}

fn place(place: Option<Place>, texts: &[Text]) -> String {
    place.and_then(|place| Some(texts.get(place.file)?.at(place.span.start))).unwrap_or_default()
}

/// Lists the queues: `root.a, root.b and 7 more`.
fn queues(source: &Source, difference: &Difference) -> String {
    let shown: Vec<&str> = difference
        .queues
        .iter()
        .filter_map(|at| source.queues.get(*at))
        .take(MAX_QUEUES)
        .map(|queue| queue.path.as_str())
        .collect();
    let more = difference.count.saturating_sub(shown.len());
    let words = shown.join(", ");
    if more > 0 { format!("{words} and {more} more") } else { words }
}

/// Progress of a long comparison, on a terminal.
pub(super) struct Progress {
    console: Console,
    terminal: bool,
    shown: Cell<Option<usize>>,
}

impl Progress {
    pub(super) fn of(console: Console) -> Self {
        Self { console, terminal: io::stderr().is_terminal(), shown: Cell::new(None) }
    }

    /// Overwrites the progress line each time another percent is done.
    pub(super) fn show(&self, done: usize, all: usize) {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or_default();
        if self.terminal && all > MANY && self.shown.get() != Some(percent) {
            self.shown.set(Some(percent));
            self.console.err(&format!("\rcomparing: {percent} % of {all} names"));
        }
    }

    /// Clears the progress line.
    pub(super) fn end(&self) {
        if self.shown.get().is_some() {
            self.console.err("\r\u{1b}[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_left_out_is_not_called_everyone() {
        let bob = || Subject::User("bob".to_owned());
        let cases = [
            (bob(), bob(), ""),
            (Subject::Everyone, Subject::Everyone, ""),
            (bob(), Subject::User("robert".to_owned()), "user robert"),
            (bob(), Subject::Everyone, "(left out)"),
        ];
        for (subject, identity, expected) in cases {
            assert_eq!(renamed(&subject, &identity), expected);
        }
    }

    #[test]
    fn differences_are_counted() {
        let summed = |wider, narrower| {
            let all =
                [Direction::Wider].repeat(wider).into_iter().chain([Direction::Narrower].repeat(narrower));
            summary("2 queues", 8, all)
        };
        assert!(summed(0, 0).ends_with("8 questions; nobody may do more or less than before\n"));
        assert!(summed(0, 1).ends_with("nobody may do more than before; 1 difference narrows access\n"));
        assert!(summed(1, 2).ends_with("1 difference widens access, 2 narrow it\n"));
        assert!(summed(2, 1).ends_with("2 differences widen access, 1 narrows it\n"));
    }
}
