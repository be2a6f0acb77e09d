//! Kills the operator after each single call of a run: the API server has executed the call, but the response
//! is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::faults::{Call, Fault};
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::{operator, yunikorn};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Chaos, end, full, last};

/// Minimum number of calls in a run: the lists and watches of seven kinds, the Lease, the output, the
/// statuses, the events.
const FEWEST: usize = 20;

/// Counts the calls of one run. Lease renewals never end, so only the first one is counted.
#[derive(Default)]
struct Counter {
    calls: usize,
    renewed: bool,
}

impl Counter {
    /// Returns the number of this call; `None` for a renewal.
    fn number(&mut self, call: &Call) -> Option<usize> {
        if call.is_about("leases")
            && call.method == http::Method::PUT
            && std::mem::replace(&mut self.renewed, true)
        {
            return None;
        }
        self.calls += 1;
        Some(self.calls)
    }
}

/// Runs an operator that is killed after its call with this number. Returns whether it made that call.
async fn killed_after(chaos: &mut Chaos<'_>, number: usize) -> Result<bool> {
    let (reached, place) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(usize::MAX)));
    chaos.proxy.forget();
    let (tell, at) = (Arc::clone(&reached), Arc::clone(&place));
    let mut counter = Counter::default();
    chaos.proxy.inject(move |call| {
        let count = counter.number(call)?;
        if count == number {
            at.store(call.number, Ordering::Relaxed);
            tell.notify_one();
        }
        match count.cmp(&number) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(Fault::Withhold),
            std::cmp::Ordering::Greater => Some(Fault::Hang),
        }
    });
    let operator = chaos.launch().await?;
    let Chaos { proxy, grant_history, .. } = chaos;
    let dies = async {
        reached.notified().await;
        proxy.done(place.load(Ordering::Relaxed)).await?;
        anyhow::Ok(true)
    };
    let ends = async {
        grant_history.converged(LONG).await?;
        // The last events follow the last status.
        last(Duration::from_secs(2)).await;
        anyhow::Ok(false)
    };
    let came = tokio::select! {
        came = dies => came?,
        came = ends => came?,
    };
    operator.kill().await?;
    chaos.proxy.heal();
    Ok(came)
}

#[tokio::test]
async fn the_operator_is_killed_after_each_call() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let cluster = chaos.cluster;
        for created in [true, false] {
            let mut number = if created || full() { 1 } else { 4 };
            loop {
                chaos.change().await?;
                if created && cluster.config_map(yunikorn::CONFIGS).await?.is_some() {
                    cluster.delete_config_map(yunikorn::CONFIGS).await?;
                }
                // Otherwise each start would wait until the Lease of the killed operator has expired.
                let lease =
                    ["delete", "lease", "-n", operator::NAMESPACE, operator::NAME, "--ignore-not-found"];
                cluster.kubectl(&lease).await?;
                if !killed_after(&mut chaos, number).await? {
                    break;
                }
                cluster.kubectl(&lease).await?;
                let operator = chaos.launch().await?;
                chaos.grant_history.converged(LONG).await?;
                end(operator).await?;
                number += if full() { 1 } else { 9 };
            }
            ensure!(number > FEWEST, "a run has only {number} calls");
        }
        Ok(())
    })
    .await
}

/// If a node is drained while the API server is down, the operator ends before it is killed.
#[tokio::test]
#[ignore = "half a minute: it waits for everything that has a time limit"]
async fn an_operator_that_nobody_answers_ends_when_it_has_to() -> Result<()> {
    Chaos::with(async |mut chaos| {
        let operator = chaos.running().await?;
        let asked = Arc::new(Notify::new());
        let tell = Arc::clone(&asked);
        chaos.proxy.inject(move |call| {
            if call.watch {
                return None;
            }
            if !call.is_about("leases") {
                tell.notify_one();
            }
            Some(Fault::Hang)
        });
        chaos.change().await?;
        timeout(PATIENCE, asked.notified()).await.context("it asked nothing")?;
        operator.process()?.terminate()?;
        // The time that the Deployment gives it.
        let status = operator.process()?.exited(PATIENCE).await?;
        ensure!(status.success(), "it ended with {status}");
        chaos.proxy.heal();
        let operator = chaos.launch().await?;
        chaos.recovers(&operator, LONG).await
    })
    .await
}
