//! Models the state of the objects at each moment, and the access that each state gives: the union of the
//! grants by the objects of a queue and right, joined by the base's own ACL if all of them extend it.
//!
//! A new state begins with each change and whenever an object begins or ends. A version of the output is
//! compared with them entry by entry: a right has to come from a state that is not newer than the version and
//! not older than the last removal of that right. Shares no code with queuewarden.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use queuewarden_e2e::history::Version;

use super::access::{Access, EVERYONE, Entry, Right};
use super::schedule::{Base, Draft};

pub(super) const KEY: &str = "queues.yaml";

/// The grant of an object, with its times in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) draft: Draft,
    pub(super) begins: Option<i64>,
    pub(super) ends: Option<i64>,
}

impl Spec {
    pub(super) fn at(draft: &Draft, now: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
        let later = |seconds: Option<i64>| seconds.map(|seconds| now as i64 + seconds);
        Self { draft: draft.clone(), begins: later(draft.begins), ends: later(draft.ends) }
    }

    pub(super) fn has_begun(&self, now: f64) -> bool {
        self.begins.is_none_or(|begins| seconds(begins) <= now)
    }

    pub(super) fn has_ended(&self, now: f64) -> bool {
        self.ends.is_some_and(|ends| seconds(ends) <= now)
    }

    fn counts(&self, now: f64) -> bool {
        self.has_begun(now) && !self.has_ended(now)
    }

    fn rights(&self) -> impl Iterator<Item = (Right, &BTreeSet<String>)> {
        let all = [(Right::Submit, self.draft.submit.as_ref()), (Right::Admin, self.draft.admin.as_ref())];
        all.into_iter().filter_map(|(right, subjects)| Some((right, subjects?)))
    }

    /// Returns the access that the object alone grants.
    pub(super) fn own(&self) -> Access {
        let mut access = Access::default();
        for (right, subjects) in self.rights() {
            access.add(&self.draft.queue, right, subjects.iter().cloned());
        }
        access
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
fn seconds(time: i64) -> f64 {
    time as f64
}

/// A `QueueAcl`.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) generation: i64,
    /// True if the current spec is the mistake.
    pub(super) typo: bool,
    /// The valid specs since the last one that was seen in force. The last one is the current spec, or the
    /// one before the mistake.
    pub(super) specs: Vec<Spec>,
    /// True if the first of them was seen in force.
    pub(super) proven: bool,
}

impl Object {
    /// Returns the current spec, if it is valid.
    pub(super) fn valid(&self) -> Option<&Spec> {
        self.specs.last().filter(|_| !self.typo)
    }
}

/// The access that one state of the objects gives.
#[derive(Debug, Clone)]
struct State {
    /// The revision at which this state began, or an earlier one.
    since: u64,
    /// The access from valid objects and the base.
    granted: Access,
    /// The same, including the access that mistyped objects may keep.
    kept: Access,
    why: String,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) objects: BTreeMap<String, Object>,
    bases: BTreeMap<&'static str, Access>,
    base: Base,
    states: Vec<State>,
    /// The oldest state that may still explain an entry; 0 for an entry that is not here.
    oldest: BTreeMap<Entry, usize>,
    /// Revisions after which only states from this number on explain anything, because they were written.
    floors: Vec<(u64, usize)>,
    /// The access in the operator's last text.
    last: Access,
    others: BTreeMap<String, String>,
    /// The object whose last change removed the entry.
    taken_by: BTreeMap<Entry, String>,
    /// The end of the generated states.
    until: f64,
    /// A revision that is not newer than any future state.
    pub(super) revision: u64,
    /// Revisions of the output that another client wrote.
    pub(super) foreign: BTreeSet<u64>,
}

fn key(base: Base) -> &'static str {
    match base {
        Base::Open => "open",
        Base::Closed => "closed",
    }
}

impl Model {
    pub(super) fn new(bases: [(Base, Access); 2], revision: u64, now: f64) -> Self {
        let bases = bases.into_iter().map(|(base, access)| (key(base), access)).collect();
        let mut model = Self {
            objects: BTreeMap::new(),
            bases,
            base: Base::Open,
            states: Vec::new(),
            oldest: BTreeMap::new(),
            floors: Vec::new(),
            last: Access::default(),
            others: BTreeMap::new(),
            taken_by: BTreeMap::new(),
            until: now,
            revision,
            foreign: BTreeSet::new(),
        };
        model.push(revision, now, "beginning", None);
        model
    }

    fn base(&self) -> Access {
        self.bases.get(key(self.base)).cloned().unwrap_or_default()
    }

