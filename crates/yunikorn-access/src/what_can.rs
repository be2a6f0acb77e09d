//! Finds the queues on which a user may do something.

use super::reach::Way;
use super::tree::{QueueId, Tree};
use yunikorn::identity::Identity;
use yunikorn::right::Right;

/// Finds all queues on which a user may do something, in order, each with the nearest entry that grants it.
pub fn what_can<'t>(
    tree: &'t Tree,
    right: Right,
    identity: &Identity,
) -> impl Iterator<Item = (QueueId, Way<'t>)> {
    tree.queues().filter_map(move |(id, _)| Some((id, Way::find(tree, right, id, identity)?)))
}
