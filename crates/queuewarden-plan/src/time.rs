//! Answers questions about other times: looks ahead to changes that the passing of time alone causes, at the
//! moments when grants begin or end, and compares two snapshots over time, with the access in force from each
//! of these moments on.
//!
//! A plan is made for each moment, because time affects more than the objects' windows: delegated objects are
//! in effect only while their writers administer their queues, and an object that became invalid ends too.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::effective::ParseCache;
use crate::grants::resolve::read;
use crate::grants::{Attribution, trees};
use crate::plan::evaluate;
use crate::snapshot::{ConfigMapState, QueueAclEntry, QueueAclSpec, Snapshot};
use yunikorn_access::{Tree, in_words};

/// Maximum number of moments to evaluate.
pub const MAX_MOMENTS: usize = 100;

/// Findings at later moments that are not found now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Ahead")]
pub struct Ahead<T> {
    /// The moments at which grants begin or end, in order.
    pub moments: Vec<Moment<T>>,
    /// The number of later moments that are not evaluated, because there are too many.
    pub more: usize,
}

/// A moment at which grants begin or end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Moment")]
pub struct Moment<T> {
    /// The moment.
    pub at: Timestamp,
    /// The `QueueAcl`s that begin, by name.
    pub begin: Vec<String>,
    /// The `QueueAcl`s that end, by name.
    pub end: Vec<String>,
    /// All new findings at that moment.
    pub findings: Vec<T>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { moments: Vec::new(), more: 0 }
    }
}

impl<T> Ahead<T> {
    /// Returns the findings of all moments.
    pub fn findings(&self) -> impl Iterator<Item = &T> {
        self.moments.iter().flat_map(|moment| &moment.findings)
    }

    /// Returns the findings of `now` and of each moment, for modification.
    pub fn lists<'l>(&'l mut self, now: &'l mut Vec<T>) -> impl Iterator<Item = &'l mut Vec<T>> {
        iter::once(now).chain(self.moments.iter_mut().map(|moment| &mut moment.findings))
    }

    /// Converts the findings.
    pub fn map<U>(&self, convert: impl Fn(&T) -> U) -> Ahead<U> {
        let moments = self.moments.iter().map(|Moment { at, begin, end, findings }| Moment {
            at: *at,
            begin: begin.clone(),
            end: end.clone(),
            findings: findings.iter().map(&convert).collect(),
        });
        Ahead { moments: moments.collect(), more: self.more }
    }
}

/// Returns the moments at which an object begins and ends.
pub(crate) fn window(entry: &QueueAclEntry) -> (Option<Timestamp>, Option<Timestamp>) {
    // If it cannot be parsed, its last version stays in force until its end.
    let kept = || entry.in_force.as_ref().and_then(|kept| kept.expires_at);
    entry.spec.as_ref().map_or_else(|_| (None, kept()), |spec| (spec.not_before, spec.expires_at))
}

/// Evaluates each moment after the snapshot's own, up to and including `until`. `find` returns what to report
/// for one time; it is also called for the snapshot's own time.
///
/// # Errors
/// When `find` fails.
pub fn ahead<T: PartialEq + Clone, E>(
    snapshot: &Snapshot,
    until: Timestamp,
    mut find: impl FnMut(Timestamp) -> Result<Vec<T>, E>,
) -> Result<Ahead<T>, E> {
    let mut times: BTreeMap<Timestamp, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let is_ahead = |at: &Timestamp| snapshot.now < *at && *at <= until;
    for entry in &snapshot.queue_acls {
        let (begin, end) = window(entry);
        let name = || entry.meta.name.to_string();
        begin.filter(is_ahead).into_iter().for_each(|at| times.entry(at).or_default().0.push(name()));
        end.filter(is_ahead).into_iter().for_each(|at| times.entry(at).or_default().1.push(name()));
    }
    let more = times.len().saturating_sub(MAX_MOMENTS);
    let mut before = if times.is_empty() { Vec::new() } else { find(snapshot.now)? };
    let mut moments = Vec::new();
    for (at, (begin, end)) in times.into_iter().take(MAX_MOMENTS) {
        let found = find(at)?;
        let findings = found.iter().filter(|finding| !before.contains(finding)).cloned().collect();
        moments.push(Moment { at, begin, end, findings });
        before = found;
    }
    Ok(Ahead { moments, more })
}

