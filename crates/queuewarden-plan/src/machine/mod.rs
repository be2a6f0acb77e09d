//! The operator between two observations: everything it remembers, and what it does next.
//!
//! [`step`] takes the state and an event and returns the next state and actions. It is total and uses no
//! clock and no client: the operator performs the actions and feeds back their results; a model checker does
//! the same with a simulated cluster.
//!
//! The rules of the protocol:
//!
//! * At most the last action of a step has an answer; [`Action::Wait`] ends a run and has no answer. An
//!   action is performed once, and its answer is fed before the next action with an answer is issued.
//! * [`Event::LeadershipLost`] may replace an answer. The answer must not be fed afterwards.
//! * Other events may come at any time.
//!
//! The steps of a run, in this order:
//!
//! 1. read the last good base, once and after each takeover; query the scheduler when that is due;
//! 2. observe, and plan;
//! 3. create the ConfigMaps that are needed first, write, and query the scheduler until it has loaded the
//!    text; plan again;
//! 4. store the base, take the next steps of the RBAC mirror, query the queues that exist only at run time;
//!    plan again after each;
//! 5. publish the plan to the endpoints, and report it in the statuses.
//!
//! After the Lease was won, nothing is written until everything has been read again: see [`Event::Relisted`]
//! and [`Observed::fence`].
//!
//! [`Observed::fence`]: crate::snapshot::Observed::fence
//!
//! * [`acting`]: planning, and the actions that follow from a plan.
//! * [`memory`]: the effect of each event on the input of the plan.

mod acting;
mod memory;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::budget::{Backoff, Data};
use crate::effective::ParseCache;
use crate::plan::Plan;
use crate::planted::{PlantedFault, is_planted};
use crate::rbac_mirror::{self, TargetState};
use crate::snapshot::{LastBase, NoChecksum, SchedulerAddress, SchedulerAnswer, Snapshot, WriteFailure};
use crate::write::{NewConfigMap, Write};
use memory::Memory;

/// How long to wait if not everything was read yet. A new object triggers a plan by itself, but an object
/// that stays unreadable does not.
const UNREADY: SignedDuration = SignedDuration::from_secs(5);
/// The wait where a plan has more to do than one run does, so that what changes meanwhile is written with it.
const AGAIN: SignedDuration = SignedDuration::from_millis(100);
/// Between two requests to the scheduler when nothing is expected to change.
const CALM: SignedDuration = SignedDuration::from_secs(10);
/// The interval between requests while the scheduler is behind.
const EAGER: SignedDuration = SignedDuration::from_secs(1);
/// The time after which a scheduler that is behind is not expected to catch up on its own.
const EAGER_FOR: SignedDuration = SignedDuration::from_secs(30);
/// How long a watch may fail before this is reported.
const WATCH_PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// Everything that the machine remembers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// Makes the backoffs of replicas differ.
    seed: u64,
    role: Role,
    doing: Doing,
    memory: Memory,
    run: Run,
    /// The write in progress.
    pending: Option<Pending>,
    backoffs: Backoffs,
    /// True if a plan is needed.
    desired: bool,
    /// The time when the next plan is due without a cause.
    plan_at: Timestamp,
    queues_at: Option<Timestamp>,
    failing: Option<FailingWatch>,
    base: Base,
}

/// The role of this replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Role {
    /// It only observes.
    #[default]
    Follower,
    /// It only observes until everything has been read again.
    Relisting,
    /// It only observes until the current action has ended, which may be based on earlier observations.
    Relisted,
    /// It writes.
    Leader,
}

/// The action whose answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Doing {
    #[default]
    Nothing,
    ReadingBase,
    ReadingScheduler,
    Observing,
    Creating,
    Writing,
    Rereading,
    Loading,
    StoringBase,
    Mirroring,
    ReadingQueues,
    Publishing,
    Reporting,
}

/// The progress of this run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Run {
    write: Stage,
    /// Attempts to write that ended in a conflict or made something that comes first.
    tries: u8,
    mirror: Stage,
    mirror_rounds: u8,
    mirror_conflicts: u8,
    /// The steps of the RBAC mirror that were tried last.
    tried: Vec<TargetState>,
    queues: bool,
    /// True if there is more to do than one run does.
    more: bool,
}

/// The progress of one part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Stage {
    #[default]
    Open,
    /// The output was written, or a step of the mirror failed: the next plan shows what remains.
    Tried,
    Over,
}

/// The write in progress.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pending {
    namespace: String,
    creates: VecDeque<NewConfigMap>,
    write: Option<Write>,
    /// The other writers of the keys that are written.
    other_writers: Vec<String>,
}

