//! Tests two replicas, one of which freezes during a write, with clocks that are two hours apart, or is
//! disconnected.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use queuewarden_e2e::faults::{Disturbance, Fault};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{FaultProxy, eventually, operator};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Chaos, length};

/// The time within which another replica must lead and have written, which is less than the time after which
/// a silent watch is restarted.
const TAKEOVER: Duration = Duration::from_secs(45);

/// Shifts the times that the operator behind this proxy writes to its Lease, as if its clock were wrong.
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
        let cluster = chaos.cluster;
        let other = FaultProxy::start(cluster).await?;
        skew(&chaos.proxy, SignedDuration::from_hours(1));
        skew(&other, -SignedDuration::from_hours(1));
        let leading = chaos.running().await?;
        let following = chaos.launch_behind(&other).await?;
        following.ready().await?;
        let leader = cluster.leader().await?.context("nobody leads")?;
        ensure!(leader == leading.name()?, "{leader} leads");
        let written = other.calls().into_iter().find(|call| call.method != http::Method::GET);
        ensure!(written.is_none(), "who does not lead writes: {written:?}");
        // The other replica only learns of changes by reading everything once it leads.
        other.disturb(Disturbance::Silence);

        let (mark, sent) = (cluster.audit()?.mark()?, Arc::new(Notify::new()));
        let (late, tell) = (length(22, 40), Arc::clone(&sent));
        chaos.proxy.inject(move |call| {
            let write = call.method == http::Method::PATCH && call.is_about("configmaps");
            write.then(|| {
                tell.notify_one();
                Fault::Delay(late)
            })
        });
        chaos.change().await?;
        timeout(PATIENCE, sent.notified()).await.context("it wrote nothing")?;
        leading.process()?.pause()?;
        // The other replica takes over, and the grant that the first one wrote is withdrawn before its write
        // arrives.
        chaos.grant_history.revoke("prod").await?;
        chaos.grant_history.converged(TAKEOVER).await?;
        ensure!(cluster.leader().await?.as_deref() == Some(following.name()?));
        eventually("the late write to be refused", LONG, || async {
            let refused = cluster.audit()?.count(mark, |write| {
                write.user == operator::USER && write.resource == "configmaps" && write.code == 409
            })?;
            Ok((refused > 0).then_some(()))
        })
        .await?;
        chaos.proxy.heal();
        leading.process()?.resume()?;
        chaos.recovers(&leading, PATIENCE).await?;
        let leader = cluster.leader().await?.context("nobody leads")?;
        ensure!(leader == following.name()?, "{leader} leads, which was frozen");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_leader_that_is_cut_off_stops_before_another_begins() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        let other = FaultProxy::start(cluster).await?;
        let leading = chaos.running().await?;
        let following = chaos.launch_behind(&other).await?;
        following.ready().await?;
        chaos.proxy.inject(|_| Some(Fault::Hang));
        eventually("it to stop", Duration::from_secs(12), || async {
            Ok((leading.metric("queuewarden_leader", "").await? == 0.0).then_some(()))
        })
        .await?;
        ensure!(cluster.leader().await?.as_deref() == Some(leading.name()?), "another has begun");
        chaos.change().await?;
        chaos.grant_history.converged(TAKEOVER).await?;
        ensure!(cluster.leader().await?.as_deref() == Some(following.name()?));
        chaos.proxy.heal();
        chaos.recovers(&leading, LONG).await?;
        ensure!(cluster.leader().await?.as_deref() == Some(following.name()?), "it has come back");
        Ok(())
    })
    .await
}
