//! What the comparison found, for people.

use std::cell::Cell;
use std::io::{self, IsTerminal};

use crate::cli::ask::output::Table;
use crate::cli::console::Console;
use crate::cli::input::source::Source as Text;
use crate::import::proof::{Difference, Direction, Proof};
use crate::import::yarn::Source;

/// More rows are counted, and not shown.
const MAX_ROWS: usize = 200;
/// More queues in one cell are counted, and not shown.
const MAX_QUEUES: usize = 3;
/// Fewer names are compared without a word.
const MANY: usize = 500;

/// The differences as a table, and how much was compared.
pub(super) fn text(source: &Source, proof: &Proof, texts: &[Text]) -> String {
    let mut table = Table::new(["ACCESS", "WHO", "IN KUBERNETES", "VERB", "QUEUES", "CODE", "WRITTEN IN"]);
    for difference in proof.differences.iter().take(MAX_ROWS) {
        table.row(row(source, difference, texts));
    }
    let mut shown = if table.is_empty() { String::new() } else { table.text(true) };
    let more = proof.differences.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        shown.extend(["and ", &more.to_string(), " more\n"]);
    }
    let [wider, narrower] =
        [Direction::Wider, Direction::Narrower].map(|direction| proof.of(direction).count());
    let asked = format!(
        "{} queues, {} names, both rights: {} questions",
        proof.queues,
        proof.subjects,
        proof.questions()
    );
    let found = match (wider, narrower) {
        (0, 0) => "nobody may do more or less than before".to_owned(),
        (0, _) => format!("nobody may do more than before; {narrower} differences narrow access"),
        _ => format!("{wider} differences widen access, {narrower} narrow it"),
    };
    shown.extend(["compared: ", &asked, "; ", &found, "\n"]);
    shown
}

fn row(source: &Source, difference: &Difference, texts: &[Text]) -> [String; 7] {
    let direction = match difference.direction {
        Direction::Wider => "wider",
        Direction::Narrower => "narrower",
    };
    let identity = if difference.identity == difference.subject {
        String::new()
    } else {
        difference.identity.to_string()
    };
    let place = difference.place.and_then(|place| Some(texts.get(place.file)?.at(place.span.start)));
    [
        direction.to_owned(),
        difference.subject.to_string(),
        identity,
        difference.right.verb().to_owned(),
        queues(source, difference),
        format!("{} {}", difference.code, difference.code.title),
        place.unwrap_or_default(),
    ]
}

/// `root.a, root.b and 7 more`
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

/// How far a long comparison is, on a terminal.
pub(super) struct Progress {
    console: Console,
    terminal: bool,
    shown: Cell<Option<usize>>,
}

impl Progress {
    pub(super) fn of(console: Console) -> Self {
        Self { console, terminal: io::stderr().is_terminal(), shown: Cell::new(None) }
    }

    /// One line that is written over, each time another percent is done.
    pub(super) fn show(&self, done: usize, all: usize) {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or_default();
        if self.terminal && all > MANY && self.shown.get() != Some(percent) {
            self.shown.set(Some(percent));
            self.console.err(&format!("\rcomparing: {percent} % of {all} names"));
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if self.shown.get().is_some() {
            self.console.err("\r\u{1b}[2K");
        }
    }
}
