//! Computes the desired ACLs of a plan: per queue and right, the union of the objects' grants.
//!
//! A right that any object of a queue sets is the union over those objects. It replaces the base's own value
//! unless all of them set `Extend`. A right that no object sets keeps the base's text. The order of the
//! objects therefore never matters.

use std::sync::Arc;

use crate::effective::{AclDecision, AclDecisions, acl_of};
use crate::grants::{Contribution, Resolved};
use crate::snapshot::BaseAcl;
use yunikorn::{Acl, Config, QueuePath, Right};

/// For each object, in order, the indexes of the grants it takes part in: at most one for each right.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByObject(Vec<[Option<usize>; Right::ALL.len()]>);

impl ByObject {
    /// Returns the decisions, by right, that an object takes part in.
    pub(crate) fn decisions<'g>(
        &self,
        grants: &'g AclDecisions,
        object: usize,
    ) -> Vec<(Right, &'g AclDecision)> {
        let decided = self.positions(object).filter_map(|place| grants.0.get(place));
        decided.map(|((.., right), decided)| (*right, decided)).collect()
    }

    /// Returns the indexes of the grants that an object takes part in.
    pub(crate) fn positions(&self, object: usize) -> impl Iterator<Item = usize> {
        self.0.get(object).into_iter().flatten().flatten().copied()
    }
}

/// The part of an object in one ACL.
struct Part<'a> {
    /// The beginning of the path below the root, as a number that is quick to compare and sorts in the same
    /// order.
    start: u64,
    key: (&'a Arc<str>, &'a QueuePath, Right),
    index: usize,
    contribution: &'a Contribution,
    acl: &'a Acl,
}

/// Joins the contributions of the objects.
pub(crate) fn decide<'a>(objects: impl IntoIterator<Item = &'a Resolved<'a>>, tree: &Config) -> AclDecisions {
    decide_by_object(objects, tree).0
}

/// Like [`decide`], but also returns which decisions each object takes part in.
pub(crate) fn decide_by_object<'a>(
    objects: impl IntoIterator<Item = &'a Resolved<'a>>,
    tree: &Config,
) -> (AclDecisions, ByObject) {
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
        // The base's own ACL, which is nobody if the base does not set it.
        let queue_in_base = contribution.queue_in(tree);
        let base = queue_in_base.map_or_else(Acl::nobody, |queue| acl_of(queue, *right));
        let (acl, taken) = join(&base, parts);
        let decided = AclDecision { acl, taken, position: contribution.position };
        grants.push(((Arc::clone(partition), (*queue).clone(), *right), decided));
    }
    grants.shrink_to_fit();
    (AclDecisions(grants), by_object)
}

/// Returns the first bytes of a path below the root.
fn start(queue: &QueuePath) -> u64 {
    let mut bytes = queue.as_str().bytes().skip("root.".len());
    u64::from_be_bytes(std::array::from_fn(|_| bytes.next().unwrap_or_default()))
}

/// Joins the parts of one ACL. Returns the desired ACL, and the entries of the base's ACL that it removes.
fn join(base: &Acl, parts: &[Part<'_>]) -> (Acl, Acl) {
    let extend = parts.iter().all(|part| part.contribution.base_acl == BaseAcl::Extend);
    let start = if extend { base.clone() } else { Acl::nobody() };
    let acl = parts.iter().fold(start, |union, part| union.union(part.acl));
    let taken = base.lost(&acl);
    (acl, taken)
}
