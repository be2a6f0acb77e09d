//! Finds queues by their path in a list of them.
//!
//! A plan looks each of ten thousand queues up several times, in several trees. The paths themselves stay where they are: only their places in
//! the list are held here, which takes a tenth of what a map with paths as keys would.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

use super::queue::QueuePath;

/// The places of queues in a list, by path. Whoever asks has to have the list, and gives the path at a place of it.
#[derive(Debug, Clone, Default)]
pub struct ByPath {
    places: HashTable<u32>,
    /// Seeded at random, because paths are other people's.
    hasher: RandomState,
}

/// Two lists that are equal have their queues in the same places.
impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.places.len() == other.places.len()
    }
}

impl ByPath {
    /// The places in a list with these paths; of several equal ones, the first.
    pub fn of<'p>(paths: impl ExactSizeIterator<Item = &'p QueuePath>) -> Self {
        let (mut places, hasher) = (HashTable::with_capacity(paths.len()), RandomState::new());
        let list: Vec<&QueuePath> = paths.collect();
        let at = |place: &u32| index(*place).and_then(|place| list.get(place).copied());
        for (place, path) in (0_u32..).zip(&list) {
            let is_there = |known: &u32| at(known) == Some(*path);
            let rehash = |known: &u32| at(known).map_or(0, |path| hasher.hash_one(path));
            places.entry(hasher.hash_one(path), is_there, rehash).or_insert(place);
        }
        Self { places, hasher }
    }

    /// The place of the queue with this path; `at` gives the path at a place.
    pub fn find<'p>(&self, path: &QueuePath, at: impl Fn(usize) -> Option<&'p QueuePath>) -> Option<usize> {
        let is_there = |place: &u32| index(*place).and_then(&at) == Some(path);
        self.places.find(self.hasher.hash_one(path), is_there).copied().and_then(index)
    }
}

fn index(place: u32) -> Option<usize> {
    usize::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_found_and_no_other() {
        let path = |number: usize| QueuePath::parse(&format!("root.q{number}")).unwrap();
        let mut paths: Vec<QueuePath> = (0..1000).map(path).collect();
        paths.push(path(7));
        let places = ByPath::of(paths.iter());
        let find = |wanted: &QueuePath| places.find(wanted, |place| paths.get(place));
        for number in 0..1000 {
            assert_eq!(find(&path(number)), Some(number));
        }
        assert_eq!(find(&path(1000)), None);
        assert_eq!(find(&QueuePath::root()), None);
        assert_eq!(ByPath::default().find(&path(0), |place| paths.get(place)), None);
    }

    #[test]
    fn the_places_of_equal_lists_are_equal_and_of_a_shorter_one_are_not() {
        let paths = [QueuePath::root(), QueuePath::parse("root.a").unwrap()];
        assert_eq!(ByPath::of(paths.iter()), ByPath::of(paths.iter()));
        assert_ne!(ByPath::of(paths.iter()), ByPath::of(paths[..1].iter()));
        assert_eq!(ByPath::of([].iter()), ByPath::default());
    }
}
