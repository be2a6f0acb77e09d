//! Compares two snapshots over time: finds the moments at which grants begin or end, and the access in force
//! from each of them on.
//!
//! A plan is made for each moment, because more than the windows of the objects depends on time: delegated
//! objects count while their writers administer their queues, and an object that became invalid ends, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::Timestamp;

use crate::decide::evaluate;
use crate::effective::ParseCache;
use crate::grants::resolve::read;
use crate::grants::{Attribution, trees};
use crate::snapshot::{ConfigMapState, QueueAclEntry, QueueAclSpec, Snapshot};
use crate::time::ahead::window;
use yunikorn_access::Tree;
use yunikorn_access::decide::in_words;

/// The most objects that all plans of one comparison resolve: the moments, times the objects of both sides.
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
    /// The moment after which they are not compared, because grants begin or end at too many moments, or
    /// because no plan can be made then; `None` if they are compared at all times.
    pub unknown_from: Option<Timestamp>,
}

impl Course {
    /// Looks at both at each moment later than now at which a grant begins or ends. `None` is a configuration
    /// that does not change by itself.
    pub fn new(old: Option<&Snapshot>, new: Option<&Snapshot>) -> Self {
        Self::within(MAX_WORK, old, new)
    }

    /// Does the same within another bound than [`MAX_WORK`].
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

/// Describes that configurations are not compared from a moment on.
pub fn unknown(from: Timestamp) -> String {
    let from = in_words(from);
    format!(
        "from {from} on nothing is compared, because grants begin or end at too many moments: access could be wider then"
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

/// Returns the moments to look at, and the first moment beyond the bound.
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

/// Returns the times at which the objects in force can differ between two snapshots, with the moments at
/// which that begins and ends; `None` for all times. At all other times both have the same plan.
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

/// Returns the times at which the versions of one object can differ in force; `None` for all times.
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
    // The space that delegated objects take is counted in force or not, and an object that would be invalid
    // keeps an earlier version.
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
