//! Output for people: a line for each test, and below it the failing checks with reasons.

use std::fmt::Write as _;

use super::answer::{OneCheck, OneTest, TestAnswer, TestResult};
use crate::cli::findings::plural;

/// Formats the results; `all` shows passing checks, too.
pub fn text(answer: &TestAnswer, all: bool) -> String {
    let mut text = String::new();
    for test in &answer.tests {
        head(&mut text, test);
        let shown = test.checks.iter().filter(|check| all || check.result != TestResult::Passed);
        shown.for_each(|check| line(&mut text, check));
    }
    let tests = plural(answer.tests.len(), "test");
    // Writing to a String does not fail.
    _ = writeln!(text, "{tests}, {}: {}", plural(answer.checks(), "check"), counts(answer));
    text
}

fn counts(answer: &TestAnswer) -> String {
    let mut counts = format!("{} passed, {} failed", answer.passed, answer.failed);
    if answer.undecided > 0 {
        _ = write!(counts, ", {} undecided", answer.undecided);
    }
    counts
}

fn head(lines: &mut String, test: &OneTest) {
    let word = word(match (test.failed, test.undecided) {
        (0, 0) => TestResult::Passed,
        (0, _) => TestResult::Undecided,
        _ => TestResult::Failed,
    });
    let all = test.passed.saturating_add(test.failed).saturating_add(test.undecided);
    _ = writeln!(lines, "{word} {} ({}): {} of {}", test.name, test.file, test.passed, plural(all, "check"));
}

fn line(lines: &mut String, check: &OneCheck) {
    _ = writeln!(lines, "     {} {}: {}", word(check.result), check.place(), check.expected);
    if let Some(reason) = &check.reason {
        _ = writeln!(lines, "          {reason}");
    }
}

fn word(result: TestResult) -> &'static str {
    match result {
        TestResult::Passed => "ok  ",
        TestResult::Failed => "FAIL",
        TestResult::Undecided => "??? ",
    }
}
