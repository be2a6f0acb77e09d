//! Numbers the queues of several trees in one order, and describes sets of them briefly.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use std::collections::VecDeque;
use std::ops::Range;

use crate::queue_set::QueueSet;
use yunikorn::queue::{QueuePath, RECOVERY};

/// Queues in pre-order, with siblings ordered by name, which is independent of the order in the texts. The
/// parent of a queue may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    paths: Vec<QueuePath>,
    /// For each queue, the number after its last descendant.
    ends: Vec<u32>,
    /// The recovery queue and its descendants, or an empty range.
    pub(super) recovery: Range<u32>,
}

/// A queue with its descendants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ExtentAnswer")]
pub struct Extent {
    /// The top queue.
    #[schemars(with = "String")]
    pub queue: QueuePath,
    /// The number of its descendants.
    pub below: usize,
    /// Descendants that are excluded, each with all its descendants.
    #[schemars(with = "Vec<String>")]
    pub except: Vec<QueuePath>,
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.paths.serialize(serializer)
    }
}

impl Shape {
    pub(super) fn new(paths: impl Iterator<Item = QueuePath>) -> Self {
        let mut paths: Vec<QueuePath> = paths.collect();
        paths.sort_by(|left, right| left.parts().cmp(right.parts()));
        let mut shape = Self { paths, ..Self::default() };
        shape.ends = shape.paths.iter().map(|path| shape.below(path).end).collect();
        if let Ok(recovery) = QueuePath::parse(RECOVERY) {
            shape.recovery = shape.below(&recovery);
        }
        shape
    }

    /// Returns a queue, if it is in the shape, and its descendants.
    pub(super) fn below(&self, path: &QueuePath) -> Range<u32> {
        let start = self.paths.partition_point(|other| other.parts().lt(path.parts()));
        let behind = self.paths.get(start..).unwrap_or_default();
        let count = behind.partition_point(|other| other == path || path.is_ancestor_of(other));
        number(start)..number(start.saturating_add(count))
    }

    /// Returns the queue with this number.
    pub fn path(&self, queue: u32) -> Option<&QueuePath> {
        self.paths.get(queue as usize)
    }

    /// Returns the paths of a set in order.
    pub fn paths<'s>(&'s self, set: &'s QueueSet) -> impl Iterator<Item = &'s QueuePath> {
        set.iter().filter_map(|queue| self.path(queue))
    }

    /// Returns the set of all queues.
    pub fn all(&self) -> QueueSet {
        QueueSet::from(0..number(self.paths.len()))
    }

    /// Returns the set as extents, with each queue in exactly one extent.
    pub fn extents(&self, set: &QueueSet) -> Vec<Extent> {
        self.pieces(set).into_iter().map(|(extent, _)| extent).collect()
    }

    /// Like [`Shape::extents`], each with its part of the set.
    pub(super) fn pieces(&self, set: &QueueSet) -> Vec<(Extent, QueueSet)> {
        let mut pieces = Vec::new();
        // Queues of the set can be below queues that an extent excludes.
        let mut left: VecDeque<QueueSet> = VecDeque::from([set.clone()]);
        while let Some(set) = left.pop_front() {
            let mut from = 0;
            while let Some(top) = set.first_from(from) {
                let (piece, again) = self.piece(&set, top);
                pieces.push((top, piece));
                left.extend(again);
                from = self.end(top);
            }
        }
        pieces.sort_by_key(|(top, _)| *top);
        pieces.into_iter().map(|(_, piece)| piece).collect()
    }

    /// Returns the piece that begins at `top`, and the part of the set below queues outside the piece.
    fn piece(&self, set: &QueueSet, top: u32) -> ((Extent, QueueSet), Option<QueueSet>) {
        let end = self.end(top);
        let holes = QueueSet::from(top..end).minus(set);
        let (mut except, mut left_out) = (Vec::new(), Vec::new());
        let mut from = top;
        while let Some(hole) = holes.first_from(from) {
            except.extend(self.path(hole).cloned());
            from = self.end(hole);
            left_out.push(hole..from);
        }
        let left_out = QueueSet::new(left_out);
        let part = QueueSet::from(top..end).minus(&left_out);
        let queue = self.path(top).cloned().unwrap_or_else(QueuePath::root);
        let extent = Extent { queue, below: part.len().saturating_sub(1), except };
        let again = set.and(&left_out);
        ((extent, part), (!again.is_empty()).then_some(again))
    }

    fn end(&self, queue: u32) -> u32 {
        self.ends.get(queue as usize).copied().unwrap_or(u32::MAX)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
