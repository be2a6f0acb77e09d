//! Performs the actions of the machine, and returns the event with the result of each action that has one.
//!
//! Statuses are written last, which takes long with thousands of objects. A run therefore limits the time for
//! writing them. The next run begins at once, unless no status could be written, and writes the rest from the
//! state at that time. A grant that is withdrawn or ends does not wait for the statuses of others.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use tokio::time::Instant;

use super::Reconciler;
use crate::controller::mirror::{self, MirrorWatches, StepResult};
use crate::controller::status::{self, PatchResult};
use crate::controller::{apply, clock};
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_plan::history::Revision;
use queuewarden_plan::machine::{Action, Event, WriteOutcome};
use queuewarden_plan::rbac_mirror::MirrorChanges;
use queuewarden_plan::snapshot::{ConfigMapState, Snapshot, WriteFailure};
use queuewarden_plan::{NewConfigMap, ObjectRef, OutputReplacement, Plan, ResourceKind, Write};

/// Longest time during which a run starts status patches. Patches that have started are finished.
const SLICE: Duration = Duration::from_secs(2);

impl Reconciler {
    /// Performs an action; returns the event with its result, if it has one.
    pub(super) async fn perform(&mut self, action: Action) -> Option<Event> {
        Some(match action {
            Action::Relist => {
                self.watches.relist(self.carryover.term?);
                return None;
            }
            Action::ReadBase => Event::BaseRead(self.last_base.read().await.map_err(|e| e.to_string())),
            Action::StoreBase(base) => {
                let stored = self.last_base.write(&base).await;
                if let Err(error) = &stored {
                    tracing::warn!(%error, "Could not store the last good base");
                }
                Event::BaseStored(stored.map_err(|error| error.to_string()))
            }
            Action::ReadScheduler(address) => Event::Answered(self.read_back.answer(&address).await),
            Action::ReadUntilLoaded { scheduler, checksum } => {
                let flag = Arc::clone(&self.carryover.changed);
                let changed = || flag.load(Ordering::Relaxed);
                Event::Answered(self.read_back.until_loaded(&scheduler, &checksum, changed).await)
            }
            Action::ReadQueues { scheduler, partitions } => {
                Event::Queues(self.read_back.queues(&scheduler, partitions).await)
            }
            Action::Observe => self.observe(clock::now()),
            Action::Create { namespace, map } => Event::Created(self.create(&namespace, &map).await),
            Action::Write { namespace, write } => Event::Written(self.write(&namespace, &write).await),
            Action::Reread { namespace, name } => Event::Reread(self.reread(&namespace, &name).await),
            Action::Mirror(changes) => self.mirror(&changes).await,
            Action::Publish(snapshot, plan) => Event::Published(self.publish(&snapshot, &plan).await),
            Action::Report(snapshot, plan) => self.report(&snapshot, &plan).await,
            Action::Wait(_) => return None,
        })
    }

    /// Takes a snapshot.
    fn observe(&mut self, now: Timestamp) -> Event {
        let Some(mut snapshot) = self.watches.snapshot(now) else { return Event::Unready };
        let spec = snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        let namespaces = [spec.map(|spec| &*spec.namespace), self.own_namespace.as_deref()];
        let left_alone: Vec<&str> = namespaces.into_iter().flatten().collect();
        snapshot.observed.identity_webhook = self.watches.identity_webhook(now, &left_alone);
        Event::Observed(Box::new(snapshot))
    }

    /// Creates a ConfigMap; an existing one is not changed.
    async fn create(&mut self, namespace: &str, new: &NewConfigMap) -> Result<(), WriteFailure> {
        let moment = self.watches.moment(&new.name);
        let created = apply::create(&self.client, namespace, new).await;
        if let Some(map) = created.inspect_err(|failure| self.log_failure(namespace, failure))? {
            tracing::info!(namespace, name = new.name, "Created a ConfigMap");
            self.carryover.created = new.data.is_empty();
            self.watches.learn_config_map(map, moment);
        }
        Ok(())
    }

    #[tracing::instrument(name = "write", skip_all)]
    async fn write(&mut self, namespace: &str, write: &Write) -> WriteOutcome {
        let moment = self.watches.moment(&write.name);
        let replaced = self.watches.config_map(&write.name);
        let replaced = replaced.filter(|map| Some(&map.resource_version) == write.resource_version.as_ref());
        match apply::write(&self.client, namespace, write).await {
            Ok(map) => {
                let data = map.data.clone().unwrap_or_default();
                self.watches.learn_config_map(map, moment);
                self.log_write(namespace, write, replaced, &data).await;
                WriteOutcome::Done
            }
            Err(outcome) => {
                match &outcome {
                    WriteOutcome::Conflict => self.health.metrics.applied("conflict"),
                    WriteOutcome::Refused(failure) => self.log_failure(namespace, failure),
                    WriteOutcome::Unknown(why) => {
                        self.log_failure(namespace, &WriteFailure::Transient(why.clone()));
                    }
                    WriteOutcome::Done => {}
                }
                outcome
            }
        }
    }

