//! Installs the served resources with the shipped manifests.

use std::net::IpAddr;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::endpoints::Endpoints;
use crate::fixtures::FIELD_MANAGER;
use crate::forward::forward;
use crate::operator;
use crate::test_cluster::TestCluster;
use crate::wait::{LONG, PATIENCE, eventually};

/// Name of the Service that leads out of the cluster to a process.
const SERVICE: &str = "endpoints";
/// Name of the Service of `manifests/`.
const SHIPPED: &str = "queuewarden";
/// The `APIService` of `manifests/access`.
pub const API_SERVICE: &str = "v1alpha1.access.queuewarden.dev";
const GROUP_PATH: &str = "/apis/access.queuewarden.dev/v1alpha1";

impl TestCluster {
    /// Connects the Service of `manifests/`, as shipped, from its cluster IP to these endpoints for the rest
    /// of this process. It can only be done once.
    ///
    /// The API server uses an `APIService` only if its Service has endpoints, and then calls the cluster IP,
    /// which kube-proxy forwards to one of them; here the forwarder does that. The endpoint is therefore a
    /// dummy, because an address on loopback is not valid.
    ///
    /// # Errors
    /// When the Service does not exist, or its port is in use.
    pub async fn lead_service_to(&self, endpoints: &Endpoints) -> Result<()> {
        // A started operator is installed without the endpoints of its webhook server.
        self.apply_kustomization("examples/https").await?;
        let services: Api<Service> = Api::namespaced(self.client()?, operator::NAMESPACE);
        let service = services.get(SHIPPED).await?.spec.unwrap_or_default();
        let ip: IpAddr = service.cluster_ip.context("the Service has no cluster IP")?.parse()?;
        forward((ip, 443).into(), endpoints.address.parse()?)?;
        let apply = PatchParams::apply(FIELD_MANAGER).force();
        let (address, ports) = ("192.0.2.1", json!([{"name": "https", "port": 8443, "protocol": "TCP"}]));
        let slices: Api<EndpointSlice> = Api::namespaced(self.client()?, operator::NAMESPACE);
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": FIELD_MANAGER, "labels": {"kubernetes.io/service-name": SHIPPED}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
            "ports": ports,
        });
        slices.patch(FIELD_MANAGER, &apply, &Patch::Apply(slice)).await?;
        Ok(())
    }

    /// Installs `manifests/access`, connects its Service to these endpoints, and waits until the API server
    /// uses them.
    ///
    /// # Errors
    /// When the API server refuses, or does not find the endpoints.
    pub async fn serve_access(&self, endpoints: &Endpoints) -> Result<()> {
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
            "service": {"name": SERVICE, "namespace": operator::NAMESPACE, "port": endpoints.port()?},
            "caBundle": ByteString(endpoints.authority.clone().into_bytes()),
        }});
        api_services.patch(API_SERVICE, &PatchParams::default(), &Patch::Merge(here)).await?;
        eventually("the API server to serve access.queuewarden.dev", PATIENCE, || async {
            Ok(self.access_is_served().await?.then_some(()))
        })
        .await?;
        // Documents are fetched in the background, and kubectl's behavior depends on them.
        eventually("the documents of access.queuewarden.dev", LONG, || async {
            self.kubectl(&["get", "--raw", &format!("/openapi/v3{GROUP_PATH}")]).await?;
            let merged = self.kubectl(&["get", "--raw", "/openapi/v2"]).await?;
            Ok(merged.contains(GROUP_PATH).then_some(()))
        })
        .await
    }

    /// Returns whether the API server reports that it finds the endpoints.
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
