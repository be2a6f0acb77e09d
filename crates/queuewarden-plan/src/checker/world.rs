//! A small cluster around the real [`step`]: an API server with resource versions, a scheduler, two replicas
//! whose watches lag, users, and another writer.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::ghost::{BOB, Ghost, names};
use crate::conditions::Condition;
use crate::effective::merged::{claim, merged};
use crate::effective::{KeyClaim, ParseCache, text_in_force};
use crate::machine::{Action, Event, State, WriteOutcome, step};
use crate::plan::Plan;
use crate::snapshot::*;
use crate::snapshot::{ConfigStatus, SchedulerAnswer};
use crate::write::{NewConfigMap, Write};
use yunikorn::config::BUILT_IN;
use yunikorn::identity::Identity;
use yunikorn_access::user_info;

/// The base as it should be.
pub(super) const GOOD: &str =
    "partitions: [{name: default, queues: [{name: root, queues: [{name: q, submitacl: ' dev'}]}]}]";
const BROKEN: &str =
    "partitions: [{name: default, queues: [{name: root, queues: [{name: q, submitacl: 'a  b'}]}]}]";
/// Text written by another client.
pub(super) const FOREIGN: &str =
    "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: q}]}]}]";
const KEY: &str = "queues.yaml";
/// The key of another policy group, and the base's text in it.
const OTHER_KEY: &str = "other.yaml";
const OTHER: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: q, submitacl: ' dev'}, {name: r}]}]}]";
/// Shadows the key with the text of [`FOREIGN`].
const SHADOW: &str = "queues.yaml.gz";

/// Optional parts of a cluster, one bit each. Small clusters leave out most of them, and each random schedule
/// leaves out some.
pub(super) type Parts = u16;
/// A scheduler that refuses some texts.
pub(super) const REFUSALS: Parts = 1;
/// A scheduler whose hot reload is switched off.
pub(super) const COLD: Parts = 2;
/// Objects that replace the base's grants.
pub(super) const REPLACE: Parts = 4;
/// Objects in the name of an administrator.
pub(super) const DELEGATION: Parts = 8;
/// Another policy group.
pub(super) const GROUPS: Parts = 16;
/// A policy group whose key nothing has.
pub(super) const EMPTY_GROUP: Parts = 64;
/// Moments that pass while nothing else happens.
pub(super) const PAUSES: Parts = 32;
/// Statuses that are lost, as when a backup is restored.
pub(super) const LOSSES: Parts = 128;
/// A group that only an alias can name, and a webhook that writes aliases, or does not.
pub(super) const ALIASES: Parts = 256;
/// The group.
pub(super) const TEAM_NAME: &str = "data.eng";

/// The spec of an object, as users write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Spec {
    /// Grants these users.
    Users(&'static str),
    /// Contains a name that YuniKorn would drop.
    Typo,
    /// Grants a user until the first tick.
    Temporary(&'static str),
    /// Grants sue, and nobody by the base.
    Replace,
    /// Grants sue, and makes ann an administrator.
    Admin,
    /// Grants eve in the name of ann.
    ByAnn,
    /// Grants a group that only an alias can name, and nobody by the base.
    Team,
}

/// An object as the API server holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Object {
    pub(super) uid: u8,
    pub(super) generation: u8,
    pub(super) version: u16,
    pub(super) spec: Spec,
    pub(super) in_force: Option<Arc<QueueAclInForce>>,
    pub(super) conditions: Arc<[Condition]>,
}

/// The state of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BaseIs {
    Good,
    Broken,
    Missing,
}

/// The key that the scheduler reads once it is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// The usual one.
    Queues,
    /// Another one, which the base has too.
    Other,
    /// Another one, which nothing has.
    Empty,
}

/// The objects of the API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) objects: [Option<Object>; 2],
    pub(super) config: (ConfigStatus, Arc<[Condition]>),
    pub(super) base: BaseIs,
    group: Group,
    /// True if hot reload is switched off.
    cold: bool,
    /// True if pods get their aliases.
    pub(super) aliases: bool,
    pub(super) output: Option<Arc<ConfigMapState>>,
    /// Which state of the objects it is, in their order.
    state: usize,
}

