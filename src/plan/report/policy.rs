//! Conditions and status of an `AdmissionPolicy`.

use super::with_warnings;
use crate::plan::conditions::{Finding, Reason, Status, Type};
use crate::plan::policy::{Keys, ResolvedPolicy};
use crate::plan::snapshot::{AdmissionPolicySpec, ConfigMapState, Mode};

/// What the conditions depend on besides the object.
pub(in crate::plan) struct Facts<'a> {
    /// Whether the operator writes.
    pub mode: Mode,
    /// The output ConfigMap.
    pub output: Option<&'a ConfigMapState>,
    /// Condition `Applied`.
    pub applied: &'a Finding,
    /// `ConfigMap namespace/name` of the output.
    pub name: &'a str,
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
        let programmed = programmed(object, keys, facts);
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
            "sets no key, so every key stays as it is",
        ),
        Ok(keys) => {
            let names: Vec<_> = keys.keys().copied().collect();
            let message = format!("sets {}", names.join(", "));
            Finding::yes(
                Type::Accepted,
                Reason::Accepted,
                with_warnings(message, &object.warnings),
            )
        }
    }
}

fn programmed(object: &ResolvedPolicy, keys: &Keys, facts: &Facts<'_>) -> Finding {
    let written =
        |key: &str, value: &String| facts.output.and_then(|output| output.data.get(key)) == Some(value);
    if keys.iter().all(|(key, value)| written(key, value)) {
        return match object.outcome {
            Ok(_) => Finding::yes(Type::Programmed, Reason::Programmed, format!("in {}", facts.name)),
            Err(_) => Finding::yes(
                Type::Programmed,
                Reason::LastValidKept,
                format!(
                    "the object is not valid now, so its last valid version stays in {}",
                    facts.name
                ),
            ),
        };
    }
    let no = |reason, message: String| Finding::no(Type::Programmed, reason, message);
    match facts.applied.reason {
        _ if facts.mode == Mode::Observe => {
            no(Reason::ObserveMode, "nothing is written in mode Observe".into())
        }
        Reason::Pending | Reason::Applied | Reason::ShadowedByBinaryData => {
            no(Reason::Pending, format!("{} is being written", facts.name))
        }
        _ => no(
            Reason::ConfigNotReady,
            format!(
                "YuniKornConfig `default` is not in order: {}",
                facts.applied.message
            ),
        ),
    }
}
