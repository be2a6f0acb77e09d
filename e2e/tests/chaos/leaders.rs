//! Two replicas, of which one freezes while its write is on the way, with clocks that are two hours apart.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use queuewarden_e2e::faults::Fault;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{FaultProxy, eventually, operator};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Chaos, length};

/// Moves the times that whoever is behind this proxy writes into its Lease: its clock goes wrong by so much.
fn skew(proxy: &FaultProxy, by: SignedDuration) {
    proxy.rewrite(move |call, body| {
        if !call.is_about("leases") {
            return;
        }
        for field in ["renewTime", "acquireTime"] {
            let Some(time) = body.pointer_mut(&format!("/spec/{field}")) else { continue };
            let moved = time.as_str().and_then(|text| text.parse::<Timestamp>().ok()).map(|time| time + by);
            if let Some(moved) = moved {
                *time = Value::from(format!("{moved:.6}"));
            }
        }
    });
}

#[tokio::test]
async fn a_leader_freezes_with_a_write_on_the_way_and_clocks_disagree() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let bed = chaos.bed;
        let other = FaultProxy::start(bed).await?;
        skew(&chaos.proxy, SignedDuration::from_hours(1));
        skew(&other, -SignedDuration::from_hours(1));
        let leading = chaos.running().await?;
        let following = chaos.launch_behind(&other).await?;
        following.ready().await?;
        let leader = bed.leader().await?.context("nobody leads")?;
        ensure!(leader == leading.name()?, "{leader} leads");

        let (mark, sent) = (bed.audit()?.mark()?, Arc::new(Notify::new()));
        let (late, tell) = (length(22, 40), Arc::clone(&sent));
        chaos.proxy.judge(move |call| {
            let write = call.method == http::Method::PATCH && call.is_about("configmaps");
            write.then(|| {
                tell.notify_one();
                Fault::Delay(late)
            })
        });
        chaos.change().await?;
        timeout(PATIENCE, sent.notified()).await.context("it wrote nothing")?;
        leading.process()?.pause()?;
        // The other takes over, and what the first one wanted is over before its write arrives.
        chaos.ledger.revoke("prod").await?;
        chaos.ledger.converged(LONG).await?;
        ensure!(bed.leader().await?.as_deref() == Some(following.name()?));
        eventually("the late write to be refused", LONG, || async {
            let refused = bed.audit()?.count(mark, |write| {
                write.user == operator::USER && write.resource == "configmaps" && write.code == 409
            })?;
            Ok((refused > 0).then_some(()))
        })
        .await?;
        chaos.proxy.heal();
        leading.process()?.resume()?;
        chaos.recovers(&leading, PATIENCE).await?;
        let leader = bed.leader().await?.context("nobody leads")?;
        ensure!(leader == following.name()?, "{leader} leads, which was frozen");
        Ok(())
    })
    .await
}
