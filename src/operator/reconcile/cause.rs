//! What causes a run.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::Reconciler;
use crate::operator::asking::{self, Asking};
use crate::operator::health::Health;
use crate::operator::observed::Memory;

/// A run begins when nothing has changed for this long ...
const QUIET: Duration = Duration::from_millis(100);
/// ... and at the latest this long after a change.
const LATEST: Duration = Duration::from_secs(1);

impl Reconciler {
    /// Returns when there is cause for a run: a change, another leader, another answer of the scheduler, or the time.
    pub(super) async fn until_due(&mut self, due: Duration) {
        let url = self.world.spec().and_then(|spec| spec.scheduler_url);
        let Self { leadership, asking, memory, health, changed, .. } = self;
        tokio::select! {
            () = change(changed) => {}
            () = leadership.changed() => {}
            () = sleep(due) => {}
            () = another_answer(asking, url, memory, health) => {}
        }
    }
}

/// Returns once a change was followed by quiet.
async fn change(changed: &Notify) {
    changed.notified().await;
    let settled = async { while timeout(QUIET, changed.notified()).await.is_ok() {} };
    // However restless it is, a run is due.
    let _ = timeout(LATEST, settled).await;
}

/// Returns when the scheduler says something else than before; never without a scheduler.
async fn another_answer(asking: &Asking, url: Option<String>, memory: &mut Memory, health: &Health) {
    let Some(url) = url else {
        return std::future::pending().await;
    };
    loop {
        sleep(Duration::try_from(asking::pause(memory)).unwrap_or_default()).await;
        if asking.checksum(&url, memory, health).await {
            return;
        }
    }
}
