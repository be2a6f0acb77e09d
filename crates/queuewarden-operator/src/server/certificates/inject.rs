//! Publishes the authorities of the server certificate: writes `caBundle` into queuewarden's objects that
//! make the API server call the endpoints.
//!
//! The objects have fixed names, so that the permission to write them can be given by name. A missing
//! object is not used.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use queuewarden_api::registration::{API_SERVICE, MUTATING, VALIDATING};
use queuewarden_client::call::{CallError, call};
use queuewarden_plan::snapshot::FIELD_MANAGER;

/// Returns the part of an object that has to change so that it has `bundle`; `None`: it has it, or takes
/// none. A configuration of webhooks has a bundle for each of them, an `APIService` has one.
fn change(object: &Value, bundle: &ByteString) -> Option<Value> {
    let bundle = json!(bundle);
    if let Some(before) = object.get("webhooks") {
        let mut after = before.clone();
        for webhook in after.as_array_mut()? {
            let config = webhook.get_mut("clientConfig").and_then(Value::as_object_mut);
            if let Some(config) = config {
                config.insert("caBundle".to_owned(), bundle.clone());
            }
        }
        return (after != *before).then(|| json!({"webhooks": after}));
    }
    let spec = object.get("spec")?;
    // Without a Service the API server serves it itself; with insecureSkipTLSVerify it takes no bundle.
    let local = spec.get("service").is_none_or(Value::is_null);
    let blind = spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true));
    let reported = spec.get("caBundle") == Some(&bundle);
    (!local && !blind && !reported).then(|| json!({"spec": {"caBundle": bundle}}))
}

/// Writes the bundle, PEM, into every object that does not have it yet.
///
/// # Errors
/// When an object could not be read or written; the others were.
pub async fn inject(client: &Client, bundle: &str) -> Result<(), String> {
    let bundle = ByteString(bundle.as_bytes().to_vec());
    let validating = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
    let mutating = ApiResource::erase::<MutatingWebhookConfiguration>(&());
    let targets = VALIDATING.iter().map(|name| (&validating, *name));
    let targets = targets.chain(MUTATING.iter().map(|name| (&mutating, *name)));
    let service = ApiResource::erase::<APIService>(&());
    let mut problem = None;
    for (resource, name) in targets.chain([(&service, API_SERVICE)]) {
        if let Err(error) = inject_into(client, resource, name, &bundle).await {
            problem.get_or_insert_with(|| format!("{} {name}: {error}", resource.kind));
        }
    }
    problem.map_or(Ok(()), Err)
}

async fn inject_into(
    client: &Client,
    resource: &ApiResource,
    name: &str,
    bundle: &ByteString,
) -> Result<(), CallError> {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let Some(object) = call(objects.get_opt(name)).await? else { return Ok(()) };
    let Some(mut change) = change(&object.data, bundle) else { return Ok(()) };
    // A list is replaced as a whole: only if it is still the one that was read.
    if let (Some(change), Some(version)) = (change.as_object_mut(), object.metadata.resource_version) {
        change.insert("metadata".to_owned(), json!({"resourceVersion": version}));
    }
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    call(objects.patch(name, &params, &Patch::Merge(&change))).await?;
    tracing::info!(kind = resource.kind, name, "Registered the authority of the certificate");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> ByteString {
        ByteString(b"new".to_vec())
    }

    #[test]
    fn every_webhook_of_a_configuration_gets_the_bundle_and_keeps_the_rest() {
        let object = json!({"webhooks": [
            {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "b2xk"}, "unknown": 1},
            {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/"}},
        ]});
        let changed = change(&object, &bundle()).unwrap();
        assert_eq!(
            changed,
            json!({"webhooks": [
                {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}, "unknown": 1},
                {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/", "caBundle": "bmV3"}},
            ]})
        );
        assert_eq!(change(&changed, &bundle()), None);
    }

    #[test]
    fn an_api_service_gets_it_unless_it_takes_none() {
        let served = json!({"spec": {"service": {"name": "queuewarden"}}});
        assert_eq!(change(&served, &bundle()), Some(json!({"spec": {"caBundle": "bmV3"}})));
        let reported = json!({"spec": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}});
        let blind = json!({"spec": {"service": {"name": "queuewarden"}, "insecureSkipTLSVerify": true}});
        for object in [reported, blind, json!({"spec": {"service": null}}), json!({}), json!({"webhooks": 1})]
        {
            assert_eq!(change(&object, &bundle()), None, "{object}");
        }
    }
}
