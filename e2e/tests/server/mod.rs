//! Tests properties of all endpoints: their certificate, their callers, and their limits.

mod attacks;
mod callers;
mod certificates;
pub(crate) mod hostile;
mod service;
mod stored;

use std::time::Duration;

use anyhow::{Result, ensure};
use queuewarden_e2e::{Capability, Endpoints, TestCluster};

/// Returns whether an operator can be started here. If so, the permissions of its webhook server are
/// installed.
async fn prepared(cluster: &TestCluster) -> Result<bool> {
    if !cluster.can_run(&[Capability::OperatorProcess])? {
        return Ok(false);
    }
    cluster.install_https().await?;
    // Some callers show tokens.
    cluster.apply_file("manifests/access/rbac.yaml").await?;
    Ok(true)
}

/// Returns a client with one connection that trusts only these authorities (PEM).
fn client(authorities: &str) -> Result<reqwest::Client> {
    let authorities = reqwest::Certificate::from_pem_bundle(authorities.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only(authorities).tls_info(true).no_proxy();
    Ok(client.timeout(Duration::from_secs(10)).build()?)
}

/// Calls the endpoints, and returns the certificate that they sent, in DER.
async fn shown_certificate(client: &reqwest::Client, endpoints: &Endpoints) -> Result<Vec<u8>> {
    let answer = client.get(endpoints.url("/readyz")).send().await?;
    ensure!(answer.status().is_success(), "{answer:?}");
    let shown = answer.extensions().get::<reqwest::tls::TlsInfo>().and_then(|info| info.peer_certificate());
    Ok(shown.unwrap_or_default().to_vec())
}
