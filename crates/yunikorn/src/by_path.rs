//! Finds queues by their path in a list. A plan looks up each of ten thousand queues several times, in
//! several trees.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::queue::QueuePath;

/// The positions of queues in a list, by path. The hash is seeded at random, because other people choose the
/// paths.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ByPath(HashMap<QueuePath, u32, RandomState>);

impl ByPath {
    /// The positions in a list with these paths; of several equal ones, the first.
    pub fn of<'p>(paths: impl Iterator<Item = &'p QueuePath>) -> Self {
        let mut positions = HashMap::with_capacity_and_hasher(paths.size_hint().0, RandomState::default());
        for (position, path) in (0..).zip(paths) {
            positions.entry(path.clone()).or_insert(position);
        }
        Self(positions)
    }

    /// The position of the queue with exactly this path.
    pub fn find(&self, path: &str) -> Option<u32> {
        self.0.get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_found_and_no_other() {
        let path = |number: usize| QueuePath::parse(&format!("root.q{number}")).unwrap();
        let mut paths: Vec<QueuePath> = (0..1000).map(path).collect();
        paths.push(path(7));
        let positions = ByPath::of(paths.iter());
        for number in 0..1000 {
            assert_eq!(positions.find(&format!("root.q{number}")), u32::try_from(number).ok());
        }
        for path in ["root.q1000", "root", "ROOT.q1"] {
            assert_eq!(positions.find(path), None);
        }
        assert_eq!(ByPath::default().find("root.q0"), None);
    }
}