/// The answer that a replica waits for.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Nothing,
    Write(Arc<Write>),
    Load,
    Report(Arc<Snapshot>, Arc<Plan>),
    /// Until then it waits for a change.
    Until(Timestamp),
}

/// A replica.
#[derive(Debug, Clone)]
pub(super) struct Replica {
    pub(super) state: Arc<State>,
    /// The objects that its watches have brought.
    pub(super) cache: Arc<Held>,
    pub(super) leads: bool,
    relisting: bool,
    pub(super) request: Request,
    /// The text that the scheduler ran when it was queried last.
    pub(super) answered: Option<Arc<str>>,
    /// The last text that it knows the scheduler to have run.
    proven: Option<String>,
}

/// The number of things that may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) changes: u8,
    pub(super) faults: u8,
    pub(super) ticks: u8,
}

/// Everything.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) held: Arc<Held>,
    pub(super) last_base: Option<LastBase>,
    versions: u16,
    uids: u8,
    pub(super) clock: Timestamp,
    ticked: bool,
    /// The text that the scheduler runs.
    pub(super) runs: Arc<str>,
    /// The key that it reads.
    key: &'static str,
    /// True if it loads nothing until it is restarted.
    deaf: bool,
    /// True if it refuses a text that lets bob in.
    pub(super) refuses: bool,
    pub(super) replicas: Vec<Replica>,
    /// Writes under way whose sender does not wait for them any more.
    pub(super) late: Vec<Arc<Write>>,
    pub(super) budget: Budget,
    pub(super) has: Parts,
    pub(super) ghost: Ghost,
}

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Set(usize, Spec),
    Delete(usize),
    Base(BaseIs),
    OtherEdits,
    OtherDeletes,
    OtherShadows(bool),
    HotReload(bool),
    PolicyGroup(Group),
    Refuses(bool),
    Aliases(bool),
    StatusesLost,
    Tick,
    Pause,
    Win(usize),
    Lose(usize),
    Crash(usize),
    Watch(usize),
    Relist(usize),
    Write(usize),
    /// The write is made, or will be, and nobody hears of it.
    WriteLost(usize, bool),
    LateWrite(usize),
    Loaded(usize),
    Report(usize),
    Due(usize),
    SchedulerLoads,
    SchedulerRestarts,
}

pub(super) fn begin() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// The time when temporary grants end.
pub(super) fn end() -> Timestamp {
    begin() + SignedDuration::from_hours(1)
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.held == other.held
            && (&self.last_base, self.versions, self.uids, self.clock)
                == (&other.last_base, other.versions, other.uids, other.clock)
            && (&self.runs, &self.replicas, &self.late, self.budget)
                == (&other.runs, &other.replicas, &other.late, other.budget)
            && (self.key, self.deaf, self.refuses) == (other.key, other.deaf, other.refuses)
            && self.ghost == other.ghost
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.held, &self.last_base, self.versions, self.uids, self.clock).hash(state);
        (&self.runs, &self.replicas, &self.late, self.budget, &self.ghost).hash(state);
        (self.key, self.deaf, self.refuses).hash(state);
    }
}

impl PartialEq for Replica {
    fn eq(&self, other: &Self) -> bool {
        (&self.state, &self.cache, self.leads, self.relisting, &self.answered)
            == (&other.state, &other.cache, other.leads, other.relisting, &other.answered)
            && self.request.key() == other.request.key()
    }
}

impl Hash for Replica {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.state, &self.cache, self.leads, self.relisting, &self.answered, self.request.key())
            .hash(state);
    }
}

impl Request {
    /// The part that distinguishes it: a plan follows from the state and the cache.
    fn key(&self) -> (u8, Option<&Write>, Option<Timestamp>) {
        match self {
            Self::Nothing => (0, None, None),
            Self::Write(write) => (1, Some(write), None),
            Self::Load => (2, None, None),
            Self::Report(..) => (3, None, None),
            Self::Until(at) => (4, None, Some(*at)),
        }
    }
}