    /// Returns the access from valid objects at a moment, including everything that may be in force.
    pub(super) fn granted(&self, now: f64) -> Access {
        self.union(now, |object| object.valid().into_iter().collect(), Object::closes)
    }

    /// Returns the same, including everything that mistyped objects may keep.
    pub(super) fn kept(&self, now: f64) -> Access {
        self.union(now, |object| object.specs.iter().skip(object.skipped()).collect(), Object::closes)
    }

    /// Returns the access that must be in force, without access that only may be.
    pub(super) fn required(&self, now: f64) -> Access {
        self.union(now, |object| object.valid().into_iter().collect(), Object::may_close)
    }

    fn union<'a>(
        &'a self,
        now: f64,
        specs: impl Fn(&'a Object) -> Vec<&'a Spec>,
        closes: impl Fn(&Object, &str, Right, f64) -> bool,
    ) -> Access {
        let mut access = Access::default();
        for entry in self.base().0 {
            let mut objects = self.objects.values();
            if !objects.any(|object| closes(object, &entry.queue, entry.right, now)) {
                access.add(&entry.queue, entry.right, [entry.subject]);
            }
        }
        for spec in self.objects.values().flat_map(specs).filter(|spec| spec.counts(now)) {
            for entry in spec.own().0 {
                access.add(&entry.queue, entry.right, [entry.subject]);
            }
        }
        access
    }

    /// Generates the states that have begun since the last call because of the clock alone.
    pub(super) fn advance(&mut self, now: f64) {
        let times =
            |spec: &Spec| [spec.begins, spec.ends].into_iter().flatten().map(seconds).collect::<Vec<_>>();
        let of = |(name, object): (&String, &Object)| -> Vec<(f64, String)> {
            let times = object.specs.iter().flat_map(times);
            times.map(|time| (time, name.clone())).collect()
        };
        let mut due: Vec<(f64, String)> = self.objects.iter().flat_map(of).collect();
        due.retain(|(time, _)| *time > self.until && *time <= now);
        due.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (time, name) in due {
            self.push(self.revision, time, &format!("the clock, for {name}"), Some(&name));
        }
        self.until = self.until.max(now);
    }

    /// Returns the last moment at which an object begins or ends.
    pub(super) fn last_moment(&self) -> f64 {
        let specs = self.objects.values().flat_map(|object| &object.specs);
        specs.flat_map(|spec| [spec.begins, spec.ends]).flatten().map(seconds).fold(0.0, f64::max)
    }

    /// Sets the spec of an object from a revision on.
    pub(super) fn put(&mut self, name: &str, spec: Spec, generation: i64, since: u64, now: f64) {
        self.advance(now);
        let object = self.objects.entry(name.to_owned()).or_insert_with(|| Object {
            generation,
            typo: false,
            specs: Vec::new(),
            proven: false,
        });
        object.generation = generation;
        object.typo = false;
        object.specs.push(spec);
        self.push(since, now, &format!("put {name}"), Some(name));
    }

    /// Breaks an object by a typo from a revision on.
    pub(super) fn mistype(&mut self, name: &str, generation: i64, since: u64, now: f64) {
        self.advance(now);
        if let Some(object) = self.objects.get_mut(name) {
            object.generation = generation;
            object.typo = true;
        }
        self.push(since, now, &format!("typo in {name}"), Some(name));
    }

    pub(super) fn delete(&mut self, name: &str, since: u64, now: f64) {
        self.advance(now);
        self.objects.remove(name);
        self.push(since, now, &format!("delete {name}"), None);
    }

    pub(super) fn set_base(&mut self, base: Base, since: u64, now: f64) {
        self.advance(now);
        self.base = base;
        self.push(since, now, &format!("base {base:?}"), None);
    }

    pub(super) fn base_in_force(&self) -> Base {
        self.base
    }

    /// Records that the object was seen Ready at its current generation.
    pub(super) fn prove(&mut self, name: &str) {
        if let Some(object) = self.objects.get_mut(name)
            && !object.typo
        {
            let last = object.specs.len().saturating_sub(1);
            object.specs.drain(..last);
            object.proven = true;
        }
    }

    fn push(&mut self, since: u64, now: f64, why: &str, cause: Option<&str>) {
        let (granted, kept) = (self.granted(now), self.kept(now));
        if let Some(before) = self.states.last() {
            for entry in before.kept.beyond(&kept).0 {
                match cause {
                    Some(cause) => self.taken_by.insert(entry, cause.to_owned()),
                    None => self.taken_by.remove(&entry),
                };
            }
        }
        self.taken_by.retain(|entry, _| !kept.gives(entry));
        let since = self.states.last().map_or(since, |state| state.since.max(since));
        self.states.push(State { since, granted, kept, why: why.to_owned() });
        self.revision = self.revision.max(since);
    }

