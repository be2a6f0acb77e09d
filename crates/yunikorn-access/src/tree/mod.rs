//! The queues of one partition as access checks see them, with their ACLs as parsed at activation and the
//! origin of each entry.
//!
//! Queues are numbered in pre-order, so a subtree is a range of numbers.

mod edit;
mod name_index;
mod node;

pub use name_index::GrantingEntry;
pub(crate) use name_index::NameIndex;
pub use node::{Grants, Node, Origin, QueueId, TextLocation, latest};

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::alias::{self, Aliased};
use go_compat::diag::Span;
use yunikorn::acl::{Acl, AclError, Match};
use yunikorn::config::schema::PlacementRule;
use yunikorn::config::{ByPath, Partition};
use yunikorn::identity::{Claim, GroupResolver, Identity, Refusal, identify};
use yunikorn::queue::{self, QueuePath};
use yunikorn::right::Right;
use yunikorn::version::Version;

/// The queues of one partition.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    partition: Arc<str>,
    rules: Vec<PlacementRule>,
    /// The queues in the order of the partition, which is pre-order.
    queues: Vec<Node>,
    by_path: Arc<ByPath>,
    /// An index built by the first query, because many trees are only compared or printed.
    named: OnceLock<NameIndex>,
    /// The known names of users and groups by their aliases.
    aliased: Arc<Aliased>,
}

/// The context of a decision about a user: the scheduler's queues, groups and version.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "the tree is large")]
pub struct Scheduler<'a> {
    /// The queues of the partition.
    pub tree: &'a Tree,
    /// The resolver of groups for users without groups in an annotation.
    pub resolver: &'a (dyn GroupResolver + Sync),
    /// The version of `YuniKorn`.
    pub version: Version,
}

/// The scheduler would not activate an ACL of the tree, so queries cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {} of queue `{queue}` cannot be activated: {error}", right.key())]
pub struct NotActive {
    /// The queue.
    pub queue: QueuePath,
    /// The kind of ACL.
    pub right: Right,
    /// The error in the ACL.
    pub error: AclError,
}

/// What a queue path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Located {
    /// This queue.
    Queue(QueueId),
    /// No queue. This is the nearest queue above, which decides (yunikorn-core `placement.go:152-169`).
    Below(QueueId),
    /// No queue, and none can be created, because the nearest queue above is this leaf (yunikorn-core
    /// `partition.go:545`).
    BelowLeaf(QueueId),
    /// Nothing, because the path does not begin with the root (`partition.go:493`).
    Nowhere,
}

impl Located {
    /// Returns the queue whose ACLs decide.
    pub fn decides(self) -> Option<QueueId> {
        match self {
            Self::Queue(id) | Self::Below(id) => Some(id),
            Self::BelowLeaf(_) | Self::Nowhere => None,
        }
    }

    /// Returns the queue itself, or the nearest above it.
    pub fn nearest(self) -> Option<QueueId> {
        match self {
            Self::Queue(id) | Self::Below(id) | Self::BelowLeaf(id) => Some(id),
            Self::Nowhere => None,
        }
    }
}

impl Tree {
    /// Returns the queues of a partition. The origins of the ACLs are spans in an unnamed text.
    ///
    /// # Errors
    /// An ACL cannot be activated, so the scheduler would not load the configuration.
    pub fn new(partition: &Partition) -> Result<Self, NotActive> {
        let mut tree = Self {
            partition: partition.name.clone(),
            rules: partition.placement_rules.clone(),
            queues: partition.queues().map(Node::new).collect::<Result<_, _>>()?,
            by_path: Arc::clone(partition.by_path()),
            ..Self::default()
        };
        tree.measure();
        Ok(tree)
    }

    /// Computes the sizes of the subtrees. Children come after their parents, so in reverse order each size
    /// is complete before it is added to the parent's.
    fn measure(&mut self) {
        for index in (1..self.queues.len()).rev() {
            let Some((parent, size)) = self.queues.get(index).map(|node| (node.parent, node.size)) else {
                continue;
            };
            if let Some(parent) = parent.and_then(|id| self.queues.get_mut(id.index())) {
                parent.size = parent.size.saturating_add(size);
            }
        }
    }

    /// Returns the same partition without queues.
    pub(super) fn without_queues(&self) -> Self {
        Self { partition: Arc::clone(&self.partition), ..Self::default() }
    }

    /// Returns the name of the partition.
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// Returns the placement rules as written.
    pub fn placement_rules(&self) -> &[PlacementRule] {
        &self.rules
    }

    /// Iterates over all queues in pre-order.
    pub fn queues(&self) -> impl ExactSizeIterator<Item = (QueueId, &Node)> + DoubleEndedIterator {
        self.queues
            .iter()
            .enumerate()
            .map(|(index, node)| (QueueId(u32::try_from(index).unwrap_or(u32::MAX)), node))
    }

    /// Returns a queue.
    pub fn node(&self, id: QueueId) -> Option<&Node> {
        self.queues.get(id.index())
    }

    /// Returns the path of a queue.
    pub fn path(&self, id: QueueId) -> QueuePath {
        self.node(id).map_or_else(QueuePath::root, |node| node.path.clone())
    }

    /// Returns the queue with this path.
    pub fn find(&self, path: &QueuePath) -> Option<QueueId> {
        self.find_exact(path.as_str())
    }

    /// Returns the queue with exactly this path.
    #[expect(clippy::inline_always, reason = "a call takes as long as the look-up")]
    #[inline(always)]
    pub(super) fn find_exact(&self, path: &str) -> Option<QueueId> {
        self.by_path.get(path).map(|(_, number)| QueueId(*number))
    }

