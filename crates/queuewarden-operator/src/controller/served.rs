//! Checks before each write that our kinds are still served.
//!
//! When a `CustomResourceDefinition` is deleted, the API server deletes its objects first, and the watch
//! reports each as if a person had deleted it. Removing their grants because an operator was uninstalled or a
//! cluster restored would give access that they had denied. Discovery still lists a definition that is being
//! deleted, but without the verb `create` (apiextensions-apiserver
//! `pkg/apiserver/customresource_discovery_controller.go`), and everyone may read discovery.

use kube::Client;

use queuewarden_api::API_VERSION;
use queuewarden_client::call::call;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::snapshot::WriteFailure;

/// Checks that absent objects may be treated as deleted.
///
/// # Errors
/// When they must not be, or the API server does not answer.
pub(super) async fn check(client: &Client) -> Result<(), WriteFailure> {
    let resources = match call(client.list_api_group_resources(API_VERSION)).await {
        Ok(list) => list.resources,
        Err(error) if error.is_not_found() => Vec::new(),
        // Without the right to read discovery this check is skipped; writes continue.
        Err(error) if error.is_forbidden() => return Ok(()),
        Err(error) => return Err(WriteFailure::Transient(error.to_string())),
    };
    let served = resources.iter().filter(|resource| resource.verbs.iter().any(|verb| verb == "create"));
    let served: Vec<_> = served.map(|resource| resource.name.as_str()).collect();
    // Tests grant nothing, so nothing written depends on them.
    let needed = ResourceKind::ALL
        .into_iter()
        .filter(|kind| *kind != ResourceKind::QueueAccessTest)
        .map(ResourceKind::plural);
    let lacking: Vec<_> = needed.filter(|plural| !served.contains(plural)).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(WriteFailure::Transient(format!(
        "the CustomResourceDefinition of {} is not there or is being deleted; what is live stays",
        lacking.join(", ")
    )))
}
