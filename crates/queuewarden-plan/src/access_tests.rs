//! Evaluates `QueueAccessTest`s against the configuration in force, and before a change to a `QueueAcl` is
//! stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conditions::{Finding, Reason, Type};
use crate::grants::joined;
use crate::snapshot::{AccessTestEntry, AccessTestSpec, Enforcement, ResourceKind, Snapshot};
use crate::status::{AccessTestStatus, Event, ObjectStatus, transitions};
use crate::view::AccessView;
use go_compat::diag::cut;
use yunikorn::{Config, Version};
use yunikorn_access::expect::{Check, CheckOutcome, Expectations, Tally};

/// Most failures that a status lists.
const MAX_FAILURES: usize = 16;
/// The longest of them, in characters.
const MAX_FAILURE: usize = 512;

/// Returns the status of every test for the queues in force. `runs` is an error if they are unknown.
pub(super) fn statuses(
    snapshot: &Snapshot,
    runs: Result<&Config, &str>,
    events: &mut Vec<Event>,
) -> BTreeMap<Arc<str>, ObjectStatus<AccessTestStatus>> {
    if snapshot.access_tests.is_empty() {
        return BTreeMap::new();
    }
    let view = runs.map(|runs| AccessView::active(runs, snapshot.version()));
    let view = view.as_ref().map_err(|why| *why);
    let status = |entry: &AccessTestEntry| {
        let meta = &entry.meta;
        let (findings, rest) = report(entry, view);
        let object = ResourceKind::QueueAccessTest.object(meta.name.clone());
        events.extend(transitions(&object, &meta.conditions, &findings));
        (meta.name.clone(), ObjectStatus::new(meta, &findings, rest, snapshot.now))
    };
    snapshot.access_tests.iter().map(status).collect()
}

fn report(entry: &AccessTestEntry, view: Result<&AccessView, &str>) -> (Vec<Finding>, AccessTestStatus) {
    let (mut findings, status) = match (&entry.spec, view) {
        (Err(faults), _) => {
            let invalid = Finding::no(Type::Accepted, Reason::Invalid, joined(faults));
            (vec![invalid], AccessTestStatus::default())
        }
        (Ok(spec), Err(why)) => {
            let unknown = Finding::unknown(Type::Passing, Reason::ConfigNotReady, why);
            (vec![accepted(spec), unknown], AccessTestStatus::default())
        }
        (Ok(spec), Ok(view)) => {
            let checks = view.run(&spec.expectations);
            let tally = Tally::new(&checks);
            let failures: Vec<String> = failures(&checks).take(MAX_FAILURES).collect();
            (vec![accepted(spec), passing(&tally, &failures)], status(&tally, failures))
        }
    };
    let holds = || Finding::yes(Type::Ready, Reason::Ready, "every check holds");
    let ready = Finding::summary(&findings, holds);
    findings.push(ready);
    (findings, status)
}

fn accepted(spec: &AccessTestSpec) -> Finding {
    let blocks = match spec.enforcement {
        Enforcement::Report => "",
        Enforcement::Block => ", and refuses changes that would break them",
    };
    let message = format!("makes {} checks{blocks}", spec.expectations.size());
    Finding::yes(Type::Accepted, Reason::Accepted, message)
}

fn passing(tally: &Tally, failures: &[String]) -> Finding {
    let all = tally.all();
    match failures.first() {
        None => Finding::yes(Type::Passing, Reason::Passing, format!("all {all} checks hold")),
        Some(first) if tally.failed > 0 => {
            let message = format!("{} of {all} checks fail: {first}", tally.failed);
            Finding::no(Type::Passing, Reason::Failing, message)
        }
        Some(first) => {
            let message = format!("{} of {all} checks cannot be decided: {first}", tally.undecided);
            Finding::unknown(Type::Passing, Reason::Undecided, message)
        }
    }
}

fn status(tally: &Tally, failures: Vec<String>) -> AccessTestStatus {
    AccessTestStatus {
        checks: Some(tally.all()),
        passed: Some(tally.passed),
        failed: Some(tally.failed),
        undecided: Some(tally.undecided),
        failures,
    }
}

/// Returns the checks that fail, followed by the checks that cannot be decided.
fn failures<'c>(checks: &'c [Check<'_>]) -> impl Iterator<Item = String> + 'c {
    let failed = checks.iter().filter(|check| matches!(check.verdict, CheckOutcome::Failed(_)));
    let undecided = checks.iter().filter(|check| matches!(check.verdict, CheckOutcome::Undecided(_)));
    failed
        .chain(undecided)
        .map(|check| cut(&format!("{}: {}", check.location(), check.line()), MAX_FAILURE).into_owned())
}

/// Returns a warning for each test that a change breaks, or why one of them refuses the change. Compares
/// single checks, so that a check that already fails does not hide another.
pub(super) fn broken(
    snapshot: &Snapshot,
    was: Option<&Config>,
    is: Option<&Config>,
) -> Result<Vec<String>, String> {
    let mut warnings = Vec::new();
    let configs = was.zip(is).filter(|_| !snapshot.access_tests.is_empty());
    let Some((was, is)) = configs else { return Ok(warnings) };
    let [was, is] = [was, is].map(|config| AccessView::active(config, snapshot.version()));
    for entry in &snapshot.access_tests {
        let Ok(spec) = &entry.spec else { continue };
        let (before, after) = (was.run(&spec.expectations), is.run(&spec.expectations));
        let both = before.iter().zip(&after);
        let mut lost = both.filter(|(before, after)| before.verdict.passed() && !after.verdict.passed());
        let Some((_, first)) = lost.next() else { continue };
        let more = match lost.count() {
            0 => String::new(),
            1 => "; and one more check".to_owned(),
            more => format!("; and {more} more checks"),
        };
        let (name, first) = (&entry.meta.name, format!("{}: {}", first.location(), first.line()));
        if spec.enforcement == Enforcement::Block {
            return Err(format!(
                "QueueAccessTest/{name} refuses this change because of {first}; if the change is intended, \
                 update the test first{more}"
            ));
        }
        warnings.push(format!("breaks QueueAccessTest/{name}, {first}{more}"));
    }
    Ok(warnings)
}

/// Returns a test's failures for a configuration, in one line; `None` if all checks pass.
pub(super) fn trouble(expectations: &Expectations, config: &Config, version: Version) -> Option<String> {
    let view = AccessView::active(config, version);
    let checks = view.run(expectations);
    let first: Vec<String> = failures(&checks).take(1).collect();
    let finding = passing(&Tally::new(&checks), &first);
    (finding.reason != Reason::Passing).then(|| finding.message.to_string())
}