/// The backoffs of everything that can fail.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Backoffs {
    /// The keys that could not be written; `None` where a ConfigMap that comes first could not be created.
    write: Backoff<Option<Data>>,
    /// The steps of the RBAC mirror that were not taken.
    mirror: Backoff<Vec<TargetState>>,
    /// The backoff of the plan and its publication to the endpoints.
    plan: Backoff<()>,
    /// The backoff of the statuses.
    statuses: Backoff<()>,
    /// The backoff of the ConfigMap with the last good base.
    base: Backoff<()>,
}

/// The knowledge of the last good base.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Base {
    /// True if it was read since the start, and since the last takeover.
    read: bool,
    last_good: Option<LastBase>,
    /// True if `last_good` is not stored.
    unsaved: bool,
}

impl State {
    /// The state of a process that has just started. Replicas have different seeds.
    pub fn new(seed: u64) -> Self {
        Self { seed, desired: true, plan_at: Timestamp::MIN, ..Self::default() }
    }

    /// Returns whether this replica holds the Lease, even if it may not write yet.
    pub fn leads(&self) -> bool {
        self.role != Role::Follower
    }

    /// Returns whether this replica leads and has read everything again.
    pub fn may_write(&self) -> bool {
        self.role == Role::Leader
    }

    /// Returns whether something failed and waits to be tried again.
    pub fn is_backing_off(&self) -> bool {
        self.backoffs.until().is_some()
    }
}

/// Processes an event at `now`; `cache` only caches parsed texts.
pub fn step(mut state: State, now: Timestamp, event: Event, cache: &mut ParseCache) -> (State, Vec<Action>) {
    let actions = state.take(now, event, cache);
    (state, actions)
}

