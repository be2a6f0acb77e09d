//! Objects of the API server that decisions depend on: annotations of namespaces and classes that
//! `YuniKorn`'s admission controller reads for a request, and the registration of that controller itself.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::Api;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::lookups::Lookups;
use yunikorn::admission::request::Texts;

/// The time for one lookup at the API server; the whole answer has 3 seconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the annotations of a namespace, by which it is sent to `YuniKorn` and placed; `None` where there
/// is no such namespace.
///
/// # Errors
/// When it cannot be read in time.
pub(super) async fn of_namespace(lookups: &Lookups, name: &str) -> Result<Option<Texts>, String> {
    let annotations = annotations::<Namespace>(lookups, name).await;
    annotations.map_err(|why| format!("namespace {name} {why}"))
}

/// Returns the annotations of a `PriorityClass`; none where there is no such class.
///
/// # Errors
/// When it cannot be read in time.
pub(super) async fn of_priority_class(lookups: &Lookups, name: &str) -> Result<Texts, String> {
    if name.is_empty() {
        return Ok(Texts::new());
    }
    let annotations = annotations::<PriorityClass>(lookups, name).await;
    annotations.map(Option::unwrap_or_default).map_err(|why| format!("PriorityClass {name} {why}"))
}

/// The name of the registration of `YuniKorn`'s admission controller (k8shim
/// `pkg/admission/webhook_manager.go:47`).
pub(super) const YUNIKORN: &str = "yunikorn-admission-controller-mutations";

/// Returns whether `YuniKorn`'s own admission controller is registered.
///
/// # Errors
/// When that cannot be read in time.
pub(super) async fn has_yunikorn(lookups: &Lookups) -> Result<bool, String> {
    let found = annotations::<MutatingWebhookConfiguration>(lookups, YUNIKORN).await;
    found.map(|found| found.is_some()).map_err(|why| format!("MutatingWebhookConfiguration {YUNIKORN} {why}"))
}

async fn annotations<K>(lookups: &Lookups, name: &str) -> Result<Option<Texts>, String>
where
    K: kube::Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let objects: Api<K> = Api::all(lookups.client.clone());
    let read = Box::pin(async {
        match timeout(PATIENCE, objects.get_metadata_opt(name)).await {
            Ok(Ok(Some(object))) => Ok(object.metadata.annotations.unwrap_or_default()),
            Ok(Ok(None)) => Err(None),
            Ok(Err(error)) => Err(Some(format!("cannot be read: {error}"))),
            Err(_) => Err(Some("was not told in time".to_owned())),
        }
    });
    let key = Sha256::digest(format!("{} {name}", K::kind(&()))).into();
    match lookups.annotations.try_get_with(key, read).await {
        Ok(texts) => Ok(Some(texts)),
        Err(why) => Option::clone(&why).map_or(Ok(None), Err),
    }
}