    /// Logs a write that leaves `data` in the output, with the access that it changes, and records it.
    /// Changes by other clients also cause an event.
    async fn log_write(
        &mut self,
        namespace: &str,
        write: &Write,
        replaced: Option<Arc<ConfigMapState>>,
        data: &BTreeMap<String, String>,
    ) {
        let named =
            self.watches.snapshot(clock::now()).map(|snapshot| snapshot.aliased()).unwrap_or_default();
        // Access that is no longer granted was named before.
        let mut aliased = std::mem::replace(&mut self.carryover.aliased, named.clone());
        aliased.extend(named);
        let contributions = Arc::clone(&self.carryover.contributions);
        let replacement =
            OutputReplacement::new(write, replaced, contributions, aliased, &mut self.carryover.known);
        // Two writes in the same second are two revisions.
        let now = clock::precise();
        let repaired = write.repair && !self.carryover.created;
        // With large configurations it takes long.
        let described = tokio::task::spawn_blocking(move || {
            (replacement.access(now), repaired.then(|| replacement.put_back(SINGLETON.into())))
        });
        let (access, event) = described.await.unwrap_or_default();
        let keys: Vec<_> = write.data.keys().collect();
        let Write { name, repair, reassert, partial, .. } = write;
        tracing::info!(namespace, name, ?keys, repair, reassert, partial, access, "Wrote the ConfigMap");
        let revision = Revision::of_write(write, data, now, access.as_deref(), &self.gone());
        if let Some(revision) = revision {
            self.history.record(namespace, revision);
        }
        let config = self.watches.current_object(ResourceKind::YuniKornConfig, SINGLETON);
        if let Some((event, config)) = event.zip(config) {
            self.events.publish(&event, &config.uid);
        }
        self.carryover.failure = None;
        self.health.metrics.applied("applied");
        let created = std::mem::take(&mut self.carryover.created);
        if write.repair {
            let kind = if created { "deleted" } else { "external_edit" };
            self.health.metrics.drifted(kind);
        }
    }

    /// Returns the objects that contributed to the previous text and no longer exist.
    fn gone(&self) -> Vec<Arc<str>> {
        let parts = self.carryover.contributions.iter().flat_map(|one| &one.objects);
        let names: BTreeSet<&Arc<str>> = parts.map(|part| &part.name).collect();
        let gone = names
            .into_iter()
            .filter(|name| self.watches.current_object(ResourceKind::QueueAcl, name).is_none());
        gone.cloned().collect()
    }

    /// Logs a failure once rather than for each attempt.
    fn log_failure(&mut self, namespace: &str, failure: &WriteFailure) {
        let (result, message) = match failure {
            WriteFailure::Forbidden(message) => ("forbidden", message),
            WriteFailure::Rejected(message) => ("rejected", message),
            WriteFailure::Transient(message) => ("error", message),
        };
        self.health.metrics.applied(result);
        if self.carryover.failure.as_ref() != Some(failure) {
            tracing::warn!(namespace, result, message, "Could not write");
            self.carryover.failure = Some(failure.clone());
        }
    }

    /// Reads the ConfigMap again, because another writer was faster and the watch has not delivered the
    /// change yet.
    async fn reread(&self, namespace: &str, name: &str) -> Result<(), String> {
        let moment = self.watches.moment(name);
        match apply::read(&self.client, namespace, name).await {
            Ok(Some(map)) => self.watches.learn_config_map(map, moment),
            Ok(None) => self.watches.forget_config_map(name),
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// Takes the next steps of the RBAC mirror.
    async fn mirror(&self, changes: &MirrorChanges) -> Event {
        let moments = self.watches.mirror().map(MirrorWatches::moments).unwrap_or_default();
        let (mut failure, mut conflict) = (None, false);
        for answer in mirror::carry_out(&self.client, changes, || self.leadership.holds()).await {
            let result = match &answer {
                Ok(StepResult::Written(..) | StepResult::Removed(..)) => "written",
                Ok(StepResult::Stale(..)) => {
                    conflict = true;
                    "conflict"
                }
                Err(why) => {
                    failure.get_or_insert_with(|| why.clone());
                    "error"
                }
            };
            self.health.metrics.mirrored(result);
            if let Some((watches, answer)) = self.watches.mirror().zip(answer.ok()) {
                watches.learn(answer, &moments);
            }
        }
        if let Some(failure) = &failure {
            tracing::warn!(?failure, "Could not write the RBAC mirror");
        } else {
            tracing::info!(steps = changes.steps.len(), "Wrote the RBAC mirror");
        }
        Event::Mirrored { failure, conflict }
    }

    /// Patches the statuses that differ, and publishes the events of those objects.
    #[tracing::instrument(name = "report", skip_all)]
    async fn report(&mut self, snapshot: &Snapshot, plan: &Plan) -> Event {
        let mut events: BTreeMap<&ObjectRef, Vec<&queuewarden_plan::Event>> = BTreeMap::new();
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
        Event::Reported { written, failed: problem.is_some(), unfinished }
    }
}
