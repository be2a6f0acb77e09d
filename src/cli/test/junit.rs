//! Formats results as `JUnit`'s XML in the dialect that CI systems have in common: `testsuites`, `testsuite`,
//! `testcase`, `failure` and `error`.

use std::fmt::Write as _;

use super::answer::{OneCheck, OneTest, TestAnswer, TestResult};

/// Returns one suite for each test, one case for each check. An undecided check is an error.
pub fn junit(answer: &TestAnswer) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = attributes(answer.checks(), answer.failed, answer.undecided);
    // Writing to a String does not fail.
    _ = writeln!(xml, "<testsuites name=\"queuewarden\" {counts}>");
    answer.tests.iter().for_each(|test| suite(&mut xml, test));
    xml.push_str("</testsuites>\n");
    xml
}

fn attributes(tests: usize, failures: usize, errors: usize) -> String {
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn suite(xml: &mut String, test: &OneTest) {
    let counts = attributes(test.checks.len(), test.failed, test.undecided);
    let (name, file) = (escaped(&test.name), escaped(&test.file));
    _ = writeln!(xml, "  <testsuite name=\"{name}\" file=\"{file}\" {counts}>");
    test.checks.iter().for_each(|check| case(xml, &name, check));
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, suite: &str, check: &OneCheck) {
    let name = escaped(&format!("{}: {}", check.place(), check.expected));
    let element = match check.result {
        TestResult::Passed => None,
        TestResult::Failed => Some("failure"),
        TestResult::Undecided => Some("error"),
    };
    let Some(element) = element else {
        _ = writeln!(xml, "    <testcase classname=\"{suite}\" name=\"{name}\"/>");
        return;
    };
    let reason = escaped(check.reason.as_deref().unwrap_or_default());
    _ = writeln!(xml, "    <testcase classname=\"{suite}\" name=\"{name}\">");
    _ = writeln!(xml, "      <{element} message=\"{reason}\"/>");
    xml.push_str("    </testcase>\n");
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
            '\t' | '\n' | '\r' => {
                _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_an_attribute_or_is_no_xml() {
        assert_eq!(escaped("a<b>&\"'\n\u{1b}\u{fffe}ü"), "a&lt;b&gt;&amp;&quot;'&#10;\u{fffd}\u{fffd}ü");
    }
}
