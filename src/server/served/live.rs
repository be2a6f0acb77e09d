//! The queues that the scheduler has beside its configuration: those that placement rules have made. It is asked where the
//! `YuniKornConfig` says how, and not again for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::operator::read_back::{Scheduler, beside};
use crate::server::knowledge::Knowledge;
use yunikorn_access::placement::Live;

/// How long an answer, or that there was none, is taken for the present.
const FRESH: Duration = Duration::from_secs(5);

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct LiveQueues {
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
struct Seen {
    at: Instant,
    /// Whom was asked for which partition.
    asked: (String, String),
    answer: Result<Arc<Live>, String>,
}

impl LiveQueues {
    /// The queues of a partition beside its configuration. Without a way to the scheduler none are known.
    ///
    /// # Errors
    /// Why they are not known, although there is a way.
    pub(super) async fn of(&self, knowledge: &Knowledge, partition: &str) -> Result<Arc<Live>, String> {
        let spec = knowledge.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        let Some(url) = spec.and_then(|spec| spec.scheduler_url.clone()) else {
            return Err("the YuniKornConfig has no schedulerUrl".to_owned());
        };
        let asked = (url, partition.to_owned());
        // Whoever comes while the scheduler is asked waits for the same answer.
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
