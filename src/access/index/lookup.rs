//! From the text of a path to the queue that decides for it.

use hashbrown::HashTable;

use super::hash::Seed;
use crate::access::tree::{Located, QueueId, Tree};
use crate::model::queue;

/// The paths of a tree.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    seed: Seed,
    /// The numbers of the queues by the hash of their paths.
    numbers: HashTable<u32>,
    /// By the number of the queue.
    paths: Vec<Box<[u8]>>,
    /// The bytes of the longest.
    longest: usize,
}

impl Lookup {
    pub(super) fn of(tree: &Tree, seed: Seed) -> Self {
        let paths: Vec<Box<[u8]>> =
            tree.queues().map(|(_, node)| node.path.as_str().as_bytes().into()).collect();
        let hash = |number: &u32| seed.path(path(&paths, *number));
        let mut numbers = HashTable::with_capacity(paths.len());
        for (number, path) in (0..).zip(&paths) {
            numbers.insert_unique(seed.path(path), number, hash);
        }
        let longest = paths.iter().map(|path| path.len()).max().unwrap_or_default();
        Self { seed, numbers, paths, longest }
    }

    /// As [`Tree::locate`].
    #[inline]
    pub(super) fn locate(&self, path: &str) -> Located {
        match self.find(path.as_bytes()) {
            Some(number) => Located::Queue(QueueId::new(number)),
            None => self.locate_above(path),
        }
    }

    /// The queue with exactly this path, whatever the case.
    #[inline]
    fn find(&self, asked: &[u8]) -> Option<u32> {
        if asked.len() > self.longest {
            return None;
        }
        let same = |number: &u32| {
            let path = path(&self.paths, *number);
            path == asked || path.eq_ignore_ascii_case(asked)
        };
        self.numbers.find(self.seed.path(asked), same).copied()
    }

    #[cold]
    fn locate_above(&self, path: &str) -> Located {
        if path.contains(queue::LOWERED_TO_ASCII) {
            let lowered = queue::lowered(path);
            return match self.find(lowered.as_bytes()) {
                Some(number) => Located::Queue(QueueId::new(number)),
                None => self.nearest(lowered.as_bytes()),
            };
        }
        self.nearest(path.as_bytes())
    }

    /// The nearest queue above a path that is none. Where a queue exists those above it do, so the end of the part that exists is found
    /// by halving, and nothing behind the longest path needs a look.
    fn nearest(&self, path: &[u8]) -> Located {
        let path = path.get(..=self.longest).unwrap_or(path);
        let first = path.iter().position(|byte| *byte == b'.').unwrap_or(path.len());
        let Some(mut known) = self.find(path.get(..first).unwrap_or_default()) else {
            return Located::Nowhere;
        };
        let (mut exists, mut beyond) = (first, path.len());
        while let Some(dot) = middle_dot(path, exists, beyond) {
            match path.get(..dot).and_then(|above| self.find(above)) {
                Some(number) => (known, exists) = (number, dot),
                None => beyond = dot,
            }
        }
        Located::Below(QueueId::new(known))
    }
}

fn path(paths: &[Box<[u8]>], number: u32) -> &[u8] {
    usize::try_from(number).ok().and_then(|number| paths.get(number)).map_or(&[], AsRef::as_ref)
}

/// Some dot between two places, near the middle.
fn middle_dot(path: &[u8], before: usize, behind: usize) -> Option<usize> {
    let between = path.get(before + 1..behind)?;
    let (left, right) = between.split_at_checked(between.len() / 2)?;
    let is_dot = |byte: &u8| *byte == b'.';
    let in_left = || left.iter().rposition(is_dot);
    let in_right = || right.iter().position(is_dot).map(|at| at + left.len());
    in_left().or_else(in_right).map(|at| at + before + 1)
}
