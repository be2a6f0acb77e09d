//! Queues that exist in a running scheduler beside those of its configuration: those that placement created, and those that were
//! removed from the configuration while applications run in them.

use std::collections::BTreeMap;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveQueue {
    /// Whether applications run in it, not in queues below.
    pub leaf: bool,
    /// Whether it was in the configuration, and is waiting to become empty (`Draining`). Then it still has the ACLs it had, which
    /// nobody can read any more; others have none.
    pub draining: bool,
}

/// The queues beside the configuration, as `/ws/v1/partition/default/queues` lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    queues: BTreeMap<String, LiveQueue>,
}

impl Live {
    /// Adds a queue by its full path, and those above it that are not known as parents. One that is in the configuration, too, has no
    /// effect: there it is as the configuration says.
    pub fn insert(&mut self, path: &str, queue: LiveQueue) {
        let path = path.to_ascii_lowercase();
        for (end, _) in path.match_indices('.') {
            let above = path.get(..end).unwrap_or_default();
            let parent = LiveQueue { leaf: false, draining: false };
            self.queues.entry(above.to_owned()).or_insert(parent);
        }
        self.queues.insert(path, queue);
    }

    /// The queue with this path in lower case.
    pub fn get(&self, path: &str) -> Option<LiveQueue> {
        self.queues.get(path).copied()
    }

    /// All of them with their paths in lower case, each before those below it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, LiveQueue)> {
        self.queues.iter().map(|(path, queue)| (path.as_str(), *queue))
    }

    /// Adds what a placement created.
    pub fn create(&mut self, created: &super::Created) {
        for path in created.paths() {
            let leaf = created.leaf && path == created.queue;
            self.insert(path, LiveQueue { leaf, draining: false });
        }
    }
}
