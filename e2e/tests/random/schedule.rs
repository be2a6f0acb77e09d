//! Generates schedules from numbers. A step is printed as one line of JSON and can be parsed again.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// A `QueueAcl` to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Draft {
    pub(super) queue: String,
    /// The subjects: users, `@` and a group, or `*`.
    pub(super) submit: Option<BTreeSet<String>>,
    pub(super) admin: Option<BTreeSet<String>>,
    /// True for `baseAcl: Extend` instead of `Replace`.
    pub(super) extend: bool,
    /// True if it is written as `acl` instead of as lists.
    pub(super) raw: bool,
    /// The start, in seconds after it is applied.
    pub(super) begins: Option<i64>,
    pub(super) ends: Option<i64>,
}

/// A deliberate fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Fault {
    /// An operator is killed.
    Kill,
    /// The leader is stopped.
    Freeze,
    /// The API server is killed.
    Api,
    /// The scheduler is killed.
    Scheduler,
    /// Another client edits the output.
    Edit,
    /// The output is deleted.
    Delete,
    /// `binaryData` hides the output with an empty value.
    Shadow,
    /// Edits and deletions are not limited to three.
    Often,
    /// An object gets a typo right after it was narrowed.
    Slip,
    /// The scheduler is stopped and does not answer.
    Slow,
    /// `binaryData` hides the output with another tree.
    Packed,
    /// The base is not valid.
    Base,
    /// The base is deleted.
    Gone,
    /// Both `ConfigMap`s are deleted.
    Both,
    /// `service.policyGroup` is set.
    Group,
}

impl Fault {
    const ALL: [(Self, &'static str); 15] = [
        (Self::Kill, "kill"),
        (Self::Freeze, "freeze"),
        (Self::Api, "api"),
        (Self::Scheduler, "scheduler"),
        (Self::Edit, "edit"),
        (Self::Delete, "delete"),
        (Self::Shadow, "shadow"),
        (Self::Often, "often"),
        (Self::Slip, "slip"),
        (Self::Slow, "slow"),
        (Self::Packed, "packed"),
        (Self::Base, "base"),
        (Self::Gone, "gone"),
        (Self::Both, "both"),
        (Self::Group, "group"),
    ];

    /// Parses comma-separated names; `all`, `ordinary` and `lasting` are sets.
    pub(super) fn read(names: &str) -> Result<BTreeSet<Self>> {
        let mut faults = BTreeSet::new();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            let found: Vec<Self> = Self::ALL
                .into_iter()
                .filter(|(fault, own)| match name {
                    "all" => true,
                    "ordinary" => *fault < Self::Often,
                    "lasting" => fault.lasts() && *fault != Self::Shadow,
                    _ => name == *own,
                })
                .map(|(fault, _)| fault)
                .collect();
            if found.is_empty() {
                bail!(
                    "no fault `{name}`: there are all, ordinary, lasting, and {:?}",
                    Self::ALL.map(|it| it.1)
                );
            }
            faults.extend(found);
        }
        Ok(faults)
    }

    /// Returns true if it changes a `ConfigMap` and lasts until it is repaired.
    fn lasts(self) -> bool {
        self == Self::Shadow || self > Self::Slow
    }
}

/// An edit of the output by another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Edit {
    /// The base, where everyone may submit.
    Open,
    /// The text without its first line.
    Header,
    /// The text with one more user on one queue.
    Grant,
}

/// The tree in `yunikorn-defaults`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Base {
    /// The root lets everyone submit.
    Open,
    /// Some queues have ACLs.
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Creates or changes a `QueueAcl`.
    Put(String, Draft),
    /// Changes the `QueueAcl` to a version that the API server accepts but queuewarden and `YuniKorn` do not.
    Typo(String),
    /// Deletes the `QueueAcl`.
    Delete(String),
    /// Creates or changes the `AdmissionPolicy`.
    Policy(Vec<String>),
    /// Deletes the `AdmissionPolicy`.
    NoPolicy,
    /// Writes another base.
    SetBase(Base),
    /// Lets these milliseconds pass.
    Pass(u64),
    /// Kills this operator.
    Kill(usize),
    /// Starts this operator.
    Start(usize),
    /// Edits the output.
    Edit(Edit),
    /// Deletes the output.
    DeleteOutput,
    /// Begins a fault that has no other step.
    Begin(Fault),
    /// Ends this fault.
    End(Fault),
    /// Waits until the output contains nothing that was withdrawn, if an operator can write it.
    Settle,
    /// Ends all faults and waits until everything is in the expected state and writes have stopped.
    Rest,
}

