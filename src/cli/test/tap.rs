//! Formats results in the Test Anything Protocol, version 14
//! (<https://testanything.org/tap-version-14-specification.html>).

use std::fmt::Write as _;

use serde_json::Value;

use super::answer::{TestAnswer, TestResult};

/// Returns one test point for each check. An undecided check is not ok.
pub fn tap(answer: &TestAnswer) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", answer.checks());
    let checks = answer.tests.iter().flat_map(|test| test.checks.iter().map(move |check| (test, check)));
    for (index, (test, check)) in checks.enumerate() {
        let ok = if check.result == TestResult::Passed { "ok" } else { "not ok" };
        let number = index.saturating_add(1);
        let words = description(&format!("{}: {}: {}", test.name, check.place(), check.expected));
        // Writing to a String does not fail.
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
    text.replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_sign_is_no_directive() {
        assert_eq!(description("ok # SKIP \\"), "ok \\# SKIP \\\\");
    }
}
