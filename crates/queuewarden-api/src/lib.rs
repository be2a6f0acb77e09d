//! Defines the custom resources, with the rules that the API server enforces, and converts them for
//! [`queuewarden_plan`].
//!
//! * [`answer`]: the evaluator's results, as JSON.
//! * [`touches`]: the last writers of an object and their fields.
//! * [`v1alpha1`]: the kinds, their CEL rules and the descriptions `kubectl explain` shows.
//! * [`crd`]: the `CustomResourceDefinition`s generated from them, as objects and as the files under `crds/`.
//! * [`limits`]: the size limits of the definitions, for objects that no API server has checked.
//! * [`convert`]: objects from an API server or a file, as the plan's input. Conversion cannot fail: an
//!   invalid object becomes an entry that lists its errors.
//! * [`mirror`]: reads and writes the roles and bindings of the RBAC mirror.
//! * [`config_map`]: a `ConfigMap` as the plan's input, with the owners of its keys.
//! * [`identity_webhook`]: the registration of the user-info webhook, and whether all pods get their aliases.
//! * [`registration`]: the objects that make the API server call the endpoints.
//! * [`log_level`]: the annotation that sets the log level of the operator.
//! * [`history`]: a revision of the output's history, stored and read.
//! * [`pod`]: a pod as the evaluator's plain data.
//! * [`review`]: parses and answers Kubernetes' own reviews.
//! * [`aggregated_api`]: the served resources of `access.queuewarden.dev`.
//! * [`status`]: the plan's output as `status` of the objects.
//!
//! The API server checks structure: lengths, names and mutually exclusive fields. It is never the only check,
//! because objects may be older than a rule or come from a file. The conversion therefore checks structure
//! again, and the plan checks meaning.

pub mod aggregated_api;
pub mod answer;
pub mod config_map;
pub mod convert;
pub mod crd;
pub mod history;
pub mod identity_webhook;
pub mod limits;
pub mod log_level;
pub mod mirror;
pub mod pod;
pub mod registration;
pub mod restorers;
pub mod review;
pub mod status;
pub mod touches;
pub mod v1alpha1;

use serde_json::Value;

pub use crd::{crd_yaml, crds};

/// The API group of all kinds.
pub const GROUP: &str = "queuewarden.dev";
/// The only served version.
pub const VERSION: &str = "v1alpha1";
/// The group and version, as in `apiVersion`.
pub const API_VERSION: &str = "queuewarden.dev/v1alpha1";

/// Adds the fields of `more` to an object. Any other value stays as it is.
fn extended(mut object: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
        fields.extend(more);
    }
    object
}
