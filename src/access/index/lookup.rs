//! From the text of a path to the queue that decides for it.

use super::hash::Seed;
use super::table::Table;
use crate::access::tree::{Located, QueueId, Tree};
use crate::model::queue;

/// The paths of a tree.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    seed: Seed,
    /// The numbers are those of the queues.
    paths: Table,
    /// The bytes of the longest.
    longest: usize,
}

impl Lookup {
    pub(super) fn of(tree: &Tree, seed: Seed) -> Self {
        let mut paths = Table::default();
        for (_, node) in tree.queues() {
            paths.number(&seed.path(node.path.as_str().as_bytes()));
        }
        let longest = paths.texts().map(<[u8]>::len).max().unwrap_or_default();
        Self { seed, paths, longest }
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
        // The first is what most ask, and the faster comparison.
        let same = |path: &[u8], asked: &[u8]| path == asked || path.eq_ignore_ascii_case(asked);
        self.paths.find(&self.seed.path(asked), same)
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

/// Some dot between two places, near the middle.
fn middle_dot(path: &[u8], before: usize, behind: usize) -> Option<usize> {
    let between = path.get(before + 1..behind)?;
    let (left, right) = between.split_at_checked(between.len() / 2)?;
    let is_dot = |byte: &u8| *byte == b'.';
    let in_left = || left.iter().rposition(is_dot);
    let in_right = || right.iter().position(is_dot).map(|at| at + left.len());
    in_left().or_else(in_right).map(|at| at + before + 1)
}
