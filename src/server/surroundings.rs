//! What `YuniKorn`'s admission controller knows of the cluster around a request, asked of the API server.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::Api;
use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Doors;
use crate::model::admission::request::Texts;

/// How long the API server may take; the whole answer has 3 seconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The annotations of a namespace, by which it is sent to `YuniKorn` and placed; `None` where there is no such namespace.
///
/// # Errors
/// When it cannot be read in time.
pub(super) async fn of_namespace(doors: &Doors, name: &str) -> Result<Option<Texts>, String> {
    let metadata = metadata::<Namespace>(doors, name).await;
    let metadata = metadata.map_err(|why| format!("namespace {name} {why}"))?;
    Ok(metadata.map(|metadata| metadata.annotations.unwrap_or_default()))
}

/// The annotations of a `PriorityClass`; none where there is no such class.
///
/// # Errors
/// When it cannot be read in time.
pub(super) async fn of_priority_class(doors: &Doors, name: &str) -> Result<Texts, String> {
    if name.is_empty() {
        return Ok(Texts::new());
    }
    let metadata = metadata::<PriorityClass>(doors, name).await;
    let metadata = metadata.map_err(|why| format!("PriorityClass {name} {why}"))?;
    Ok(metadata.and_then(|metadata| metadata.annotations).unwrap_or_default())
}

async fn metadata<K>(doors: &Doors, name: &str) -> Result<Option<ObjectMeta>, String>
where
    K: kube::Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let objects: Api<K> = Api::all(doors.client.clone());
    match timeout(PATIENCE, objects.get_metadata_opt(name)).await {
        Ok(Ok(found)) => Ok(found.map(|object| object.metadata)),
        Ok(Err(error)) => Err(format!("cannot be read: {error}")),
        Err(_) => Err("was not told in time".to_owned()),
    }
}
