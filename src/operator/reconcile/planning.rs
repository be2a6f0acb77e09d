//! The part of a run that computes: the plan, and what the doors answer by. Off the runtime's threads: with large configurations it takes long.
//!
//! A fault of ours in there ends neither the process nor the loop. It must not look like health either: such a run has failed, and the next one
//! is after a pause.

use std::mem;
use std::sync::Arc;

use super::Reconciler;
use crate::operator::clock;
use crate::plan::snapshot::Snapshot;
use crate::plan::{Plan, Readings, plan_again, text_in_force};
use crate::server::knowledge::Knowledge;

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPlan {
    /// Not everything was read yet.
    Early,
    /// It could not be made.
    Fault,
}

/// What computes. Tests put something with a fault in its place.
#[derive(Debug, Clone, Copy)]
pub struct Reckoning {
    /// Makes the plan, with what the last one has read.
    pub plan: fn(&Snapshot, &mut Readings) -> Plan,
    /// Makes what the doors answer by, with what the plan has read, and what they have answered by so far.
    pub know: fn(Arc<Snapshot>, &Plan, &mut Readings, Option<&Knowledge>) -> Knowledge,
}

impl Default for Reckoning {
    fn default() -> Self {
        Self { plan: plan_again, know: Knowledge::of }
    }
}

impl Reconciler {
    /// A plan of how things are now.
    #[tracing::instrument(name = "plan", skip_all)]
    pub(super) async fn plan(&mut self) -> Result<(Snapshot, Plan), NoPlan> {
        let now = clock::now();
        let mut snapshot = self.world.snapshot(now).ok_or(NoPlan::Early)?;
        self.memory.pass(now);
        self.memory.compare(&text_in_force(&snapshot), now);
        self.memory.fill(&mut snapshot);
        let mut readings = mem::take(&mut self.readings);
        let make = self.reckoning.plan;
        let planned = tokio::task::spawn_blocking(move || {
            let plan = make(&snapshot, &mut readings);
            (snapshot, plan, readings)
        });
        let (snapshot, plan, readings) = planned.await.map_err(|error| {
            tracing::error!(%error, "The plan could not be made");
            NoPlan::Fault
        })?;
        self.readings = readings;
        Ok((snapshot, plan))
    }

    /// From now on the doors answer by this; whether that is so.
    pub(super) async fn publish(&self, snapshot: &Arc<Snapshot>, plan: &Arc<Plan>) -> bool {
        if !self.publisher.is_read() {
            return true;
        }
        let (snapshot, plan, before) = (Arc::clone(snapshot), Arc::clone(plan), self.publisher.last());
        let (mut known, know) = (self.readings.clone(), self.reckoning.know);
        let made =
            tokio::task::spawn_blocking(move || know(snapshot, &plan, &mut known, before.as_deref())).await;
        match made {
            Ok(knowledge) => {
                self.health.metrics.doors.knows(&knowledge);
                self.publisher.publish(knowledge);
                true
            }
            Err(error) => {
                tracing::error!(%error, "What the doors answer by could not be made");
                false
            }
        }
    }
}
