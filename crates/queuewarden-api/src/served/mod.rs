//! The served resources, `access.queuewarden.dev/v1alpha1`: what they look like to kubectl and to client
//! libraries.
//!
//! Nothing of them is stored. A queue is what the scheduler's configuration says of it now; a review is
//! answered when it is created, and forgotten.
//!
//! * [`queue`]: `queues`, each with everyone who may submit to it or administer it, inherited or not.
//! * [`table`]: the same for `kubectl get`.
//! * [`fields`]: `--field-selector` for them.
//! * [`review`]: `queueaccessreviews` and `selfqueueaccessreviews`.
//! * [`discovery`], [`openapi`]: what there is, for the API server and those who ask it.

pub mod discovery;
pub mod fields;
pub mod openapi;
pub mod queue;
pub mod review;
pub mod table;
#[cfg(test)]
mod testing;

use schemars::JsonSchema;
use serde::Serialize;

/// The API group.
pub const GROUP: &str = yunikorn_access::review::ACCESS_GROUP;
/// The one version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of all kinds.
pub const API_VERSION: &str = "access.queuewarden.dev/v1alpha1";
/// Where the resources are.
pub const ROOT: &str = "/apis/access.queuewarden.dev/v1alpha1";

/// `metadata` of what is not stored: a name, and nothing that would have to be kept.
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
