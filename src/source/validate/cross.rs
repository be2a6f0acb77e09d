//! Checks all objects together: conditions of the plan, shown where their cause is written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::output::statuses::{ObjectConditions, objects};
use crate::output::text::SourceDiagnostic;
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::{Kind, Object};
use go_compat::diag::{Code, Diagnostic, Severity};
use queuewarden_plan::conditions::{Condition, Reason, Status, Type};
use queuewarden_plan::simulate::Settled;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use queuewarden_plan::{ResourceKind, shared_application};
use yunikorn_access::alias::Kind as Names;

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

/// Reasons that do not depend on the queues.
const BY_THEMSELVES: [Reason; 3] = [Reason::Invalid, Reason::Conflicted, Reason::Expired];

/// Returns the problems that the plan found, except those that were `reported` already: an object with an
/// error of its own is not accepted because of it. Without a valid base, only problems that do not depend on
/// it count.
pub fn check(
    FileSource { inputs, has_tree, .. }: &FileSource,
    settled: &Settled,
    reported: &[SourceDiagnostic],
) -> Vec<SourceDiagnostic> {
    let errors = || reported.iter().filter(|finding| finding.diagnostic.is_error());
    let invalid: BTreeSet<&str> = errors().filter_map(|finding| finding.object.as_deref()).collect();
    // Returns whether the condition only repeats an error that was reported before.
    let repeats = |condition: &Condition, object: Option<&Object>| {
        (condition.has(Reason::Invalid)
            && object.is_some_and(|object| invalid.contains(object.label().as_str())))
            || (condition.has(Reason::BaseInvalid) && errors().next().is_some())
    };
    let statuses = objects(&settled.plan);
    let base_resolved = statuses
        .iter()
        .filter_map(|status| status.get(Type::BaseResolved))
        .all(|condition| condition.status == Status::True);
    let counts = |condition: &Condition| {
        BY_THEMSELVES.iter().any(|reason| condition.has(*reason))
            || (*has_tree && (base_resolved || condition.is(Type::BaseResolved)))
    };
    let given: BTreeMap<(Kind, &str), &Object> =
        inputs.objects.iter().map(|object| ((object.kind, object.name.as_str()), object)).collect();
    let mut found = Vec::new();
    for status in &statuses {
        let object = given.get(&(status.kind.into(), status.name)).copied();
        for (condition, severity) in status.problems() {
            if counts(condition) && !repeats(condition, object) {
                found.push(finding(status, object, condition, severity));
            }
        }
    }
    found.extend(shared_applications(inputs, settled));
    found
}

/// Returns findings on policies that check the user of each pod although an application has one user for a
/// whole namespace. That is known only if a ConfigMap of `YuniKorn` is among the files.
fn shared_applications(inputs: &Inputs, settled: &Settled) -> Vec<SourceDiagnostic> {
    let known = [YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS];
    if !inputs.of_kind(Kind::ConfigMap).any(|map| known.contains(&map.name.as_str())) {
        return Vec::new();
    }
    let shared = |object: &Object| {
        let entry = settled.snapshot.policies.iter().find(|entry| *entry.meta.name == object.name)?;
        let spec = entry.spec.as_ref().ok()?;
        let (field, diagnostic) = shared_application(&settled.snapshot, spec)?;
        let at = object.document.span(&format!("/spec/{field}"));
        Some(object.finding(diagnostic.at(at)))
    };
    inputs.of_kind(ResourceKind::AdmissionPolicy).filter_map(shared).collect()
}

fn finding(
    status: &ObjectConditions<'_>,
    object: Option<&Object>,
    condition: &Condition,
    severity: Severity,
) -> SourceDiagnostic {
    let code = match status.kind {
        _ if condition.is(Type::FailOpen) => FAIL_OPEN,
        ResourceKind::YuniKornConfig => CONFIG_NOT_READY,
        _ if condition.is(Type::Effective) => WITHOUT_EFFECT,
        _ if condition.has(Reason::Expired) => EXPIRED,
        _ => NOT_ACCEPTED,
    };
    let message = format!("{} ({}): {}", status.label(), condition.reason, condition.message);
    let at = object.map(|object| match aliased_name(object) {
        Some(name) if condition.has(Reason::IdentityWebhookMissing) => object.document.span(&name),
        _ => object.document.span(field_of(status.kind, condition)),
    });
    let diagnostic = Diagnostic { severity, ..Diagnostic::error(code, message).at(at) };
    SourceDiagnostic::new(object.map(|object| object.document.source), diagnostic)
}

/// Returns the JSON pointer of the first name in a `QueueAcl` that only an alias can hold.
fn aliased_name(object: &Object) -> Option<String> {
    const LISTS: [(&str, Option<Names>); 3] =
        [("users", Some(Names::User)), ("groups", Some(Names::Group)), ("serviceAccounts", None)];
    let lists = ["submit", "admin"].into_iter().flat_map(|right| LISTS.map(|list| (right, list)));
    lists.into_iter().find_map(|(right, (list, kind))| {
        let pointer = format!("/spec/{right}/{list}");
        let names = object.document.value.pointer(&pointer)?.as_array()?;
        let needs = |name: &Value| kind.is_none_or(|kind| name.as_str().is_some_and(|it| !kind.is_plain(it)));
        Some(format!("{pointer}/{}", names.iter().position(needs)?))
    })
}

/// Returns the JSON pointer of the field that a condition is about.
fn field_of(kind: ResourceKind, condition: &Condition) -> &'static str {
    match kind {
        ResourceKind::QueueAcl if condition.has(Reason::PartitionNotFound) => "/spec/partition",
        ResourceKind::QueueAcl if condition.has(Reason::Expired) => "/spec/expiresAt",
        ResourceKind::QueueAcl | ResourceKind::AdmissionPolicy if condition.has(Reason::Invalid) => "/spec",
        ResourceKind::QueueAcl => "/spec/queue",
        ResourceKind::YuniKornConfig if condition.is(Type::BaseResolved) => "/spec/base/configMap",
        ResourceKind::YuniKornConfig if condition.is(Type::Applied) => "/spec/output/configMap",
        _ => "/metadata/name",
    }
}
