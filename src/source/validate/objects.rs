//! Checks queuewarden's objects with their schemas, the rules of the conversion, and `YuniKorn`'s reading of
//! the names in it; and all together by the conditions of the plan, shown where their cause is written.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::DynamicObject;
use serde::Deserialize as _;
use serde_json::Value;

use super::config_maps::within;
use crate::output::statuses::{ObjectConditions, objects};
use crate::output::text::SourceDiagnostic;
use crate::source::files::FileSource;
use crate::source::input::Inputs;
use crate::source::input::object::{Kind, Object};
use crate::source::input::ours::is_read;
use crate::source::schema;
use go_compat::diag::{Code, Diagnostic, Severity};
use queuewarden_api::convert;
use queuewarden_plan::conditions::{Condition, Reason, Status, Type};
use queuewarden_plan::simulate::Settled;
use queuewarden_plan::snapshot::{AdmissionPolicySpec, QueueAclSpec};
use queuewarden_plan::{self, FieldFinding, ResourceKind, field_of as setting_of, shared_application};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn::{acl, admission};
use yunikorn_access::alias::{self, Kind as Names};

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

/// Returns the problems that the plan found, except the ones in `reported`, because an object with a reported
/// error is not accepted for that reason. Without a valid base, only problems that do not depend on it count.
pub fn together(
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
    if !inputs.of_kind(Kind::ConfigMap).any(|map| is_read(&map.name)) {
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
        _ => object.document.span(field_of_condition(status.kind, condition)),
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
fn field_of_condition(kind: ResourceKind, condition: &Condition) -> &'static str {
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

/// Returns all findings on an object, including settings that do not work as they appear to.
pub fn check(inputs: &Inputs, object: &Object, kind: ResourceKind) -> Vec<Diagnostic> {
    let mut found = schema::check(object);
    let dynamic = DynamicObject::deserialize(&object.document.value).ok();
    let converted = dynamic.map(|dynamic| converted(inputs, object, kind, &dynamic)).transpose();
    // The conversion stops at problems that the schema reports with a better message.
    let readable = found.is_empty();
    let refused = converted.as_ref().err().into_iter().flatten();
    found.extend(refused.filter(|refusal| readable || refusal.code != convert::UNREADABLE).map(|refusal| {
        let at = object.document.span(&field_of(refusal));
        refusal.clone().at(at)
    }));
    match kind {
        ResourceKind::QueueAcl => {
            let wrong = text(object, "/spec/queue").and_then(|text| QueuePath::parse(text).err());
            found.extend(within(inputs, &object.document, "/spec/queue", wrong));
            found.extend(["submit", "admin"].into_iter().flat_map(|right| grant(inputs, object, right)));
        }
        ResourceKind::AdmissionPolicy => {
            let lists = AdmissionPolicySpec::default().lists().map(|(key, _)| setting_of(key));
            found.extend(lists.into_iter().flat_map(|list| expressions(inputs, object, list)));
        }
        ResourceKind::YuniKornConfig | ResourceKind::QueueAccessTest => {}
    }
    found.extend(converted.into_iter().flatten().flatten());
    found
}

/// Converts an object as the operator does. Returns findings on the result, or the errors of the conversion.
fn converted(
    inputs: &Inputs,
    object: &Object,
    kind: ResourceKind,
    dynamic: &DynamicObject,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    match kind {
        ResourceKind::QueueAcl => convert::queue_acl(dynamic).spec.map(|spec| unnamed(object, &spec)),
        ResourceKind::AdmissionPolicy => {
            convert::admission_policy(dynamic).spec.map(|spec| trusting(inputs, object, &spec))
        }
        ResourceKind::YuniKornConfig => convert::yunikorn_config(dynamic).spec.map(|_| Vec::new()),
        ResourceKind::QueueAccessTest => convert::access_test(dynamic).spec.map(|_| Vec::new()),
    }
}

/// Returns the JSON pointer of the field that a finding of the conversion is about: the one its message
/// starts with, or the one its rule is about.
fn field_of(diagnostic: &Diagnostic) -> String {
    let field = match diagnostic.code {
        convert::NOT_THE_SINGLETON => "metadata.name",
        convert::BASE_IS_OUTPUT => "spec.output.configMap",
        _ => diagnostic.message.split_once(": ").map_or("spec", |(field, _)| field),
    };
    let is_path = field.starts_with("spec.") || field.starts_with("metadata.");
    let field = if is_path { field } else { "spec" };
    format!("/{}", field.replace(['.', '['], "/").replace(']', ""))
}

fn text<'a>(object: &'a Object, pointer: &str) -> Option<&'a str> {
    object.document.value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the strings of a list, each with its JSON pointer.
fn texts<'a>(object: &'a Object, list: &str) -> impl Iterator<Item = (String, &'a str)> {
    let items = object.document.value.pointer(list).and_then(Value::as_array).into_iter().flatten();
    let pointed = items.enumerate().map(move |(index, item)| (format!("{list}/{index}"), item.as_str()));
    pointed.filter_map(|(pointer, text)| Some((pointer, text?)))
}

