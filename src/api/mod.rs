//! The custom resources: what people write, what the API server refuses for us, and the way into [`crate::plan`].
//!
//! * [`v1alpha1`]: the three kinds, their CEL rules and the descriptions `kubectl explain` shows.
//! * [`crd`]: the `CustomResourceDefinition`s made of them, as objects and as the files under `crds/`.
//! * [`owners`]: who wrote a key of a `ConfigMap`, read from `managedFields`.
//!
//! The API server checks structure (lengths, names, what excludes what). It is never the only guard: objects may be older than a
//! rule or come from a file, so the conversion checks again and the plan judges meaning.

pub mod crd;
pub mod owners;
pub mod v1alpha1;

pub use crd::{crd_yaml, crds};

/// The API group of all kinds.
pub const GROUP: &str = "queuewarden.dev";
/// The one served version.
pub const VERSION: &str = "v1alpha1";
/// The name under which queuewarden's writes appear in `managedFields`.
pub const FIELD_MANAGER: &str = "queuewarden";
