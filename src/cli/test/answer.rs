//! What programs get.

use schemars::JsonSchema;
use serde::Serialize;

use super::suite::Results;
use crate::cli::ask::configuration::Configuration;
use crate::cli::ask::output::visible;
use queuewarden_api::answer::{Texts, VERSION, Verb};
use queuewarden_plan::snapshot::Enforcement;
use yunikorn_access::expect::{Check, Question, Tally, Verdict};

/// What came of all tests.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// What was tested: a file, or a ConfigMap's key.
    pub source: String,
    /// How many checks hold.
    pub passed: usize,
    /// How many do not.
    pub failed: usize,
    /// How many cannot be decided.
    pub undecided: usize,
    /// The tests, in the order of the files.
    pub tests: Vec<OneTest>,
}

/// What came of one `QueueAccessTest`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneTest {
    /// Its name.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// Whether the webhook refuses changes that would break it.
    pub blocks: bool,
    /// How many checks hold.
    pub passed: usize,
    /// How many do not.
    pub failed: usize,
    /// How many cannot be decided.
    pub undecided: usize,
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
    /// The right that is asked about; null for a placement.
    pub verb: Option<Verb>,
    /// The queue it is asked about; null for a placement.
    pub queue: Option<String>,
    /// What is expected, in one line.
    pub expected: String,
    /// What came of it.
    pub result: TestResult,
    /// Why it does not hold, or cannot be decided; null where it holds.
    pub reason: Option<String>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestResult {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// It cannot be decided.
    Undecided,
}

impl TestAnswer {
    /// What came of tests.
    pub fn of(results: &[Results<'_>], configuration: &Configuration) -> Self {
        let tests: Vec<OneTest> = results.iter().map(OneTest::of).collect();
        let sum = |of: fn(&OneTest) -> usize| tests.iter().map(of).fold(0, usize::saturating_add);
        Self {
            version: VERSION,
            source: configuration.name().to_owned(),
            passed: sum(|test| test.passed),
            failed: sum(|test| test.failed),
            undecided: sum(|test| test.undecided),
            tests,
        }
    }

    /// How many checks there are.
    pub fn checks(&self) -> usize {
        self.passed.saturating_add(self.failed).saturating_add(self.undecided)
    }
}

impl OneTest {
    fn of(results: &Results<'_>) -> Self {
        let Results { suite, checks } = results;
        let Tally { passed, failed, undecided } = Tally::of(checks);
        Self {
            name: suite.name.clone(),
            file: suite.file.clone(),
            blocks: suite.spec.enforcement == Enforcement::Block,
            passed,
            failed,
            undecided,
            checks: checks.iter().map(OneCheck::of).collect(),
        }
    }
}

impl OneCheck {
    fn of(check: &Check<'_>) -> Self {
        let (verb, queue) = match check.question {
            Question::Right { right, queue, .. } => (Some(right.into()), Some(queue.to_owned())),
            Question::Placement(_) => (None, None),
        };
        let result = match check.verdict {
            Verdict::Passed => TestResult::Passed,
            Verdict::Failed(_) => TestResult::Failed,
            Verdict::Undecided(_) => TestResult::Undecided,
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
            reason: check.verdict.reason().map(visible),
        }
    }

    /// `case 2 (developers run in prod)`
    pub fn place(&self) -> String {
        match self.case_name.as_str() {
            "" => format!("case {}", self.case),
            name => format!("case {} ({})", self.case, visible(name)),
        }
    }
}
