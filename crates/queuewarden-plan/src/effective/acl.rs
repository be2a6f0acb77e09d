//! The ACLs of queues, in a text and as decided by objects.

use std::sync::Arc;

use yunikorn::config::Queue;
use yunikorn::{Acl, Config, QueuePath, Right, acl};

/// The key of an ACL: partition name, queue, right.
pub(crate) type AclLocation = (Arc<str>, QueuePath, Right);

/// One ACL that objects decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AclDecision {
    /// The desired ACL.
    pub acl: Acl,
    /// The part of the base's own ACL that the desired ACL does not grant.
    pub taken: Acl,
    /// The position of the queue in the base.
    pub position: u32,
}

impl AclDecision {
    /// Finds the queue of this ACL in a tree.
    pub(crate) fn queue_in<'t>(
        &self,
        tree: &'t Config,
        (partition, queue, _): &AclLocation,
    ) -> Option<&'t Queue> {
        tree.partition(partition)?.queue_near(self.position, queue)
    }

    /// Returns whether the queue has this ACL. A text in the form that queuewarden writes need not be parsed.
    pub(crate) fn is_acl_of(&self, queue: &Queue, right: Right) -> bool {
        text_of(queue, right).is_some_and(|text| self.acl.is_explicit(text))
            || acl_of(queue, right) == self.acl
    }
}

/// All ACLs that objects set, sorted by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AclDecisions(pub(crate) Vec<(AclLocation, AclDecision)>);

impl AclDecisions {
    /// Returns the decision about one ACL, or `None` if no object sets it.
    pub(crate) fn get(&self, partition: &str, queue: &QueuePath, right: Right) -> Option<&AclDecision> {
        let compare = |((p, q, r), _): &(AclLocation, AclDecision)| {
            (**p).cmp(partition).then_with(|| q.cmp(queue)).then(r.cmp(&right))
        };
        let index = self.0.binary_search_by(compare).ok()?;
        self.0.get(index).map(|(_, decided)| decided)
    }

    /// Iterates over all decisions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(AclLocation, AclDecision)> {
        self.0.iter()
    }
}

/// Returns a queue's own ACL as interpreted on activation; a text that does not activate grants nothing.
pub(crate) fn acl_of(queue: &Queue, right: Right) -> Acl {
    text_of(queue, right).and_then(|text| acl::parse(text).ok()).unwrap_or_default()
}

/// Returns a queue's own ACL as written.
pub(crate) fn text_of(queue: &Queue, right: Right) -> Option<&str> {
    Some(queue.acl(right).value.as_str()).filter(|text| !text.is_empty())
}

#[cfg(test)]
impl<const N: usize> From<[(AclLocation, AclDecision); N]> for AclDecisions {
    fn from(mut decided: [(AclLocation, AclDecision); N]) -> Self {
        decided.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Self(decided.into())
    }
}
