//! Planning, and the actions that follow from a plan: what is written, stored, mirrored and queried, and when
//! failed actions are retried.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::conditions::Reason;
use crate::effective::{ParseCache, text_in_force};
use crate::machine::{Action, Doing, Pending, Role, Stage, State, WriteOutcome, after, whole_second};
use crate::plan::{Plan, plan_again};
use crate::rbac_mirror::target_states;
use crate::snapshot::{Snapshot, WriteFailure};
use crate::write::NewConfigMap;
use crate::write::change::MAX_BYTES;
use yunikorn::config::checksum;

/// The interval between plans without any cause.
const RESYNC: SignedDuration = SignedDuration::from_mins(10);
/// Attempts to write in one run: the second and third after a conflict, or after a base was created.
const MAX_TRIES: u8 = 3;
/// Plans of one observation: a plan is made again where it shows that the scheduler refused, or proved, a
/// text.
const MAX_PLANS: usize = 4;
/// Rounds of steps of the RBAC mirror in one run.
const MIRROR_ROUNDS: u8 = 4;
/// The shortest wait for a moment that the plan names.
const SHORTEST: SignedDuration = SignedDuration::from_millis(50);
/// The maximal number of partitions whose queues are queried at one time.
const MAX_PARTITIONS: usize = 16;
/// How long a list of queues is valid.
const QUEUES: SignedDuration = SignedDuration::from_secs(30);
/// The message if each attempt to write ended in a conflict.
const OUTPACED: &str = "other writers were faster each time";

impl State {
    pub(super) fn observed(
        &mut self,
        now: Timestamp,
        mut snapshot: Snapshot,
        cache: &mut ParseCache,
    ) -> Vec<Action> {
        snapshot.now = whole_second(now);
        self.memory.pass(snapshot.now);
        self.backoffs.pass(now);
        if self.memory.follows(&snapshot, self.role == Role::Leader) {
            self.backoffs.write.end();
            self.backoffs.mirror.end();
        }
        let spec = snapshot.spec();
        let scheduler = spec.and_then(|spec| spec.scheduler.as_ref());
        if self.memory.has_scheduler(scheduler, spec.and_then(|spec| spec.version)) && scheduler.is_some() {
            // A plan without an answer would report that the scheduler was not queried yet.
            self.desired = true;
            return self.proceed(now);
        }
        self.memory.observed.watch_failure = self.watch_failure(now);
        if let Some(stored) = self.base.last_good.as_ref().and_then(|kept| kept.loaded.as_ref()) {
            self.memory.recall(stored);
        }
        let text = text_in_force(&snapshot);
        let proven = self.memory.compare(&text, snapshot.now);
        let mut plan = self.plan(&mut snapshot, cache);
        for _ in 1..MAX_PLANS {
            if !(self.memory.concludes(&text, proven, &plan, snapshot.now) || self.gives_up(now, &plan)) {
                break;
            }
            plan = self.plan(&mut snapshot, cache);
        }
        self.act(now, snapshot, plan)
    }

    fn plan(&mut self, snapshot: &mut Snapshot, cache: &mut ParseCache) -> Plan {
        self.memory.fill(snapshot);
        snapshot.last_base.clone_from(&self.base.last_good);
        plan_again(snapshot, cache)
    }

    fn act(&mut self, now: Timestamp, snapshot: Snapshot, plan: Plan) -> Vec<Action> {
        self.plan_at = wake_at(now, &plan);
        if self.role == Role::Leader {
            let actions = self.write(now, &snapshot, &plan);
            let actions = actions.or_else(|| self.store_base(now, &plan));
            if let Some(actions) = actions.or_else(|| self.mirror(now, &plan)) {
                return actions;
            }
        } else {
            // Another replica writes, so actions that are due here would stay due.
            self.backoffs.write.end();
            self.backoffs.mirror.end();
        }
        if let Some(actions) = self.read_queues(&snapshot, &plan) {
            return actions;
        }
        let (snapshot, plan) = (Arc::new(snapshot), Arc::new(plan));
        // The endpoints come before the statuses, so that a client that waits for `Ready` and then sends a
        // request gets the new answer.
        let publish = Action::Publish(Arc::clone(&snapshot), Arc::clone(&plan));
        if self.role != Role::Leader {
            return self.begin(Doing::Publishing, publish);
        }
        self.doing = Doing::Reporting;
        vec![publish, Action::Report(snapshot, plan)]
    }

    /// Returns the time when the next plan is due: after the shortest backoff if something failed, and not
    /// later than the plan requests.
    pub(super) fn due(&self, now: Timestamp) -> Timestamp {
        // Failed actions wait, but actions due at a certain time, such as the end of a grant, do not.
        self.backoffs.until().map_or(self.plan_at, |until| until.max(now).min(self.plan_at))
    }

