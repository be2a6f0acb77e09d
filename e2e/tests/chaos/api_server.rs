//! Tests an API server and its store that are killed, frozen, slow, or without their history.

use anyhow::{Result, ensure};
use queuewarden_e2e::faults::{Disturbance, Fault};
use queuewarden_e2e::process::Process;
use queuewarden_e2e::wait::LONG;
use std::time::Duration;

use super::{Chaos, full, last, length};

#[tokio::test]
async fn the_api_server_and_its_store_are_killed() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        let (server, store) = (cluster.apiserver()?, cluster.store()?);
        let all = [&[server, store][..], &[server], &[store]];
        for killed in all.iter().take(if full() { 3 } else { 1 }) {
            chaos.change().await?;
            killed.iter().try_for_each(|process| process.kill())?;
            last(length(2, 30)).await;
            cluster.start_apiserver().await?;
            chaos.recovers(&operator, LONG).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_api_server_and_its_store_freeze() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        for frozen in [cluster.apiserver()?, cluster.store()?].into_iter().take(if full() { 2 } else { 1 }) {
            chaos.change().await?;
            Process::pause(frozen)?;
            // Longer than a leader keeps leading without a response.
            last(length(12, 60)).await;
            cluster.start_apiserver().await?;
            chaos.recovers(&operator, LONG).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "a minute"]
async fn the_api_server_is_slow() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let operator = chaos.running().await?;
        let slow = Fault::Delay(Duration::from_secs(4));
        chaos.proxy.inject(move |_| Some(slow));
        chaos.change().await?;
        chaos.recovers(&operator, LONG).await?;
        ensure!(!operator.log().await?.contains("does not lead any more"), "nobody leads for long");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_past_is_compacted_while_nobody_watches() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let operator = chaos.running().await?;
        chaos.proxy.inject(|call| call.watch.then_some(Fault::Refuse(500)));
        chaos.proxy.disturb(Disturbance::Cut);
        chaos.change().await?;
        chaos.change().await?;
        chaos.grant_history.check().await?;
        cluster.compact(chaos.grant_history.now().await?).await?;
        // The API server caches part of the history as well.
        cluster.apiserver()?.kill()?;
        cluster.start_apiserver().await?;
        chaos.proxy.forget();
        chaos.proxy.heal();
        chaos.recovers(&operator, LONG).await?;
        let lists = chaos
            .proxy
            .calls()
            .iter()
            .filter(|call| call.purpose().ends_with("GET /apis/queuewarden.dev/v1alpha1/queueacls"))
            .count();
        ensure!(lists > 0, "the past was there: nothing was read anew");
        Ok(())
    })
    .await
}
