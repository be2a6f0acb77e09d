//! Tests the operator's endpoints, as their callers see them.

use anyhow::{Result, ensure};
use queuewarden_e2e::{Bed, Capability, Operator};

#[tokio::test]
async fn they_open_when_everything_was_read() -> Result<()> {
    Bed::with(async |bed| {
        if !bed.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, doors) = Operator::start_serving(bed, &[]).await?;
        let answer = doors.client()?.get(doors.url("/readyz")).send().await?;
        ensure!(answer.status().is_success(), "{answer:?}");
        ensure!(answer.version() == reqwest::Version::HTTP_2, "{answer:?}");
        let stranger = reqwest::Client::builder().no_proxy().build()?;
        ensure!(stranger.get(doors.url("/readyz")).send().await.is_err(), "the certificate is nobody's");
        Ok(())
    })
    .await
}