/// Returns all findings on the names of one right.
fn grant(inputs: &Inputs, object: &Object, right: &str) -> Vec<Diagnostic> {
    let pointer = format!("/spec/{right}/acl");
    let diagnostics = text(object, &pointer).map(|text| acl::lint::lint(text).diagnostics);
    let diagnostics = diagnostics.into_iter().flatten().map(binding);
    let mut found = within(inputs, &object.document, &pointer, diagnostics);
    let users = format!("/spec/{right}/users");
    let users = texts(object, &users).map(|(pointer, name)| (pointer, alias::acl::<_, &str>(&[name], &[])));
    let groups = format!("/spec/{right}/groups");
    let groups = texts(object, &groups).map(|(pointer, name)| (pointer, alias::acl::<&str, _>(&[], &[name])));
    for (pointer, acl) in users.chain(groups) {
        let findings = acl.map_or_else(|refused| refused, |(_, odd)| odd);
        found.extend(findings.into_iter().map(|found| found.at(object.document.span(&pointer))));
    }
    found
}

/// Returns findings on rights that name nobody without saying so.
fn unnamed(object: &Object, spec: &QueueAclSpec) -> Vec<Diagnostic> {
    let rights = [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)];
    let unnamed = rights.into_iter().filter_map(|(right, grant)| {
        let diagnostic = queuewarden_plan::no_names(grant.as_ref()?)?.of_field(right.field());
        Some(diagnostic.at(object.document.span(&format!("/spec/{}", right.field()))))
    });
    unnamed.collect()
}

/// Turns warnings about names that `YuniKorn` drops into errors, because an object must not promise access
/// that is never given.
fn binding(diagnostic: Diagnostic) -> Diagnostic {
    let drops = acl::codes::DROPS.contains(&diagnostic.code);
    Diagnostic { severity: if drops { Severity::Error } else { diagnostic.severity }, ..diagnostic }
}

/// Returns all findings on the regular expressions of one field.
fn expressions(inputs: &Inputs, object: &Object, field: &str) -> Vec<Diagnostic> {
    let list = format!("/spec/{field}");
    let found = texts(object, &list).flat_map(|(pointer, expression)| {
        let (_, diagnostics) = admission::render_list(&[expression.to_owned()]);
        within(inputs, &object.document, &pointer, diagnostics)
    });
    found.collect()
}

/// Returns findings on settings that trust more people than they name.
fn trusting(inputs: &Inputs, object: &Object, spec: &AdmissionPolicySpec) -> Vec<Diagnostic> {
    let placed = |FieldFinding { field, index, found }| {
        let index = index.map(|index| format!("/{index}")).unwrap_or_default();
        within(inputs, &object.document, &format!("/spec/{field}{index}"), [found])
    };
    queuewarden_plan::trusts(spec).into_iter().flat_map(placed).collect()
}
