//! Finds ACLs that change no decision: access only adds up towards the root, so a wildcard above makes the
//! others redundant.

use std::iter;

use crate::effective::{acl_of, text_of};
use crate::grants::contribution::Contribution;
use yunikorn::config::{Config, Queue};
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;

/// Returns the queue and the ACL because of which `right` on the contribution's queue changes nothing in
/// `tree`: an ACL above, or another one of the queue itself, admits everyone. `adminacl` grants submit as
/// well (yunikorn-core `queue.go:798-822`).
pub(crate) fn redundant(
    tree: &Config,
    contribution: &Contribution,
    right: Right,
) -> Option<(QueuePath, Right)> {
    let partition = tree.partition(&contribution.partition)?;
    let Contribution { position, queue: path, .. } = contribution;
    let nearest = partition.queue_near(*position, path).unwrap_or_else(|| partition.nearest(path));
    let own_everyone = contribution.grant(right).is_some_and(yunikorn::acl::Acl::is_everyone);
    let lineage = iter::successors(Some(nearest), |queue| partition.parent(queue));
    lineage.into_iter().find_map(|queue| {
        right
            .acls()
            .iter()
            .copied()
            .filter(|by| !(own_everyone && queue.path == contribution.queue && *by == right))
            .find(|by| everyone(queue, *by))
            .map(|through| (queue.path.clone(), through))
    })
}

fn everyone(queue: &Queue, right: Right) -> bool {
    // Nearly no ACL admits everyone, and this check avoids parsing the others.
    text_of(queue, right).is_some_and(|text| text.contains('*')) && acl_of(queue, right).is_everyone()
}

/// Returns the first partition whose root admits everyone, and through which ACL.
pub(crate) fn open_root(tree: &Config) -> Option<(&str, Right)> {
    tree.partitions.iter().find_map(|partition| {
        let right = Right::ALL.into_iter().find(|right| everyone(partition.root(), *right))?;
        Some((&*partition.name, right))
    })
}
