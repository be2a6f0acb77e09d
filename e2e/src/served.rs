//! The served resources, as the shipped manifests bring them into the cluster.

use anyhow::Result;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::bed::Bed;
use crate::doors::Doors;
use crate::furniture::FIELD_MANAGER;
use crate::operator;
use crate::wait::{LONG, PATIENCE, eventually};

/// Leads out of the cluster to a process.
const SERVICE: &str = "doors";
/// The `APIService` of `manifests/access`.
pub const API_SERVICE: &str = "v1alpha1.access.queuewarden.dev";
const GROUP_PATH: &str = "/apis/access.queuewarden.dev/v1alpha1";

impl Bed {
    /// Installs `manifests/access`, leads its Service to these doors, and waits until the API server asks there.
    ///
    /// # Errors
    /// When the API server refuses, or does not find the doors.
    pub async fn serve_access(&self, doors: &Doors) -> Result<()> {
        self.apply_kustomization("manifests/access").await?;
        let apply = PatchParams::apply(FIELD_MANAGER).force();
        let services: Api<Service> = Api::namespaced(self.client()?, operator::NAMESPACE);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        });
        services.patch(SERVICE, &apply, &Patch::Apply(service)).await?;
        let api_services: Api<APIService> = Api::all(self.client()?);
        let here = json!({"spec": {
            "service": {"name": SERVICE, "namespace": operator::NAMESPACE, "port": doors.port()?},
            "caBundle": ByteString(doors.authority.clone().into_bytes()),
        }});
        api_services.patch(API_SERVICE, &PatchParams::default(), &Patch::Merge(here)).await?;
        eventually("the API server to serve access.queuewarden.dev", PATIENCE, || async {
            Ok(self.access_is_served().await?.then_some(()))
        })
        .await?;
        // Documents are fetched in the background; what kubectl does depends on them.
        eventually("the documents of access.queuewarden.dev", LONG, || async {
            self.kubectl(&["get", "--raw", &format!("/openapi/v3{GROUP_PATH}")]).await?;
            let merged = self.kubectl(&["get", "--raw", "/openapi/v2"]).await?;
            Ok(merged.contains(GROUP_PATH).then_some(()))
        })
        .await
    }

    /// Whether the API server says that it finds the doors.
    ///
    /// # Errors
    /// When there is no such `APIService`.
    pub async fn access_is_served(&self) -> Result<bool> {
        let api_services: Api<APIService> = Api::all(self.client()?);
        let conditions = api_services.get(API_SERVICE).await?.status.and_then(|status| status.conditions);
        let conditions = conditions.unwrap_or_default();
        Ok(conditions.iter().any(|condition| condition.type_ == "Available" && condition.status == "True"))
    }
}