impl State {
    fn take(&mut self, now: Timestamp, event: Event, cache: &mut ParseCache) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::LeadershipWon => {
                self.role = if is_planted(PlantedFault::NoRelist) { Role::Relisted } else { Role::Relisting };
                self.base.read = false;
                self.memory.takes_over();
                actions.push(Action::Relist);
            }
            Event::LeadershipLost => {
                self.role = Role::Follower;
                self.doing = Doing::Nothing;
                self.pending = None;
                self.run = Run::default();
                self.desired = true;
            }
            Event::Relisted => {
                if self.role == Role::Relisting {
                    self.role = Role::Relisted;
                }
                if self.doing == Doing::Nothing {
                    self.begin_to_lead();
                }
            }
            Event::Changed => self.desired = true,
            Event::Due => self.desired |= self.plan_at <= now,
            Event::Watches(failing) => {
                self.failing = failing;
                self.desired |= self.watch_failure(now) != self.memory.observed.watch_failure;
            }
            answer => return self.take_answer(now, answer, cache),
        }
        if self.doing == Doing::Nothing {
            actions.extend(self.proceed(now));
        }
        actions
    }

    /// Takes in the answer to the current action. Any other answer changes nothing.
    fn take_answer(&mut self, now: Timestamp, answer: Event, cache: &mut ParseCache) -> Vec<Action> {
        match (self.doing, answer) {
            (Doing::ReadingBase, Event::BaseRead(result)) => {
                self.base_read(now, result);
                self.proceed(now)
            }
            (Doing::ReadingScheduler, Event::Answered(answer)) => {
                self.desired |= self.memory.answered(whole_second(now), answer);
                self.proceed(now)
            }
            (Doing::Observing, Event::Observed(snapshot)) => self.observed(now, *snapshot, cache),
            (Doing::Observing, Event::Unready) => self.finish(now, after(now, UNREADY)),
            (Doing::Observing, Event::PlanFailed) => {
                self.backoffs.plan.fail(now, (), self.seed);
                // Nothing else is tried without a plan, even if it is due.
                let due = self.backoffs.plan.until().unwrap_or(now);
                self.desired = false;
                self.finish(now, due)
            }
            (Doing::Creating, Event::Created(Ok(()))) => self.send(),
            (Doing::Creating, Event::Created(Err(failure))) => self.failed(now, failure),
            (Doing::Writing, Event::Written(outcome)) => self.written(now, outcome),
            (Doing::Rereading, Event::Reread(Ok(()))) => self.try_again(),
            (Doing::Rereading, Event::Reread(Err(message))) => {
                self.failed(now, WriteFailure::Transient(message))
            }
            (Doing::Loading, Event::Answered(answer)) => {
                self.memory.answered(whole_second(now), answer);
                self.observe()
            }
            (Doing::StoringBase, Event::BaseStored(result)) => {
                self.base.unsaved = result.is_err();
                self.backoffs.base.take(now, result.is_ok(), self.seed);
                self.observe()
            }
            (Doing::Mirroring, Event::Mirrored { failure, conflict }) => {
                self.run.mirror_conflicts += u8::from(conflict);
                if failure.is_some() {
                    self.run.mirror = Stage::Tried;
                }
                self.memory.observed.mirror_failure = failure;
                self.observe()
            }
            (Doing::ReadingQueues, Event::Queues(found)) => {
                self.memory.observed.live_queues = found;
                self.observe()
            }
            (doing @ (Doing::Publishing | Doing::Reporting), Event::Published(well)) => {
                self.backoffs.plan.take(now, well, self.seed);
                if doing == Doing::Reporting {
                    return Vec::new();
                }
                self.backoffs.statuses.end();
                let due = self.due(now);
                self.finish(now, due)
            }
            (Doing::Reporting, Event::Reported { written, failed, unfinished }) => {
                self.backoffs.statuses.take(now, !failed, self.seed);
                // Without any success the rest would fail as well.
                let goes_on = unfinished && (!failed || written);
                let due = if goes_on { now } else { self.due(now) };
                self.finish(now, due)
            }
            _ => Vec::new(),
        }
    }

    /// Begins to write if everything has been read again.
    fn begin_to_lead(&mut self) {
        if self.role == Role::Relisted {
            self.role = Role::Leader;
            self.desired = true;
        }
    }

    /// Begins a run, or goes on before the plan.
    fn proceed(&mut self, now: Timestamp) -> Vec<Action> {
        if !self.base.read && !self.backoffs.base.lasts(now) {
            return self.begin(Doing::ReadingBase, Action::ReadBase);
        }
        if let Some((scheduler, at)) = self.next_request()
            && at <= now
        {
            return self.begin(Doing::ReadingScheduler, Action::ReadScheduler(scheduler));
        }
        if self.desired {
            return self.observe();
        }
        self.finish(now, self.plan_at)
    }

    fn begin(&mut self, doing: Doing, action: Action) -> Vec<Action> {
        self.doing = doing;
        vec![action]
    }

    fn observe(&mut self) -> Vec<Action> {
        self.desired = false;
        self.begin(Doing::Observing, Action::Observe)
    }

    /// Ends the run; a plan is due at `plan_at` without a cause.
    fn finish(&mut self, now: Timestamp, plan_at: Timestamp) -> Vec<Action> {
        self.doing = Doing::Nothing;
        let run = std::mem::take(&mut self.run);
        self.begin_to_lead();
        self.plan_at = if self.desired || run.more { plan_at.min(after(now, AGAIN)) } else { plan_at };
        self.desired = false;
        let request = self.next_request().map(|(_, at)| at);
        let failing = self.failing.as_ref().map(|failing| after(failing.since, WATCH_PATIENCE));
        self.plan_at = failing.filter(|at| *at > now).map_or(self.plan_at, |at| self.plan_at.min(at));
        let base = self.backoffs.base.until().filter(|_| !self.base.read);
        let until = [request, base].into_iter().flatten().fold(self.plan_at, Timestamp::min);
        vec![Action::Wait(until.max(now))]
    }

    /// Returns the next request to the scheduler, if there is a scheduler URL.
    fn next_request(&self) -> Option<(SchedulerAddress, Timestamp)> {
        let scheduler = self.memory.scheduler.clone()?;
        let Some(last) = &self.memory.observed.read_back else {
            return Some((scheduler, Timestamp::MIN));
        };
        let since = self.memory.observed.pending_since;
        let behind = since.is_some_and(|since| last.at.duration_since(since) < EAGER_FOR);
        Some((scheduler, after(last.at, if behind { EAGER } else { CALM })))
    }

    fn watch_failure(&self, now: Timestamp) -> Option<String> {
        let failing = self.failing.as_ref()?;
        (now.duration_since(failing.since) >= WATCH_PATIENCE).then(|| failing.message.clone())
    }

    fn base_read(&mut self, now: Timestamp, result: Result<Option<LastBase>, String>) {
        self.backoffs.base.take(now, result.is_ok(), self.seed);
        let Ok(found) = result else { return };
        self.base.read = true;
        self.base.unsaved = found.is_none() && self.base.last_good.is_some();
        if found.is_some() && self.base.last_good != found {
            self.base.last_good = found;
            self.desired = true;
        }
    }
}

impl Backoffs {
    /// Returns the earliest time when something that failed may be tried again; `None` if nothing failed.
    fn until(&self) -> Option<Timestamp> {
        let all = [self.write.until(), self.mirror.until(), self.plan.until(), self.statuses.until()];
        all.into_iter().flatten().chain(self.base.until()).min()
    }

    fn pass(&mut self, now: Timestamp) {
        self.write.pass(now);
        self.mirror.pass(now);
        self.plan.pass(now);
        self.statuses.pass(now);
        self.base.pass(now);
    }
}

fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

