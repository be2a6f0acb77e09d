//! Output for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::Suite;
use crate::output::format::visible;
use crate::source::configuration::Configuration;
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