/// Maximum number of objects that all plans of one comparison resolve: the number of moments times the
/// objects of both sides.
pub const MAX_WORK: usize = 200_000;

/// The partitions of a configuration from a later moment on.
#[derive(Debug, Clone)]
pub struct Later {
    /// The moment.
    pub from: Timestamp,
    /// The partitions.
    pub trees: Vec<Tree>,
    /// The ACLs that objects write.
    pub attributions: Arc<[Attribution]>,
}

impl Later {
    /// Returns the moment and the partitions.
    pub fn into_step(self) -> (Timestamp, Vec<Tree>) {
        (self.from, self.trees)
    }
}

/// Two configurations at later moments.
#[derive(Debug, Clone, Default)]
pub struct Course {
    /// The old one.
    pub old: Vec<Later>,
    /// The new one.
    pub new: Vec<Later>,
    /// The moment after which they are not compared, because too many grants begin or end, or because no plan
    /// can be made then; `None` if they are compared at all times.
    pub unknown_from: Option<Timestamp>,
}

impl Course {
    /// Evaluates both at each later moment when a grant begins or ends. `None` is a configuration that does
    /// not change by itself.
    pub fn new(old: Option<&Snapshot>, new: Option<&Snapshot>) -> Self {
        Self::within(MAX_WORK, old, new)
    }

    /// Does the same with a bound other than [`MAX_WORK`].
    pub(crate) fn within(work: usize, old: Option<&Snapshot>, new: Option<&Snapshot>) -> Self {
        let Some(now) = [old, new].into_iter().flatten().map(|snapshot| snapshot.now).max() else {
            return Self::default();
        };
        let (moments, unknown_from) = moments(old, new, now, work);
        let (mut course, mut cache) = (Self { unknown_from, ..Self::default() }, ParseCache::default());
        for from in moments {
            let mut at = |snapshot: Option<&Snapshot>| match snapshot {
                None => Some(None),
                Some(snapshot) => later(snapshot, from, &mut cache).map(Some),
            };
            let (Some(old), Some(new)) = (at(old), at(new)) else {
                course.unknown_from = Some(from);
                break;
            };
            course.old.extend(old);
            course.new.extend(new);
        }
        course
    }
}

/// Reports that configurations are not compared from a certain moment on.
pub fn unknown(from: Timestamp) -> String {
    let from = in_words(from);
    format!(
        "nothing is compared from {from} on, because grants begin or end at too many moments; access could be \
             wider then"
    )
}

/// Returns the access in force at a moment; `None` if no plan can be made.
fn later(snapshot: &Snapshot, from: Timestamp, cache: &mut ParseCache) -> Option<Later> {
    let snapshot = Snapshot { now: from, ..snapshot.clone() };
    cache.set_version(snapshot.version());
    let decided = evaluate(&snapshot, cache)?;
    let (trees, attributions) =
        (trees(decided.queues(), &decided.context.resolved.aliased), decided.contributions());
    drop(decided);
    cache.forget_unused();
    Some(Later { from, trees, attributions })
}

/// Returns the moments to evaluate, and the first moment beyond the bound.
fn moments(
    old: Option<&Snapshot>,
    new: Option<&Snapshot>,
    now: Timestamp,
    work: usize,
) -> (BTreeSet<Timestamp>, Option<Timestamp>) {
    let objects = || [old, new].into_iter().flatten().flat_map(|snapshot| &snapshot.queue_acls);
    let mut moments: BTreeSet<Timestamp> =
        objects().flat_map(|entry| ends(entry)).filter(|at| now < *at).collect();
    let most = work / objects().count().max(1);
    if moments.len() > most {
        let differ = old.zip(new).and_then(|(old, new)| differing(old, new));
        moments.retain(|at| differ.as_ref().is_none_or(|times| times.iter().any(|time| time.contains(at))));
    }
    let unknown_from = moments.iter().nth(most).copied();
    if let Some(from) = unknown_from {
        moments.split_off(&from);
    }
    (moments, unknown_from)
}

