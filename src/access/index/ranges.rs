//! Sets of queues as ranges of their numbers.

use std::ops::Range;

use crate::access::tree::QueueId;

/// A set of queues: ranges in order that neither overlap nor touch. Most names are granted one subtree, so the first range
/// stands here and needs no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Merged {
    first: Range<u32>,
    more: Vec<Range<u32>>,
}

/// The ranges of a set in order.
#[derive(Debug, Clone, Default)]
pub struct Ranges<'a> {
    first: Option<&'a Range<u32>>,
    more: std::slice::Iter<'a, Range<u32>>,
}

impl Merged {
    /// The union of ranges in any order.
    pub(super) fn of(mut ranges: Vec<Range<u32>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged = Self::default();
        for range in ranges {
            merged.push(range);
        }
        merged
    }

    /// Adds a range that does not start before those that are there.
    pub(super) fn push(&mut self, range: Range<u32>) {
        let last = self.more.last_mut().unwrap_or(&mut self.first);
        if last.start == last.end {
            *last = range;
        } else if range.start <= last.end {
            last.end = last.end.max(range.end);
        } else {
            self.more.push(range);
        }
    }

    /// Whether the queue is in the set.
    pub(super) fn contains(&self, queue: QueueId) -> bool {
        let queue = queue.number();
        if queue < self.first.end {
            return self.first.start <= queue;
        }
        let at = self.more.partition_point(|range| range.end <= queue);
        self.more.get(at).is_some_and(|range| range.start <= queue)
    }

    /// The ranges in order.
    pub(super) fn iter(&self) -> Ranges<'_> {
        Ranges { first: Some(&self.first).filter(|range| !range.is_empty()), more: self.more.iter() }
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        self.first.take().or_else(|| self.more.next()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_holds_what_its_ranges_hold(ranges in proptest::collection::vec((0u32..60, 1u32..9), 0..12)) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, length)| start..start + length).collect();
            let expected: BTreeSet<u32> = ranges.iter().cloned().flatten().collect();
            let merged = Merged::of(ranges);
            for queue in 0..80 {
                prop_assert_eq!(merged.contains(QueueId::new(queue)), expected.contains(&queue));
            }
            let held: Vec<_> = merged.iter().collect();
            prop_assert!(held.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", held);
            prop_assert!(held.into_iter().flatten().eq(expected));
        }
    }
}
