//! Are our kinds still served? Asked before each write.
//!
//! When a `CustomResourceDefinition` is deleted, the API server deletes its objects first, and the watch tells of each as if people had
//! deleted it. Taking their grants away then would open what they closed, because of an uninstalled operator or a restored cluster.
//! A definition that is being deleted is still listed by discovery, without the verb `create`
//! (apiextensions-apiserver `pkg/apiserver/customresource_discovery_controller.go`), and everyone may read discovery.

use kube::Client;

use super::call::{Error, call};
use super::world::Kind;
use queuewarden_api::API_VERSION;

/// Why absent objects must not be taken for deleted ones; `None` when they may.
///
/// # Errors
/// When the API server does not say.
pub async fn withdrawn(client: &Client) -> Result<Option<String>, Error> {
    let resources = match call(client.list_api_group_resources(API_VERSION)).await {
        Ok(list) => list.resources,
        Err(error) if error.is_not_found() => Vec::new(),
        // Whoever hides discovery from us leaves us without this guard, not without writes.
        Err(Error::Refused { code: 403, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let served = |kind: &Kind| {
        let of_kind = |name: &str| name == kind.plural();
        resources.iter().any(|found| of_kind(&found.name) && found.verbs.iter().any(|verb| verb == "create"))
    };
    // Tests grant nothing: what is written does not depend on them.
    let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::QueueAccessTest);
    let lacking: Vec<_> = kinds.filter(|kind| !served(kind)).map(|kind| kind.plural()).collect();
    Ok((!lacking.is_empty()).then(|| {
        format!(
            "the CustomResourceDefinition of {} is not there or is being deleted; what is live stays",
            lacking.join(", ")
        )
    }))
}
