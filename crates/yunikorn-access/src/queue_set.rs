//! Sets of queues, and the queues that a grant reaches: the queue with the grant and its descendants.
//!
//! The only exception is the recovery queue. It denies submission without checking its parent, and so do its
//! descendants when the check reaches it (yunikorn-core `queue.go:798-810`). No submit right from above
//! reaches the recovery queue or its descendants.

use std::ops::Range;

use yunikorn::right::Right;

/// A set of queues by their pre-order numbers, as ordered ranges that do not touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueSet(Vec<Range<u32>>);

impl QueueSet {
    /// Returns the union of ranges in any order. Empty ranges are ignored.
    pub fn new(mut ranges: Vec<Range<u32>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => joined.push(range),
            }
        }
        Self(joined)
    }

    /// Returns the ranges in order. None is empty.
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.0
    }

    /// Returns the numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(Clone::clone)
    }

    /// Returns the number of queues.
    pub fn len(&self) -> usize {
        self.0.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first queue of the set at or after this one.
    pub fn first_from(&self, queue: u32) -> Option<u32> {
        self.at_or_behind(queue).first().map(|range| range.start.max(queue))
    }

    /// Returns whether the set contains this queue.
    #[inline]
    pub fn contains(&self, queue: u32) -> bool {
        match self.0.as_slice() {
            [] => false,
            [one] => one.contains(&queue),
            _ => self.at_or_behind(queue).first().is_some_and(|range| range.start <= queue),
        }
    }

    /// Returns the queues that are only in `self`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut kept = Vec::new();
        for range in &self.0 {
            let mut from = range.start;
            for hole in other.at_or_behind(from).iter().take_while(|hole| hole.start < range.end) {
                kept.push(from..hole.start.max(from));
                from = hole.end;
            }
            kept.push(from..range.end);
        }
        Self::new(kept)
    }

    /// Returns the queues that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        for range in &self.0 {
            let others = other.at_or_behind(range.start).iter();
            both.extend(
                others
                    .take_while(|other| other.start < range.end)
                    .map(|other| range.start.max(other.start)..range.end.min(other.end)),
            );
        }
        Self::new(both)
    }

    /// Returns the queues that are in at least one of the sets.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self::new([self.0.as_slice(), other.0.as_slice()].concat())
    }

    /// Returns the ranges that do not end before this queue.
    fn at_or_behind(&self, queue: u32) -> &[Range<u32>] {
        self.0.get(self.0.partition_point(|range| range.end <= queue)..).unwrap_or_default()
    }
}

impl From<Range<u32>> for QueueSet {
    fn from(range: Range<u32>) -> Self {
        Self::new(std::iter::once(range).collect())
    }
}

/// Returns the queues that a grant on `subtree` reaches: two ranges, one possibly empty. `recovery` is
/// the recovery queue with its descendants.
pub(super) fn reach(right: Right, subtree: Range<u32>, recovery: Option<&Range<u32>>) -> [Range<u32>; 2] {
    match recovery.filter(|_| right == Right::Submit) {
        Some(inner) if subtree.start <= inner.start && inner.end <= subtree.end => {
            [subtree.start..inner.start, inner.end..subtree.end]
        }
        _ => [subtree.clone(), subtree.end..subtree.end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(ranges: &[(u32, u32)]) -> (QueueSet, BTreeSet<u32>) {
        let ranges: Vec<Range<u32>> = ranges.iter().map(|(start, len)| *start..start + len).collect();
        let model = ranges.iter().flat_map(Clone::clone).collect();
        (QueueSet::new(ranges), model)
    }

    fn any_ranges() -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((0_u32..30, 0_u32..6), 0..8)
    }

    proptest! {
        #[test]
        fn queue_set_behaves_as_a_set(left in any_ranges(), right in any_ranges()) {
            let ((a, left), (b, right)) = (set(&left), set(&right));
            let same = |set: &QueueSet, model: BTreeSet<u32>| {
                let canonical = set.ranges().windows(2).all(|pair| pair[0].end < pair[1].start);
                canonical
                    && set.iter().eq(model.iter().copied())
                    && set.len() == model.len()
                    && set.is_empty() == model.is_empty()
                    && (0..40).all(|queue| set.contains(queue) == model.contains(&queue))
            };
            prop_assert!(same(&a, left.clone()), "{a:?}");
            prop_assert!(same(&a.minus(&b), &left - &right), "{a:?} - {b:?}");
            prop_assert!(same(&a.and(&b), &left & &right), "{a:?} & {b:?}");
            prop_assert!(same(&a.or(&b), &left | &right), "{a:?} | {b:?}");
        }
    }
}
