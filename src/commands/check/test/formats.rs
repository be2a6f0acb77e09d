//! Formats results: for people, in the Test Anything Protocol, and as `JUnit`'s XML.

use std::fmt::Write as _;

use serde_json::Value;

use super::{OneCheck, OneTest, TestAnswer, TestResult};
use crate::output::findings::plural;
use crate::output::format::visible;
use go_compat::diag::is_obeyed;
use yunikorn_access::expect::Tally;

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
    answer.tests.iter().for_each(|test| suite(&mut xml, test));
    xml.push_str("</testsuites>\n");
    xml
}

fn attributes(tally: Tally) -> String {
    format!("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tally.all(), tally.failed, tally.undecided)
}

fn suite(xml: &mut String, test: &OneTest) {
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
