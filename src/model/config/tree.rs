//! The configuration as the scheduler runs it: partitions, and in each a tree of queues under one root.
//!
//! Only a text that the validator accepts becomes a [`Config`], so every name in it is one that a queue can have.

use super::schema::{Limit, PartitionConfig, PlacementRule, QueueConfig, SchedulerConfig, UserGroupResolver};
use crate::model::by_path::ByPath;
use crate::model::queue::QueuePath;
use crate::model::right::Right;
use crate::text::yaml::decode::{Place, Spanned};

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The partitions in the order of the text.
    pub partitions: Vec<Partition>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Its name; `default` for the one that has none, whatever its case.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// Its placement rules in order; none means that applications name their queue (`placement.go:223`).
    pub placement_rules: Vec<PlacementRule>,
    /// Who resolves a user's groups. The scheduler asks the first partition only (`usergroup.go:79`).
    pub user_group_resolver: UserGroupResolver,
    root: Queue,
    below: Vec<Queue>,
    by_path: ByPath,
}

/// One queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// Its full path in lower case.
    pub path: QueuePath,
    /// Its name as written.
    pub name: String,
    /// Who may submit to it, as written; empty when nothing was.
    pub submit_acl: Spanned,
    /// Who administers it, as written; empty when nothing was.
    pub admin_acl: Spanned,
    /// Whether applications run in it: it is not declared a parent, and has no children (`queue.go:345`).
    pub is_leaf: bool,
    /// Limits of users and groups.
    pub limits: Vec<Limit>,
    /// Where its mapping stands; `None` for a root that `YuniKorn` inserts because the text has none.
    pub place: Option<Place>,
    /// The index of the queue above; `None` below the root.
    above: Option<usize>,
    children: Vec<usize>,
}

impl Config {
    /// The view of what [`super::validate()`] returned. `None` if it is something else.
    pub(super) fn of(validated: SchedulerConfig) -> Option<Self> {
        let partitions = validated.partitions.into_iter().flatten().map(Partition::of);
        partitions.collect::<Option<_>>().map(|partitions| Self { partitions })
    }

    /// The partition with this name, whatever its case; none is `default`. No two names differ in case only
    /// (yunikorn-core `configvalidator.go:764`).
    pub fn partition(&self, name: &str) -> Option<&Partition> {
        let name = if name.is_empty() { "default" } else { name };
        self.partitions.iter().find(|partition| partition.name.eq_ignore_ascii_case(name))
    }
}

impl Partition {
    fn of(written: PartitionConfig) -> Option<Self> {
        let written_root = written.queues?.into_iter().next()?;
        let mut below = Vec::new();
        let (mut root, nested) = Queue::of(written_root, QueuePath::root());
        root.children = Queue::add_below(nested, &root.path, None, &mut below)?;
        // It is kept, for as long as the text.
        below.shrink_to_fit();
        let by_path = ByPath::of(below.iter().map(|queue| &queue.path));
        Some(Self {
            name: written.name.value,
            place: written.place,
            placement_rules: written.placement_rules.unwrap_or_default(),
            user_group_resolver: written.user_group_resolver,
            root,
            below,
            by_path,
        })
    }

    /// The root queue. There always is one; [`Queue::inserted`] tells whether it is in the text.
    pub fn root(&self) -> &Queue {
        &self.root
    }

    /// The queue with exactly this path.
    pub fn queue(&self, path: &QueuePath) -> Option<&Queue> {
        if path.is_root() {
            return Some(&self.root);
        }
        self.below.get(self.index(path)?)
    }

    fn index(&self, path: &QueuePath) -> Option<usize> {
        self.by_path.find(path.as_str()).and_then(|index| usize::try_from(index).ok())
    }

    /// Changes the ACL of a right on the queue with exactly this path, if there is one.
    pub(crate) fn set_acl(&mut self, path: &QueuePath, right: Right, acl: String) {
        let below = self.index(path).and_then(|index| self.below.get_mut(index));
        let Some(queue) = (if path.is_root() { Some(&mut self.root) } else { below }) else { return };
        match right {
            Right::Submit => queue.submit_acl.value = acl,
            Right::Admin => queue.admin_acl.value = acl,
        }
    }

    /// The queue with this path, or the nearest one above it that exists.
    pub fn nearest(&self, path: &QueuePath) -> &Queue {
        path.lineage().find_map(|path| self.queue(&path)).unwrap_or(&self.root)
    }

    /// All queues in the order of the text, each before its children.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        std::iter::once(&self.root).chain(&self.below)
    }

    /// The children of a queue of this partition in the order of the text.
    pub fn children<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = &'a Queue> {
        queue.children.iter().filter_map(|index| self.below.get(*index))
    }

    /// The queue above a queue of this partition; `None` for the root.
    pub fn parent(&self, queue: &Queue) -> Option<&Queue> {
        if queue.path.is_root() {
            return None;
        }
        queue.above.map_or(Some(&self.root), |index| self.below.get(index))
    }
}

impl Queue {
    /// The queue as if it had no children, and these.
    fn of(written: QueueConfig, path: QueuePath) -> (Self, Vec<QueueConfig>) {
        let nested = written.queues.unwrap_or_default();
        let inserted = written.place.path.is_root();
        let queue = Self {
            path,
            name: written.name.value,
            submit_acl: written.submit_acl,
            admin_acl: written.admin_acl,
            is_leaf: !written.parent && nested.is_empty(),
            limits: written.limits.unwrap_or_default(),
            place: (!inserted).then_some(written.place),
            above: None,
            children: Vec::new(),
        };
        (queue, nested)
    }

    /// Puts the children of the queue with this path and index behind the others, each in front of its own children. Returns their
    /// indices.
    fn add_below(
        nested: Vec<QueueConfig>,
        path: &QueuePath,
        above: Option<usize>,
        below: &mut Vec<Self>,
    ) -> Option<Vec<usize>> {
        let mut children = Vec::with_capacity(nested.len());
        for child in nested {
            let path = path.child(child.name.as_str())?;
            let (queue, nested) = Self::of(child, path.clone());
            let index = below.len();
            children.push(index);
            below.push(Self { above, ..queue });
            if !nested.is_empty() {
                let grandchildren = Self::add_below(nested, &path, Some(index), below)?;
                below.get_mut(index)?.children = grandchildren;
            }
        }
        Some(children)
    }

    /// Whether `YuniKorn` inserts this root because the text has none: then it has no ACL, and no place to write one.
    pub fn inserted(&self) -> bool {
        self.place.is_none()
    }
}
