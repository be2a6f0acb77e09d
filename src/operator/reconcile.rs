//! The loop: look, plan, write, prove, report.
//!
//! Everything that is decided is decided in [`plan`]; here it is only carried out, one write at a time, by the replica that leads.
//! The others plan too, so that their metrics are right and they can take over at once, and write nothing.
//!
//! * [`cause`]: when a run begins; [`planning`], [`mirroring`], [`reporting`]: the parts of it that compute, and that write the RBAC mirror and
//!   the statuses; [`pause`]: how long it waits after a failure.

mod cause;
mod mirroring;
mod pause;
mod planning;
mod reporting;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use pause::Data;
pub use pause::Pause;
use planning::NoPlan;
pub use planning::Reckoning;
use reporting::Reported;

use super::asking::{self, Asking};
use super::events::Events;
use super::health::Health;
use super::leader::Leadership;
use super::observed::Memory;
use super::world::World;
use super::{apply, clock, served};
use crate::plan::snapshot::{ConfigSpec, Snapshot, WriteFailure};
use crate::plan::{NewConfigMap, Plan, Readings, Write};
use crate::server::knowledge::Publisher;
use crate::telemetry::Logging;

/// Without any cause, a run begins this often.
const RESYNC: Duration = Duration::from_mins(10);
/// Attempts to write in one run: the second and third after a conflict, or after a base was made.
const MAX_TRIES: usize = 3;
/// How long a run may go on after the signal to stop.
const GRACE: Duration = Duration::from_secs(4);

/// The loop and all it needs.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Reconciler {
    /// Speaks to the API server.
    pub client: Client,
    /// What is watched.
    pub world: World,
    /// Told of changes of it.
    pub changed: Arc<Notify>,
    /// Whether this replica writes.
    pub leadership: Leadership,
    /// Asks the scheduler.
    pub asking: Asking,
    /// Where events go.
    pub events: Events,
    /// What the endpoints tell.
    pub health: Arc<Health>,
    /// What was seen.
    pub memory: Memory,
    /// After errors.
    pub pause: Pause,
    /// Tells the doors.
    pub publisher: Publisher,
    /// How much is logged.
    pub logging: Logging,
    /// The `QueueAcl` whose status was written last.
    pub reported: String,
    /// What the last plan has read.
    pub readings: Readings,
    /// What computes.
    pub reckoning: Reckoning,
}

/// What came of carrying out a plan.
enum Outcome {
    /// There was nothing to write.
    Nothing,
    /// The ConfigMap was written.
    Written,
    /// Something that comes first was made, or somebody else was faster: plan again.
    Again,
    /// A write failed: plan again to say so, and try later.
    Failed,
}

