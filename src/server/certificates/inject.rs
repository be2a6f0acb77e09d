//! Publishes the authorities of the server certificate: writes `caBundle` into queuewarden's objects that
//! make the API server call the endpoints.
//!
//! The objects have fixed names, so that the permission to write them can be given by name. A missing
//! object is not used.

use k8s_openapi::ByteString;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::operator::call::{self, call};
use queuewarden_plan::snapshot::FIELD_MANAGER;

/// The `ValidatingWebhookConfiguration`s.
pub const VALIDATING: [&str; 4] =
    ["queuewarden", "queuewarden-configmaps", "queuewarden-submission", "queuewarden-user-info"];
/// The `MutatingWebhookConfiguration`s.
pub const MUTATING: [&str; 1] = ["zz-queuewarden-user-info"];
/// The `APIService`.
pub const API_SERVICE: &str = "v1alpha1.access.queuewarden.dev";

/// The object and field that get a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Validating(&'static str),
    Mutating(&'static str),
    ApiService(&'static str),
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Validating(name) | Self::Mutating(name) | Self::ApiService(name) => name,
        }
    }

    fn resource(self) -> ApiResource {
        let (group, kind) = match self {
            Self::Validating(_) => ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
            Self::Mutating(_) => ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
            Self::ApiService(_) => ("apiregistration.k8s.io", "APIService"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
    }

    /// Returns the part of the object that has to change so that it has `bundle`; `None`: it has it.
    fn change(self, object: &Value, bundle: &ByteString) -> Option<Value> {
        let bundle = json!(bundle);
        match self {
            Self::Validating(_) | Self::Mutating(_) => {
                let before = object.get("webhooks")?;
                let mut after = before.clone();
                for webhook in after.as_array_mut()? {
                    let config = webhook.get_mut("clientConfig").and_then(Value::as_object_mut);
                    if let Some(config) = config {
                        config.insert("caBundle".to_owned(), bundle.clone());
                    }
                }
                (after != *before).then(|| json!({"webhooks": after}))
            }
            Self::ApiService(_) => {
                let spec = object.get("spec")?;
                // Without a Service the API server serves it itself; with insecureSkipTLSVerify it takes no
                // bundle.
                let local = spec.get("service").is_none_or(Value::is_null);
                let blind = spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true));
                (!local && !blind && spec.get("caBundle") != Some(&bundle))
                    .then(|| json!({"spec": {"caBundle": bundle}}))
            }
        }
    }
}

/// Writes the bundle, PEM, into every object that does not have it yet; returns how many objects were
/// written.
///
/// # Errors
/// When an object could not be read or written; the others were.
pub async fn tell(client: &Client, bundle: &str) -> Result<usize, String> {
    let bundle = ByteString(bundle.as_bytes().to_vec());
    let targets = VALIDATING.map(Target::Validating).into_iter().chain(MUTATING.map(Target::Mutating));
    let targets = targets.chain([Target::ApiService(API_SERVICE)]);
    let (mut written, mut problem) = (0, None);
    for target in targets {
        match tell_one(client, target, &bundle).await {
            Ok(wrote) => written += usize::from(wrote),
            Err(error) => {
                let kind = target.resource().kind;
                problem = problem.or_else(|| Some(format!("{kind} {}: {error}", target.name())));
            }
        }
    }
    problem.map_or(Ok(written), Err)
}

async fn tell_one(client: &Client, target: Target, bundle: &ByteString) -> Result<bool, call::Error> {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &target.resource());
    let Some(object) = call(objects.get_opt(target.name())).await? else { return Ok(false) };
    let Some(mut change) = target.change(&object.data, bundle) else { return Ok(false) };
    // A list is replaced as a whole: only if it is still the one that was read.
    if let (Some(change), Some(version)) = (change.as_object_mut(), object.metadata.resource_version) {
        change.insert("metadata".to_owned(), json!({"resourceVersion": version}));
    }
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    call(objects.patch(target.name(), &params, &Patch::Merge(&change))).await?;
    tracing::info!(
        kind = target.resource().kind,
        name = target.name(),
        "Told the API server whose certificate it will see"
    );
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> ByteString {
        ByteString(b"new".to_vec())
    }

    #[test]
    fn every_webhook_of_a_configuration_gets_the_bundle_and_keeps_the_rest() {
        let target = Target::Validating("queuewarden");
        let object = json!({"webhooks": [
            {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "b2xk"}, "unknown": 1},
            {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/"}},
        ]});
        let change = target.change(&object, &bundle()).unwrap();
        assert_eq!(
            change,
            json!({"webhooks": [
                {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}, "unknown": 1},
                {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/", "caBundle": "bmV3"}},
            ]})
        );
        assert_eq!(target.change(&change, &bundle()), None);
    }

    #[test]
    fn an_api_service_gets_it_unless_it_takes_none() {
        let target = Target::ApiService(API_SERVICE);
        let served = json!({"spec": {"service": {"name": "queuewarden"}}});
        assert_eq!(target.change(&served, &bundle()), Some(json!({"spec": {"caBundle": "bmV3"}})));
        let told = json!({"spec": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}});
        let blind = json!({"spec": {"service": {"name": "queuewarden"}, "insecureSkipTLSVerify": true}});
        for object in [told, blind, json!({"spec": {"service": null}}), json!({}), json!({"webhooks": 1})] {
            assert_eq!(target.change(&object, &bundle()), None, "{object}");
        }
    }
}
