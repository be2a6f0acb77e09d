//! Conditions and status of an `AdmissionPolicy`.

use super::{Target, with_warnings};
use crate::plan::conditions::{Finding, Reason, Status, Type};
use crate::plan::policy::{Keys, ResolvedPolicy};
use crate::plan::snapshot::{AdmissionPolicySpec, ConfigMapState};

/// What the conditions depend on besides the object.
pub(in crate::plan) struct Facts<'a> {
    /// Where it is to be written.
    pub target: Target<'a>,
    /// The output ConfigMap.
    pub output: Option<&'a ConfigMapState>,
}

/// Reports one object: its conditions, and what its status should remember.
pub(in crate::plan) fn report(
    object: &ResolvedPolicy,
    spec: Option<&AdmissionPolicySpec>,
    before: Option<&AdmissionPolicySpec>,
    facts: &Facts<'_>,
) -> (Vec<Finding>, Option<AdmissionPolicySpec>) {
    let mut findings = vec![accepted(object)];
    let mut in_force = None;
    if let Some(keys) = object.keys() {
        let programmed = facts.target.programmed(holds(keys, facts.output), object.outcome.is_ok());
        in_force = match (&object.outcome, programmed.status) {
            (Ok(_), Status::True) => spec.cloned(),
            _ => before.cloned(),
        };
        findings.push(programmed);
        findings.push(Finding::yes(
            Type::Effective,
            Reason::Effective,
            "YuniKorn's admission controller reads these keys as they change; it does not report what it read",
        ));
    }
    let ready = Finding::ready(&findings, "in force");
    findings.push(ready);
    (findings, in_force)
}

fn accepted(object: &ResolvedPolicy) -> Finding {
    match &object.outcome {
        Err(refusal) => Finding::no(Type::Accepted, refusal.reason, refusal.message.clone()),
        Ok(keys) if keys.is_empty() => Finding::yes(
            Type::Accepted,
            Reason::Accepted,
            "sets no key of YuniKorn's, so every key stays as it is",
        ),
        Ok(keys) => {
            let names: Vec<_> = keys.keys().copied().collect();
            let message = format!("sets {}", names.join(", "));
            Finding::yes(Type::Accepted, Reason::Accepted, with_warnings(message, &object.warnings))
        }
    }
}

/// Whether the output holds all of these keys.
fn holds(keys: &Keys, output: Option<&ConfigMapState>) -> bool {
    keys.iter().all(|(key, value)| output.and_then(|output| output.data.get(*key)) == Some(value))
}