/// Returns the moments at which an object begins or ends.
fn ends(entry: &QueueAclEntry) -> impl Iterator<Item = Timestamp> {
    let (begin, end) = window(entry);
    let kept = entry.in_force.as_ref().and_then(|kept| kept.expires_at);
    [begin, end, kept].into_iter().flatten()
}

/// Returns the times at which the objects in force can differ between two snapshots, as the moments at which
/// a difference begins and ends; `None` means all times. At all other times both have the same plan.
pub(crate) fn differing(old: &Snapshot, new: &Snapshot) -> Option<Vec<RangeInclusive<Timestamp>>> {
    if !same_ground(old, new) {
        return None;
    }
    let by_name = |snapshot: &Snapshot| -> BTreeMap<Arc<str>, Arc<QueueAclEntry>> {
        let entries = snapshot.queue_acls.iter();
        entries.map(|entry| (Arc::clone(&entry.meta.name), Arc::clone(entry))).collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    let names: BTreeSet<&Arc<str>> = old.keys().chain(new.keys()).collect();
    let times = names.into_iter().map(|name| differing_object(old.get(name), new.get(name)));
    Some(times.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns whether plans for two snapshots can differ by their `QueueAcl`s alone.
fn same_ground(old: &Snapshot, new: &Snapshot) -> bool {
    let data =
        |map: &Option<Arc<ConfigMapState>>| map.as_deref().map(|map| (map.data.clone(), map.binary.clone()));
    let policies = |snapshot: &Snapshot| -> Vec<_> {
        let entries = snapshot.policies.iter();
        entries.map(|entry| (entry.meta.name.clone(), entry.spec.clone(), entry.in_force.clone())).collect()
    };
    old.spec() == new.spec()
        && data(&old.base) == data(&new.base)
        && data(&old.defaults) == data(&new.defaults)
        && policies(old) == policies(new)
}

/// Returns the times at which the versions of one object in force can differ; `None` means all times.
fn differing_object(
    old: Option<&Arc<QueueAclEntry>>,
    new: Option<&Arc<QueueAclEntry>>,
) -> Option<Vec<RangeInclusive<Timestamp>>> {
    let mut windows = Vec::new();
    for entry in [old, new].into_iter().flatten() {
        let spec = entry.spec.as_ref().ok()?;
        let (begin, end) = window(entry);
        windows.push((begin.unwrap_or(Timestamp::MIN), end.unwrap_or(Timestamp::MAX), spec));
    }
    let same = |left: &Arc<QueueAclEntry>, right: &Arc<QueueAclEntry>| {
        left.in_force == right.in_force && left.meta.deleting == right.meta.deleting
    };
    let same = old.zip(new).is_some_and(|(old, new)| same(old, new));
    let (first, last) = match windows.as_slice() {
        [one] => (*one, *one),
        [old, new] => (*old, *new),
        _ => return Some(Vec::new()),
    };
    if same && first.2 == last.2 {
        return Some(Vec::new());
    }
    // Delegated objects take space whether in force or not, and an object that would become invalid keeps an
    // earlier version.
    let is_simple = |spec: &QueueAclSpec| spec.delegated_by.is_none() && read(spec).is_ok();
    if !is_simple(first.2) || !is_simple(last.2) {
        return None;
    }
    let timeless = |spec: &QueueAclSpec| QueueAclSpec { not_before: None, expires_at: None, ..spec.clone() };
    let (begins, ends) = ([first.0, last.0], [first.1, last.1]);
    let range = |[left, right]: [Timestamp; 2]| left.min(right)..=left.max(right);
    if same && windows.len() == 2 && timeless(first.2) == timeless(last.2) {
        return Some(vec![range(begins), range(ends)]);
    }
    let [first_begin, last_begin] = begins;
    let [first_end, last_end] = ends;
    Some(vec![first_begin.min(last_begin)..=first_end.max(last_end)])
}