    /// Returns the target of a path, ignoring case (`getQueueInternal`, yunikorn-core
    /// `partition.go:488-504`). The parts below the nearest queue can be anything, even empty.
    #[inline]
    pub fn locate(&self, path: &str) -> Located {
        // Most paths are spelled exactly as stored.
        match self.find_exact(path) {
            Some(id) => Located::Queue(id),
            None => self.locate_nearest(path),
        }
    }

    /// Returns the target of the path of an existing queue, which need not be in the configuration. A leaf in
    /// the configuration can still have its former children until they are drained.
    pub fn locate_existing(&self, path: &str) -> Located {
        match self.locate(path) {
            Located::BelowLeaf(id) => Located::Below(id),
            located => located,
        }
    }

    /// Returns the target of a path that is not spelled exactly as stored.
    #[inline(never)]
    fn locate_nearest(&self, path: &str) -> Located {
        let lower = queue::lowered(path);
        let mut nearest = None;
        for path in levels(&lower) {
            match self.find_exact(path) {
                Some(id) if path == lower => return Located::Queue(id),
                Some(id) => nearest = Some(id),
                None => break,
            }
        }
        match nearest.and_then(|id| Some((id, self.node(id)?))) {
            Some((id, node)) if node.is_leaf => Located::BelowLeaf(id),
            Some((id, _)) => Located::Below(id),
            None => Located::Nowhere,
        }
    }

    /// Builds the index in advance, so that the first query does not have to.
    pub fn make_ready(&self) {
        self.named();
    }

    /// Returns the index of names, which is built if necessary.
    pub(super) fn named(&self) -> &NameIndex {
        self.named.get_or_init(|| NameIndex::new(self))
    }

    /// Iterates from the queue up to the root.
    pub fn lineage(&self, id: QueueId) -> impl Iterator<Item = (QueueId, &Node)> {
        std::iter::successors(self.node(id).map(|node| (id, node)), |(_, node)| {
            node.parent.and_then(|id| self.node(id).map(|node| (id, node)))
        })
    }

    /// Returns the numbers of the queue and its descendants.
    pub fn subtree(&self, id: QueueId) -> Range<u32> {
        let size = self.node(id).map_or(0, |node| node.size);
        id.0..id.0.saturating_add(size)
    }

    /// Returns the recovery queue and its descendants, if the text contains it.
    pub fn recovery(&self) -> Option<Range<u32>> {
        self.find_exact(queue::RECOVERY).map(|id| self.subtree(id))
    }

    /// Sets the locations of everything in the text. `locate` converts a span to a location.
    pub fn locate_text(&mut self, locate: impl Fn(Option<Span>) -> TextLocation) {
        for node in &mut self.queues {
            node.head.iter_mut().for_each(|head| *head = locate(head.span));
            for right in Right::ALL {
                for (origin, _) in &mut node.grants.get_mut(right).parts {
                    if let Origin::Text(location) = origin {
                        *location = locate(location.span);
                    }
                }
            }
        }
    }

    /// Records that an object grants this at a queue. These entries are then no longer attributed to the
    /// text.
    pub fn attribute(&mut self, path: &QueuePath, right: Right, object: Origin, granted: &Acl) {
        if let Some(node) = self.find(path).and_then(|id| self.queues.get_mut(id.index())) {
            node.grants.get_mut(right).attribute(object, granted);
        }
    }

    /// Returns whether an ACL contains an alias.
    pub fn has_aliases(&self) -> bool {
        self.named().has_aliases()
    }

    /// Returns the scheduler's identity of a Kubernetes user. A service account without groups gets the
    /// groups that Kubernetes gives it. If an ACL contains an alias, names that `YuniKorn` would refuse are
    /// escaped, as the user-info webhook does.
    ///
    /// # Errors
    /// `YuniKorn`'s refusal, or that the result is unknown.
    pub fn identify(
        &self,
        of: &Identity,
        resolver: &dyn GroupResolver,
        version: Version,
    ) -> Result<Identity, Refusal> {
        let user = if self.has_aliases() { alias::escaped(&of.user) } else { Cow::from(&of.user) };
        let account = alias::service_account(&of.user).filter(|_| of.groups.is_empty());
        let given = account.map(|(namespace, _)| alias::groups_of_account(namespace));
        let groups = given.as_deref().unwrap_or(&of.groups);
        let identity = identify(Claim::new(&user, groups), resolver, version)?;
        Ok(Identity { user: of.user.clone(), ..identity })
    }

    /// Records names of users and groups by their aliases.
    pub fn name_aliases(&mut self, aliased: Arc<Aliased>) {
        self.aliased = aliased;
    }

    /// Returns the user or group that an ACL entry represents, or the entry itself if it is not a known
    /// alias.
    pub fn real<'t>(&'t self, entry: Match<'t>) -> Match<'t> {
        self.aliased.real(entry)
    }

    /// Returns a user with the aliases of the names, if an ACL contains an alias.
    pub fn presented<'i>(&self, identity: &'i Identity) -> Cow<'i, Identity> {
        self.named().presented(identity)
    }

    /// Records the location of a queue's name in the text that people edit.
    pub fn name_at(&mut self, path: &QueuePath, head: Option<TextLocation>) {
        if let Some(node) = self.find(path).and_then(|id| self.queues.get_mut(id.index())) {
            node.head = head;
        }
    }

    /// Removes an ACL.
    #[cfg(test)]
    pub(super) fn clear(&mut self, path: &QueuePath, right: Right) {
        if let Some(node) = self.find(path).and_then(|id| self.queues.get_mut(id.index())) {
            *node.grants.get_mut(right) = Grants::default();
            self.named = OnceLock::new();
        }
    }
}

/// Iterates over the paths from the root to this queue.
pub(super) fn levels(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain(std::iter::once(path.len()));
    ends.filter_map(|end| path.get(..end))
}