    /// Returns entries that this object has removed and nothing else grants.
    pub(super) fn taken_by(&self, name: &str) -> Access {
        Access(self.taken_by.iter().filter(|(_, by)| *by == name).map(|(entry, _)| entry.clone()).collect())
    }

    /// Records that the last state was seen in the output, and in the statuses of all objects, at this
    /// revision.
    pub(super) fn written(&mut self, revision: u64) {
        let last = self.states.len().saturating_sub(1);
        if self.floors.last().is_none_or(|(_, index)| *index < last) {
            self.floors.push((revision, last));
        }
    }

    /// Records that everything matches the last state, so earlier ones explain nothing any more.
    pub(super) fn rested(&mut self) {
        self.states.drain(..self.states.len().saturating_sub(1));
        self.oldest.clear();
        self.floors.clear();
        for object in self.objects.values_mut().filter(|object| !object.typo) {
            let last = object.specs.len().saturating_sub(1);
            object.specs.drain(..last);
            object.proven = true;
        }
    }

    /// Compares a version of the output with the states.
    pub(super) fn explain(&mut self, version: &Version) -> Result<()> {
        if self.foreign.contains(&version.revision) {
            return Ok(());
        }
        for (key, text) in version.trees().filter(|(key, _)| *key != KEY) {
            if self.others.insert(key.to_owned(), text.to_owned()).is_none_or(|before| before != text) {
                let access = Access::of_text(text)?;
                let explained = |entry: &&Entry| self.states.iter().any(|state| state.kept.gives(entry));
                if let Some(entry) = access.0.iter().find(|entry| !explained(entry)) {
                    bail!(
                        "revision {} of the output, written by the operator, gives {entry} in {key}; no state \
                         since the last rest does. The states: {}\nThe text:\n{text}",
                        version.revision,
                        self.listed()
                    );
                }
            }
        }
        let Some(text) = version.data.get(KEY) else { return Ok(()) };
        let access = Access::of_text(text)?;
        let found = access.0.iter().find(|entry| !self.explained(entry, version.revision));
        if let Some(entry) = found {
            let oldest = self.oldest(entry, version.revision);
            bail!(
                "revision {} of the output, written by the operator, gives {entry}. No state from number {oldest} on \
                 does; it was removed from the output at that state, or that state was in the output before. The operator's last text \
                 gave: {}\nThe states: {}\nThe text:\n{text}",
                version.revision,
                self.last,
                self.listed()
            );
        }
        for entry in &access.0 {
            if let Some(index) = self.first(entry, version.revision, |state| state.granted.gives(entry)) {
                self.oldest.insert(entry.clone(), index);
            }
        }
        for entry in self.last.without(&access).0 {
            if let Some(index) = self.first(&entry, version.revision, |state| !state.granted.gives(&entry)) {
                self.oldest.insert(entry, index);
            }
        }
        self.last = access;
        Ok(())
    }

    /// Returns true if a state grants it, or a mistyped object may keep it.
    fn explained(&self, entry: &Entry, revision: u64) -> bool {
        self.first(entry, revision, |state| state.granted.gives(entry)).is_some()
            || self.last.gives(entry)
                && self.first(entry, revision, |state| state.kept.gives(entry)).is_some()
    }

    /// Returns the oldest state that may explain the entry in a version with this revision.
    fn oldest(&self, entry: &Entry, revision: u64) -> usize {
        let floor = self.floors.iter().rev().find(|(at, _)| *at < revision).map_or(0, |(_, index)| *index);
        self.oldest.get(entry).copied().unwrap_or_default().max(floor)
    }

    fn first(&self, entry: &Entry, revision: u64, holds: impl Fn(&State) -> bool) -> Option<usize> {
        let oldest = self.oldest(entry, revision);
        let known = self.states.iter().enumerate().skip(oldest).take_while(|(_, it)| it.since <= revision);
        known.into_iter().find(|(_, state)| holds(state)).map(|(index, _)| index)
    }

    /// Returns the states, each with the entries that it adds and removes compared with the previous one.
    fn listed(&self) -> String {
        let nothing = Access::default();
        let before = std::iter::once(&nothing).chain(self.states.iter().map(|state| &state.kept));
        let line = |(index, (state, before)): (usize, (&State, &Access))| {
            let (more, less) = (state.kept.without(before), before.without(&state.kept));
            format!("\n  {index} (revision {}, {}): +[{more}] -[{less}]", state.since, state.why)
        };
        self.states.iter().zip(before).enumerate().map(line).collect()
    }
}

impl Object {
    /// Returns the number of specs that cannot be in force: if the current one is valid, all others.
    fn skipped(&self) -> usize {
        if self.typo { 0 } else { self.specs.len().saturating_sub(1) }
    }

