//! Checks before each write that our kinds are still served.
//!
//! When a `CustomResourceDefinition` is deleted, the API server deletes its objects first, and the watch
//! reports each as if a person had deleted it. Removing their grants because an operator was uninstalled or a
//! cluster restored would give access that they had denied. Discovery still lists a definition that is being
//! deleted, but without the verb `create` (apiextensions-apiserver
//! `pkg/apiserver/customresource_discovery_controller.go`), and everyone may read discovery.

use kube::Client;

use super::call::{Error, call};
use super::world::Kind;
use queuewarden_api::API_VERSION;

/// Returns why absent objects must not be treated as deleted; `None` when they may be.
///
/// # Errors
/// When the API server does not answer.
pub async fn withdrawn(client: &Client) -> Result<Option<String>, Error> {
    let resources = match call(client.list_api_group_resources(API_VERSION)).await {
        Ok(list) => list.resources,
        Err(error) if error.is_not_found() => Vec::new(),
        // Without the right to read discovery this check is skipped; writes continue.
        Err(Error::Refused { code: 403, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let served = |kind: &Kind| {
        let of_kind = |name: &str| name == kind.plural();
        resources.iter().any(|found| of_kind(&found.name) && found.verbs.iter().any(|verb| verb == "create"))
    };
    // Tests grant nothing, so nothing written depends on them.
    let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::QueueAccessTest);
    let lacking: Vec<_> = kinds.filter(|kind| !served(kind)).map(|kind| kind.plural()).collect();
    Ok((!lacking.is_empty()).then(|| {
        format!(
            "the CustomResourceDefinition of {} is not there or is being deleted; what is live stays",
            lacking.join(", ")
        )
    }))
}