const QUEUES: [&str; 5] = ["root.prod", "root.dev", "root.team", "root.team.batch", "root.team.adhoc"];
pub(super) const USERS: [&str; 6] = ["ann", "bob", "eve", "sue", "tom", "zoe"];
const GROUPS: [&str; 2] = ["@devs", "@ops"];
/// The name of the object that closes root, which the base opens. It is never moved.
pub(super) const ROOT: &str = "root";

/// Makes a schedule.
pub(super) struct Maker {
    rng: Rng,
    faults: BTreeSet<Fault>,
    drafts: BTreeMap<String, Draft>,
    base: Base,
    /// Lasting faults, with the number of remaining steps.
    active: BTreeMap<Fault, u32>,
    down: BTreeMap<usize, u32>,
    edits: u32,
    deletions: usize,
    /// True if the base has been in force since it was set.
    base_proven: bool,
    steps: Vec<Step>,
}

impl Maker {
    /// Generates a schedule of about this many steps.
    pub(super) fn schedule(seed: u64, faults: &BTreeSet<Fault>, length: usize) -> Vec<Step> {
        let mut maker = Self {
            rng: Rng::with_seed(seed),
            faults: faults.clone(),
            drafts: BTreeMap::new(),
            base: Base::Open,
            active: BTreeMap::new(),
            down: BTreeMap::new(),
            edits: 0,
            deletions: 0,
            base_proven: false,
            steps: Vec::new(),
        };
        maker.begin();
        while maker.steps.len() < length {
            maker.tick();
            match maker.rng.u32(0..100) {
                0..60 => maker.change(),
                60..82 => maker.fault(),
                82..84 => maker.rest(),
                _ => maker.pass(),
            }
        }
        maker.rest();
        maker.steps
    }

    fn begin(&mut self) {
        // Root is closed by an object, or by the base.
        if self.rng.bool() {
            let submit = Some(["@platform".to_owned()].into());
            let (queue, admin, begins, ends) = (ROOT.to_owned(), None, None, None);
            let draft = Draft { queue, submit, admin, extend: false, raw: false, begins, ends };
            self.put(ROOT.to_owned(), draft);
        } else {
            self.base = Base::Closed;
            self.steps.push(Step::SetBase(Base::Closed));
        }
        for number in 0..6 {
            let draft = self.draft(false);
            self.put(format!("a{number}"), draft);
        }
        self.rest();
    }

    fn put(&mut self, name: String, draft: Draft) {
        self.drafts.insert(name.clone(), draft.clone());
        self.steps.push(Step::Put(name, draft));
    }

    fn rest(&mut self) {
        self.active.clear();
        self.down.clear();
        self.deletions = 0;
        self.base_proven = true;
        self.steps.push(Step::Rest);
    }

    fn pass(&mut self) {
        let time = if self.rng.u32(0..4) == 0 { 1000..4000 } else { 10..700 };
        self.steps.push(Step::Pass(self.rng.u64(time)));
    }

    /// Ends faults that have lasted long enough.
    fn tick(&mut self) {
        let over = |left: &mut u32| {
            *left = left.saturating_sub(1);
            *left == 0
        };
        // Nothing else can be repaired without the API server.
        let api = self.active.get_mut(&Fault::Api).map(over);
        if api == Some(false) {
            return;
        }
        if api == Some(true) {
            self.active.remove(&Fault::Api);
            self.steps.push(Step::End(Fault::Api));
        }
        let ends: Vec<Fault> =
            self.active.iter_mut().filter_map(|(fault, left)| over(left).then_some(*fault)).collect();
        let starts: Vec<usize> =
            self.down.iter_mut().filter_map(|(number, left)| over(left).then_some(*number)).collect();
        for number in starts {
            self.down.remove(&number);
            self.steps.push(Step::Start(number));
        }
        for fault in ends {
            self.active.remove(&fault);
            if fault.lasts() && (fault == Fault::Both || self.rng.bool()) {
                self.steps.push(Step::Settle);
            }
            self.steps.push(Step::End(fault));
        }
    }

