//! The controller: `kube::runtime`'s [`applier`] runs [`Reconciler::reconcile`] for the one installation.
//!
//! [`queuewarden_plan::machine`] decides everything. This module performs its actions, one at a time, and
//! feeds the results back. All replicas plan, so that their metrics are right and they can take over at once;
//! the leader writes.
//!
//! The reconciled object is the `YuniKornConfig` named `default`, whether it exists or not: without it, the
//! statuses of the other objects explain why nothing happens. That is why this is an `applier` over a store
//! with that one name, and not a `Controller`, which runs for objects that exist. `YuniKornConfig` is one of
//! many inputs of one plan; there is nothing to reconcile object by object.
//!
//! The following is implemented here, because `kube::runtime` does not provide it:
//! * the debounce ([`Reconciler::settle`]): that of `controller::Config` restarts with each change, so that
//!   continuous changes would delay a run for ever;
//! * watches that show whether they are alive, each with its own backoff ([`super::watch`]): a `Controller`
//!   has one backoff for all its streams;
//! * caches that learn our own writes ([`super::cache`]);
//! * the election ([`super::leader`]).
//!
//! The submodules:
//! * [`performing`] performs the actions, and writes the statuses;
//! * [`planning`] computes.

mod performing;
mod planning;

use std::collections::VecDeque;
use std::convert::Infallible;
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

pub use planning::{Functions, Step};

use super::clock;
use super::cluster_watches::ClusterWatches;
use super::events::Events;
use super::health::Health;
use super::history::History;
use super::last_base::LastBaseStore;
use super::leader::Leadership;
use super::published::Publisher;
use super::read_back::ReadBack;
use crate::telemetry::Logging;
use queuewarden_api::v1alpha1::{SINGLETON, YuniKornConfig};
use queuewarden_plan::ParseCache;
use queuewarden_plan::attribution::Attribution;
use queuewarden_plan::machine::{self, Event, FailingWatch, State};
use queuewarden_plan::snapshot::WriteFailure;
use yunikorn_access::alias::Aliased;

/// A run begins when nothing has changed for this long ...
const QUIET: Duration = Duration::from_millis(100);
/// ... and at the latest this long after a change.
const LATEST: Duration = Duration::from_secs(1);
/// Longest time that a run may continue after the signal to stop.
const GRACE: Duration = Duration::from_secs(4);

/// The reconciled object: it represents the whole installation.
type Installation = PartialObjectMeta<YuniKornConfig>;

/// The state of the controller, and its connections.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Reconciler {
    /// The client for the API server.
    pub client: Client,
    /// The watched objects.
    pub watches: ClusterWatches,
    /// The view of whether this replica writes.
    pub leadership: Leadership,
    /// The read-back from the scheduler.
    pub read_back: ReadBack,
    /// The store of the last good base.
    pub last_base: LastBaseStore,
    /// The queue of events to publish.
    pub events: Events,
    /// The queue of revisions to record.
    pub history: History,
    /// The data behind `/livez`, `/readyz` and `/metrics`.
    pub health: Arc<Health>,
    /// The publisher for the endpoints that answer queries about access.
    pub publisher: Publisher,
    /// The namespace that queuewarden itself runs in, if it runs in one.
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

/// The data that a run leaves for the next one.
#[derive(Debug, Default)]
pub struct RunCarryover {
    /// True if something has changed since the last run began.
    changed: Arc<AtomicBool>,
    /// The parse cache of the last plan.
    known: ParseCache,
    /// The beginning of the last term of leading that was reported to the machine.
    term: Option<Instant>,
    /// The last failing watch that was reported to the machine.
    failing: Option<FailingWatch>,
    /// The `QueueAcl` whose status was written last.
    reported: Arc<str>,
    /// The reason why the last run had no plan.
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

/// The reasons why there is no plan.
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
    /// The time when the next run is due.
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
        // Both end by `stop`. The first one reports that first.
        biased;
        () = deadline => {}
        () = runs => {}
    }
}

/// Decides when to try again after a failed run.
fn error_policy(_: Arc<Installation>, error: &PlanFailed, _: Arc<Mutex<Reconciler>>) -> Action {
    requeue(error.due)
}

/// Requests a run at `due`.
fn requeue(due: Timestamp) -> Action {
    Action::requeue(Duration::try_from(due.duration_since(clock::precise())).unwrap_or_default())
}

/// Returns a store with the one object that is reconciled.
fn installations() -> reflector::Store<Installation> {
    let (installations, mut writer) = reflector::store();
    let metadata = ObjectMeta { name: Some(SINGLETON.to_owned()), ..ObjectMeta::default() };
    writer.apply_watcher_event(&watcher::Event::InitApply(metadata.into_response_partial()));
    writer.apply_watcher_event(&watcher::Event::InitDone);
    installations
}

/// Returns the causes of runs: the start, a change of a watched object, and a change of leadership.
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
    /// Performs one run, unless it is to stop.
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
        // The objects may now name others, which need other watches.
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

    /// Reports to the machine what has happened since the last run, and that one begins.
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

    /// Returns whether this replica has lost the Lease since the machine was notified that it leads.
    fn has_lost(&self) -> bool {
        self.carryover.term.is_some() && self.leadership.leads_since() != self.carryover.term
    }
}
