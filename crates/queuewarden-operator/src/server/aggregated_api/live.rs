//! The queues that the scheduler has beside its configuration, made by placement rules. The address of the
//! scheduler comes from the `YuniKornConfig`, and answers are cached for a while.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use moka::future::Cache;

use crate::controller::published::Published;
use queuewarden_client::scheduler::Connector;
use queuewarden_client::scheduler::{beside, queues_path};
use queuewarden_plan::snapshot::SchedulerAddress;
use yunikorn_access::placement::Live;

/// The time for which an answer, or its failure, is cached.
const FRESH: Duration = Duration::from_secs(5);
/// Answers in the cache; one of them may be large.
const MOST: u64 = 8;

/// The scheduler and the partition of a request.
type Key = (SchedulerAddress, String);

/// The cached answers.
#[derive(Debug)]
pub(super) struct LiveQueues {
    known: Cache<Key, Result<Arc<Live>, String>>,
}

impl LiveQueues {
    pub(super) fn new() -> Self {
        Self { known: Cache::builder().max_capacity(MOST).time_to_live(FRESH).build() }
    }

    /// Returns the queues of a partition beside its configuration.
    ///
    /// # Errors
    /// The reason why they are unknown: there is no address, or the scheduler did not answer.
    pub(super) async fn queues(
        &self,
        client: &Client,
        published: &Published,
        partition: &str,
    ) -> Result<Arc<Live>, String> {
        let spec = published.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        let Some(address) = spec.and_then(|spec| spec.scheduler.clone()) else {
            return Err("the YuniKornConfig has no schedulerUrl".to_owned());
        };
        // Requests that come while the scheduler answers wait for the same answer.
        let answer = async { read(client, &address, partition).await.map(Arc::new) };
        self.known.get_with((address.clone(), partition.to_owned()), answer).await
    }
}

async fn read(client: &Client, address: &SchedulerAddress, partition: &str) -> Result<Live, String> {
    let details =
        async { Connector::new(client.clone()).connect(address).await?.get(&queues_path(partition)).await };
    details.await.map(|root| beside(&root)).map_err(|error| error.to_string())
}