impl Replica {
    fn new(index: usize, held: &Arc<Held>) -> Self {
        Self {
            state: Arc::new(State::new(u64::try_from(index).unwrap())),
            cache: Arc::clone(held),
            leads: false,
            relisting: false,
            request: Request::Nothing,
            answered: None,
            proven: None,
        }
    }
}

impl World {
    pub(super) fn new(replicas: usize, budget: Budget, has: Parts) -> Self {
        let held = Arc::new(Held {
            objects: [None, None],
            config: (ConfigStatus::default(), [].into()),
            base: BaseIs::Good,
            group: Group::Queues,
            cold: false,
            aliases: false,
            output: None,
            state: 0,
        });
        Self {
            replicas: (0..replicas).map(|index| Replica::new(index, &held)).collect(),
            held,
            last_base: None,
            versions: 1,
            uids: 0,
            clock: begin(),
            ticked: false,
            runs: GOOD.into(),
            key: KEY,
            deaf: false,
            refuses: false,
            late: Vec::new(),
            budget,
            has,
            ghost: Ghost::default(),
        }
    }

    /// All that may happen next.
    pub(super) fn steps(&self, steps: &mut Vec<Step>) {
        if self.budget.changes > 0 {
            for index in 0..self.held.objects.len() {
                let specs: &[(Spec, Parts)] = if index == 0 {
                    &[
                        (Spec::Users("sue,bob"), 0),
                        (Spec::Users("sue"), 0),
                        (Spec::Typo, 0),
                        (Spec::Replace, REPLACE),
                        (Spec::Admin, DELEGATION),
                        (Spec::Team, ALIASES),
                    ]
                } else {
                    &[(Spec::Temporary("eve"), 0), (Spec::Users("bob"), 0), (Spec::ByAnn, DELEGATION)]
                };
                let is = self.held.objects[index].as_ref().map(|object| object.spec);
                let others = specs.iter().filter(|(spec, part)| self.has(*part) && Some(*spec) != is);
                steps.extend(others.map(|(spec, _)| Step::Set(index, *spec)));
                steps.extend(is.map(|_| Step::Delete(index)));
            }
        }
        if self.budget.faults > 0 {
            let bases = [BaseIs::Good, BaseIs::Broken, BaseIs::Missing];
            steps.extend(bases.into_iter().filter(|base| *base != self.held.base).map(Step::Base));
            if let Some(output) = &self.held.output {
                steps.extend([
                    Step::OtherEdits,
                    Step::OtherDeletes,
                    Step::OtherShadows(output.binary.is_empty()),
                ]);
            }
            if self.takes(self.named()) {
                steps.push(Step::SchedulerRestarts);
            }
            if self.has(COLD) {
                steps.push(Step::HotReload(self.held.cold));
            }
            if self.has(REFUSALS) {
                steps.push(Step::Refuses(!self.refuses));
            }
            if self.has(LOSSES) {
                steps.push(Step::StatusesLost);
            }
            if self.has(ALIASES) {
                steps.push(Step::Aliases(!self.held.aliases));
            }
            let groups = [(Group::Queues, GROUPS), (Group::Other, GROUPS), (Group::Empty, EMPTY_GROUP)];
            let groups =
                groups.into_iter().filter(|(group, part)| self.has(*part) && *group != self.held.group);
            steps.extend(groups.map(|(group, _)| Step::PolicyGroup(group)));
        }
        if self.budget.ticks > 0 {
            steps.push(Step::Tick);
            if self.has(PAUSES) {
                steps.push(Step::Pause);
            }
        }
        for (index, replica) in self.replicas.iter().enumerate() {
            if !self.replicas.iter().any(|replica| replica.leads) {
                steps.push(Step::Win(index));
            }
            if replica.leads && self.budget.faults > 0 {
                steps.extend([Step::Lose(index), Step::Crash(index)]);
            }
            if replica.cache != self.held {
                steps.push(Step::Watch(index));
            }
            if replica.relisting {
                steps.push(Step::Relist(index));
            }
            match &replica.request {
                Request::Write(_) => {
                    steps.push(Step::Write(index));
                    if self.budget.faults > 0 {
                        steps.extend([Step::WriteLost(index, true), Step::WriteLost(index, false)]);
                    }
                }
                Request::Load => steps.push(Step::Loaded(index)),
                Request::Report(..) => steps.push(Step::Report(index)),
                Request::Until(at) if *at <= self.clock => steps.push(Step::Due(index)),
                Request::Until(_) | Request::Nothing => {}
            }
        }
        steps.extend((0..self.late.len()).map(Step::LateWrite));
        if !self.deaf && self.takes(self.key) && *self.runs != *self.effective(self.key) {
            steps.push(Step::SchedulerLoads);
        }
    }