    fn subjects(&mut self) -> BTreeSet<String> {
        let count = self.rng.usize(1..4);
        let mut all: BTreeSet<String> =
            (0..count).filter_map(|_| self.rng.choice(USERS)).map(Into::into).collect();
        if self.rng.u32(0..4) == 0 {
            all.extend(self.rng.choice(GROUPS).map(Into::into));
        }
        all
    }

    fn queue(&mut self) -> String {
        self.rng.choice(QUEUES).unwrap_or(QUEUES[0]).to_owned()
    }

    fn draft(&mut self, temporary: bool) -> Draft {
        let queue = self.queue();
        let everyone = !temporary && queue.matches('.').count() == 2 && self.rng.u32(0..12) == 0;
        let submit = if everyone { ["*".to_owned()].into() } else { self.subjects() };
        let admin = (self.rng.u32(0..3) == 0).then(|| self.subjects());
        let submit = (admin.is_none() || self.rng.bool()).then_some(submit);
        let begins = (temporary && self.rng.bool()).then(|| self.rng.i64(1..4));
        let ends = temporary.then(|| begins.unwrap_or(0) + self.rng.i64(2..7));
        Draft {
            queue,
            submit,
            admin,
            extend: temporary || self.rng.bool(),
            raw: self.rng.bool(),
            begins,
            ends,
        }
    }

    /// Returns a name in use.
    fn existing(&mut self, spare_root: bool) -> Option<String> {
        let names: Vec<String> =
            self.drafts.keys().filter(|name| !(spare_root && *name == ROOT)).cloned().collect();
        self.rng.choice(names)
    }

    fn change(&mut self) {
        if self.active.contains_key(&Fault::Api) {
            return self.pass();
        }
        match self.rng.u32(0..100) {
            0..14 => {
                let temporary = self.rng.bool();
                let draft = self.draft(temporary);
                let name = format!("a{}", self.rng.u32(0..12));
                self.put(name, draft);
            }
            14..60 => self.vary(),
            60..72 => {
                let Some(name) = self.existing(false) else { return };
                if self.drafts.get(&name).is_some_and(|draft| draft.submit.is_some() && draft.ends.is_none())
                {
                    self.steps.push(Step::Typo(name.clone()));
                    if self.rng.bool() {
                        self.pass();
                        self.vary_named(&name);
                    }
                }
            }
            72..86 if self.drafts.len() > 4 && self.deletions < self.drafts.len() / 4 => {
                let Some(name) = self.existing(true) else { return };
                self.drafts.remove(&name);
                self.deletions += 1;
                self.steps.push(Step::Delete(name));
            }
            86..93 => {
                let users = self.rng.usize(1..4);
                let users = USERS.iter().take(users).map(|user| format!("^{user}$")).collect();
                self.steps.push(Step::Policy(users));
            }
            93..95 => self.steps.push(Step::NoPolicy),
            95..100 if self.drafts.contains_key(ROOT) && !self.active.keys().any(|fault| fault.lasts()) => {
                self.base = if self.base == Base::Open { Base::Closed } else { Base::Open };
                self.base_proven = false;
                self.steps.push(Step::SetBase(self.base));
            }
            _ => self.pass(),
        }
    }

    fn vary(&mut self) {
        if let Some(name) = self.existing(false) {
            self.vary_named(&name);
        }
    }

    /// Narrows, widens or moves an object, or changes its effect on the base's ACL.
    fn vary_named(&mut self, name: &str) {
        let Some(mut draft) = self.drafts.get(name).cloned() else { return };
        let way = self.rng.u32(0..10);
        let others = self.subjects();
        let queue = self.queue();
        let right = if self.rng.bool() { draft.submit.as_mut() } else { draft.admin.as_mut() };
        match (way, right) {
            (0..4, Some(subjects)) if subjects.len() > 1 => {
                subjects.pop_first();
            }
            (4..7, Some(subjects)) if !subjects.contains("*") => subjects.extend(others),
            (7, _) if name != ROOT => draft.queue = queue,
            (8, _) if draft.ends.is_none() && name != ROOT => draft.extend = !draft.extend,
            (9, Some(subjects)) => *subjects = others,
            _ => draft.raw = !draft.raw,
        }
        if draft.queue.matches('.').count() != 2 {
            for subjects in [draft.submit.as_mut(), draft.admin.as_mut()].into_iter().flatten() {
                subjects.remove("*");
            }
        }
        self.put(name.to_owned(), draft);
    }

