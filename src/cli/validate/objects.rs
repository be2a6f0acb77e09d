//! Checks objects of ours: their schema, the rules of the conversion, and `YuniKorn`'s reading of the names
//! in them.

use kube::core::DynamicObject;
use serde::Deserialize as _;
use serde_json::Value;

use super::config_maps::within;
use super::schema;
use crate::cli::input::Inputs;
use crate::cli::input::object::{Kind, Object, Step, path};
use go_compat::diag::{Diagnostic, Severity};
use queuewarden_api::{access_test, convert};
use queuewarden_plan::{self, Trust};
use yunikorn::acl::{self, Acl};
use yunikorn::admission;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// The fields of an `AdmissionPolicy` that hold regular expressions.
const LISTS: [&str; 3] = ["systemUsers", "externalUsers", "externalGroups"];

/// Returns all findings on an object, including parts that do not do what they seem to say.
pub fn check(inputs: &Inputs, object: &Object) -> Vec<Diagnostic> {
    let mut found = schema::check(object);
    let dynamic = DynamicObject::deserialize(&object.document.value).ok();
    let readable = found.is_empty();
    // The conversion stops at problems for which the schema has the better message.
    found.extend(
        dynamic
            .iter()
            .flat_map(|dynamic| refusals(object, dynamic))
            .filter(|diagnostic| readable || diagnostic.code != convert::UNREADABLE),
    );
    match object.kind {
        Kind::QueueAcl => {
            found.extend(queue(inputs, object));
            found.extend(["submit", "admin"].into_iter().flat_map(|right| grant(inputs, object, right)));
            found.extend(dynamic.iter().flat_map(|dynamic| unnamed(object, dynamic)));
        }
        Kind::AdmissionPolicy => {
            found.extend(LISTS.into_iter().flat_map(|list| expressions(inputs, object, list)));
            found.extend(dynamic.iter().flat_map(|dynamic| trusting(inputs, object, dynamic)));
        }
        Kind::YuniKornConfig | Kind::QueueAccessTest | Kind::ConfigMap => {}
    }
    found
}

/// Returns the errors of the conversion, at the fields they name.
fn refusals(object: &Object, dynamic: &DynamicObject) -> Vec<Diagnostic> {
    let refused = match object.kind {
        Kind::QueueAcl => convert::queue_acl(dynamic).spec.err(),
        Kind::AdmissionPolicy => convert::admission_policy(dynamic).spec.err(),
        Kind::YuniKornConfig => convert::yunikorn_config(dynamic).spec.err(),
        Kind::QueueAccessTest => access_test::access_test(dynamic).spec.err(),
        Kind::ConfigMap => None,
    };
    let placed = |diagnostic: Diagnostic| {
        let at = object.document.place(&place_of(&diagnostic));
        diagnostic.at(at)
    };
    refused.into_iter().flatten().map(placed).collect()
}

/// Returns the field that a finding of the conversion is about: the one its message starts with, or the one
/// its rule is about.
fn place_of(diagnostic: &Diagnostic) -> Vec<Step> {
    let field = match diagnostic.code {
        convert::NOT_THE_SINGLETON => "metadata.name",
        convert::BASE_IS_OUTPUT => "spec.output.configMap",
        _ => diagnostic.message.split_once(": ").map_or("spec", |(field, _)| field),
    };
    if field != "spec" && !field.starts_with("spec.") && !field.starts_with("metadata.") {
        return path(&["spec"]);
    }
    field
        .split(['.', '[', ']'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map_or_else(|_| Step::Key(part.to_string()), Step::Index))
        .collect()
}

/// Checks the path of the queue.
fn queue(inputs: &Inputs, object: &Object) -> Vec<Diagnostic> {
    let steps = path(&["spec", "queue"]);
    let text = object.document.value.pointer("/spec/queue").and_then(Value::as_str);
    let wrong = text.and_then(|text| QueuePath::parse(text).err());
    within(inputs, &object.document, &steps, wrong.into_iter().collect())
}

/// Returns all findings on the names of one right.
fn grant(inputs: &Inputs, object: &Object, right: &str) -> Vec<Diagnostic> {
    let Some(grant) = object.document.value.pointer(&format!("/spec/{right}")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(text) = grant.get("acl").and_then(Value::as_str) {
        let diagnostics = acl::lint::lint(text).diagnostics.into_iter().map(binding).collect();
        found.extend(within(inputs, &object.document, &path(&["spec", right, "acl"]), diagnostics));
    }
    for list in ["users", "groups"] {
        for (index, name) in grant.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(name) = name.as_str() else { continue };
            let named =
                if list == "users" { Acl::named(&[name], &[""; 0]) } else { Acl::named(&[""; 0], &[name]) };
            let mut steps = path(&["spec", right, list]);
            steps.push(Step::Index(index));
            let at = object.document.place(&steps);
            found.extend(named.err().into_iter().flatten().map(|diagnostic| diagnostic.at(at)));
        }
    }
    found
}

/// Returns findings on rights that name nobody without saying so.
fn unnamed(object: &Object, dynamic: &DynamicObject) -> Vec<Diagnostic> {
    let Ok(spec) = convert::queue_acl(dynamic).spec else { return Vec::new() };
    let rights = [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)];
    let unnamed = rights.into_iter().filter_map(|(right, grant)| {
        let mut diagnostic = queuewarden_plan::no_names(grant.as_ref()?)?;
        diagnostic.message = format!("{}: {}", right.field(), diagnostic.message);
        let at = object.document.place(&path(&["spec", right.field()]));
        Some(diagnostic.at(at))
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
    let list = object.document.value.pointer(&format!("/spec/{field}")).and_then(Value::as_array);
    let mut found = Vec::new();
    for (index, element) in list.into_iter().flatten().enumerate() {
        let Some(element) = element.as_str() else { continue };
        let (_, diagnostics) = admission::render_list(&[element.to_string()]);
        let mut steps = path(&["spec", field]);
        steps.push(Step::Index(index));
        found.extend(within(inputs, &object.document, &steps, diagnostics));
    }
    found
}

/// Returns findings on expressions that trust more people than they name.
fn trusting(inputs: &Inputs, object: &Object, dynamic: &DynamicObject) -> Vec<Diagnostic> {
    let Ok(spec) = convert::admission_policy(dynamic).spec else { return Vec::new() };
    let placed = |Trust { field, index, found }| {
        let mut steps = path(&["spec", field]);
        steps.push(Step::Index(index));
        within(inputs, &object.document, &steps, vec![found])
    };
    queuewarden_plan::trusts(&spec).into_iter().flat_map(placed).collect()
}
