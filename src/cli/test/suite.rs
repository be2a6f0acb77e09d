//! The tests among the files, with the results of their checks.

use kube::core::DynamicObject;

use crate::cli::Failure;
use crate::cli::ask::configuration::Configuration;
use crate::cli::console::Console;
use crate::cli::findings::{self, plural};
use crate::cli::input::object::{Kind, Object};
use crate::cli::input::{Finding, Inputs};
use crate::cli::validate::objects;
use queuewarden_api::access_test::access_test;
use queuewarden_api::answer::Answers;
use queuewarden_plan::snapshot::AccessTestSpec;
use yunikorn::identity::GroupResolver;
use yunikorn_access::Tree;
use yunikorn_access::check::Decision;
use yunikorn_access::expect::{Check, World, run};

/// A test.
#[derive(Debug)]
pub struct Suite {
    /// `metadata.name`
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// Its expectations.
    pub spec: AccessTestSpec,
}

/// A test with its results.
#[derive(Debug)]
pub struct Results<'s> {
    /// The test.
    pub suite: &'s Suite,
    /// Its checks.
    pub checks: Vec<Check<'s>>,
}

/// Reads the tests, in the order of the files. Findings on a test are printed.
///
/// # Errors
/// When there is none, or one cannot be read: it must not seem to have passed.
pub fn read(inputs: &Inputs, console: Console) -> Result<Vec<Suite>, Failure> {
    let mut suites = Vec::new();
    let mut unreadable = 0_usize;
    for object in inputs.of_kind(Kind::QueueAccessTest) {
        match suite(inputs, object) {
            Ok(suite) => suites.push(suite),
            Err(found) => {
                unreadable = unreadable.saturating_add(1);
                console.err(&findings::text(&inputs.sources, &found, console.color_err()));
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

fn suite(inputs: &Inputs, object: &Object) -> Result<Suite, Vec<Finding>> {
    let diagnostics = objects::check(inputs, object);
    let dynamic = serde_json::from_value::<DynamicObject>(object.document.value.clone());
    let spec = dynamic.ok().and_then(|dynamic| access_test(&dynamic).spec.ok());
    match spec.filter(|_| !diagnostics.iter().any(go_compat::diag::Diagnostic::is_error)) {
        Some(spec) => {
            let file = inputs.name(object.document.source).to_owned();
            Ok(Suite { name: object.name.clone(), file, spec })
        }
        None => Err(diagnostics.into_iter().map(|diagnostic| object.finding(diagnostic)).collect()),
    }
}

/// Runs all checks; reasons name the location of the grant. `groups` resolves groups that a test does not
/// name.
pub fn results<'s>(
    suites: &'s [Suite],
    configuration: &Configuration,
    groups: &(dyn GroupResolver + Sync),
) -> Vec<Results<'s>> {
    let explain = |tree: &Tree, decision: &Decision| Answers { configuration, tree }.reason(decision);
    let world = World { trees: configuration.trees(), resolver: groups, explain: &explain };
    let of = |suite: &'s Suite| Results { suite, checks: run(&suite.spec.expectations, world) };
    suites.iter().map(of).collect()
}