impl Reconciler {
    /// Runs until `stop` completes; a run that is under way then may go on for a short while.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let health = Arc::clone(&self.health);
        let (say, stopping) = watch::channel(false);
        let deadline = async {
            stop.await;
            tracing::info!("Stopping");
            health.stopping();
            say.send_replace(true);
            sleep(GRACE).await;
        };
        tokio::select! {
            () = deadline => {}
            () = self.run(stopping) => {}
        }
    }

    async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        while !*stopping.borrow() {
            let due = self.round().await;
            tokio::select! {
                () = self.until_due(due) => {}
                _ = stopping.changed() => {}
            }
        }
    }

    /// One run; when the next one is due without a cause.
    #[tracing::instrument(name = "reconcile", skip_all)]
    async fn round(&mut self) -> Duration {
        self.health.round(self.world.progress());
        self.logging.follow(self.world.log_level().as_deref());
        self.health.metrics.leader.set(self.leadership.holds().into());
        let begin = Instant::now();
        let due = match self.turn().await {
            Ok(due) => due,
            Err(NoPlan::Early) => {
                self.health.metrics.unplanned();
                // What is missing is a cause when it comes.
                RESYNC
            }
            Err(NoPlan::Fault) => {
                self.health.metrics.unplanned();
                self.pause.unplanned()
            }
        };
        self.health.metrics.reconciled(begin.elapsed(), self.pause.left().is_some());
        // Other objects may be named than before, and so other watches be needed.
        self.health.round(self.world.progress());
        due
    }

    async fn turn(&mut self) -> Result<Duration, NoPlan> {
        self.ask().await;
        let (mut snapshot, mut plan) = self.plan().await?;
        let paused = self.pause.holds_write(plan.write.as_ref().map(|write| &write.data));
        tracing::debug!(
            queue_acls = snapshot.queue_acls.len(),
            policies = snapshot.policies.len(),
            writes = plan.write.is_some(),
            leads = self.leadership.holds(),
            paused,
            "Planned"
        );
        if self.leadership.holds() && !paused {
            let written;
            (snapshot, plan, written) = self.write_all(snapshot, plan).await?;
            self.pause.wrote(written);
        }
        if self.leadership.holds() && !self.pause.holds_mirror(&plan.mirror) {
            let mirrored;
            (snapshot, plan, mirrored) = self.mirror_all(snapshot, plan).await?;
            self.pause.mirrored(mirrored);
        }
        if self.ask_for_queues(&snapshot, &plan).await {
            (snapshot, plan) = self.plan().await?;
        }
        // First the doors, then the statuses: whoever waits for `Ready` and then asks hears of what they waited for.
        let (snapshot, plan) = (Arc::new(snapshot), Arc::new(plan));
        let published = self.publish(&snapshot, &plan).await;
        self.health.metrics.planned(&snapshot, &plan);
        self.health.planned();
        let mut reported = Reported::default();
        if self.leadership.holds() {
            reported = self.report(&snapshot, &plan).await;
        } else {
            // Another one writes; what is due here would be due for ever.
            self.pause.yielded();
        }
        self.pause.planned(published);
        self.pause.reported(!reported.failed);
        // Without any success the rest would fail as well.
        let goes_on = reported.unfinished && (!reported.failed || reported.written);
        Ok(if goes_on { Duration::ZERO } else { self.next(&plan) })
    }

    /// Writes what the plan wants; what could not be written, if that failed. What else has changed by then is written in the next run.
    async fn write_all(
        &mut self,
        mut snapshot: Snapshot,
        mut plan: Plan,
    ) -> Result<(Snapshot, Plan, Result<(), Option<Data>>), NoPlan> {
        for _ in 0..MAX_TRIES {
            let outcome = self.carry_out(&snapshot, &plan).await;
            if matches!(outcome, Outcome::Nothing) {
                return Ok((snapshot, plan, Ok(())));
            }
            let tried = plan.write.take().map(|write| write.data);
            // With thousands of objects, two of each are a lot.
            drop((snapshot, plan));
            (snapshot, plan) = self.plan().await?;
            match outcome {
                Outcome::Failed => return Ok((snapshot, plan, Err(tried))),
                Outcome::Written => {
                    if plan.write.is_some() {
                        self.changed.notify_one();
                    }
                    return Ok((snapshot, plan, Ok(())));
                }
                Outcome::Again | Outcome::Nothing => {}
            }
        }
        if plan.write.is_none() {
            return Ok((snapshot, plan, Ok(())));
        }
        self.memory.failed(WriteFailure::Transient("other writers were faster each time".into()));
        let (snapshot, plan) = self.plan().await?;
        // Not what was tried: by a rival's revision the next text is always another one.
        let data = plan.write.as_ref().map(|write| write.data.clone());
        Ok((snapshot, plan, Err(data)))
    }

    /// Makes the ConfigMaps that come first, then the write.
    async fn carry_out(&mut self, snapshot: &Snapshot, plan: &Plan) -> Outcome {
        let Some(spec) = spec(snapshot) else {
            return Outcome::Nothing;
        };
        if (plan.write.is_some() || plan.import.is_some())
            && let Some(why) =
                served::withdrawn(&self.client).await.unwrap_or_else(|error| Some(error.to_string()))
        {
            return self.failed(spec, WriteFailure::Transient(why));
        }
        for new in plan.import.iter().chain(&plan.backup) {
            if let Err(failure) = self.create(spec, new).await {
                return self.failed(spec, failure);
            }
        }
        match &plan.write {
            Some(write) if self.leadership.holds() => self.write(spec, write, snapshot, plan).await,
            Some(_) => Outcome::Nothing,
            None if plan.import.is_some() => Outcome::Again,
            None => {
                self.health.metrics.applied("unchanged");
                self.memory.settled();
                Outcome::Nothing
            }
        }
    }

    async fn create(&self, spec: &ConfigSpec, new: &NewConfigMap) -> Result<(), WriteFailure> {
        if let Some(map) = apply::create(&self.client, &spec.namespace, new).await? {
            tracing::info!(namespace = spec.namespace, name = new.name, "Created a ConfigMap");
            self.world.learn_config_map(map);
        }
        Ok(())
    }

    #[tracing::instrument(name = "write", skip_all)]
    async fn write(&mut self, spec: &ConfigSpec, write: &Write, snapshot: &Snapshot, plan: &Plan) -> Outcome {
        match apply::write(&self.client, &spec.namespace, write).await {
            Ok(map) => {
                self.world.learn_config_map(map);
                self.note(write, snapshot, plan);
                if let (Some(url), Some(rendered)) = (&spec.scheduler_url, &plan.rendered) {
                    self.asking.until_loaded(url, &rendered.checksum, &mut self.memory, &self.health).await;
                }
                Outcome::Written
            }
            Err(apply::Refusal::Conflict) => self.reread(spec, write).await,
            Err(apply::Refusal::Failure(failure)) => self.failed(spec, failure),
        }
    }

    fn note(&mut self, write: &Write, snapshot: &Snapshot, plan: &Plan) {
        let revision = plan.rendered.as_ref().map(|rendered| rendered.revision);
        let keys: Vec<_> = write.data.keys().collect();
        tracing::info!(
            name = write.name,
            ?keys,
            revision,
            repair = write.repair,
            reassert = write.reassert,
            "Wrote the ConfigMap"
        );
        self.health.metrics.applied("applied");
        if write.repair {
            self.health.metrics.drifted(if snapshot.output.is_some() { "external_edit" } else { "deleted" });
        }
        self.memory.written(clock::now(), write, plan.rendered.as_ref(), snapshot.output.as_deref());
    }

    /// Someone was faster, and the watch has not told yet: looks itself.
    async fn reread(&mut self, spec: &ConfigSpec, write: &Write) -> Outcome {
        self.health.metrics.applied("conflict");
        match apply::read(&self.client, &spec.namespace, &write.name).await {
            Ok(Some(map)) => {
                self.world.learn_config_map(map);
                Outcome::Again
            }
            // Deleted meanwhile; the watch is about to say so.
            Ok(None) => self.failed(spec, WriteFailure::Transient("it was deleted meanwhile".into())),
            Err(error) => self.failed(spec, WriteFailure::Transient(error.to_string())),
        }
    }

    fn failed(&mut self, spec: &ConfigSpec, failure: WriteFailure) -> Outcome {
        let (result, message) = match &failure {
            WriteFailure::Forbidden(message) => ("forbidden", message),
            WriteFailure::Rejected(message) => ("rejected", message),
            WriteFailure::Transient(message) => ("error", message),
        };
        self.health.metrics.applied(result);
        if self.memory.observed.write_failure.as_ref() != Some(&failure) {
            tracing::warn!(namespace = spec.namespace, result, message, "Could not write");
        }
        self.memory.failed(failure);
        Outcome::Failed
    }

    /// Asks the scheduler what it runs, when that is due.
    async fn ask(&mut self) {
        let url = self.world.spec().and_then(|spec| spec.scheduler_url);
        self.memory.asks(url.as_deref());
        if let Some(url) = url.filter(|_| asking::pause(&self.memory).is_zero()) {
            self.asking.checksum(&url, &mut self.memory, &self.health).await;
        }
    }

    async fn ask_for_queues(&mut self, snapshot: &Snapshot, plan: &Plan) -> bool {
        let Some(url) = spec(snapshot).and_then(|spec| spec.scheduler_url.as_deref()) else {
            return false;
        };
        self.asking.queues(url, snapshot, plan, &mut self.memory, &self.health).await
    }

    /// When the next run is due: after the shortest pause where something failed, and not later than the plan wishes.
    fn next(&self, plan: &Plan) -> Duration {
        let wish =
            plan.wake_at.map(|at| at.duration_since(clock::now()).max(SignedDuration::from_millis(50)));
        let wish = wish.and_then(|wish| Duration::try_from(wish).ok()).unwrap_or(RESYNC).min(RESYNC);
        // What failed waits; what is due by the clock, such as the end of a grant, does not.
        self.pause.left().map_or(wish, |left| left.min(wish))
    }
}

fn spec(snapshot: &Snapshot) -> Option<&ConfigSpec> {
    snapshot.config.as_ref()?.spec.as_ref().ok()
}
