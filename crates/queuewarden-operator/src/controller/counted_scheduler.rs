//! Sends the requests to the scheduler. The machine decides when: [`queuewarden_plan::machine`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::health::Health;
use super::read_back::{Error, Scheduler};
use queuewarden_plan::snapshot::SchedulerAnswer;

/// Longest wait for the scheduler after a write ...
const AFTER_WRITE: Duration = Duration::from_secs(3);
/// ... and after another change meanwhile: the text may be outdated by now, and a withdrawal must not wait
/// for its confirmation.
const AFTER_CHANGE: Duration = Duration::from_millis(300);
/// First and longest wait between two requests after a write.
const WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(300));

/// Sends requests to the scheduler, and counts the responses.
#[derive(Debug)]
pub struct CountedScheduler {
    scheduler: Scheduler,
    health: Arc<Health>,
}

impl CountedScheduler {
    /// Creates a sender that has sent nothing yet.
    pub fn new(scheduler: Scheduler, health: Arc<Health>) -> Self {
        Self { scheduler, health }
    }

    /// Returns the checksum of the configuration that the scheduler runs, and its release.
    ///
    /// # Errors
    /// When there is no usable response.
    #[tracing::instrument(name = "ask_scheduler", skip_all)]
    pub async fn answer(&self, url: &str) -> Result<SchedulerAnswer, String> {
        let checksum = self.checksum(url).await?;
        self.with_release(url, checksum).await
    }

    async fn checksum(&self, url: &str) -> Result<String, String> {
        let answer = self.counted("config", self.scheduler.checksum(url)).await;
        answer.map_err(|error| error.to_string())
    }

    /// Asks for the release after the checksum: a scheduler that was replaced between the two is then known
    /// by its new release.
    async fn with_release(&self, url: &str, checksum: String) -> Result<SchedulerAnswer, String> {
        let release = self.counted("clusters", self.scheduler.release(url)).await;
        Ok(SchedulerAnswer { checksum, release: release.map_err(|error| error.to_string())? })
    }

    /// Asks for the checksum until it is `expected`, the request fails, or it takes too long. The limit is
    /// shorter once something `changed`.
    ///
    /// # Errors
    /// When the last request got no usable response.
    pub async fn until_loaded(
        &self,
        url: &str,
        expected: &str,
        changed: impl Fn() -> bool,
    ) -> Result<SchedulerAnswer, String> {
        let begin = Instant::now();
        let (mut wait, longest) = WAITS;
        loop {
            let checksum = self.checksum(url).await?;
            let limit = if changed() { AFTER_CHANGE } else { AFTER_WRITE };
            if checksum == expected || begin.elapsed() >= limit {
                return self.with_release(url, checksum).await;
            }
            sleep(wait).await;
            wait = wait.mul_f64(1.5).min(longest);
        }
    }

    /// Returns the queues of these partitions, each with whether it comes from the configuration. A failed
    /// request gives no queues: the hint is omitted, and the queue is not found either way.
    pub async fn queues(
        &self,
        url: &str,
        partitions: BTreeSet<String>,
    ) -> BTreeMap<String, BTreeMap<String, bool>> {
        let mut found = BTreeMap::new();
        for partition in partitions {
            let answer = self.counted("queues", self.scheduler.queues(url, &partition)).await;
            found.insert(partition, answer.unwrap_or_default());
        }
        found
    }

    async fn counted<T>(
        &self,
        endpoint: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let begin = Instant::now();
        let answer = request.await;
        let code = answer.as_ref().map_or_else(Error::code, |_| "200".into());
        tracing::debug!(endpoint, code, took = ?begin.elapsed(), "Asked the scheduler");
        self.health.metrics.asked(endpoint, code, begin.elapsed());
        answer
    }
}
