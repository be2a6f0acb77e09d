//! Objects of ours: their schema, what the conversion asks, and what `YuniKorn` would make of the names in them.

use kube::core::DynamicObject;

use super::schema;
use crate::api::convert;
use crate::cli::input::Inputs;
use crate::cli::input::object::{Kind, Object, Step, path};
use crate::text::diag::Diagnostic;

/// Everything wrong with an object, and everything in it that does not do what it seems to say.
pub fn check(_inputs: &Inputs, object: &Object) -> Vec<Diagnostic> {
    let mut found = schema::check(object);
    let readable = found.is_empty();
    // The conversion stops at what the schema has told better.
    found.extend(
        refusals(object)
            .into_iter()
            .filter(|diagnostic| readable || diagnostic.code != convert::UNREADABLE),
    );
    found
}

/// What the conversion refuses, at the field it names.
fn refusals(object: &Object) -> Vec<Diagnostic> {
    let Ok(dynamic) = serde_json::from_value::<DynamicObject>(object.document.value.clone()) else {
        return Vec::new();
    };
    let refused = match object.kind {
        Kind::QueueAcl => convert::queue_acl(&dynamic).spec.err(),
        Kind::AdmissionPolicy => convert::admission_policy(&dynamic).spec.err(),
        Kind::YuniKornConfig => convert::yunikorn_config(&dynamic).spec.err(),
        Kind::ConfigMap => None,
    };
    let placed = |diagnostic: Diagnostic| {
        let at = object.document.place(&place_of(&diagnostic));
        diagnostic.at(at)
    };
    refused.into_iter().flatten().map(placed).collect()
}

/// The field that a finding of the conversion is about: the one its message starts with, or the one its rule is about.
fn place_of(diagnostic: &Diagnostic) -> Vec<Step> {
    let field = match diagnostic.code {
        convert::WINDOW_NEVER_OPEN => "spec.expiresAt",
        convert::NOT_THE_SINGLETON => "metadata.name",
        convert::BASE_IS_OUTPUT => "spec.output.configMap",
        _ => diagnostic
            .message
            .split_once(": ")
            .map_or("spec", |(field, _)| field),
    };
    if field != "spec" && !field.starts_with("spec.") && !field.starts_with("metadata.") {
        return path(&["spec"]);
    }
    field
        .split(['.', '[', ']'])
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse()
                .map_or_else(|_| Step::Key(part.to_string()), Step::Index)
        })
        .collect()
}