    fn has(&self, part: Parts) -> bool {
        self.has & part == part
    }

    /// Returns whether no fault lasts.
    pub(super) fn is_whole(&self) -> bool {
        let Held { base, group, cold, output, .. } = &*self.held;
        let shadowed = output.as_ref().is_some_and(|output| !output.binary.is_empty());
        (*base, *group, self.key) == (BaseIs::Good, Group::Queues, KEY)
            && !(*cold || self.deaf || self.refuses || shadowed || self.is_foreign())
    }

    /// Returns whether the scheduler reads a key that another writer made: the operator names it, and leaves
    /// it alone.
    fn is_foreign(&self) -> bool {
        let claim = claim(self.held.output.as_deref(), Some(&self.held.config.0), self.key);
        matches!(claim, KeyClaim::Foreign(_))
    }

    /// Returns whether the leader cannot make the scheduler apply a withdrawal. The scheduler does not accept
    /// any text, reads another writer's key or a key from its start that is no longer named, refuses the text
    /// and runs one that the leader does not know, or refuses every text with a name that stays.
    pub(super) fn is_out_of_reach(&self) -> bool {
        let written = |output: &Arc<ConfigMapState>| output.data.contains_key(self.key);
        let lost = self.key != self.named() && !self.held.output.as_ref().is_some_and(written);
        let knows = |replica: &Replica| replica.leads && replica.proven.as_deref() == Some(&*self.runs);
        let stays = self.ghost.declared() & names(&self.runs) & BOB != 0;
        self.deaf || lost || self.is_foreign() || self.refuses && (stays || !self.replicas.iter().any(knows))
    }

    /// Ends all faults that last.
    pub(super) fn heal(&mut self, cache: &mut ParseCache) {
        let steps = [Step::Base(BaseIs::Good), Step::PolicyGroup(Group::Queues), Step::OtherShadows(false)];
        let scheduler = [Step::Refuses(false), Step::HotReload(true), Step::SchedulerRestarts];
        for step in steps.into_iter().chain(scheduler) {
            self.take(step, cache);
        }
    }

    fn spend(&mut self, step: Step) {
        match step {
            Step::Set(..) | Step::Delete(_) => self.budget.changes -= 1,
            Step::Base(_)
            | Step::OtherEdits
            | Step::OtherDeletes
            | Step::OtherShadows(_)
            | Step::Lose(_)
            | Step::Crash(_)
            | Step::WriteLost(..)
            | Step::HotReload(_)
            | Step::PolicyGroup(_)
            | Step::Refuses(_)
            | Step::Aliases(_)
            | Step::StatusesLost
            | Step::SchedulerRestarts => self.budget.faults = self.budget.faults.saturating_sub(1),
            Step::Tick | Step::Pause => self.budget.ticks -= 1,
            _ => {}
        }
    }

