//! `queuewarden test`: checks a configuration against the access it is meant to give.
//!
//! * [`answer`]: the results, for programs, people and CI systems.

pub mod answer;

use kube::core::DynamicObject;

use crate::output::findings::{self, plural};
use crate::output::text::SourceDiagnostic;
use crate::output::{Console, Exit, Failure, format};
use crate::source::identity::GroupsArgs;
use crate::source::input::Inputs;
use crate::source::input::object::Object;
use crate::source::session::InputArgs;
use crate::source::validate::objects;
use answer::TestAnswer;
use go_compat::diag::Diagnostic;
use queuewarden_api::access_test::access_test;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::AccessTestSpec;

/// Help text on files and exit codes.
const HELP: &str = "\
Tests are QueueAccessTest objects in any of the files; everything else in them is the configuration: a \
queues.yaml, or YuniKorn's ConfigMaps, with QueueAcls as the operator would render them. No cluster is asked.

Exit codes: 0 every check holds, 1 a check does not hold, 2 the command line is wrong or there is no test, 3 \
a check cannot be decided, or a file cannot be read.";

/// Run access tests: check a configuration against the access it is meant to give
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
        Format::Text => answer::text(&answer, args.verbose),
        Format::Tap => answer::tap(&answer),
        Format::Junit => answer::junit(&answer),
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
/// When there is none, or one cannot be read: it must not seem to have passed.
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
