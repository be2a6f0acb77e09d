//! The controller: `kube::runtime`'s [`applier`] runs [`Reconciler::reconcile`] for the single installation.
//!
//! [`queuewarden_plan::machine`] decides everything. This module performs its actions, one at a time, and
//! feeds the results back. All replicas plan, so that their metrics are correct and they can take over at
//! once, but only the leader writes.
//!
//! The reconciled object is the `YuniKornConfig` named `default`, whether it exists or not: without it, the
//! statuses of the other objects explain why nothing happens. The controller is therefore an `applier` over a
//! store with that one name, and not a `Controller`, which runs only for objects that exist. `YuniKornConfig`
//! is one of many inputs of one plan; there is nothing to reconcile object by object.
//!
//! The following is implemented here, because `kube::runtime` does not provide it:
//! * the debounce ([`Reconciler::settle`]): the one in `controller::Config` restarts with each change, so
//!   that continuous changes would delay a run forever;
//! * watches that show whether they are alive, each with its own backoff ([`super::watch`]): a `Controller`
//!   has one backoff for all its streams;
//! * caches that learn our own writes ([`super::cache`]);
//! * the election ([`super::leader`]).
//!
//! The plan, and the data that the endpoints answer from, are computed outside the runtime's threads, because
//! this takes long with large configurations. An internal error there does not end the process or the
//! controller, but it must not look healthy: the run has failed, and the next one follows after a backoff.
//! [`performing`] performs the actions, and writes the statuses.

mod performing;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use kube::api::{ObjectMeta, PartialObjectMeta, PartialObjectMetaExt as _};
use kube::runtime::controller::{Action, Config, ReconcileReason, ReconcileRequest};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{applier, watcher};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep};

use super::clock;
use super::cluster_watches::ClusterWatches;
use super::events::Events;
use super::health::Health;
use super::history::History;
use super::last_base::LastBaseStore;
use super::leader::Leadership;
use super::published::{Published, Publisher};
use super::read_back::ReadBack;
use crate::telemetry::Logging;
use queuewarden_api::v1alpha1::{SINGLETON, YuniKornConfig};
use queuewarden_plan::attribution::Attribution;
use queuewarden_plan::machine::{self, Event, FailingWatch, State, step};
use queuewarden_plan::snapshot::{Snapshot, WriteFailure};
use queuewarden_plan::{ParseCache, Plan};
use yunikorn_access::alias::Aliased;

/// A run begins when nothing has changed for this long ...
const QUIET: Duration = Duration::from_millis(100);
/// ... and at most this long after a change.
const LATEST: Duration = Duration::from_secs(1);
/// Maximum time that a run may continue after the signal to stop.
const GRACE: Duration = Duration::from_secs(4);

/// The reconciled object, which represents the whole installation.
type Installation = PartialObjectMeta<YuniKornConfig>;

/// The state of the controller, and its connections.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Reconciler {
    /// The client for the API server.
    pub client: Client,
    /// The watched objects.
    pub watches: ClusterWatches,
    /// The handle that shows whether this replica writes.
    pub leadership: Leadership,
    /// The read-back from the scheduler.
    pub read_back: ReadBack,
    /// The store of the last good base.
    pub last_base: LastBaseStore,
    /// The queue of events to publish.
    pub events: Events,
    /// The queue of revisions to record.
    pub history: History,
    /// The data for `/livez`, `/readyz` and `/metrics`.
    pub health: Arc<Health>,
    /// The publisher for the endpoints that answer queries about access.
    pub publisher: Publisher,
    /// The namespace that queuewarden runs in, if any.
    pub own_namespace: Option<String>,
    /// The logging settings.
    pub logging: Logging,
    /// Notified when watched objects change.
    pub changed: Arc<Notify>,
    /// The state of the machine.
    pub state: State,
    /// The functions that compute.
    pub functions: Functions,
    /// The data that a run leaves for the next one.
    pub carryover: RunCarryover,
}

/// The type of [`step`].
pub type Step = fn(State, Timestamp, Event, &mut ParseCache) -> (State, Vec<machine::Action>);

/// The functions that compute. Tests replace one with a function that panics.
#[derive(Debug, Clone, Copy)]
pub struct Functions {
    /// The machine.
    pub step: Step,
    /// Builds the data that the endpoints answer from, using the plan's parse cache and the endpoints'
    /// previous data.
    pub know: fn(Arc<Snapshot>, &Plan, &mut ParseCache, Option<&Published>) -> Published,
}

