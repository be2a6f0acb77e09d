//! Reads the reviews of Kubernetes as JSON, and fills them in with the answer.
//!
//! * [`access`]: `SubjectAccessReview` and its variants (`authorization.k8s.io`).
//! * [`admission`]: `AdmissionReview` (`admission.k8s.io`), as the admission controller of `YuniKorn` gets
//!   it.
//! * [`codes`]: the reasons why a review cannot be answered.
//! * [`envelope`]: the request of an `AdmissionReview`, and the response of a webhook; [`part`]: parts of it
//!   that are read only when they are needed.
//! * [`submission`]: `AdmissionReview` of pods and workloads, answered with whether `YuniKorn` would accept
//!   them.
//! * [`user_info`]: the same, answered with whether they may run in the name that they state.
//!
//! A field that the API server would not decode is an error. An unknown one stays and is ignored.

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

use go_compat::diag::{Code, Diagnostic, quoted};

/// The kinds of reviews that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewKind {
    /// `SubjectAccessReview`: may this user do this?
    Subject,
    /// `LocalSubjectAccessReview`: the same within a namespace.
    Local,
    /// `SelfSubjectAccessReview`: may I do this?
    Own,
    /// `AdmissionReview`: is this request admitted?
    Admission,
}

impl ReviewKind {
    /// Returns the kind of a document, or `None` when it is no review of these API groups.
    ///
    /// # Errors
    /// Fails when it is of one of the groups, but of a kind that is not answered here:
    /// [`codes::UNKNOWN_REVIEW`].
    pub fn from_document(document: &Value) -> Option<Result<Self, Diagnostic>> {
        let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
        Self::named(text("apiVersion"), text("kind"))
    }

    /// The same by `apiVersion` and `kind`.
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
    let message = format!("{} of {} is no review that can be answered", quoted(kind), quoted(version));
    let help = if kind == "SelfSubjectRulesReview" {
        "`queuewarden what-can` lists what a user may do"
    } else {
        "SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview of authorization.k8s.io \
         and AdmissionReview of admission.k8s.io are, each in v1 and v1beta1"
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
    malformed(codes::MALFORMED_REVIEW, "the review, or a template of pods in it, is no object")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unread_at(error: serde_path_to_error::Error<serde_json::Error>) -> Diagnostic {
    let message = format!("the review cannot be read at {}: {}", error.path(), error.inner());
    malformed(codes::MALFORMED_REVIEW, message)
}

fn malformed(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, message)
}

/// Reads an object, or nothing.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    from.deserialize_any(ObjectVisitor(PhantomData))
}

/// Reads an object; an absent one is empty.
fn nullable_object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    object(from).map(Option::unwrap_or_default)
}

/// Accepts objects only: serde would take the values of a list for the fields of a struct.
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
