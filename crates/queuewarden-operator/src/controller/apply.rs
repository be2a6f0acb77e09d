//! Writes ConfigMaps while our kinds are served, and interprets refusals.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch};
use kube::{Api, Client};
use serde_json::json;

use queuewarden_api::API_VERSION;
use queuewarden_api::config_map::annotations;
use queuewarden_client::call::{CallError, WRITE, call, call_within};
use queuewarden_client::objects::{patch_params, post_params};
use queuewarden_plan::machine::WriteOutcome;
use queuewarden_plan::snapshot::{FIELD_MANAGER, MANAGED_BY, WriteFailure};
use queuewarden_plan::{NewConfigMap, ResourceKind, Write};

/// Creates a ConfigMap. Returns `None` if it already exists, without changing it.
///
/// It has a label even if it is otherwise empty. If the creator of an object owns no field, later updates add
/// no `managedFields` either (apimachinery `pkg/util/managedfields/internal/skipnonapplied.go`), and the
/// owner of its keys could not be determined.
///
/// # Errors
/// When it does not exist and was not created.
pub async fn create(
    client: &Client,
    namespace: &str,
    new: &NewConfigMap,
) -> Result<Option<ConfigMap>, WriteFailure> {
    check_kinds(client).await?;
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(new.name.clone()),
            labels: Some([(MANAGED_BY.to_owned(), FIELD_MANAGER.to_owned())].into()),
            annotations: Some(new.annotations.clone()).filter(|annotations| !annotations.is_empty()),
            ..ObjectMeta::default()
        },
        data: Some(new.data.clone()),
        ..ConfigMap::default()
    };
    match call_within(WRITE, maps(client, namespace).create(&post_params(), &map)).await {
        Ok(map) => Ok(Some(map)),
        Err(error) if error.is_conflict() => Ok(None),
        Err(error) if error.is_not_found() => Err(WriteFailure::Transient(format!(
            "namespace `{namespace}` does not exist; create it, or correct `spec.namespace` of the YuniKornConfig"
        ))),
        Err(error) => Err(failure(&error)),
    }
}

/// Changes the output ConfigMap, if it is still the version that the plan was based on.
///
/// # Errors
/// When it was not changed.
pub async fn write(client: &Client, namespace: &str, write: &Write) -> Result<ConfigMap, WriteOutcome> {
    check_kinds(client).await.map_err(WriteOutcome::Refused)?;
    // Without a version it did not exist, so it must be created before it is written.
    let Some(version) = &write.resource_version else { return Err(WriteOutcome::Conflict) };
    let mut metadata = json!({"resourceVersion": version});
    let annotations = annotations(write);
    if let Some(metadata) = metadata.as_object_mut().filter(|_| !annotations.is_empty()) {
        metadata.insert("annotations".into(), json!(annotations));
    }
    let patch = Patch::Merge(json!({"metadata": metadata, "data": write.data}));
    let done = call_within(WRITE, maps(client, namespace).patch(&write.name, &patch_params(), &patch)).await;
    done.map_err(|error| match error {
        // Deleted or changed since.
        error if error.is_conflict() || error.is_not_found() => WriteOutcome::Conflict,
        error if error.is_definite() => WriteOutcome::Refused(failure(&error)),
        error => WriteOutcome::Unknown(error.to_string()),
    })
}

/// Reads a ConfigMap directly from the API server, bypassing caches.
///
/// # Errors
/// When the API server does not answer.
pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Option<ConfigMap>, CallError> {
    call(maps(client, namespace).get_opt(name)).await
}

/// Checks that our kinds are served, so that absent objects may be treated as deleted.
///
/// When a `CustomResourceDefinition` is deleted, the API server deletes its objects first, and the watch
/// reports each as if a person had deleted it. If an operator was uninstalled or a cluster restored, removing
/// the grants of these objects would give access that they had denied. Discovery still lists a definition
/// that is being deleted, but without the verb `create` (apiextensions-apiserver
/// `pkg/apiserver/customresource_discovery_controller.go`), and everyone may read discovery.
///
/// # Errors
/// When absent objects must not be treated as deleted, or the API server does not answer.
async fn check_kinds(client: &Client) -> Result<(), WriteFailure> {
    let resources = match call(client.list_api_group_resources(API_VERSION)).await {
        Ok(list) => list.resources,
        Err(error) if error.is_not_found() => Vec::new(),
        // Without permission to read discovery this check is skipped; writes continue.
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

fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

/// Distinguishes temporary failures from lasting ones. The refusal of an admission webhook, or of a policy,
/// is recognized by its text, because its status code is arbitrary; 400 and 403 are common (apiserver
/// `plugin/webhook/errors/statuserror.go`, `plugin/policy/validating/dispatcher.go`).
pub(super) fn failure(error: &CallError) -> WriteFailure {
    let message = error.to_string();
    let webhook = message.contains("admission webhook") && message.contains("denied the request");
    let policy = message.contains("AdmissionPolicy") && message.contains("denied request");
    match error {
        CallError::Refused { code: 400..=499, .. } if webhook || policy => WriteFailure::Rejected(message),
        CallError::Refused { code: 403, .. } => WriteFailure::Forbidden(message),
        CallError::Refused { code: 401 | 404 | 408 | 409 | 429, .. } => WriteFailure::Transient(message),
        CallError::Refused { code: 400..=499, .. } => WriteFailure::Rejected(message),
        _ => WriteFailure::Transient(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> CallError {
        CallError::Refused { code, message: message.into() }
    }

    #[test]
    fn refusals_are_distinguished() {
        let rbac =
            "configmaps \"yunikorn-configs\" is forbidden: User \"x\" cannot patch resource \"configmaps\"";
        let webhook =
            "admission webhook \"admission-webhook.yunikorn.validate-conf\" denied the request: bad";
        let broken =
            "failed calling webhook \"x\": failed to call webhook: Post \"https://x\": connection refused";
        assert_eq!(failure(&refused(403, rbac)), WriteFailure::Forbidden(rbac.into()));
        let policy = "configmaps \"yunikorn-configs\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
        for code in [400, 403, 422] {
            for message in [webhook, policy] {
                assert_eq!(failure(&refused(code, message)), WriteFailure::Rejected(message.into()));
            }
        }
        for code in [400, 402, 405, 413, 422, 451] {
            assert_eq!(failure(&refused(code, "no")), WriteFailure::Rejected("no".into()), "{code}");
            assert!(refused(code, "no").is_definite());
        }
        for code in [401, 404, 408, 409, 429, 500, 503, 504] {
            assert_eq!(failure(&refused(code, "later")), WriteFailure::Transient("later".into()), "{code}");
        }
        for code in [408, 500, 502, 503, 504] {
            assert!(!refused(code, "perhaps").is_definite(), "{code}");
        }
        assert_eq!(failure(&refused(500, broken)), WriteFailure::Transient(broken.into()));
        assert!(matches!(failure(&CallError::Timeout(WRITE)), WriteFailure::Transient(_)));
    }
}
