//! The configuration as the scheduler runs it: partitions, each with a tree of queues under one root.
//!
//! Only a text that passes validation becomes a [`Config`], so all its names are valid queue names.

use std::iter;
use std::sync::Arc;

use super::schema::{PartitionConfig, PlacementRule, QueueConfig, SchedulerConfig, UserGroupResolver};
use crate::acl::Acl;
use crate::queue::QueuePath;
use crate::right::Right;
use crate::text_map::TextMap;
use go_compat::diag::Span;
use go_compat::yaml::decode::{Location, Spanned};
use go_compat::yaml::edit::Edit;

/// Positions of queues by path.
pub type ByPath = TextMap<QueuePath, u32>;

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The partitions in the order of the text.
    pub partitions: Vec<Partition>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// The name; an unnamed partition is `default`, in any case of letters.
    pub name: Arc<str>,
    /// The placement rules in order. An empty list means that applications name their queue
    /// (`placement.go:223`).
    pub placement_rules: Vec<PlacementRule>,
    /// The resolver for the groups of users. The scheduler uses only the first partition's
    /// (`usergroup.go:79`).
    pub user_group_resolver: UserGroupResolver,
    root: Queue,
    below: Vec<Queue>,
    /// Positions in [`Self::queues`].
    by_path: Arc<ByPath>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// The full path in lower case.
    pub path: QueuePath,
    /// The ACL of submitters as written, or an empty text.
    pub submit_acl: Spanned,
    /// The ACL of administrators as written, or an empty text.
    pub admin_acl: Spanned,
    /// True if applications can run in it, that is, it has no children and is not declared a parent
    /// (`queue.go:345`).
    pub is_leaf: bool,
    /// True if it is declared a parent.
    pub is_declared_parent: bool,
    /// Maximum number of running applications; 0 means unlimited.
    pub max_applications: u64,
    /// The position of the mapping, or `None` for a root that `YuniKorn` inserts.
    pub location: Option<Location>,
    /// The span of the name, or of the mapping if it is unnamed; `None` like [`Self::location`].
    pub head: Option<Span>,
    /// The position in [`Partition::queues`].
    pub position: u32,
    /// The position of the parent; `None` for the root.
    pub above: Option<u32>,
}

impl Config {
    /// Converts a configuration from [`super::validate()`]. Returns `None` for any other.
    pub(super) fn from_validated(validated: SchedulerConfig) -> Option<Self> {
        let partitions = validated.partitions.into_iter().flatten().map(Partition::new);
        partitions.collect::<Option<_>>().map(|partitions| Self { partitions })
    }

    /// Returns the partition with this name, ignoring case; an empty name is `default`. No two names differ
    /// only in case (yunikorn-core `configvalidator.go:764`).
    pub fn partition(&self, name: &str) -> Option<&Partition> {
        let name = if name.is_empty() { "default" } else { name };
        let is =
            |partition: &&Partition| *partition.name == *name || partition.name.eq_ignore_ascii_case(name);
        self.partitions.iter().find(is)
    }
}

impl Partition {
    fn new(written: PartitionConfig) -> Option<Self> {
        let written_root = written.queues?.into_iter().next()?;
        let mut below = Vec::with_capacity(written_root.count_below());
        let (root, nested) = Queue::new(written_root, QueuePath::root(), 0, None);
        Queue::add_below(nested, &root.path, 0, &mut below)?;
        let paths = iter::once(&root).chain(&below).map(|queue| queue.path.clone());
        let by_path = Arc::new(paths.zip(0..).collect());
        Some(Self {
            name: written.name.value.into(),
            placement_rules: written.placement_rules.unwrap_or_default(),
            user_group_resolver: written.user_group_resolver,
            root,
            below,
            by_path,
        })
    }

    /// Returns the root queue, which always exists. [`Queue::inserted`] returns whether it is in the text.
    pub fn root(&self) -> &Queue {
        &self.root
    }

