//! The results: for programs, for people, in the Test Anything Protocol, and as `JUnit`'s XML.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Suite;
use crate::output::findings::plural;
use crate::output::format::visible;
use crate::source::configuration::Configuration;
use go_compat::diag::is_obeyed;
use queuewarden_api::answer::{Answers, VERSION};
use queuewarden_plan::snapshot::Enforcement;
use queuewarden_plan::view::AccessView;
use yunikorn::identity::GroupResolver;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::Decision;
use yunikorn_access::expect::{Check, CheckOutcome, Expectation, Tally, World, run};

/// The results of all tests.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The tested configuration: a file, or a ConfigMap's key.
    pub source: String,
    /// The number of checks by result.
    #[serde(flatten)]
    pub tally: Tally,
    /// The tests, in the order of the files.
    pub tests: Vec<OneTest>,
}

/// The results of one `QueueAccessTest`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneTest {
    /// Its name.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// True if the webhook rejects changes that would break it.
    pub blocks: bool,
    /// The number of checks by result.
    #[serde(flatten)]
    pub tally: Tally,
    /// The checks: case by case, and in each subject by subject.
    pub checks: Vec<OneCheck>,
}

/// One subject and one question.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneCheck {
    /// The case's number, from 1.
    pub case: usize,
    /// Its name; empty for none.
    pub case_name: String,
    /// The subject's user.
    pub user: String,
    /// The subject's groups, as the test gives them.
    pub groups: Vec<String>,
    /// The right in question; null for a placement.
    pub verb: Option<Right>,
    /// The queue in question; null for a placement.
    pub queue: Option<String>,
    /// The expectation, in one line.
    pub expected: String,
    /// The result.
    pub result: TestResult,
    /// The reason why it fails, or cannot be decided; null if it passes.
    pub reason: Option<String>,
    /// The case for people: `case 2 (developers run in prod)`.
    #[serde(skip)]
    pub location: String,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestResult {
    /// It passes.
    Passed,
    /// It fails.
    Failed,
    /// It cannot be decided.
    Undecided,
}

impl TestAnswer {
    /// Runs all checks; reasons name the location of the grant. `groups` resolves groups that a test does not
    /// name.
    pub(super) fn new(
        suites: &[Suite],
        configuration: &Configuration,
        groups: &(dyn GroupResolver + Sync),
    ) -> Self {
        let explain = |tree: &Tree, decision: &Decision| {
            Answers { source: configuration.name(), tree }.reason(decision)
        };
        let AccessView { trees, version, .. } = &configuration.view;
        let world = World { trees, resolver: groups, version: *version, explain: &explain };
        let checks: Vec<Vec<Check<'_>>> =
            suites.iter().map(|suite| run(&suite.spec.expectations, world)).collect();
        let tests = suites.iter().zip(&checks).map(|(suite, checks)| OneTest::new(suite, checks));
        Self {
            version: VERSION,
            source: configuration.name().to_owned(),
            tally: Tally::new(checks.iter().flatten()),
            tests: tests.collect(),
        }
    }
}

impl OneTest {
    fn new(suite: &Suite, checks: &[Check<'_>]) -> Self {
        Self {
            name: suite.name.clone(),
            file: suite.file.clone(),
            blocks: suite.spec.enforcement == Enforcement::Block,
            tally: Tally::new(checks),
            checks: checks.iter().map(OneCheck::new).collect(),
        }
    }
}

impl OneCheck {
    fn new(check: &Check<'_>) -> Self {
        let (verb, queue) = match check.expectation {
            Expectation::Right { right, queue, .. } => (Some(right), Some(queue.to_owned())),
            Expectation::Placement(_) => (None, None),
        };
        let result = match check.verdict {
            CheckOutcome::Passed => TestResult::Passed,
            CheckOutcome::Failed(_) => TestResult::Failed,
            CheckOutcome::Undecided(_) => TestResult::Undecided,
        };
        Self {
            case: check.index.saturating_add(1),
            case_name: check.case.name.clone(),
            user: check.subject.user.clone(),
            groups: check.subject.groups.clone(),
            verb,
            queue,
            expected: check.to_string(),
            result,
            reason: check.verdict.reason().map(|reason| visible(&reason)),
            location: check.location(),
        }
    }
}

/// Formats the results for people: a line for each test, and below it the failing checks with reasons; `all`
/// shows passing checks, too.
pub(super) fn text(answer: &TestAnswer, all: bool) -> String {
    let mut text = String::new();
    for test in &answer.tests {
        head(&mut text, test);
        let shown = test.checks.iter().filter(|check| all || check.result != TestResult::Passed);
        shown.for_each(|check| line(&mut text, check));
    }
    let tests = plural(answer.tests.len(), "test");
    // Writing to a String does not fail.
    _ = writeln!(text, "{tests}, {}: {}", plural(answer.tally.all(), "check"), counts(answer.tally));
    text
}

fn counts(tally: Tally) -> String {
    let mut counts = format!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.undecided > 0 {
        _ = write!(counts, ", {} undecided", tally.undecided);
    }
    counts
}

fn head(lines: &mut String, test: &OneTest) {
    let word = word(match (test.tally.failed, test.tally.undecided) {
        (0, 0) => TestResult::Passed,
        (0, _) => TestResult::Undecided,
        _ => TestResult::Failed,
    });
    let all = plural(test.checks.len(), "check");
    _ = writeln!(lines, "{word} {} ({}): {} of {all}", visible(&test.name), test.file, test.tally.passed);
}

fn line(lines: &mut String, check: &OneCheck) {
    _ = writeln!(lines, "     {} {}: {}", word(check.result), check.location, visible(&check.expected));
    if let Some(reason) = &check.reason {
        _ = writeln!(lines, "          {}", visible(reason));
    }
}

fn word(result: TestResult) -> &'static str {
    match result {
        TestResult::Passed => "ok  ",
        TestResult::Failed => "FAIL",
        TestResult::Undecided => "??? ",
    }
}