    /// Makes something happen.
    pub(super) fn take(&mut self, step: Step, cache: &mut ParseCache) {
        self.spend(step);
        match step {
            Step::Set(index, spec) => self.set(index, spec),
            Step::Delete(index) => {
                self.next_version();
                self.held_mut().objects[index] = None;
                self.declared();
            }
            Step::Base(base) => self.held_mut().base = base,
            Step::OtherEdits => self.edit(|output| {
                output.data.insert(KEY.into(), FOREIGN.into());
                output.owners.clear();
            }),
            Step::OtherDeletes => {
                self.next_version();
                self.held_mut().output = None;
                self.recorded(true);
            }
            Step::OtherShadows(on) => self.edit(|output| {
                output.binary.clear();
                if on {
                    let value = BinaryValue { len: 9, gunzipped: Some(FOREIGN.into()) };
                    output.binary.insert(SHADOW.into(), value);
                }
            }),
            Step::HotReload(on) => {
                self.held_mut().cold = !on;
                self.deaf |= !on;
            }
            Step::PolicyGroup(group) => self.held_mut().group = group,
            Step::Refuses(on) => self.refuses = on,
            Step::Aliases(on) => {
                self.held_mut().aliases = on;
                self.declared();
            }
            Step::StatusesLost => self.lose_statuses(),
            Step::Tick => self.pass(end().max(self.clock + SignedDuration::from_mins(1)), cache),
            Step::Pause => self.pass(self.clock + SignedDuration::from_secs(31), cache),
            Step::Win(index) => {
                self.replicas[index].leads = true;
                self.feed(index, Event::LeadershipWon, cache);
            }
            Step::Lose(index) => {
                self.abandon(index);
                self.replicas[index].leads = false;
                self.feed(index, Event::LeadershipLost, cache);
            }
            Step::Crash(index) => {
                self.abandon(index);
                self.replicas[index] = Replica::new(index, &self.held);
                self.feed(index, Event::Due, cache);
            }
            Step::Watch(index) => {
                self.replicas[index].cache = Arc::clone(&self.held);
                self.feed(index, Event::Changed, cache);
            }
            Step::Relist(index) => {
                let replica = &mut self.replicas[index];
                replica.relisting = false;
                replica.cache = Arc::clone(&self.held);
                self.feed(index, Event::Relisted, cache);
            }
            Step::Write(index) => {
                let Request::Write(write) = self.replicas[index].request.clone() else { return };
                let outcome = if self.accept(&write) { WriteOutcome::Done } else { WriteOutcome::Conflict };
                if outcome == WriteOutcome::Done {
                    let output = self.held.output.clone();
                    Arc::make_mut(&mut self.replicas[index].cache).output = output;
                }
                self.feed(index, Event::Written(outcome), cache);
            }
            Step::WriteLost(index, made) => {
                let Request::Write(write) = self.replicas[index].request.clone() else { return };
                if made {
                    self.accept(&write);
                } else {
                    self.late.push(write);
                }
                self.feed(index, Event::Written(WriteOutcome::Unknown("no answer".into())), cache);
            }
            Step::LateWrite(index) => {
                let write = self.late.remove(index);
                self.accept(&write);
            }
            Step::Loaded(index) => self.answer(index, cache),
            Step::Report(index) => {
                let Request::Report(snapshot, plan) = self.replicas[index].request.clone() else { return };
                if plan.write.is_none() {
                    self.ghost.at_rest(self.replicas[index].cache.state);
                }
                self.report(index, &snapshot, &plan);
                self.feed(index, Event::Reported { written: true, failed: false, unfinished: false }, cache);
            }
            Step::Due(index) => self.feed(index, Event::Due, cache),
            Step::SchedulerLoads => self.runs = self.effective(self.key),
            Step::SchedulerRestarts => {
                (self.key, self.deaf) = (self.named(), self.held.cold);
                self.runs = self.effective(self.key);
            }
        }
    }

    fn held_mut(&mut self) -> &mut Held {
        Arc::make_mut(&mut self.held)
    }

    fn next_version(&mut self) -> u16 {
        self.versions += 1;
        self.versions
    }

    fn edit(&mut self, change: impl FnOnce(&mut ConfigMapState)) {
        let version = self.next_version();
        if let Some(output) = &mut self.held_mut().output {
            let output = Arc::make_mut(output);
            change(output);
            output.resource_version = version.to_string();
        }
    }

    fn set(&mut self, index: usize, spec: Spec) {
        let version = self.next_version();
        self.uids += u8::from(self.held.objects[index].is_none());
        let uid = self.uids;
        let object = self.held_mut().objects[index].get_or_insert_with(|| Object {
            uid,
            generation: 0,
            version,
            spec,
            in_force: None,
            conditions: [].into(),
        });
        object.generation += 1;
        object.version = version;
        object.spec = spec;
        self.declared();
    }

