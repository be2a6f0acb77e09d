//! Queues that exist in a running scheduler beside those of its configuration: those that placement created,
//! and those that were removed from the configuration while applications run in them.

use std::collections::BTreeMap;

use crate::tree::levels;

/// A queue of a running scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveQueue {
    /// True if applications run in it, not in queues below.
    pub leaf: bool,
    /// True if it was in the configuration, and is waiting to become empty (`Draining`). Then it still has
    /// its old ACLs, which cannot be read any more; others have none.
    pub draining: bool,
}

/// The queues beside the configuration, as `/ws/v1/partition/default/queues` lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    queues: BTreeMap<String, LiveQueue>,
}

impl Live {
    /// Adds a queue by its full path, and missing ones above it as parents. A queue that is also in the
    /// configuration has no effect here: the configuration decides.
    pub fn insert(&mut self, path: &str, queue: LiveQueue) {
        let path = path.to_ascii_lowercase();
        for above in levels(&path).filter(|above| *above != path) {
            let parent = LiveQueue { leaf: false, draining: false };
            self.queues.entry(above.to_owned()).or_insert(parent);
        }
        self.queues.insert(path, queue);
    }

    /// The queue with this path in lower case.
    pub fn get(&self, path: &str) -> Option<LiveQueue> {
        self.queues.get(path).copied()
    }

    /// All queues with their paths in lower case, each before those below it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, LiveQueue)> {
        self.queues.iter().map(|(path, queue)| (path.as_str(), *queue))
    }

    /// Adds the queues that a placement created.
    pub fn create(&mut self, created: &super::Created) {
        for path in created.paths() {
            let leaf = created.leaf && path == created.queue;
            self.insert(path, LiveQueue { leaf, draining: false });
        }
    }
}
