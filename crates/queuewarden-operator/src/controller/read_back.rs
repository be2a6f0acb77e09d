//! Sends the requests to the scheduler. [`queuewarden_plan::machine`] decides when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::health::Health;
use queuewarden_client::scheduler::{Connector, SchedulerClient, SchedulerError};
use queuewarden_plan::snapshot::{NoChecksum, SchedulerAddress, SchedulerAnswer};

/// Longest wait for the scheduler after a write ...
const AFTER_WRITE: Duration = Duration::from_secs(3);
/// ... and after another change in the meantime: the text may be outdated by now, and a withdrawal must not
/// wait for the confirmation of that text.
const AFTER_CHANGE: Duration = Duration::from_millis(300);
/// First and longest wait between two requests after a write.
const WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(300));

/// Sends requests to the scheduler, and counts the responses.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct ReadBack {
    connector: Connector,
    health: Arc<Health>,
}

impl ReadBack {
    /// Creates a sender that has not sent anything yet.
    pub fn new(connector: Connector, health: Arc<Health>) -> Self {
        Self { connector, health }
    }

    /// Returns the checksum of the configuration that the scheduler runs, and its release.
    ///
    /// # Errors
    /// When there is no usable response.
    #[tracing::instrument(name = "ask_scheduler", skip_all)]
    pub async fn answer(&self, address: &SchedulerAddress) -> Result<SchedulerAnswer, NoChecksum> {
        let scheduler = self.connect("config", address).await?;
        let checksum = self.counted("config", scheduler.checksum()).await?;
        Ok(self.with_release(&scheduler, checksum).await?)
    }

    /// Connects, and counts a failure as a failure of the endpoint.
    async fn connect(
        &self,
        endpoint: &'static str,
        address: &SchedulerAddress,
    ) -> Result<SchedulerClient, SchedulerError> {
        match self.connector.connect(address).await {
            Ok(scheduler) => Ok(scheduler),
            Err(error) => self.counted(endpoint, async { Err(error) }).await,
        }
    }

    /// Requests the release after the checksum, so that a scheduler that was replaced between the two is
    /// known by its new release.
    async fn with_release(
        &self,
        scheduler: &SchedulerClient,
        checksum: String,
    ) -> Result<SchedulerAnswer, SchedulerError> {
        let release = self.counted("clusters", scheduler.release()).await?;
        Ok(SchedulerAnswer { checksum, release })
    }

    /// Requests the checksum until it is `expected`, the request fails, or it takes too long. The limit is
    /// shorter once something `changed`.
    ///
    /// # Errors
    /// When the last request got no usable response.
    pub async fn until_loaded(
        &self,
        address: &SchedulerAddress,
        expected: &str,
        changed: impl Fn() -> bool,
    ) -> Result<SchedulerAnswer, NoChecksum> {
        let scheduler = self.connect("config", address).await?;
        let begin = Instant::now();
        let (mut wait, longest) = WAITS;
        loop {
            let checksum = self.counted("config", scheduler.checksum()).await?;
            let limit = if changed() { AFTER_CHANGE } else { AFTER_WRITE };
            if checksum == expected || begin.elapsed() >= limit {
                return Ok(self.with_release(&scheduler, checksum).await?);
            }
            sleep(wait).await;
            wait = wait.mul_f64(1.5).min(longest);
        }
    }

    /// Returns the queues of these partitions, each with whether it comes from the configuration. A failed
    /// request returns no queues: the hint is omitted, and the queue is not found either way.
    pub async fn queues(
        &self,
        address: &SchedulerAddress,
        partitions: BTreeSet<String>,
    ) -> BTreeMap<String, BTreeMap<String, bool>> {
        let Ok(scheduler) = self.connect("queues", address).await else {
            return partitions.into_iter().map(|partition| (partition, BTreeMap::new())).collect();
        };
        let mut queues = BTreeMap::new();
        for partition in partitions {
            let answer = self.counted("queues", scheduler.queues(&partition)).await;
            queues.insert(partition, answer.unwrap_or_default());
        }
        queues
    }

    async fn counted<T>(
        &self,
        endpoint: &'static str,
        request: impl Future<Output = Result<T, SchedulerError>>,
    ) -> Result<T, SchedulerError> {
        let begin = Instant::now();
        let answer = request.await;
        let code = answer.as_ref().map_or_else(SchedulerError::code, |_| "200");
        tracing::debug!(endpoint, code, took = ?begin.elapsed(), "Asked the scheduler");
        self.health.metrics.requested(endpoint, code, begin.elapsed());
        answer
    }
}
