//! Checks objects of ours: their schema, the rules of the conversion, and `YuniKorn`'s reading of the names
//! in them.

use kube::core::DynamicObject;
use serde::Deserialize as _;
use serde_json::Value;

use super::config_maps::within;
use crate::source::input::Inputs;
use crate::source::input::object::Object;
use crate::source::schema;
use go_compat::diag::{Diagnostic, Severity};
use queuewarden_api::convert;
use queuewarden_plan::snapshot::{AdmissionPolicySpec, QueueAclSpec};
use queuewarden_plan::{self, FieldFinding, ResourceKind, field_of as setting_of};
use yunikorn::acl;
use yunikorn::admission;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::alias;

/// Returns all findings on an object, including parts that do not do what they seem to say.
pub fn check(inputs: &Inputs, object: &Object, kind: ResourceKind) -> Vec<Diagnostic> {
    let mut found = schema::check(object);
    let dynamic = DynamicObject::deserialize(&object.document.value).ok();
    let converted = dynamic.map(|dynamic| converted(inputs, object, kind, &dynamic)).transpose();
    // The conversion stops at problems for which the schema has the better message.
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