/// Rounds down to a second, because Kubernetes stores no fractions and a plan must not depend on lost
/// precision.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// An event that the state machine takes in.
#[derive(Debug, Clone)]
pub enum Event {
    /// This replica won the Lease, or writes without one.
    LeadershipWon,
    /// This replica does not lead any more.
    LeadershipLost,
    /// All own kinds and the ConfigMaps were read from the API server by requests sent after
    /// [`Action::Relist`], and later observations are not older.
    Relisted,
    /// Something that is watched has changed.
    Changed,
    /// The time that [`Action::Wait`] named has come.
    Due,
    /// The longest-failing watch of required objects, or `None` if all watches work.
    Watches(Option<FailingWatch>),
    /// Answers [`Action::ReadBase`]; an error is worth another try.
    BaseRead(Result<Option<LastBase>, String>),
    /// Answers [`Action::ReadScheduler`] and [`Action::ReadUntilLoaded`].
    Answered(Result<SchedulerAnswer, NoChecksum>),
    /// Answers [`Action::Observe`]: everything that is watched. What was observed since the start is added
    /// here.
    Observed(Box<Snapshot>),
    /// Answers [`Action::Observe`]: not everything has been read yet.
    Unready,
    /// Answers [`Action::Observe`]: the plan could not be made, because of an internal error.
    PlanFailed,
    /// Answers [`Action::Create`]: it exists now, or existed.
    Created(Result<(), WriteFailure>),
    /// Answers [`Action::Write`].
    Written(WriteOutcome),
    /// Answers [`Action::Reread`].
    Reread(Result<(), String>),
    /// Answers [`Action::StoreBase`]; an error is worth another try.
    BaseStored(Result<(), String>),
    /// Answers [`Action::Mirror`].
    Mirrored {
        /// The first failure.
        failure: Option<WriteFailure>,
        /// True if another writer was faster.
        conflict: bool,
    },
    /// Answers [`Action::ReadQueues`]: queues by partition, and whether they come from the configuration.
    Queues(BTreeMap<String, BTreeMap<String, bool>>),
    /// Answers [`Action::Publish`]: whether the endpoints answer by the plan now. Comes before the answer to
    /// [`Action::Report`].
    Published(bool),
    /// Answers [`Action::Report`].
    Reported {
        /// Some statuses were written.
        written: bool,
        /// Some could not be written.
        failed: bool,
        /// There was no time for some.
        unfinished: bool,
    },
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteOutcome {
    /// It was made.
    Done,
    /// It was not made: the ConfigMap does not meet the precondition.
    Conflict,
    /// It was not made, for this reason.
    Refused(WriteFailure),
    /// It may have been made, or may be made later: there was no answer, or an unclear one.
    Unknown(String),
}

/// A watch that fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FailingWatch {
    /// The time since which it fails.
    pub since: Timestamp,
    /// The watched objects, and why the watch fails.
    pub message: String,
}

/// An action for the operator to perform.
#[derive(Debug, Clone)]
pub enum Action {
    /// Read all own kinds and the ConfigMaps again; [`Event::Relisted`] reports when that is done, but is not
    /// an answer.
    Relist,
    /// Read the last good base.
    ReadBase,
    /// Store the last good base.
    StoreBase(LastBase),
    /// Request the checksum from the scheduler at this address.
    ReadScheduler(SchedulerAddress),
    /// Take a snapshot.
    Observe,
    /// Create a ConfigMap, unless it exists.
    Create {
        /// `metadata.namespace`
        namespace: String,
        /// The ConfigMap.
        map: NewConfigMap,
    },
    /// Write the output ConfigMap.
    Write {
        /// `metadata.namespace`
        namespace: String,
        /// The change.
        write: Write,
    },
    /// Read the output ConfigMap past every cache, for the next snapshot.
    Reread {
        /// `metadata.namespace`
        namespace: String,
        /// `metadata.name`
        name: String,
    },
    /// Query the scheduler until it runs the text with this checksum, does not answer, or takes too long. A
    /// change of a watched object shortens the wait.
    ReadUntilLoaded {
        /// The scheduler's address.
        scheduler: SchedulerAddress,
        /// The checksum.
        checksum: String,
    },
    /// Take the next steps of the RBAC mirror.
    Mirror(rbac_mirror::MirrorChanges),
    /// Request the queues of these partitions from the scheduler.
    ReadQueues {
        /// The scheduler's address.
        scheduler: SchedulerAddress,
        /// The partitions.
        partitions: BTreeSet<String>,
    },
    /// From now on, the endpoints and metrics use this plan.
    Publish(Arc<Snapshot>, Arc<Plan>),
    /// Write the statuses that differ, and publish the events.
    Report(Arc<Snapshot>, Arc<Plan>),
    /// Feed [`Event::Due`] at this moment.
    Wait(Timestamp),
}
