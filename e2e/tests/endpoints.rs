//! Tests the operator's endpoints, as their callers see them.

use anyhow::{Result, ensure};
use queuewarden_e2e::{Capability, Operator, TestCluster};

#[tokio::test]
async fn endpoints_open_after_everything_was_read() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, endpoints) = Operator::start_serving(cluster, &[]).await?;
        let answer = endpoints.client()?.get(endpoints.url("/readyz")).send().await?;
        ensure!(answer.status().is_success(), "{answer:?}");
        ensure!(answer.version() == reqwest::Version::HTTP_2, "{answer:?}");
        let stranger = reqwest::Client::builder().no_proxy().build()?;
        ensure!(stranger.get(endpoints.url("/readyz")).send().await.is_err(), "the certificate is nobody's");
        Ok(())
    })
    .await
}
