//! The queues that the scheduler has beside its configuration, made by placement rules. The address of the
//! scheduler comes from the `YuniKornConfig`, and answers are cached for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::operator::read_back::{Scheduler, beside};
use crate::server::published::Published;
use yunikorn_access::placement::Live;

/// The time for which an answer, or its failure, is cached.
const FRESH: Duration = Duration::from_secs(5);

/// The cached answer.
#[derive(Debug, Default)]
pub(super) struct LiveQueues {
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
struct Seen {
    at: Instant,
    /// The scheduler and the partition of the last request.
    asked: (String, String),
    answer: Result<Arc<Live>, String>,
}

impl LiveQueues {
    /// Returns the queues of a partition beside its configuration.
    ///
    /// # Errors
    /// The reason why they are unknown: there is no address, or the scheduler did not answer.
    pub(super) async fn of(&self, published: &Published, partition: &str) -> Result<Arc<Live>, String> {
        let spec = published.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        let Some(url) = spec.and_then(|spec| spec.scheduler_url.clone()) else {
            return Err("the YuniKornConfig has no schedulerUrl".to_owned());
        };
        let asked = (url, partition.to_owned());
        // Requests that come while the scheduler answers wait for the same answer.
        let mut seen = self.seen.lock().await;
        if let Some(seen) = seen.as_ref().filter(|seen| seen.asked == asked && seen.at.elapsed() < FRESH) {
            return seen.answer.clone();
        }
        let answer = ask(&asked.0, partition).await.map(Arc::new);
        *seen = Some(Seen { at: Instant::now(), asked, answer: answer.clone() });
        answer
    }
}

async fn ask(url: &str, partition: &str) -> Result<Live, String> {
    let scheduler = Scheduler::new().map_err(|error| error.to_string())?;
    let root = scheduler.queue_details(url, partition).await.map_err(|error| error.to_string())?;
    Ok(beside(&root))
}
