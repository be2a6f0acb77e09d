//! `SubjectAccessReview`, `LocalSubjectAccessReview` and `SelfSubjectAccessReview`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Kind, codes, decode, malformed, nullable, nullable_object, object};
use go_compat::diag::{Diagnostic, quoted};
use yunikorn::identity::Identity;
use yunikorn_access::review::{Answer, PathAttributes, ResourceAttributes, Review};

/// `spec`; in v1beta1 the groups are in `group`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(deserialize_with = "nullable")]
    user: String,
    #[serde(deserialize_with = "nullable")]
    groups: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    group: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    uid: String,
    #[serde(deserialize_with = "nullable")]
    extra: BTreeMap<String, Vec<String>>,
    #[serde(deserialize_with = "object")]
    resource_attributes: Option<Attributes>,
    #[serde(deserialize_with = "object")]
    non_resource_attributes: Option<Path>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attributes {
    #[serde(deserialize_with = "nullable")]
    namespace: String,
    #[serde(deserialize_with = "nullable")]
    verb: String,
    #[serde(deserialize_with = "nullable")]
    group: String,
    #[serde(deserialize_with = "nullable")]
    version: String,
    #[serde(deserialize_with = "nullable")]
    resource: String,
    #[serde(deserialize_with = "nullable")]
    subresource: String,
    #[serde(deserialize_with = "nullable")]
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Path {
    #[serde(deserialize_with = "nullable")]
    path: String,
    #[serde(deserialize_with = "nullable")]
    verb: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Envelope {
    #[serde(rename = "apiVersion", deserialize_with = "nullable")]
    api_version: String,
    #[serde(deserialize_with = "nullable_object")]
    metadata: Metadata,
    #[serde(deserialize_with = "object")]
    spec: Option<Spec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "nullable")]
    namespace: String,
}

/// Reads a review. `asker` is its sender, which only a [`Kind::Own`] needs.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`] and [`codes::WHO_ASKS`].
pub fn read(kind: Kind, review: &Value, asker: Option<&Identity>) -> Result<Review, Diagnostic> {
    let Envelope { api_version, metadata, spec } = decode(review)?;
    let spec = spec.ok_or_else(|| malformed(codes::MALFORMED_REVIEW, "the review has no spec"))?;
    if kind == Kind::Local {
        within(&metadata.namespace, &spec)?;
    }
    let groups = if api_version.ends_with("/v1beta1") { spec.group } else { spec.groups };
    let (user, groups) = match (kind, asker) {
        (Kind::Own, Some(asker)) => (asker.user.clone(), asker.groups.clone()),
        (Kind::Own, None) => {
            let message = "a SelfSubjectAccessReview asks about whoever sends it, and nobody is said to";
            return Err(
                malformed(codes::WHO_ASKS, message).help("name the user: --as USER [--as-group GROUP]...")
            );
        }
        _ => (spec.user, groups),
    };
    Ok(Review {
        user,
        groups,
        uid: spec.uid,
        extra: spec.extra,
        resource: spec.resource_attributes.map(Into::into),
        path: spec.non_resource_attributes.map(|Path { path, verb }| PathAttributes { path, verb }),
    })
}

/// Checks that a local review is about its own namespace, and not about a resource without one (kubernetes
/// `pkg/apis/authorization/validation`).
fn within(namespace: &str, spec: &Spec) -> Result<(), Diagnostic> {
    let Some(resource) = &spec.resource_attributes else {
        let message = "a LocalSubjectAccessReview asks about a resource: it has no resourceAttributes";
        return Err(malformed(codes::MALFORMED_REVIEW, message));
    };
    if resource.namespace == namespace {
        return Ok(());
    }
    let message = format!(
        "metadata.namespace is {} and spec.resourceAttributes.namespace {}",
        quoted(namespace),
        quoted(&resource.namespace)
    );
    Err(malformed(codes::MALFORMED_REVIEW, message).help("write the same namespace in both"))
}

/// Returns the same review with its status.
#[must_use]
pub fn filled(mut review: Value, answer: &Answer) -> Value {
    if let Value::Object(fields) = &mut review {
        fields.insert("status".to_owned(), status(answer));
    }
    review
}

/// Returns a review of the same version and kind with its status and nothing else.
pub fn only_status(review: &Value, answer: &Answer) -> Value {
    json!({"apiVersion": review.get("apiVersion"), "kind": review.get("kind"), "status": status(answer)})
}

/// Returns `status`, as API servers write it: false and empty fields are left out, except `allowed`.
pub fn status(answer: &Answer) -> Value {
    let mut status = Map::new();
    status.insert("allowed".to_owned(), answer.allowed().into());
    if answer.denied() {
        status.insert("denied".to_owned(), true.into());
    }
    if !answer.reason.is_empty() {
        status.insert("reason".to_owned(), answer.reason.as_str().into());
    }
    if let Some(error) = &answer.evaluation_error {
        status.insert("evaluationError".to_owned(), error.as_str().into());
    }
    Value::Object(status)
}

impl From<Attributes> for ResourceAttributes {
    fn from(attributes: Attributes) -> Self {
        let Attributes { namespace, verb, group, version, resource, subresource, name } = attributes;
        Self { namespace, verb, group, version, resource, subresource, name }
    }
}
