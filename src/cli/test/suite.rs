//! The tests among the files.

use kube::core::DynamicObject;

use crate::cli::findings::{self, plural};
use crate::cli::input::object::{Kind, Object};
use crate::cli::input::{Inputs, SourceDiagnostic};
use crate::cli::validate::objects;
use crate::cli::{Console, Failure};
use go_compat::diag::Diagnostic;
use queuewarden_api::access_test::access_test;
use queuewarden_plan::snapshot::AccessTestSpec;

/// A test.
pub(super) struct Suite {
    /// `metadata.name`
    pub(super) name: String,
    /// The file it is in.
    pub(super) file: String,
    /// Its expectations.
    pub(super) spec: AccessTestSpec,
}

/// Reads the tests, in the order of the files. Findings on a test are printed.
///
/// # Errors
/// When there is none, or one cannot be read: it must not seem to have passed.
pub(super) fn read(inputs: &Inputs, console: Console) -> Result<Vec<Suite>, Failure> {
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

fn suite(inputs: &Inputs, object: &Object) -> Result<Suite, Vec<SourceDiagnostic>> {
    let diagnostics = objects::check(inputs, object);
    let dynamic = serde_json::from_value::<DynamicObject>(object.document.value.clone());
    let spec = dynamic.ok().and_then(|dynamic| access_test(&dynamic).spec.ok());
    let Some(spec) = spec.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)) else {
        return Err(diagnostics.into_iter().map(|diagnostic| object.finding(diagnostic)).collect());
    };
    Ok(Suite { name: object.name.clone(), file: inputs.name(object.document.source).to_owned(), spec })
}