    /// Returns true if the base's ACL must be left out because of this object.
    fn closes(&self, queue: &str, right: Right, now: f64) -> bool {
        let mut specs = self.specs.iter().skip(self.skipped());
        (!self.typo || self.proven)
            && !self.specs.is_empty()
            && specs.all(|spec| spec.replaces(queue, right, now))
    }

    /// Returns true if it may be left out because of this object.
    fn may_close(&self, queue: &str, right: Right, now: f64) -> bool {
        self.specs.iter().skip(self.skipped()).any(|spec| spec.replaces(queue, right, now))
    }
}

impl Spec {
    fn replaces(&self, queue: &str, right: Right, now: f64) -> bool {
        let sets = self.rights().any(|(own, _)| own == right);
        sets && !self.draft.extend && self.draft.queue == queue && self.counts(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(submit: &[&str]) -> Draft {
        let submit = Some(submit.iter().map(|&name| name.to_owned()).collect());
        let queue = "root.prod".to_owned();
        Draft { queue, submit, admin: None, extend: false, raw: false, begins: None, ends: None }
    }

    fn model() -> Result<Model> {
        let closed = Access::of_text("partitions: [{name: default, queues: [{name: root}]}]")?;
        Ok(Model::new([(Base::Open, Access::open()), (Base::Closed, closed)], 1, 0.0))
    }

    fn version(revision: u64, acl: &str) -> Version {
        let text = format!(
            "partitions: [{{name: default, queues: [{{name: root, submitacl: '*', queues: [{{name: prod, submitacl: '{acl}'}}]}}]}}]"
        );
        let text = text.replace("submitacl: '*', ", "");
        Version { revision, data: [(KEY.to_owned(), text)].into() }
    }

    #[test]
    fn removed_entry_does_not_come_back() -> Result<()> {
        let mut model = model()?;
        model.set_base(Base::Closed, 2, 0.0);
        model.put("a", Spec::at(&draft(&["sue", "bob"]), 0.0), 1, 3, 0.0);
        model.explain(&version(4, "bob,sue"))?;
        model.written(4);
        model.put("a", Spec::at(&draft(&["sue"]), 0.0), 2, 5, 0.0);
        model.explain(&version(6, "bob,sue"))?;
        model.explain(&version(7, "sue"))?;
        model.mistype("a", 3, 8, 0.0);
        model.explain(&version(9, "sue"))?;
        assert!(model.explain(&version(10, "bob,sue")).is_err());
        model.put("a", Spec::at(&draft(&["sue", "bob"]), 0.0), 4, 11, 0.0);
        model.explain(&version(12, "bob,sue"))?;
        assert!(model.explain(&version(13, "eve")).is_err());
        model.foreign.insert(14);
        model.explain(&version(14, "eve"))
    }

    #[test]
    fn mistyped_object_keeps_its_effect() -> Result<()> {
        let mut model = model()?;
        let mut root = draft(&["@ops"]);
        root.queue = "root".to_owned();
        model.put("root", Spec::at(&root, 0.0), 1, 2, 0.0);
        model.prove("root");
        model.written(2);
        model.put("a", Spec::at(&draft(&["bob"]), 0.0), 1, 3, 0.0);
        model.mistype("root", 2, 4, 0.0);
        assert_eq!(model.kept(0.0).to_string(), "root:Submit:@ops root.prod:Submit:bob");
        assert_eq!(model.required(0.0).to_string(), "root.prod:Submit:bob");
        assert_eq!(model.granted(0.0).to_string(), "root.prod:Submit:bob");
        assert!(model.explain(&version(5, "*")).is_err());
        Ok(())
    }

    #[test]
    fn temporary_object_grants_only_within_its_time() -> Result<()> {
        let mut model = model()?;
        let temporary = Draft { extend: true, begins: Some(2), ends: Some(4), ..draft(&["eve"]) };
        model.set_base(Base::Closed, 2, 0.0);
        model.put("t", Spec::at(&temporary, 0.5), 1, 3, 0.5);
        model.revision = 9;
        model.advance(5.0);
        assert!(model.granted(2.0).has(&Entry {
            queue: "root.prod".to_owned(),
            right: Right::Submit,
            subject: "eve".to_owned()
        }));
        assert_eq!((model.granted(1.9), model.granted(4.0)), (Access::default(), Access::default()));
        assert_eq!(model.taken_by("t").to_string(), "root.prod:Submit:eve");
        assert_eq!(model.states.len(), 5);
        assert!(!model.granted(3.0).open_at("root") && EVERYONE == "*");
        Ok(())
    }
}
