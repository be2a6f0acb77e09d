//! Defines the served resources, `access.queuewarden.dev/v1alpha1`, as kubectl and client libraries see them.
//!
//! None of them is stored. A queue shows the scheduler's current configuration; a review is answered when it
//! is created and then forgotten.
//!
//! * [`queue`]: `queues`, each with everyone who may submit to it or administer it, inherited or not.
//! * [`table`]: queues as `kubectl get` prints them.
//! * [`fields`]: `--field-selector` for queues.
//! * [`review`]: `queueaccessreviews` and `selfqueueaccessreviews`.
//! * [`discovery`], [`openapi`]: descriptions of the resources, for the API server and its clients.

pub mod discovery;
pub mod fields;
pub mod openapi;
pub mod queue;
pub mod review;
pub mod table;

use schemars::JsonSchema;
use serde::Serialize;

/// The API group.
pub const GROUP: &str = yunikorn_access::review::ACCESS_GROUP;
/// The only version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of all kinds.
pub const API_VERSION: &str = "access.queuewarden.dev/v1alpha1";
/// The path of the resources.
pub const ROOT: &str = "/apis/access.queuewarden.dev/v1alpha1";

/// `metadata` of an object that is not stored: its name, without the fields that only a stored object has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metadata {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_fit_together() {
        assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
        assert_eq!(ROOT, format!("/apis/{API_VERSION}"));
    }
}
