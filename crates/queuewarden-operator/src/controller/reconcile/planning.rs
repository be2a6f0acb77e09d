//! Computes the plan, and the data that the endpoints answer from. This runs outside the runtime's threads,
//! because with large configurations it takes long.
//!
//! An internal error here ends neither the process nor the controller. It must not look healthy either: the
//! run has failed, and the next one comes after a backoff.

use std::mem;
use std::sync::Arc;

use jiff::Timestamp;

use super::{NoPlan, Reconciler};
use crate::controller::clock;
use crate::controller::published::Published;
use queuewarden_plan::machine::{Action, Event, State, step};
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::{ParseCache, Plan};

/// The type of [`step`].
pub type Step = fn(State, Timestamp, Event, &mut ParseCache) -> (State, Vec<Action>);

/// The functions that compute. Tests replace one with a function that has an internal error.
#[derive(Debug, Clone, Copy)]
pub struct Functions {
    /// The machine.
    pub step: Step,
    /// Makes the data that the endpoints answer from, with the parse cache of the plan, and the endpoints'
    /// previous data.
    pub know: fn(Arc<Snapshot>, &Plan, &mut ParseCache, Option<&Published>) -> Published,
}

impl Default for Functions {
    fn default() -> Self {
        Self { step, know: Published::new }
    }
}

impl Reconciler {
    /// Feeds an event to the machine; returns the actions that it requests.
    pub(super) async fn feed(&mut self, mut event: Event) -> Vec<Action> {
        let (now, step) = (clock::precise(), self.functions.step);
        if matches!(event, Event::Observed(_)) {
            let (state, mut known) = (self.state.clone(), mem::take(&mut self.carryover.known));
            let planned = tokio::task::spawn_blocking(move || {
                let (state, actions) = step(state, now, event, &mut known);
                (state, actions, known)
            });
            match planned.await {
                Ok((state, actions, known)) => {
                    (self.state, self.carryover.known) = (state, known);
                    return actions;
                }
                Err(error) => {
                    tracing::error!(%error, "The plan could not be made");
                    self.carryover.unplanned = Some(NoPlan::Failed);
                    event = Event::PlanFailed;
                }
            }
        }
        let (state, actions) = step(self.state.clone(), now, event, &mut self.carryover.known);
        self.state = state;
        actions
    }

    /// Switches metrics and endpoints to this plan; returns whether the endpoints switched.
    pub(super) async fn publish(&mut self, snapshot: &Arc<Snapshot>, plan: &Arc<Plan>) -> bool {
        tracing::debug!(
            queue_acls = snapshot.queue_acls.len(),
            policies = snapshot.policies.len(),
            writes = plan.write.is_some(),
            leads = self.leadership.holds(),
            "Planned"
        );
        let published = self.know(snapshot, plan).await;
        if self.state.may_write() && plan.write.is_none() && plan.import.is_none() {
            self.health.metrics.applied("unchanged");
        }
        if plan.write.is_none() {
            self.carryover.contributions = Arc::clone(&plan.contributions);
            self.find_revision(snapshot, plan);
        }
        self.health.metrics.planned(snapshot, plan);
        self.health.planned();
        published
    }

    /// Hands the text in the output to the history, if this replica writes it.
    fn find_revision(&mut self, snapshot: &Snapshot, plan: &Plan) {
        let output = plan.config.as_ref().and_then(|config| config.rest.output.as_ref());
        if let Some(output) = output.filter(|_| self.state.may_write()) {
            self.history.find(&output.namespace, snapshot, plan);
        }
    }

    async fn know(&self, snapshot: &Arc<Snapshot>, plan: &Arc<Plan>) -> bool {
        if self.publisher.receiver_count() == 0 {
            return true;
        }
        let (snapshot, plan, before) =
            (Arc::clone(snapshot), Arc::clone(plan), self.publisher.borrow().clone());
        let (mut known, know) = (self.carryover.known.clone(), self.functions.know);
        let made =
            tokio::task::spawn_blocking(move || know(snapshot, &plan, &mut known, before.as_deref())).await;
        match made {
            Ok(published) => {
                self.health.metrics.published(&published);
                let own_namespace = self.own_namespace.clone();
                self.publisher.send_replace(Some(Arc::new(Published { own_namespace, ..published })));
                true
            }
            Err(error) => {
                tracing::error!(%error, "What the endpoints answer by could not be made");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use serde_json::json;
    use tokio::sync::Notify;

    use super::*;
    use crate::controller::cluster_watches::ClusterWatches;
    use crate::controller::events::Events;
    use crate::controller::health::Health;
    use crate::controller::history::History;
    use crate::controller::last_base::LastBaseStore;
    use crate::controller::leader::Leadership;
    use crate::controller::published::Publisher;
    use crate::controller::read_back::ReadBack;
    use crate::controller::reconcile::RunCarryover;
    use crate::controller::testing::{client, reply};
    use crate::telemetry::Logging;
    use queuewarden_client::scheduler::Connector;

    /// Returns whether the first run of a leader in an empty cluster ends with an error, and whether it is
    /// counted as one.
    async fn fails(functions: Functions) -> (bool, bool) {
        let client = client(|request| async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                std::future::pending::<()>().await;
            }
            reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": []}))
        });
        let (changed, health, publisher) =
            (Arc::new(Notify::new()), Arc::new(Health::default()), Publisher::new(None));
        let _endpoints = publisher.subscribe();
        let mut leader = Reconciler {
            watches: ClusterWatches::start(client.clone(), Arc::clone(&changed)),
            last_base: LastBaseStore::new(client.clone(), None),
            leadership: Leadership::unconditional(),
            read_back: ReadBack::new(Connector::new(client.clone()), Arc::clone(&health)),
            events: Events::start(client.clone(), "test".into()).0,
            history: History::start(client.clone(), Arc::clone(&health)).0,
            client,
            health,
            publisher,
            own_namespace: None,
            logging: Logging::default(),
            changed: Arc::clone(&changed),
            state: State::new(7),
            functions,
            carryover: RunCarryover::default(),
        };
        loop {
            leader.carryover.changed.store(true, Ordering::Relaxed);
            let ended = leader.reconcile(|| false).await;
            if leader.carryover.unplanned != Some(NoPlan::Unready) {
                let counted =
                    leader.health.text().contains("queuewarden_reconcile_total{result=\"error\"} 1");
                return (ended.is_err(), counted);
            }
            changed.notified().await;
        }
    }

    #[tokio::test]
    async fn internal_errors_are_errors_of_the_run() {
        let fatal: Step = |state, now, event, known| {
            assert!(!matches!(event, Event::Observed(_)), "an internal error");
            step(state, now, event, known)
        };
        assert_eq!(fails(Functions { step: fatal, ..Functions::default() }).await, (true, true));
        let deaf = Functions { know: |_, _, _, _| panic!("an internal error"), ..Functions::default() };
        assert_eq!(fails(deaf).await, (false, true), "the endpoints hold nothing up");
        assert_eq!(fails(Functions::default()).await, (false, false));
    }
}