    fn lose_statuses(&mut self) {
        for slot in 0..self.held.objects.len() {
            let version = self.next_version();
            if let Some(object) = &mut self.held_mut().objects[slot] {
                (object.version, object.in_force, object.conditions) = (version, None, [].into());
            }
        }
        self.held_mut().config = (ConfigStatus::default(), [].into());
        self.recorded(true);
    }

    fn declared(&mut self) {
        let state = self.ghost.declare(&self.held.objects, self.ticked, self.held.aliases);
        self.held_mut().state = state;
    }

    /// Something is recorded about the first object, or was `lost`.
    fn recorded(&mut self, lost: bool) {
        let object = self.held.objects[0].as_ref();
        let noted = |object: &Object| {
            let output = self.held.output.as_ref()?;
            output.in_force.get(&object.uid.to_string())
        };
        let record = object.and_then(|object| match noted(object) {
            Some(noted) => noted.as_ref(),
            None => object.in_force.as_deref(),
        });
        self.ghost.recorded(record, lost);
    }

    /// A write of this replica that is under way goes on without it.
    fn abandon(&mut self, index: usize) {
        if let Request::Write(write) = std::mem::replace(&mut self.replicas[index].request, Request::Nothing)
        {
            self.late.push(write);
        }
    }

    /// The API server creates the output if it does not exist.
    fn create(&mut self, new: &NewConfigMap) {
        if !new.data.is_empty() {
            self.ghost.fails("a creation, which has no precondition, brings a text");
        }
        let version = self.next_version().to_string();
        let (name, uid) = (new.name.clone(), "output".into());
        let made = || Arc::new(ConfigMapState { name, uid, resource_version: version, ..Default::default() });
        self.held_mut().output.get_or_insert_with(made);
    }

    /// The API server takes a write, if its precondition holds.
    fn accept(&mut self, write: &Write) -> bool {
        let version = self.held.output.as_ref().map(|output| output.resource_version.clone());
        if version.is_none() || version != write.resource_version {
            return false;
        }
        let next = self.next_version().to_string();
        let output = Arc::make_mut(self.held_mut().output.get_or_insert_default());
        output.resource_version = next;
        for (key, value) in &write.data {
            match value {
                Some(value) => {
                    output.data.insert(key.clone(), value.clone());
                    let us = KeyOwner { manager: FIELD_MANAGER.into(), operation: "Update".into() };
                    output.owners.insert(key.clone(), vec![us]);
                }
                None => drop(output.data.remove(key)),
            }
        }
        output.annotations.extend(write.annotations.clone());
        if let Some(in_force) = &write.in_force {
            output.in_force.clone_from(in_force);
        }
        self.recorded(false);
        for text in write.data.values().flatten() {
            self.ghost.written(text);
        }
        true
    }