    /// Stops trying to write where other writers were faster each time; returns whether that changes the
    /// plan.
    fn gives_up(&mut self, now: Timestamp, plan: &Plan) -> bool {
        let Some(write) = plan.write.as_ref().filter(|_| self.run.tries >= MAX_TRIES) else {
            return false;
        };
        if self.role != Role::Leader || self.run.write != Stage::Open {
            return false;
        }
        self.run.write = Stage::Over;
        self.memory.observed.write_failure = Some(WriteFailure::Transient(OUTPACED.into()));
        // The keys, not the texts that were tried: by another writer's revision the next text is always
        // another one.
        self.backoffs.write.fail(now, Some(write.data.clone()), self.seed);
        true
    }

    /// Creates the ConfigMaps that come first, and writes. Later changes are written in the next run.
    fn write(&mut self, now: Timestamp, snapshot: &Snapshot, plan: &Plan) -> Option<Vec<Action>> {
        match self.run.write {
            Stage::Open => {}
            Stage::Tried => {
                self.run.more |= plan.write.is_some();
                self.backoffs.write.end();
                self.run.write = Stage::Over;
                return None;
            }
            Stage::Over => return None,
        }
        let data = plan.write.as_ref().map(|write| &write.data);
        let held =
            data.is_some_and(|data| self.backoffs.write.holds(now, |what| what.as_ref() == Some(data)));
        if held && self.run.tries == 0 {
            self.run.write = Stage::Over;
            return None;
        }
        let mut creates: VecDeque<_> = plan.import.iter().chain(&plan.backup).cloned().collect();
        // A creation has no version as a precondition, so one that is accepted late must not bring anything
        // back. The output is therefore created empty before it is written.
        let new = plan.write.as_ref().filter(|write| write.resource_version.is_none());
        creates.extend(new.map(|it| NewConfigMap { name: it.name.clone(), ..NewConfigMap::default() }));
        let spec = snapshot.spec().filter(|_| plan.write.is_some() || plan.import.is_some());
        let Some(spec) = spec.filter(|_| self.run.tries < MAX_TRIES) else {
            self.run.write = Stage::Over;
            self.memory.observed.write_failure = None;
            self.backoffs.write.end();
            return None;
        };
        self.pending = Some(Pending {
            namespace: spec.namespace.clone(),
            creates,
            write: plan.write.clone(),
            other_writers: plan
                .write
                .as_ref()
                .map_or_else(Vec::new, |write| write.other_writers(snapshot.output.as_deref())),
        });
        Some(self.send())
    }

    /// Returns the next request of the write in progress.
    pub(super) fn send(&mut self) -> Vec<Action> {
        let Some(pending) = &mut self.pending else { return self.observe() };
        let namespace = pending.namespace.clone();
        if let Some(map) = pending.creates.pop_front() {
            return self.begin(Doing::Creating, Action::Create { namespace, map });
        }
        match pending.write.clone() {
            Some(write) if write.resource_version.is_none() => {
                self.begin(Doing::Rereading, Action::Reread { namespace, name: write.name })
            }
            Some(write) => self.begin(Doing::Writing, Action::Write { namespace, write }),
            None => self.try_again(),
        }
    }

    pub(super) fn try_again(&mut self) -> Vec<Action> {
        self.pending = None;
        self.run.tries = self.run.tries.saturating_add(1);
        self.observe()
    }

    pub(super) fn written(&mut self, now: Timestamp, outcome: WriteOutcome) -> Vec<Action> {
        let Some(Pending { namespace, write: Some(write), other_writers, .. }) = self.pending.clone() else {
            return self.observe();
        };
        let at = whole_second(now);
        match outcome {
            WriteOutcome::Done => {
                self.pending = None;
                self.run.write = Stage::Tried;
                self.memory.written(at, &write, &other_writers);
                match (self.memory.scheduler.clone(), write.queue_tree()) {
                    (Some(scheduler), Some((_, text))) => {
                        let checksum = checksum(text);
                        self.begin(Doing::Loading, Action::ReadUntilLoaded { scheduler, checksum })
                    }
                    _ => self.observe(),
                }
            }
            WriteOutcome::Conflict => {
                self.begin(Doing::Rereading, Action::Reread { namespace, name: write.name })
            }
            WriteOutcome::Refused(failure) => {
                self.memory.refused(at, &write, &failure);
                self.failed(now, failure)
            }
            WriteOutcome::Unknown(message) => {
                self.memory.lost(at, &write);
                self.failed(now, WriteFailure::Transient(message))
            }
        }
    }

    /// Takes in a failed write or creation.
    pub(super) fn failed(&mut self, now: Timestamp, failure: WriteFailure) -> Vec<Action> {
        let tried = self.pending.take().and_then(|pending| pending.write).map(|write| write.data);
        self.memory.observed.write_failure = Some(failure);
        self.backoffs.write.fail(now, tried, self.seed);
        self.run.write = Stage::Over;
        self.observe()
    }

