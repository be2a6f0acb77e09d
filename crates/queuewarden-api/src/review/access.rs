//! `SubjectAccessReview`, `LocalSubjectAccessReview` and `SelfSubjectAccessReview`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReviewKind, codes, decode, malformed, nullable_object, object};
use crate::extended;
use go_compat::diag::{Diagnostic, quoted};
use go_compat::go_json::nullable;
use yunikorn::identity::Identity;
use yunikorn_access::review::request::{PathAttributes, ResourceAttributes};
use yunikorn_access::review::{AccessAction, Answer};

/// A review as sent by its author.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    #[serde(rename = "apiVersion", deserialize_with = "nullable")]
    api_version: String,
    #[serde(deserialize_with = "nullable")]
    kind: String,
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

/// `spec`; in v1beta1 the groups are in `group`. `uid` and `extra` affect no rule, but are parsed because the
/// API server refuses wrong types in them.
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
    resource_attributes: Option<ResourceAttributes>,
    #[serde(deserialize_with = "object")]
    non_resource_attributes: Option<PathAttributes>,
}

/// A review. Its [`Self::user`] and [`Self::action`] make an `AccessRequest`.
#[derive(Debug, Deserialize)]
#[serde(from = "Document")]
pub struct SubjectAccessReview {
    /// `apiVersion`
    pub api_version: String,
    kind: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// The user and the groups in `spec`; `None` without a `spec`.
    user: Option<Identity>,
    /// `spec.resourceAttributes`
    pub resource: Option<ResourceAttributes>,
    /// `spec.nonResourceAttributes`
    pub path: Option<PathAttributes>,
}

impl From<Document> for SubjectAccessReview {
    fn from(Document { api_version, kind, metadata: Metadata { namespace }, spec }: Document) -> Self {
        let is_beta = api_version.ends_with("/v1beta1");
        let (user, resource, path) = spec.map_or_else(Default::default, |spec| {
            let groups = if is_beta { spec.group } else { spec.groups };
            let user = Identity { user: spec.user, groups };
            (Some(user), spec.resource_attributes, spec.non_resource_attributes)
        });
        Self { api_version, kind, namespace, user, resource, path }
    }
}

impl SubjectAccessReview {
    /// Reads a document.
    ///
    /// # Errors
    /// [`codes::MALFORMED_REVIEW`].
    pub fn read(document: &Value) -> Result<Self, Diagnostic> {
        decode(document)
    }

    /// Parses JSON without an intermediate value tree. Returns `None` if [`Self::read`] has to parse it.
    pub fn read_json(json: &[u8]) -> Option<Self> {
        // serde would also accept a list in place of the struct.
        json.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(json).ok()).flatten()
    }

    /// Returns the kind, like [`ReviewKind::from_document`] for a document.
    ///
    /// # Errors
    /// [`codes::UNKNOWN_REVIEW`].
    pub fn kind(&self) -> Option<Result<ReviewKind, Diagnostic>> {
        ReviewKind::named(&self.api_version, &self.kind)
    }

    /// Returns the user in question. Only a [`ReviewKind::Own`] asks for its caller.
    ///
    /// # Errors
    /// [`codes::MALFORMED_REVIEW`] and [`codes::REVIEW_BY_NOBODY`].
    pub fn user<'a>(
        &'a self,
        kind: ReviewKind,
        caller: Option<&'a Identity>,
    ) -> Result<&'a Identity, Diagnostic> {
        let user = self.user.as_ref().ok_or_else(|| malformed("the review has no spec"))?;
        if kind == ReviewKind::Local {
            self.check_namespace()?;
        }
        match (kind, caller) {
            (ReviewKind::Own, Some(caller)) => Ok(caller),
            (ReviewKind::Own, None) => {
                let message = "a SelfSubjectAccessReview is about its sender, and no sender is known";
                Err(Diagnostic::error(codes::REVIEW_BY_NOBODY, message)
                    .help("name the user: --as USER [--as-group GROUP]..."))
            }
            _ => Ok(user),
        }
    }

    /// Returns the action in question.
    ///
    /// # Errors
    /// As [`AccessAction::read`].
    pub fn action(&self, answers_pods: bool) -> Result<AccessAction<'_>, Answer> {
        AccessAction::read(self.resource.as_ref(), self.path.as_ref(), answers_pods)
    }

    /// Checks that a local review names a resource in its own namespace (kubernetes
    /// `pkg/apis/authorization/validation`).
    fn check_namespace(&self) -> Result<(), Diagnostic> {
        let Some(resource) = &self.resource else {
            let message = "a LocalSubjectAccessReview must have resourceAttributes";
            return Err(malformed(message));
        };
        if resource.namespace == self.namespace {
            return Ok(());
        }
        let message = format!(
            "metadata.namespace is {}, but spec.resourceAttributes.namespace is {}",
            quoted(&self.namespace),
            quoted(&resource.namespace)
        );
        Err(malformed(message).help("write the same namespace in both"))
    }
}

/// Returns the same review with its status.
#[must_use]
pub fn filled(review: Value, answer: &Answer) -> Value {
    extended(review, Value::from_iter([("status", status(answer))]))
}

/// A review that contains only its status.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    api_version: &'a str,
    kind: &'static str,
    status: Status<'a>,
}

/// `status` as API servers write it: false and empty fields are left out, except `allowed`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    allowed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    evaluation_error: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

impl<'a> From<&'a Answer> for Status<'a> {
    fn from(answer: &'a Answer) -> Self {
        Self {
            allowed: answer.allowed(),
            denied: answer.denied(),
            evaluation_error: answer.evaluation_error.as_deref(),
            reason: &answer.reason,
        }
    }
}

/// A review of this version and kind that contains only its status.
pub fn only_status<'a>(api_version: &'a str, kind: ReviewKind, answer: &'a Answer) -> impl Serialize {
    Answered { api_version, kind: kind.as_str(), status: answer.into() }
}

/// The status of a review.
pub fn status(answer: &Answer) -> Value {
    serde_json::to_value(Status::from(answer)).unwrap_or_default()
}
