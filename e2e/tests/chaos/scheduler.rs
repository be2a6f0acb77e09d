//! Tests a scheduler that hangs, or is killed while texts are being delivered to it.

use anyhow::Result;
use queuewarden_e2e::conditions::Expected;
use queuewarden_e2e::wait::{LONG, PATIENCE};

use super::{Chaos, full, last, length};
use crate::operator::config_is;

#[tokio::test]
async fn the_scheduler_hangs_and_restarts_between_changes() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        cluster.scheduler()?.pause()?;
        chaos.change().await?;
        let unknown = Expected { r#type: "Loaded", status: "Unknown", reason: Some("SchedulerUnreachable") };
        config_is(cluster, unknown, PATIENCE).await?;
        last(length(0, 60)).await;
        chaos.change().await?;
        cluster.scheduler()?.resume()?;
        chaos.recovers(&operator, LONG).await?;
        for _ in 0..if full() { 10 } else { 1 } {
            chaos.change().await?;
            cluster.scheduler()?.kill()?;
            chaos.change().await?;
            cluster.start_scheduler().await?;
        }
        chaos.recovers(&operator, LONG).await
    })
    .await
}