    /// Returns the queue with exactly this path.
    pub fn queue(&self, path: &QueuePath) -> Option<&Queue> {
        self.at(self.by_path.get(path.as_str())?.1)
    }

    /// Returns the queue with exactly this path. This is fastest if `position` is its position in another
    /// text with the same queues.
    pub fn queue_near(&self, position: u32, path: &QueuePath) -> Option<&Queue> {
        self.at(position).filter(|queue| queue.path == *path).or_else(|| self.queue(path))
    }

    /// Returns the queue at a position of [`Self::queues`].
    fn at(&self, position: u32) -> Option<&Queue> {
        match position.checked_sub(1) {
            None => Some(&self.root),
            Some(below) => self.below.get(usize::try_from(below).ok()?),
        }
    }

    /// Returns the positions in [`Self::queues`] by path.
    pub fn by_path(&self) -> &Arc<ByPath> {
        &self.by_path
    }

    /// Changes the ACL of a right on the queue with exactly this path, if it exists.
    pub fn set_acl(&mut self, path: &QueuePath, right: Right, acl: String) {
        let Some((_, position)) = self.by_path.get(path.as_str()) else { return };
        let mut queues = iter::once(&mut self.root).chain(&mut self.below);
        let Some(queue) = queues.nth(*position as usize) else { return };
        match right {
            Right::Submit => queue.submit_acl.value = acl,
            Right::Admin => queue.admin_acl.value = acl,
        }
    }

    /// Returns the queue with this path, or its nearest ancestor that exists.
    pub fn nearest(&self, path: &QueuePath) -> &Queue {
        path.lineage().find_map(|path| self.queue(&path)).unwrap_or(&self.root)
    }

    /// Iterates over all queues in the order of the text, each before its children.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        iter::once(&self.root).chain(&self.below)
    }

    /// Returns the parent of a queue of this partition; `None` for the root.
    pub fn parent(&self, queue: &Queue) -> Option<&Queue> {
        self.at(queue.above?)
    }
}

impl Queue {
    /// Returns the ACL of a right, as written.
    pub fn acl(&self, right: Right) -> &Spanned {
        match right {
            Right::Submit => &self.submit_acl,
            Right::Admin => &self.admin_acl,
        }
    }

    /// Returns the edit of the text that sets the ACL of a right, or `None` if the queue is not in the text.
    pub fn edit(&self, right: Right, acl: &Acl) -> Option<Edit> {
        let location = self.location.as_ref()?;
        Some(Edit { path: location.path.steps(), key: right.key().into(), value: acl.explicit() })
    }

    /// Returns the queue as if it had no children, and its children.
    fn new(
        written: QueueConfig,
        path: QueuePath,
        position: u32,
        above: Option<u32>,
    ) -> (Self, Vec<QueueConfig>) {
        let inserted = written.location.path.is_root();
        let head = (!inserted).then(|| written.head());
        let nested = written.queues.unwrap_or_default();
        let queue = Self {
            path,
            submit_acl: written.submit_acl,
            admin_acl: written.admin_acl,
            is_leaf: !written.parent && nested.is_empty(),
            is_declared_parent: written.parent,
            max_applications: written.max_applications,
            location: (!inserted).then_some(written.location),
            head,
            position,
            above,
        };
        (queue, nested)
    }

    /// Appends the children of the queue with this path and position, each before its own children.
    fn add_below(
        nested: Vec<QueueConfig>,
        path: &QueuePath,
        above: u32,
        below: &mut Vec<Self>,
    ) -> Option<()> {
        for child in nested {
            let path = path.child(child.name.as_str())?;
            let position = u32::try_from(below.len()).ok()?.checked_add(1)?;
            let (queue, nested) = Self::new(child, path.clone(), position, Some(above));
            below.push(queue);
            Self::add_below(nested, &path, position, below)?;
        }
        Some(())
    }

    /// Returns whether `YuniKorn` inserted this root. Such a root has no ACL, and the text has no place for
    /// one.
    pub fn inserted(&self) -> bool {
        self.location.is_none()
    }
}
