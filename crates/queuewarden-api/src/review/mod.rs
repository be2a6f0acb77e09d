//! Parses Kubernetes reviews from JSON and fills in the answer.
//!
//! * [`access`]: `SubjectAccessReview` and its variants (`authorization.k8s.io`).
//! * [`admission`]: `AdmissionReview` (`admission.k8s.io`), as `YuniKorn`'s admission controller receives it.
//! * [`codes`]: reasons why a review cannot be answered.
//! * [`envelope`]: the request of an `AdmissionReview`, and the response of a webhook; [`part`]: parts of it
//!   that are parsed only when needed.
//! * [`submission`]: `AdmissionReview` of pods and workloads; the answer is whether `YuniKorn` would accept
//!   them.
//! * [`user_info`]: `AdmissionReview` of pods and workloads; the answer is whether they may run as the user
//!   they declare.
//!
//! A field that the API server cannot decode is an error. Unknown fields are ignored and kept.

pub mod access;
pub mod admission;
pub mod codes;
pub mod envelope;
pub mod part;
pub mod submission;
#[cfg(test)]
mod tests;
pub mod user_info;

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub use codes::CODES;

use go_compat::diag::{Diagnostic, quoted};

/// The supported kinds of reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewKind {
    /// `SubjectAccessReview`: may this user do this?
    Subject,
    /// `LocalSubjectAccessReview`: may this user do this in this namespace?
    Local,
    /// `SelfSubjectAccessReview`: may I do this?
    Own,
    /// `AdmissionReview`: is this request admitted?
    Admission,
}

impl ReviewKind {
    /// Returns the kind of a document, or `None` if it is not a review in one of these API groups.
    ///
    /// # Errors
    /// [`codes::UNKNOWN_REVIEW`] if it is in one of the groups, but its kind is not supported.
    pub fn from_document(document: &Value) -> Option<Result<Self, Diagnostic>> {
        let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
        Self::named(text("apiVersion"), text("kind"))
    }

    /// Like [`Self::from_document`], from `apiVersion` and `kind`.
    fn named(version: &str, kind: &str) -> Option<Result<Self, Diagnostic>> {
        let (group, number) = version.split_once('/')?;
        if !["authorization.k8s.io", "admission.k8s.io"].contains(&group) {
            return None;
        }
        let found = match (group, kind) {
            ("authorization.k8s.io", "SubjectAccessReview") => Some(Self::Subject),
            ("authorization.k8s.io", "LocalSubjectAccessReview") => Some(Self::Local),
            ("authorization.k8s.io", "SelfSubjectAccessReview") => Some(Self::Own),
            ("admission.k8s.io", "AdmissionReview") => Some(Self::Admission),
            _ => None,
        };
        let known = found.filter(|_| ["v1", "v1beta1"].contains(&number));
        Some(known.ok_or_else(|| unknown(version, kind)))
    }

    /// Returns the kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "SubjectAccessReview",
            Self::Local => "LocalSubjectAccessReview",
            Self::Own => "SelfSubjectAccessReview",
            Self::Admission => "AdmissionReview",
        }
    }
}

fn unknown(version: &str, kind: &str) -> Diagnostic {
    let message = format!("{} of {} is not a supported review", quoted(kind), quoted(version));
    let help = if kind == "SelfSubjectRulesReview" {
        "to list a user's rights, run `queuewarden what-can`"
    } else {
        "use SubjectAccessReview, LocalSubjectAccessReview or SelfSubjectAccessReview of \
         authorization.k8s.io, or AdmissionReview of admission.k8s.io, in v1 or v1beta1"
    };
    Diagnostic::error(codes::UNKNOWN_REVIEW, message).help(help)
}

/// Decodes a review of access, or returns the error that the API server would report.
fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, Diagnostic> {
    if !value.is_object() {
        return Err(no_object());
    }
    // Tracking the path costs more than the rest, so it is computed only after an error.
    T::deserialize(value).or_else(|_| serde_path_to_error::deserialize(value)).map_err(unread_at)
}

fn no_object() -> Diagnostic {
    malformed("the review, or a pod template in it, is not an object")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unread_at(error: serde_path_to_error::Error<serde_json::Error>) -> Diagnostic {
    let message = format!("the review cannot be read at {}: {}", error.path(), error.inner());
    malformed(message)
}

fn malformed(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::MALFORMED_REVIEW, message)
}

/// Parses an optional object.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    from.deserialize_any(ObjectVisitor(PhantomData))
}

/// Parses an object; an absent one is empty.
fn nullable_object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    object(from).map(Option::unwrap_or_default)
}

/// Accepts only objects: serde would also accept a list of values in place of a struct.
struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
