//! Computes the desired ACLs of a plan: per queue and right, the union of what the objects grant.
//!
//! A right that any object of a queue sets is the union over those objects. The base's own value is replaced,
//! unless all of them set `Extend`. A right that none of them sets keeps the base's text. So the order of the
//! objects never matters.

use std::sync::Arc;

use super::resolve::{Contribution, Resolved};
use super::snapshot::BaseAcl;
use yunikorn::acl::{self, Acl};
use yunikorn::config::{Config, Queue};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// The key of an ACL: partition name, queue, right.
pub(super) type AclKey = (Arc<str>, QueuePath, Right);

/// One ACL that objects decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// The desired ACL.
    pub acl: Acl,
    /// The part of the base's own ACL that the desired one does not grant.
    pub taken: Acl,
    /// The position of the queue in the base.
    pub position: u32,
}

impl Decided {
    /// Finds the queue that it is about in a tree.
    pub(super) fn queue_in<'t>(&self, tree: &'t Config, (partition, queue, _): &AclKey) -> Option<&'t Queue> {
        tree.partition(partition)?.queue_near(self.position, queue)
    }

    /// Returns whether it is the ACL of a queue. A text in the form that queuewarden writes need not be
    /// parsed.
    pub(super) fn is_acl_of(&self, queue: &Queue, right: Right) -> bool {
        text_of(queue, right).is_some_and(|text| self.acl.is_explicit(text))
            || acl_of(queue, right) == self.acl
    }
}

/// All ACLs that objects decide, sorted by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Grants(Vec<(AclKey, Decided)>);

impl Grants {
    /// Returns the decision about one ACL; `None` where no object sets it.
    pub(super) fn get(&self, partition: &str, queue: &QueuePath, right: Right) -> Option<&Decided> {
        let compare = |((p, q, r), _): &(AclKey, Decided)| {
            (**p).cmp(partition).then_with(|| q.cmp(queue)).then(r.cmp(&right))
        };
        let index = self.0.binary_search_by(compare).ok()?;
        self.0.get(index).map(|(_, decided)| decided)
    }

    /// Iterates over all decisions.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(AclKey, Decided)> {
        self.0.iter()
    }
}

/// The indexes in the grants at which each object takes part, in the order of the objects: at most one for
/// each right.
#[derive(Debug, Clone, Default)]
pub(super) struct ByObject(Vec<[Option<usize>; Right::ALL.len()]>);

impl ByObject {
    /// Returns the decisions, by right, that an object makes about its queue together with others.
    pub(super) fn decided<'g>(&self, grants: &'g Grants, object: usize) -> Vec<(Right, &'g Decided)> {
        let decided = self.positions(object).filter_map(|place| grants.0.get(place));
        decided.map(|((.., right), decided)| (*right, decided)).collect()
    }

    /// Returns the indexes in the grants at which an object takes part.
    pub(super) fn positions(&self, object: usize) -> impl Iterator<Item = usize> {
        self.0.get(object).into_iter().flatten().flatten().copied()
    }
}

#[cfg(test)]
impl<const N: usize> From<[(AclKey, Decided); N]> for Grants {
    fn from(mut decided: [(AclKey, Decided); N]) -> Self {
        decided.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Self(decided.into())
    }
}

/// The part of an object in one ACL.
struct Part<'a> {
    /// The beginning of the path below the root, as a number: quick to compare, and in the same order.
    start: u64,
    key: (&'a Arc<str>, &'a QueuePath, Right),
    index: usize,
    contribution: &'a Contribution,
    acl: &'a Acl,
}

/// Joins the contributions of the objects.
pub(super) fn decide<'a>(objects: impl IntoIterator<Item = &'a Resolved<'a>>, tree: &Config) -> Grants {
    decide_by_object(objects, tree).0
}

/// Does the same, and returns which decisions each object takes part in.
pub(super) fn decide_by_object<'a>(
    objects: impl IntoIterator<Item = &'a Resolved<'a>>,
    tree: &Config,
) -> (Grants, ByObject) {
    let mut by_object = ByObject::default();
    let objects = objects.into_iter().inspect(|_| by_object.0.push(Default::default())).enumerate();
    let contributions = objects.filter_map(|(index, object)| Some((index, object.contribution()?)));
    let mut parts: Vec<Part<'a>> = contributions
        .flat_map(|(index, contribution)| {
            contribution.acls().map(move |(right, acl)| Part {
                start: start(&contribution.queue),
                key: (&contribution.partition, &contribution.queue, right),
                index,
                contribution,
                acl,
            })
        })
        .collect();
    parts.sort_unstable_by_key(|part| (part.key.0, part.start, part.key));
    let mut grants = Vec::new();
    for parts in parts.chunk_by(|left, right| left.key == right.key) {
        let Some(Part { key: (partition, queue, right), contribution, .. }) = parts.first() else {
            continue;
        };
        for part in parts {
            let mut places = by_object.0.get_mut(part.index).into_iter().flatten();
            if let Some(free) = places.find(|place| place.is_none()) {
                *free = Some(grants.len());
            }
        }
        // The base's own ACL: nobody where there is none.
        let queue_in_base = contribution.queue_in(tree);
        let base = queue_in_base.map_or_else(Acl::nobody, |queue| acl_of(queue, *right));
        let (acl, taken) = join(&base, parts);
        let decided = Decided { acl, taken, position: contribution.position };
        grants.push(((Arc::clone(partition), (*queue).clone(), *right), decided));
    }
    grants.shrink_to_fit();
    (Grants(grants), by_object)
}

/// Returns the first bytes of a path below the root.
fn start(queue: &QueuePath) -> u64 {
    let mut bytes = queue.as_str().bytes().skip("root.".len());
    u64::from_be_bytes(std::array::from_fn(|_| bytes.next().unwrap_or_default()))
}

/// Joins the parts of one ACL: returns the desired ACL, and what it takes away from the base's.
fn join(base: &Acl, parts: &[Part<'_>]) -> (Acl, Acl) {
    let extend = parts.iter().all(|part| part.contribution.base_acl == BaseAcl::Extend);
    let start = if extend { base.clone() } else { Acl::nobody() };
    let acl = parts.iter().fold(start, |union, part| union.union(part.acl));
    let taken = base.lost(&acl);
    (acl, taken)
}

/// Returns a queue's own ACL as activation reads it; a text that does not activate grants nothing.
pub(super) fn acl_of(queue: &Queue, right: Right) -> Acl {
    text_of(queue, right).and_then(|text| acl::parse(text).ok()).unwrap_or_default()
}

/// Returns a queue's own ACL as written.
pub(super) fn text_of(queue: &Queue, right: Right) -> Option<&str> {
    Some(queue.acl(right).value.as_str()).filter(|text| !text.is_empty())
}