impl Default for Functions {
    fn default() -> Self {
        Self { step, know: Published::new }
    }
}

/// The data that a run leaves for the next one.
#[derive(Debug, Default)]
pub struct RunCarryover {
    /// True if something has changed since the last run began.
    changed: Arc<AtomicBool>,
    /// The parse cache of the last plan.
    known: ParseCache,
    /// The start of the last term of leadership that was reported to the machine.
    term: Option<Instant>,
    /// The last failing watch that was reported to the machine.
    failing: Option<FailingWatch>,
    /// The `QueueAcl` whose status was written last.
    reported: Arc<str>,
    /// Why the last run had no plan.
    unplanned: Option<NoPlan>,
    /// The failed write that was logged last.
    failure: Option<WriteFailure>,
    /// True if the output was created and is not written yet.
    created: bool,
    /// The contributions to the text in the output.
    contributions: Arc<[Attribution]>,
    /// The names in the objects by their aliases, at the last write.
    aliased: Aliased,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoPlan {
    /// Not everything was read yet.
    Unready,
    /// The plan could not be made, because of an internal error.
    Failed,
}

/// The plan could not be made, because of an internal error.
#[derive(Debug, thiserror::Error)]
#[error("the plan could not be made; the log says why")]
struct PlanFailed {
    /// When the next run is due.
    due: Timestamp,
}

/// Runs the controller until `stop` completes; a run in progress may then continue for a short time.
pub async fn run(reconciler: Reconciler, stop: impl Future<Output = ()>) {
    let health = Arc::clone(&reconciler.health);
    let stop = stop.shared();
    let causes = causes(&reconciler).take_until(stop.clone());
    let reconciler = Arc::new(Mutex::new(reconciler));
    let reconcile = |_: Arc<Installation>, reconciler: Arc<Mutex<Reconciler>>| {
        let stop = stop.clone();
        Box::pin(async move { reconciler.lock().await.reconcile(|| stop.peek().is_some()).await })
    };
    let config = Config::default().concurrency(1);
    let runs = applier(reconcile, error_policy, reconciler, installations(), causes, config);
    let runs = runs.for_each(|run| {
        if let Err(error) = run {
            tracing::debug!(%error, "A run failed");
        }
        std::future::ready(())
    });
    let deadline = async {
        stop.clone().await;
        tracing::info!("Stopping");
        health.stopping();
        sleep(GRACE).await;
    };
    tokio::select! {
        // Both end on `stop`. The first one reports that first.
        biased;
        () = deadline => {}
        () = runs => {}
    }
}

/// Decides when to retry after a failed run.
fn error_policy(_: Arc<Installation>, error: &PlanFailed, _: Arc<Mutex<Reconciler>>) -> Action {
    requeue(error.due)
}

/// Requests a run at `due`.
fn requeue(due: Timestamp) -> Action {
    Action::requeue(Duration::try_from(due.duration_since(clock::precise())).unwrap_or_default())
}

/// Returns a store with the single reconciled object.
fn installations() -> reflector::Store<Installation> {
    let (installations, mut writer) = reflector::store();
    let metadata = ObjectMeta { name: Some(SINGLETON.to_owned()), ..ObjectMeta::default() };
    writer.apply_watcher_event(&watcher::Event::InitApply(metadata.into_response_partial()));
    writer.apply_watcher_event(&watcher::Event::InitDone);
    installations
}

/// Returns the triggers of runs: the start, a change of a watched object, and a change of leadership.
fn causes(
    reconciler: &Reconciler,
) -> impl Stream<Item = Result<ReconcileRequest<Installation>, Infallible>> + Send + 'static {
    let start = stream::once(std::future::ready("start"));
    let (notify, flag) = (Arc::clone(&reconciler.changed), Arc::clone(&reconciler.carryover.changed));
    let changes = stream::unfold((notify, flag), async |(notify, flag)| {
        notify.notified().await;
        flag.store(true, Ordering::Relaxed);
        Some(("change", (notify, flag)))
    });
    let leaders = stream::unfold(reconciler.leadership.clone(), async |mut leadership| {
        leadership.changed().await;
        Some(("another leader", leadership))
    });
    let causes = stream::select_all([start.boxed(), changes.boxed(), leaders.boxed()]);
    causes.map(|reason| {
        let reason = ReconcileReason::Custom { reason: reason.to_owned() };
        Ok(ReconcileRequest { obj_ref: ObjectRef::new(SINGLETON), reason })
    })
}

