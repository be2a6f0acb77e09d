//! `queuewarden test`: runs access tests against a configuration.
//!
//! * `formats`: the results for people and CI systems.

mod formats;

use kube::core::DynamicObject;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::findings::{self, plural};
use crate::output::format::visible;
use crate::output::text::SourceDiagnostic;
use crate::output::{Console, Exit, Failure, format};
use crate::source::configuration::Configuration;
use crate::source::identity::GroupsArgs;
use crate::source::input::Inputs;
use crate::source::input::object::Object;
use crate::source::session::InputArgs;
use crate::source::validate::objects;
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{Answers, VERSION};
use queuewarden_api::convert::access_test;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::{AccessTestSpec, Enforcement};
use queuewarden_plan::view::AccessView;
use yunikorn::identity::GroupResolver;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::Decision;
use yunikorn_access::expect::{Check, CheckOutcome, Expectation, Tally, World, run as check};

/// Help text on files and exit codes.
const HELP: &str = "\
Tests are the QueueAccessTest objects in the files. Everything else in the files is the configuration: a \
queues.yaml, or YuniKorn's ConfigMaps, and QueueAcls, which are rendered like in the operator. The command does \
not connect to a cluster.

Exit codes: 0 all checks passed, 1 a check failed, 2 the command line is invalid or there is no test, 3 a check \
is undecided, or a file cannot be read.";

/// Run access tests against a configuration
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = HELP)]
pub struct TestArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The source of groups that a test does not name.
    #[command(flatten)]
    groups: GroupsArgs,
    /// Output format
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    format: Format,
    /// Show passing checks too, in plain output
    #[arg(short, long)]
    verbose: bool,
}

/// Output format of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people: a line for each test, and one for each failing check.
    #[default]
    #[value(alias = "plain")]
    Text,
    /// Test Anything Protocol, version 14.
    Tap,
    /// `JUnit`'s XML, as CI systems read it.
    Junit,
    /// For programs; docs/schema describes the fields.
    Json,
    /// The same as YAML.
    Yaml,
}

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

/// Runs the command.
///
/// # Errors
/// When there is no test, or one cannot be decided, or the output cannot be written.
pub fn run(args: &TestArgs, console: Console) -> Result<Exit, Failure> {
    let given = args.input.read(None, console)?;
    let suites = suites(&given.inputs, console)?;
    let configuration = given.checked(console)?.configuration(console)?;
    configuration.note(None, console);
    let groups = args.groups.resolver(configuration.view.resolver, console)?;
    let answer = TestAnswer::new(&suites, &configuration, &*groups);
    console.out(&match args.format {
        Format::Text => formats::text(&answer, args.verbose),
        Format::Tap => formats::tap(&answer),
        Format::Junit => formats::junit(&answer),
        Format::Json => format::json(&answer)?,
        Format::Yaml => format::yaml(&answer)?,
    })?;
    let tally = answer.tally;
    if tally.failed == 0 && tally.undecided > 0 {
        let checks = plural(tally.all(), "check");
        return Err(Failure::Undecided(format!("{} of {checks} cannot be decided", tally.undecided)));
    }
    Ok(Exit::yes(tally.failed == 0))
}

/// A test.
struct Suite {
    /// `metadata.name`
    name: String,
    /// The file it is in.
    file: String,
    /// Its expectations.
    spec: AccessTestSpec,
}

/// Reads the tests, in the order of the files. Findings on a test are printed.
///
/// # Errors
/// When there is no test, or a test cannot be read, because it must not seem to have passed.
fn suites(inputs: &Inputs, console: Console) -> Result<Vec<Suite>, Failure> {
    let mut suites = Vec::new();
    let mut unreadable = 0_usize;
    for object in inputs.of_kind(ResourceKind::QueueAccessTest) {
        match suite(inputs, object) {
            Ok(suite) => suites.push(suite),
            Err(found) => {
                unreadable = unreadable.saturating_add(1);
                console.err(&findings::text(&inputs.sources, &found, console.look_err()));
            }
        }
    }
    if unreadable > 0 {
        return Err(Failure::Undecided(format!("{} cannot be read", plural(unreadable, "QueueAccessTest"))));
    }
    if suites.is_empty() && inputs.findings.iter().all(|finding| !finding.diagnostic.is_error()) {
        return Err(Failure::Usage("there is no QueueAccessTest in the files".to_owned()));
    }
    Ok(suites)
}

fn suite(inputs: &Inputs, object: &Object) -> Result<Suite, Vec<SourceDiagnostic>> {
    let diagnostics = objects::check(inputs, object, ResourceKind::QueueAccessTest);
    let dynamic = serde_json::from_value::<DynamicObject>(object.document.value.clone());
    let spec = dynamic.ok().and_then(|dynamic| access_test(&dynamic).spec.ok());
    let Some(spec) = spec.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)) else {
        return Err(diagnostics.into_iter().map(|diagnostic| object.finding(diagnostic)).collect());
    };
    Ok(Suite { name: object.name.clone(), file: inputs.name(object.document.source).to_owned(), spec })
}

impl TestAnswer {
    /// Runs all checks; reasons name the location of the grant. `groups` resolves groups that a test does not
    /// name.
    fn new(suites: &[Suite], configuration: &Configuration, groups: &(dyn GroupResolver + Sync)) -> Self {
        let explain = |tree: &Tree, decision: &Decision| {
            Answers { source: configuration.name(), tree }.reason(decision)
        };
        let AccessView { trees, version, .. } = &configuration.view;
        let world = World { trees, resolver: groups, version: *version, explain: &explain };
        let checks: Vec<Vec<Check<'_>>> =
            suites.iter().map(|suite| check(&suite.spec.expectations, world)).collect();
        let tests = suites.iter().zip(&checks).map(|(Suite { name, file, spec }, checks)| OneTest {
            name: name.clone(),
            file: file.clone(),
            blocks: spec.enforcement == Enforcement::Block,
            tally: Tally::new(checks),
            checks: checks.iter().map(OneCheck::new).collect(),
        });
        Self {
            version: VERSION,
            source: configuration.name().to_owned(),
            tally: Tally::new(checks.iter().flatten()),
            tests: tests.collect(),
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
