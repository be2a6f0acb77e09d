//! What can only be told of all objects together: the plan's conditions, shown where their cause was written.

use std::collections::BTreeSet;

use crate::cli::input::object::{Kind, Object, Step, path};
use crate::cli::input::{Finding, Inputs};
use crate::cli::offline::Settled;
use crate::cli::statuses::{ObjectConditions, objects};
use crate::plan::conditions::{Condition, Reason, Type};
use crate::text::diag::{Code, Diagnostic, Severity};

/// The object is not accepted, for a reason that only the other objects give.
pub const NOT_ACCEPTED: Code = Code::new(6201, "not-accepted");
/// The base or the output of the `YuniKornConfig` is not in order, so nothing is written.
pub const CONFIG_NOT_READY: Code = Code::new(6202, "config-not-ready");
/// The object is accepted, but changes no decision.
pub const WITHOUT_EFFECT: Code = Code::new(6203, "without-effect");
/// The object's time has passed.
pub const EXPIRED: Code = Code::new(6204, "expired");
/// Everyone may submit everywhere.
pub const FAIL_OPEN: Code = Code::new(6205, "fail-open");

/// All codes of this module.
pub const CODES: &[Code] = &[NOT_ACCEPTED, CONFIG_NOT_READY, WITHOUT_EFFECT, EXPIRED, FAIL_OPEN];

/// Reasons that hold whatever the queues are.
const BY_THEMSELVES: [Reason; 3] = [Reason::Invalid, Reason::Conflicted, Reason::Expired];

/// The problems that the plan found, but for those that `told` names already: an object with an error of its own is not accepted
/// because of it. Without a queue tree only what does not depend on one counts.
pub fn check(inputs: &Inputs, settled: &Settled, has_tree: bool, told: &[Finding]) -> Vec<Finding> {
    let errors = told.iter().filter(|finding| finding.diagnostic.is_error());
    let told: BTreeSet<&str> = errors
        .clone()
        .filter_map(|finding| finding.object.as_deref())
        .collect();
    let texts: BTreeSet<usize> = errors.filter_map(|finding| finding.source).collect();
    let mut found = Vec::new();
    for status in objects(&settled.plan) {
        let object = inputs
            .of_kind(status.kind)
            .find(|object| object.name == status.name);
        for (condition, severity) in status.problems() {
            let invalid = condition.reason == Reason::Invalid.as_str();
            let base = condition.type_ == Type::BaseResolved.as_str()
                && condition.reason == Reason::BaseInvalid.as_str();
            let known = object.is_some_and(|object| told.contains(object.label().as_str()));
            let blind = !has_tree && !BY_THEMSELVES.iter().any(|reason| condition.reason == reason.as_str());
            if blind || (invalid && known) || (base && !texts.is_empty()) {
                continue;
            }
            found.push(finding(&status, object, condition, severity));
        }
    }
    found
}

fn finding(
    status: &ObjectConditions<'_>,
    object: Option<&Object>,
    condition: &Condition,
    severity: Severity,
) -> Finding {
    let is = |reason: Reason| condition.reason == reason.as_str();
    let of = |type_: Type| condition.type_ == type_.as_str();
    let code = match status.kind {
        _ if of(Type::FailOpen) => FAIL_OPEN,
        Kind::YuniKornConfig | Kind::ConfigMap => CONFIG_NOT_READY,
        _ if of(Type::Effective) => WITHOUT_EFFECT,
        _ if is(Reason::Expired) => EXPIRED,
        _ => NOT_ACCEPTED,
    };
    let message = format!("{} ({}): {}", status.label(), condition.reason, condition.message);
    let at = object.map(|object| object.document.place(&place_of(object, condition)));
    Finding {
        source: object.map(|object| object.document.source),
        object: None,
        diagnostic: Diagnostic {
            code,
            severity,
            message,
            span: at,
            help: None,
        },
    }
}

/// The field that a condition is about.
fn place_of(object: &Object, condition: &Condition) -> Vec<Step> {
    let is = |reason: Reason| condition.reason == reason.as_str();
    let field: &[&str] = match object.kind {
        Kind::QueueAcl if is(Reason::PartitionNotFound) => &["spec", "partition"],
        Kind::QueueAcl if is(Reason::Expired) => &["spec", "expiresAt"],
        Kind::QueueAcl | Kind::AdmissionPolicy if is(Reason::Invalid) => &["spec"],
        Kind::QueueAcl => &["spec", "queue"],
        Kind::YuniKornConfig if condition.type_ == Type::BaseResolved.as_str() => {
            &["spec", "base", "configMap"]
        }
        Kind::YuniKornConfig if condition.type_ == Type::Applied.as_str() => &["spec", "output", "configMap"],
        _ => &["metadata", "name"],
    };
    path(field)
}