    /// Narrows an object and breaks it by a typo at once.
    fn slip(&mut self) {
        let narrow =
            |draft: &Draft| draft.ends.is_none() && draft.submit.as_ref().is_some_and(|it| it.len() > 1);
        let names: Vec<String> =
            self.drafts.iter().filter(|(_, draft)| narrow(draft)).map(|(name, _)| name.clone()).collect();
        let Some(name) = self.rng.choice(names) else { return };
        let Some(mut draft) = self.drafts.get(&name).cloned() else { return };
        draft.submit.as_mut().and_then(BTreeSet::pop_last);
        // The status waits for the scheduler, but the text does not.
        let alone = self.active.is_empty() && self.rng.bool();
        if alone {
            self.steps.push(Step::Begin(Fault::Slow));
        }
        self.put(name.clone(), draft);
        self.steps.push(Step::Pass(self.rng.u64(0..600)));
        self.steps.push(Step::Typo(name));
        if alone {
            self.steps.push(Step::Pass(self.rng.u64(0..5000)));
            self.steps.push(Step::End(Fault::Slow));
        }
    }

    fn fault(&mut self) {
        let faults: Vec<Fault> = self.faults.iter().copied().filter(|fault| *fault != Fault::Often).collect();
        let Some(fault) = self.rng.choice(faults) else { return self.pass() };
        let has = |fault| self.active.contains_key(&fault);
        let (api, scheduler) = (has(Fault::Api), has(Fault::Scheduler) || has(Fault::Slow));
        let lasting = self.active.keys().any(|active| active.lasts());
        let edits = self.edits < 3 || self.faults.contains(&Fault::Often);
        let length = if fault.lasts() { self.rng.u32(3..14) } else { self.rng.u32(1..8) };
        match fault {
            Fault::Kill => {
                let number = self.rng.usize(0..2);
                if self.down.insert(number, length).is_none() {
                    self.steps.push(Step::Kill(number));
                }
                return;
            }
            _ if api || self.active.contains_key(&fault) => return self.pass(),
            Fault::Edit if edits => {
                let edit = self.rng.choice([Edit::Open, Edit::Header, Edit::Grant]);
                self.edits += 1;
                self.steps.extend(edit.map(Step::Edit));
                return;
            }
            Fault::Delete if edits && self.active.is_empty() => {
                self.edits += 1;
                self.steps.push(Step::DeleteOutput);
                return;
            }
            Fault::Slip => return self.slip(),
            Fault::Edit | Fault::Delete | Fault::Often => return self.pass(),
            Fault::Scheduler | Fault::Slow if lasting || scheduler => return self.pass(),
            _ if fault.lasts() && (lasting || scheduler || !self.base_proven) => return self.pass(),
            Fault::Both if !edits => return self.pass(),
            Fault::Both => self.edits += 1,
            _ => {}
        }
        self.active.insert(fault, if fault == Fault::Api { self.rng.u32(1..4) } else { length });
        self.steps.push(Step::Begin(fault));
    }
}

/// Reads the steps that a failure has printed: a step of JSON per line.
pub(super) fn read(lines: &str) -> Result<Vec<Step>> {
    let steps = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    steps.map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

#[test]
fn schedule_is_reproducible_and_parsed_again() -> Result<()> {
    let faults = Fault::read("all")?;
    let steps = Maker::schedule(7, &faults, 200);
    assert_eq!(steps, Maker::schedule(7, &faults, 200));
    assert_ne!(steps, Maker::schedule(8, &faults, 200));
    let lines: Vec<String> = steps.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    assert_eq!(read(&lines.join("\n"))?, steps);
    assert!(
        Fault::read("ordinary")?.len() == 7
            && Fault::read("base,gone")?.len() == 2
            && Fault::read("x").is_err()
    );
    Ok(())
}
