//! Tests watches that end, break, or stay silent.

use std::time::Duration;

use anyhow::Result;
use queuewarden_e2e::faults::{Disturbance, Fault};
use queuewarden_e2e::wait::LONG;
use queuewarden_e2e::yunikorn;

use super::{Chaos, last, length};

#[tokio::test]
async fn repeatedly_dropped_watches_miss_nothing() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let operator = chaos.running().await?;
        for what in [Disturbance::Cut, Disturbance::End] {
            let begin = std::time::Instant::now();
            while begin.elapsed() < length(2, 60) {
                chaos.change().await?;
                last(Duration::from_millis(300)).await;
                chaos.proxy.disturb(what);
            }
            chaos.recovers(&operator, LONG).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn refused_watches_of_config_maps_hold_up_no_write() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let operator = chaos.running().await?;
        chaos.proxy.inject(|call| {
            let lists = call.method == http::Method::GET && call.path.ends_with("/configmaps");
            lists.then_some(Fault::Refuse(403))
        });
        chaos.proxy.disturb(Disturbance::Cut);
        chaos.change().await?;
        chaos.grant_history.converged(LONG).await?;
        // The operator gets no event; its next write reveals the change.
        chaos.cluster.delete_config_map(yunikorn::CONFIGS).await?;
        chaos.change().await?;
        chaos.grant_history.converged(LONG).await?;
        chaos.proxy.heal();
        chaos.recovers(&operator, LONG).await
    })
    .await
}

/// Such a connection differs from an idle one in only one respect: the API server ends each watch after a
/// minute.
#[tokio::test]
#[ignore = "more than a minute"]
async fn watches_that_fall_silent_are_begun_anew() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let operator = chaos.running().await?;
        chaos.proxy.disturb(Disturbance::Silence);
        chaos.change().await?;
        chaos.recovers(&operator, LONG).await
    })
    .await
}
