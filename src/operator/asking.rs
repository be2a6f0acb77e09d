//! What the scheduler is asked, and when: its checksum soon after a write and now and then otherwise, its queues only when an object
//! names one that the configuration lacks.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

use super::clock;
use super::health::Health;
use super::observed::Memory;
use super::read_back::Scheduler;
use crate::plan::Plan;
use crate::plan::conditions::Reason;
use crate::plan::snapshot::Snapshot;

/// Between two questions when nothing is expected to change.
const CALM: SignedDuration = SignedDuration::from_secs(10);
/// Between two questions while the scheduler is behind.
const EAGER: SignedDuration = SignedDuration::from_secs(1);
/// From here on a scheduler that is behind is not expected to catch up by itself.
const EAGER_FOR: SignedDuration = SignedDuration::from_secs(30);
/// Longest wait for the scheduler after a write.
const AFTER_WRITE: Duration = Duration::from_secs(3);
/// First and longest pause between two questions after a write.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(300));
/// How long a list of queues is good.
const QUEUES: SignedDuration = SignedDuration::from_secs(30);
/// Most partitions whose queues are asked for at one time.
const MAX_PARTITIONS: usize = 16;

/// Asks the scheduler.
#[derive(Debug)]
pub struct Asking {
    scheduler: Scheduler,
    queues_at: Option<Timestamp>,
}

impl Asking {
    /// Has not asked anything yet.
    pub fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, queues_at: None }
    }

    /// Asks for the checksum; whether the answer is another than before.
    #[tracing::instrument(name = "ask_scheduler", skip_all)]
    pub async fn checksum(&self, url: &str, memory: &mut Memory, health: &Health) -> bool {
        let begin = Instant::now();
        let answer = self.scheduler.checksum(url).await;
        let code = answer.as_ref().map_or_else(super::read_back::Error::code, |_| "200".into());
        tracing::debug!(url, code, took = ?begin.elapsed(), "Asked the scheduler what it runs");
        health.metrics.asked("config", code, begin.elapsed());
        memory.answered(clock::now(), answer.map_err(|error| error.to_string()))
    }

    /// After a write: asks until the scheduler runs the text with this checksum, or does not answer, or takes too long.
    pub async fn until_loaded(&self, url: &str, expected: &str, memory: &mut Memory, health: &Health) {
        let begin = Instant::now();
        let (mut pause, longest) = PAUSES;
        loop {
            self.checksum(url, memory, health).await;
            let answer = memory.observed.read_back.as_ref().map(|read| &read.checksum);
            let hopeless = !matches!(answer, Some(Ok(actual)) if actual != expected);
            if hopeless || begin.elapsed() >= AFTER_WRITE {
                return;
            }
            sleep(pause).await;
            pause = pause.mul_f64(1.5).min(longest);
        }
    }

    /// Asks for the queues of the partitions where the plan did not find one; whether the answer is another than before.
    pub async fn queues(
        &mut self,
        url: &str,
        snapshot: &Snapshot,
        plan: &Plan,
        memory: &mut Memory,
        health: &Health,
    ) -> bool {
        let wanted = partitions(snapshot, plan);
        let live = &mut memory.observed.live_queues;
        let fresh = self.queues_at.is_some_and(|at| snapshot.now.duration_since(at) < QUEUES);
        if wanted.is_empty() || (fresh && wanted.iter().all(|name| live.contains_key(name))) {
            return false;
        }
        self.queues_at = Some(snapshot.now);
        let mut found = std::collections::BTreeMap::new();
        for partition in wanted {
            let begin = Instant::now();
            let answer = self.scheduler.queues(url, &partition).await;
            let code = answer.as_ref().map_or_else(super::read_back::Error::code, |_| "200".into());
            health.metrics.asked("queues", code, begin.elapsed());
            // Without an answer the hint is left out; the queue is not found either way.
            found.insert(partition, answer.unwrap_or_default());
        }
        let news = *live != found;
        *live = found;
        news
    }
}

/// How long to wait before the next question.
pub fn pause(memory: &Memory) -> SignedDuration {
    let Some(last) = &memory.observed.read_back else {
        return SignedDuration::ZERO;
    };
    let behind = memory.observed.pending_since.is_some_and(|since| last.at.duration_since(since) < EAGER_FOR);
    let interval = if behind { EAGER } else { CALM };
    let due = last.at.checked_add(interval).unwrap_or(last.at);
    due.duration_since(clock::now()).clamp(SignedDuration::ZERO, interval)
}

/// Partitions, as objects name them, of queues that were not found.
fn partitions(snapshot: &Snapshot, plan: &Plan) -> BTreeSet<String> {
    let missing = |name: &str| {
        let status = plan.queue_acls.get(name);
        let mut conditions = status.iter().flat_map(|status| status.conditions.iter());
        conditions.any(|condition| condition.reason == Reason::QueueNotFound.as_str())
    };
    let objects = snapshot.queue_acls.iter().filter(|entry| missing(&entry.meta.name));
    let named: BTreeSet<String> =
        objects.filter_map(|entry| Some(entry.spec.as_ref().ok()?.partition.clone())).collect();
    named.into_iter().take(MAX_PARTITIONS).collect()
}
