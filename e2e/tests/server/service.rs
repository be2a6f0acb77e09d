//! Tests the endpoints behind the Service as it is shipped, with nothing written by hand: the API server also
//! learns from queuewarden which authority signs their certificate.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Api;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::served::API_SERVICE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually};

use crate::operator::configure;

const QUEUES: &str = "/apis/access.queuewarden.dev/v1alpha1/queues";
const PROD: &str = "\
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: prod}
spec: {queue: root.prod, submit: {users: [sue]}}
";

/// An object that is invalid in a way that its schema does not detect.
const WRONG: &str = "\
apiVersion: queuewarden.dev/v1alpha1
kind: AdmissionPolicy
metadata: {name: wrong}
spec: {externalUsers: ['(airflow']}
";

#[tokio::test]
async fn shipped_service_works_without_configuration() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::ApiServerProcess])? {
            return Ok(());
        }
        cluster.install_https().await?;
        configure(cluster, "").await?;
        let (_operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        cluster.lead_service_to(&endpoints).await?;
        cluster.apply_kustomization("manifests/access").await?;
        cluster.apply_kustomization("manifests/validating").await?;

        let api_services: Api<APIService> = Api::all(cluster.client()?);
        eventually("the API server to find the endpoints", PATIENCE, || async {
            ensure!(cluster.access_is_served().await?, "{:?}", api_services.get(API_SERVICE).await?.status);
            Ok(Some(()))
        })
        .await?;
        // The API server finds them, but may not trust them yet.
        let shipped = eventually("the API server to know the authority", PATIENCE, || async {
            let shipped = api_services.get(API_SERVICE).await?.spec;
            Ok(shipped.filter(|shipped| shipped.ca_bundle.is_some()))
        })
        .await?;
        let service = shipped.service.context("it has no Service")?;
        ensure!(service.name.as_deref() == Some("queuewarden") && service.port == Some(443), "{service:?}");
        let bundle = shipped.ca_bundle.context("just seen")?;
        ensure!(String::from_utf8(bundle.0)? == endpoints.authority);
        eventually("queues to be listed", PATIENCE, || async {
            let listed = cluster.kubectl(&["get", "--raw", QUEUES]).await?;
            Ok(listed.contains("\"root.prod\"").then_some(()))
        })
        .await?;

        // This verifies the webhook; no request would pass without its answer.
        let create = ["create", "-f", "-"];
        let refused = eventually("the webhook to be asked", PATIENCE, || async {
            let refused =
                cluster.kubectl_with_input(&create, WRONG).await.err().map(|error| error.to_string());
            let refused = refused.context("what is wrong was let through")?;
            ensure!(refused.contains("validate.queuewarden.dev\" denied the request"), "{refused}");
            Ok(Some(refused))
        })
        .await?;
        ensure!(refused.contains("externalUsers"), "{refused}");
        cluster.kubectl_with_input(&create, PROD).await?;
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        Ok(())
    })
    .await
}