impl Reconciler {
    /// Performs one run, unless it should stop.
    async fn reconcile(&mut self, is_stopping: impl Fn() -> bool) -> Result<Action, PlanFailed> {
        let changed = self.carryover.changed.load(Ordering::Relaxed);
        if changed {
            self.settle().await;
        }
        if is_stopping() {
            return Ok(Action::await_change());
        }
        self.health.round(self.watches.progress());
        self.logging.follow(self.watches.log_level().as_deref());
        self.health.metrics.leader.set(self.leadership.holds().into());
        let begin = Instant::now();
        let mut actions = self.news(changed).await;
        let (mut planned, mut due) = (false, clock::precise());
        self.carryover.unplanned = None;
        while let Some(action) = actions.pop_front() {
            if self.has_lost() {
                self.carryover.term = None;
                actions = self.feed(Event::LeadershipLost).await.into();
                continue;
            }
            if let machine::Action::Wait(until) = action {
                due = until;
                continue;
            }
            let Some(event) = self.perform(action).await else { continue };
            planned |= matches!(event, Event::Observed(_));
            if matches!(event, Event::Unready) {
                self.carryover.unplanned = Some(NoPlan::Unready);
            }
            actions.extend(self.feed(event).await);
        }
        if self.carryover.unplanned.is_some() {
            self.health.metrics.unplanned();
        }
        if planned {
            self.health.metrics.reconciled(begin.elapsed(), self.state.is_backing_off());
        }
        // The objects may refer to different ones now, which need other watches.
        self.watches.follow_mirror();
        self.health.round(self.watches.progress());
        match self.carryover.unplanned {
            Some(NoPlan::Failed) => Err(PlanFailed { due }),
            Some(NoPlan::Unready) | None => Ok(requeue(due)),
        }
    }

    /// Waits until nothing has changed for [`QUIET`], but at most [`LATEST`].
    async fn settle(&self) {
        let latest = Instant::now() + LATEST;
        while self.carryover.changed.swap(false, Ordering::Relaxed) && Instant::now() < latest {
            sleep(QUIET).await;
        }
        self.carryover.changed.store(false, Ordering::Relaxed);
    }

    /// Reports events since the last run to the machine, and that a run begins.
    async fn news(&mut self, changed: bool) -> VecDeque<machine::Action> {
        let mut news = Vec::new();
        let term = self.leadership.leads_since();
        if self.carryover.term != term {
            news.extend(self.carryover.term.map(|_| Event::LeadershipLost));
            news.extend(term.map(|_| Event::LeadershipWon));
            self.carryover.term = term;
        }
        if self.state.leads() && self.watches.relisted() {
            news.push(Event::Relisted);
        }
        let failing = self.watches.failing();
        if self.carryover.failing != failing {
            self.carryover.failing.clone_from(&failing);
            news.push(Event::Watches(failing));
        }
        news.push(if changed { Event::Changed } else { Event::Due });
        let mut actions = VecDeque::new();
        for event in news {
            // A wait does not end the run while there are more events.
            actions.retain(|action| !matches!(action, machine::Action::Wait(_)));
            actions.extend(self.feed(event).await);
        }
        actions
    }

    /// Returns whether this replica has lost the Lease since the machine was notified of its leadership.
    fn has_lost(&self) -> bool {
        self.carryover.term.is_some() && self.leadership.leads_since() != self.carryover.term
    }

    /// Feeds an event to the machine; returns the requested actions.
    pub(super) async fn feed(&mut self, mut event: Event) -> Vec<machine::Action> {
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
            let output = plan.config.as_ref().and_then(|config| config.rest.output.as_ref());
            // Only a replica that writes passes the text in the output to the history.
            if let Some(output) = output.filter(|_| self.state.may_write()) {
                self.history.find(&output.namespace, snapshot, plan);
            }
        }
        self.health.metrics.planned(snapshot, plan);
        self.health.planned();
        published
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
    /// counted as an error.
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
