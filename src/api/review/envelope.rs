//! The request in an `AdmissionReview` (`admission.k8s.io/v1`, `AdmissionRequest`), as far as anything here looks at it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{codes, decode, malformed, nullable, nullable_object, object};
use crate::text::diag::Diagnostic;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Envelope {
    #[serde(deserialize_with = "object")]
    request: Option<Request>,
}

/// `request`; what is absent is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    #[serde(deserialize_with = "nullable")]
    pub(super) uid: String,
    #[serde(deserialize_with = "nullable_object")]
    pub(super) kind: GroupKind,
    #[serde(deserialize_with = "nullable")]
    pub(super) name: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) operation: String,
    #[serde(deserialize_with = "nullable_object")]
    pub(super) user_info: UserInfo,
    pub(super) object: Value,
    pub(super) old_object: Value,
}

/// `kind`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GroupKind {
    #[serde(deserialize_with = "nullable")]
    pub(super) group: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) kind: String,
}

/// `userInfo`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UserInfo {
    #[serde(deserialize_with = "nullable")]
    pub(super) username: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) uid: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) groups: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

/// The request of a review.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`].
pub(super) fn request(review: &Value) -> Result<Request, Diagnostic> {
    let Envelope { request } = decode(review)?;
    request.ok_or_else(|| malformed(codes::MALFORMED_REVIEW, "the review has no request"))
}