    /// The key that a scheduler reads that starts now.
    fn named(&self) -> &'static str {
        if self.held.group == Group::Queues { KEY } else { OTHER_KEY }
    }

    /// Returns whether the scheduler would take the text under a key.
    fn takes(&self, key: &str) -> bool {
        !self.refuses || names(&self.effective(key)) & BOB == 0
    }

    /// The text that the scheduler would load from a key.
    fn effective(&self, key: &str) -> Arc<str> {
        let snapshot = snapshot(&self.held, self.clock);
        let flat = merged(&snapshot);
        flat.queues(key).map_or(BUILT_IN, |queues| &queues.text).into()
    }

    fn answer(&mut self, index: usize, cache: &mut ParseCache) {
        self.replicas[index].answered = Some(Arc::clone(&self.runs));
        let answer = SchedulerAnswer::running(&self.runs);
        self.feed(index, Event::Answered(Ok(answer)), cache);
    }

    /// The clock moves on.
    fn pass(&mut self, to: Timestamp, cache: &mut ParseCache) {
        self.clock = self.clock.max(to);
        if !self.ticked && self.clock >= end() {
            self.ticked = true;
            self.declared();
        }
        self.wake(cache);
    }

    /// Wakes every replica whose time has come.
    fn wake(&mut self, cache: &mut ParseCache) {
        for index in 0..self.replicas.len() {
            if matches!(self.replicas[index].request, Request::Until(at) if at <= self.clock) {
                self.feed(index, Event::Due, cache);
            }
        }
    }

    /// Moves the clock to the next time that a leading replica waits for; returns whether there is one.
    pub(super) fn sleep(&mut self, cache: &mut ParseCache) -> bool {
        let waits = self.replicas.iter().filter_map(|replica| match replica.request {
            Request::Until(at) if replica.leads => Some(at),
            _ => None,
        });
        let Some(at) = waits.min() else { return false };
        self.pass(at, cache);
        true
    }

    /// Feeds an event, and all that is answered at once.
    fn feed(&mut self, index: usize, event: Event, cache: &mut ParseCache) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let replica = &mut self.replicas[index];
            let (state, actions) = step((*replica.state).clone(), self.clock, event, cache);
            replica.state = Arc::new(state);
            for action in actions {
                let replica = &mut self.replicas[index];
                let reads = matches!(
                    action,
                    Action::ReadBase
                        | Action::ReadScheduler(_)
                        | Action::Observe
                        | Action::ReadQueues { .. }
                        | Action::Publish(..)
                        | Action::Wait(_)
                );
                if !(replica.leads || reads) {
                    self.ghost.fails("a replica that does not lead does more than look");
                }
                match action {
                    Action::Relist => replica.relisting = true,
                    Action::ReadBase => events.push(Event::BaseRead(Ok(self.last_base.clone()))),
                    Action::StoreBase(base) => {
                        self.last_base = Some(base);
                        events.push(Event::BaseStored(Ok(())));
                    }
                    Action::ReadScheduler(_) => {
                        replica.answered = Some(Arc::clone(&self.runs));
                        events.push(Event::Answered(Ok(SchedulerAnswer::running(&self.runs))));
                    }
                    Action::Observe => {
                        events.push(Event::Observed(Box::new(snapshot(&replica.cache, self.clock))));
                    }
                    Action::Reread { .. } => {
                        let output = self.held.output.clone();
                        Arc::make_mut(&mut replica.cache).output = output;
                        events.push(Event::Reread(Ok(())));
                    }
                    Action::Publish(..) => events.push(Event::Published(true)),
                    Action::Write { write, .. } => replica.request = Request::Write(Arc::new(write)),
                    Action::ReadUntilLoaded { .. } => replica.request = Request::Load,
                    Action::Report(snapshot, plan) => {
                        replica.proven.clone_from(&snapshot.observed.loaded_text);
                        replica.request = Request::Report(snapshot, plan);
                    }
                    Action::Wait(until) => replica.request = Request::Until(until),
                    Action::ReadQueues { .. } => events.push(Event::Queues(BTreeMap::new())),
                    Action::Create { map, .. } => {
                        self.create(&map);
                        events.push(Event::Created(Ok(())));
                    }
                    Action::Mirror(_) => self.ghost.fails("something is done that nothing here asks for"),
                }
            }
        }
    }

    /// Writes the statuses that differ, each on the version that the plan was made for.
    fn report(&mut self, index: usize, seen: &Snapshot, plan: &Plan) {
        let replica = self.replicas[index].clone();
        for slot in 0..self.held.objects.len() {
            let (Some(object), Some(known)) = (&self.held.objects[slot], &replica.cache.objects[slot]) else {
                continue;
            };
            let Some(status) = plan.queue_acls.get(&*name(slot)) else { continue };
            if object.version != known.version || *status.uid != *known.uid.to_string() {
                continue;
            }
            if (&object.in_force, &object.conditions) == (&status.rest.in_force, &status.conditions) {
                continue;
            }
            let (object, version) = (object.clone(), self.next_version());
            let object = Object {
                version,
                in_force: status.rest.in_force.clone(),
                conditions: Arc::clone(&status.conditions),
                ..object
            };
            self.ghost.reported(
                slot,
                &object,
                &replica.cache.objects,
                replica.answered.as_deref(),
                (seen.now >= end(), !seen.policies.is_empty()),
            );
            self.held_mut().objects[slot] = Some(object.clone());
            Arc::make_mut(&mut self.replicas[index].cache).objects[slot] = Some(object);
            self.recorded(false);
        }
        if let Some(status) = &plan.config {
            self.ghost.configured(&status.conditions, replica.answered.as_deref());
            self.held_mut().config = (status.rest.clone(), Arc::clone(&status.conditions));
            let config = self.held.config.clone();
            Arc::make_mut(&mut self.replicas[index].cache).config = config;
        }
    }
}

