//! Tests the endpoints behind a Service: as shipped, without manual configuration, so that the API server
//! also learns from queuewarden which authority signs their certificate; and with a replica that hangs.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Api;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::served::API_SERVICE;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

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

/// The API server stops using its connection to a replica that hangs, and the next write reaches the other
/// one.
#[tokio::test]
async fn a_replica_that_hangs_costs_one_write() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess, Capability::ApiServerProcess])? {
            return Ok(());
        }
        configure(cluster, "").await?;
        let (hanging, first) = Operator::start_serving(cluster, &[]).await?;
        let (_other, second) = Operator::start_serving(cluster, &[]).await?;
        let mut both = first.clone();
        both.authority.push_str(&second.authority);
        both.address = in_turn([first.address.parse()?, second.address.parse()?]).await?.to_string();
        cluster.register(&both, "validating").await?;
        let write = |user| {
            let object = PROD.replace("sue", user);
            async move { cluster.kubectl_with_input(&["apply", "-f", "-"], &object).await }
        };
        eventually("the webhook to be asked", PATIENCE, || async {
            Ok(cluster
                .kubectl_with_input(&["create", "--dry-run=server", "-f", "-"], WRONG)
                .await
                .err()
                .map(drop))
        })
        .await?;
        write("sue").await?;
        hanging.process()?.pause()?;
        let refused = write("bob").await.err().context("the replica that hangs was not asked")?.to_string();
        ensure!(refused.contains("failed calling webhook"), "{refused}");
        write("bob").await?;
        write("sue").await?;
        cluster.remove_webhooks().await
    })
    .await
}

/// Returns an address whose connections alternate between these two, as with a Service.
async fn in_turn(replicas: [SocketAddr; 2]) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        for replica in replicas.into_iter().cycle() {
            let Ok((mut client, _)) = listener.accept().await else { return };
            tokio::spawn(async move {
                // However it ends, the client sees its connection end.
                let mut server = TcpStream::connect(replica).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    Ok(address)
}