/// Formats results in the Test Anything Protocol, version 14
/// (<https://testanything.org/tap-version-14-specification.html>): one test point for each check. An
/// undecided check is not ok.
pub(super) fn tap(answer: &TestAnswer) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", answer.tally.all());
    let checks = answer.tests.iter().flat_map(|test| test.checks.iter().map(move |check| (test, check)));
    for (index, (test, check)) in checks.enumerate() {
        let ok = if check.result == TestResult::Passed { "ok" } else { "not ok" };
        let number = index.saturating_add(1);
        let words = description(&format!("{}: {}: {}", test.name, check.location, check.expected));
        _ = writeln!(text, "{ok} {number} - {words}");
        if let Some(reason) = &check.reason {
            let severity = if check.result == TestResult::Failed { "fail" } else { "undecided" };
            // Every JSON string is a YAML string.
            let (reason, file) = (Value::from(reason.as_str()), Value::from(test.file.as_str()));
            _ = write!(text, "  ---\n  message: {reason}\n  severity: {severity}\n  file: {file}\n  ...\n");
        }
    }
    text
}

/// Escapes a description, because a hash sign begins a directive.
fn description(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('#', "\\#")
}

/// Formats results as `JUnit`'s XML in the dialect that CI systems have in common: one `testsuite` for each
/// test, one `testcase` for each check. An undecided check is an error.
pub(super) fn junit(answer: &TestAnswer) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = attributes(answer.tally);
    _ = writeln!(xml, "<testsuites name=\"queuewarden\" {counts}>");
    answer.tests.iter().for_each(|test| test_suite(&mut xml, test));
    xml.push_str("</testsuites>\n");
    xml
}

fn attributes(tally: Tally) -> String {
    format!("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tally.all(), tally.failed, tally.undecided)
}

fn test_suite(xml: &mut String, test: &OneTest) {
    let counts = attributes(test.tally);
    let (name, file) = (escaped(&test.name), escaped(&test.file));
    _ = writeln!(xml, "  <testsuite name=\"{name}\" file=\"{file}\" {counts}>");
    test.checks.iter().for_each(|check| case(xml, &name, check));
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, suite: &str, check: &OneCheck) {
    let name = escaped(&format!("{}: {}", check.location, check.expected));
    let attributes = format!("classname=\"{suite}\" name=\"{name}\"");
    let Some(reason) = &check.reason else {
        _ = writeln!(xml, "    <testcase {attributes}/>");
        return;
    };
    let element = if check.result == TestResult::Failed { "failure" } else { "error" };
    let reason = escaped(reason);
    _ = writeln!(
        xml,
        "    <testcase {attributes}>\n      <{element} message=\"{reason}\"/>\n    </testcase>"
    );
}

/// Escapes a text for an attribute. Characters that XML 1.0 does not allow in any form (section 2.2) become
/// replacement characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' if !"\t\n\r".contains(c) => escaped.push('\u{fffd}'),
            c if is_obeyed(c) => {
                _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_sign_is_no_directive() {
        assert_eq!(description("ok # SKIP \\"), "ok \\# SKIP \\\\");
    }

    #[test]
    fn nothing_ends_an_attribute_or_is_no_xml() {
        assert_eq!(
            escaped("a<b>&\"'\n\u{1b}\u{fffe}ü\u{9b}\u{202e}"),
            "a&lt;b&gt;&amp;&quot;'&#10;\u{fffd}\u{fffd}ü&#155;&#8238;"
        );
    }
}
