//! Writes the statuses, and publishes the events for those that changed.
//!
//! Statuses are written last, and with thousands of objects that takes long. So a run writes them only for a
//! limited time. The next run begins at once, unless none could be written, and writes the rest from the
//! state at that time. A grant that is withdrawn or ends does not wait for the statuses of others.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;

use super::Reconciler;
use crate::controller::status::{self, PatchResult};
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::{Event, ObjectRef, Plan, ResourceKind, machine};

/// Longest time for which one run starts status patches; those that were begun are finished.
const SLICE: Duration = Duration::from_secs(2);

impl Reconciler {
    /// Patches the statuses that differ, and publishes the events of those objects.
    #[tracing::instrument(name = "report", skip_all)]
    pub(super) async fn report(&mut self, snapshot: &Snapshot, plan: &Plan) -> machine::Event {
        let mut events: BTreeMap<&ObjectRef, Vec<&Event>> = BTreeMap::new();
        for event in &plan.events {
            events.entry(&event.object).or_default().push(event);
        }
        let (begin, unfinished) = (Instant::now(), AtomicBool::new(false));
        let leadership = self.leadership.clone();
        let may_send = || {
            let late = begin.elapsed() >= SLICE;
            unfinished.fetch_or(late, Ordering::Relaxed);
            !late && leadership.holds()
        };
        let patches = status::patches(snapshot, plan, &self.watches, &self.carryover.reported);
        let mut answers = pin!(status::send(&self.client, patches, may_send));
        let (mut last, mut problem, mut unreported) = (None, None, 0_usize);
        let mut written = false;
        while let Some((patch, answer)) = answers.next().await {
            let ObjectRef { kind, name } = &patch.object;
            let result = match answer {
                Ok(PatchResult::Patched(object)) => {
                    self.watches.learn_status(*kind, *object);
                    for event in events.remove(&patch.object).into_iter().flatten() {
                        self.events.publish(event, &patch.uid);
                    }
                    written = true;
                    "patched"
                }
                Ok(PatchResult::Stale(object)) => {
                    self.watches.learn_status(*kind, *object);
                    self.changed.notify_one();
                    "stale"
                }
                Ok(PatchResult::Removed) => "stale",
                Err(error) => {
                    problem.get_or_insert(error);
                    unreported += 1;
                    "error"
                }
            };
            tracing::debug!(kind = kind.name(), %name, result, "Sent a status");
            self.health.metrics.patched(*kind, result);
            if *kind == ResourceKind::QueueAcl {
                last = Some(patch.object.name);
            }
        }
        self.carryover.reported = last.unwrap_or_default();
        if let Some(error) = &problem {
            tracing::warn!(%error, objects = unreported, "Could not write the status of objects; trying again");
        }
        let unfinished = unfinished.load(Ordering::Relaxed);
        machine::Event::Reported { written, failed: problem.is_some(), unfinished }
    }
}