    /// Stores the base that the plan returns, and the text that the scheduler runs while it refuses the
    /// written one.
    fn store_base(&mut self, now: Timestamp, plan: &Plan) -> Option<Vec<Action>> {
        if plan.last_base.is_some() && plan.last_base != self.base.last_good {
            self.base.last_good.clone_from(&plan.last_base);
            self.base.unsaved = true;
        }
        if let (Some(kept), Some(loaded)) = (&mut self.base.last_good, self.memory.left())
            && kept.loaded.as_ref() != Some(loaded)
            && kept.text.len().saturating_add(loaded.len()) <= MAX_BYTES
        {
            kept.loaded = Some(loaded.clone());
            self.base.unsaved = true;
        }
        let unsaved = self.base.unsaved && self.base.read && !self.backoffs.base.lasts(now);
        let base = self.base.last_good.clone().filter(|_| unsaved)?;
        Some(self.begin(Doing::StoringBase, Action::StoreBase(base)))
    }

    /// Takes the next steps of the RBAC mirror towards the ACLs in force, a bounded number per run.
    fn mirror(&mut self, now: Timestamp, plan: &Plan) -> Option<Vec<Action>> {
        let left = target_states(&plan.mirror);
        let tried = std::mem::take(&mut self.run.tried).into_iter();
        let undone: Vec<_> = tried.filter(|change| left.contains(change)).collect();
        match std::mem::replace(&mut self.run.mirror, Stage::Over) {
            Stage::Open => {}
            Stage::Tried => {
                // There is more than one run does at a time, and the rest has not failed.
                self.run.more |= left.iter().any(|change| !undone.contains(change));
                self.backoffs.mirror.fail(now, undone, self.seed);
                return None;
            }
            Stage::Over => return None,
        }
        let held = || self.backoffs.mirror.holds(now, |what| left.iter().all(|change| what.contains(change)));
        if left.is_empty() {
            self.memory.observed.mirror_failure = None;
        } else if self.run.mirror_rounds == 0 && held() {
            return None;
        } else if self.run.mirror_rounds < MIRROR_ROUNDS {
            self.run.mirror = Stage::Open;
            self.run.mirror_rounds = self.run.mirror_rounds.saturating_add(1);
            self.run.tried = left;
            return Some(self.begin(Doing::Mirroring, Action::Mirror(plan.mirror.clone())));
        } else if self.run.mirror_conflicts >= MIRROR_ROUNDS {
            self.memory.observed.mirror_failure = Some(WriteFailure::Transient(OUTPACED.into()));
            self.backoffs.mirror.fail(now, undone, self.seed);
            return Some(self.observe());
        } else {
            // The rest does not wait for the next cause.
            self.run.more = true;
        }
        self.backoffs.mirror.end();
        None
    }

    /// Requests the queues of the partitions where the plan did not find a queue.
    fn read_queues(&mut self, snapshot: &Snapshot, plan: &Plan) -> Option<Vec<Action>> {
        let scheduler = snapshot.spec()?.scheduler.clone()?;
        let partitions = partitions(snapshot, plan);
        let live = &self.memory.observed.live_queues;
        let fresh = self.queues_at.is_some_and(|at| snapshot.now.duration_since(at) < QUEUES);
        let known = fresh && partitions.iter().all(|name| live.contains_key(name));
        if self.run.queues || partitions.is_empty() || known {
            return None;
        }
        self.run.queues = true;
        self.queues_at = Some(snapshot.now);
        Some(self.begin(Doing::ReadingQueues, Action::ReadQueues { scheduler, partitions }))
    }
}

/// Returns the time when the plan is to be made again.
fn wake_at(now: Timestamp, plan: &Plan) -> Timestamp {
    let planned = plan.wake_at.map(|at| at.max(after(now, SHORTEST)));
    planned.unwrap_or(Timestamp::MAX).min(after(now, RESYNC))
}

/// Returns the partitions, as objects name them, of queues that were not found.
fn partitions(snapshot: &Snapshot, plan: &Plan) -> BTreeSet<String> {
    let missing = |name: &str| {
        let status = plan.queue_acls.get(name);
        let mut conditions = status.iter().flat_map(|status| status.conditions.iter());
        conditions.any(|condition| condition.has(Reason::QueueNotFound))
    };
    let objects = snapshot.queue_acls.iter().filter(|entry| missing(&entry.meta.name));
    let named: BTreeSet<String> =
        objects.filter_map(|entry| Some(entry.spec.as_ref().ok()?.partition.clone())).collect();
    named.into_iter().take(MAX_PARTITIONS).collect()
}