fn name(slot: usize) -> String {
    format!("o{slot}")
}

/// Returns the snapshot of a replica with these objects in its cache.
fn snapshot(held: &Held, now: Timestamp) -> Snapshot {
    let base = match held.base {
        BaseIs::Good => Some((KEY, GOOD)),
        BaseIs::Broken => Some((KEY, BROKEN)),
        BaseIs::Missing => None,
    };
    let other = (held.group == Group::Other).then_some((OTHER_KEY, OTHER));
    let group = (held.group != Group::Queues).then_some(("service.policyGroup", "other"));
    let cold = held.cold.then_some(("service.enableConfigHotRefresh", "false"));
    let data: BTreeMap<String, String> = [base, other, group, cold]
        .into_iter()
        .flatten()
        .map(|(key, text)| (key.into(), text.into()))
        .collect();
    let base = (!data.is_empty()).then(|| {
        Arc::new(ConfigMapState { name: YUNIKORN_DEFAULTS.into(), data, ..ConfigMapState::default() })
    });
    let (in_force, conditions) = held.config.clone();
    let spec =
        ConfigSpec { scheduler: Some("http://scheduler".into()), delegation: true, ..ConfigSpec::default() };
    let meta =
        Meta { name: "default".into(), uid: "config".into(), generation: 1, conditions, ..Meta::default() };
    let objects = held.objects.iter().enumerate().filter_map(|(slot, object)| {
        let object = object.as_ref()?;
        let (grant, expires_at) = match object.spec {
            Spec::Users(users) => (users, None),
            Spec::Typo => ("sue,oidc:ann", None),
            Spec::Temporary(users) => (users, Some(end())),
            Spec::Replace | Spec::Admin => ("sue", None),
            Spec::ByAnn => ("eve", None),
            Spec::Team => ("", None),
        };
        let team = || Grant::Lists { users: Vec::new(), groups: vec![TEAM_NAME.into()] };
        let grant = if object.spec == Spec::Team { team() } else { Grant::Raw(grant.into()) };
        let replaces = matches!(object.spec, Spec::Replace | Spec::Team);
        let spec = QueueAclSpec {
            partition: "default".into(),
            queue: "root.q".into(),
            submit: Some(grant),
            admin: (object.spec == Spec::Admin).then(|| Grant::Raw("ann".into())),
            base_acl: if replaces { BaseAcl::Replace } else { BaseAcl::Extend },
            not_before: None,
            expires_at,
            suspend: false,
            delegated_by: (object.spec == Spec::ByAnn)
                .then(|| Identity { user: "ann".into(), groups: Vec::new() }),
        };
        let meta = Meta {
            name: name(slot).into(),
            uid: object.uid.to_string().into(),
            generation: object.generation.into(),
            conditions: Arc::clone(&object.conditions),
            ..Meta::default()
        };
        Some(Arc::new(Entry { meta, spec: Ok(spec), in_force: object.in_force.clone() }))
    });
    let enforced = || {
        let settings = user_info::Settings { mode: user_info::Mode::Enforce, ..Default::default() };
        let spec = AdmissionPolicySpec { user_info: Some(settings), ..AdmissionPolicySpec::default() };
        Entry { meta: Meta { name: "p".into(), ..Meta::default() }, spec: Ok(spec), in_force: None }
    };
    let snapshot = Snapshot {
        policies: held.aliases.then(enforced).into_iter().collect(),
        config: Some(Entry { meta, spec: Ok(spec), in_force: Some(in_force) }),
        queue_acls: objects.collect(),
        defaults: base.clone(),
        base,
        output: held.output.clone(),
        ..Snapshot::empty(now)
    };
    debug_assert!(!text_in_force(&snapshot).is_empty());
    snapshot
}
