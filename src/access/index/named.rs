//! Whom the ACLs name, and on which queues each of them holds each right.

use std::ops::Range;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::hash::Seed;
use crate::access::reach::QueueSet;
use crate::model::right::Right;

/// Where one user or group holds the rights, by its own name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reach {
    submit: QueueSet,
    admin: QueueSet,
}

impl Reach {
    #[inline]
    pub(super) fn of(&self, right: Right) -> &QueueSet {
        match right {
            Right::Submit => &self.submit,
            Right::Admin => &self.admin,
        }
    }
}

/// A [`Reach`] in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges([Vec<Range<u32>>; 2]);

impl Ranges {
    pub(super) fn add(&mut self, right: Right, reached: [Range<u32>; 2]) {
        let [submit, admin] = &mut self.0;
        let ranges = match right {
            Right::Submit => submit,
            Right::Admin => admin,
        };
        ranges.extend(reached.into_iter().filter(|range| !range.is_empty()));
    }

    pub(super) fn join(self) -> Reach {
        let [submit, admin] = self.0.map(QueueSet::of);
        Reach { submit, admin }
    }
}

/// All users, or all groups, that the ACLs of a tree name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    seed: Seed,
    /// Their numbers by the hash of the name.
    numbers: HashTable<u32>,
    /// In the order in which the tree names them first.
    holders: Vec<(Box<str>, Reach)>,
}

impl Named {
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Reach> {
        let named = |number: &u32| holder(&self.holders, *number).is_some_and(|(held, _)| **held == *name);
        let number = self.numbers.find(self.seed.name(name.as_bytes()), named)?;
        holder(&self.holders, *number).map(|(_, reach)| reach)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Reach)> {
        self.holders.iter().map(|(name, reach)| (&**name, reach))
    }
}

/// [`Named`] in the making.
#[derive(Debug)]
pub(super) struct Collected<'t> {
    seed: Seed,
    numbers: HashTable<u32>,
    holders: Vec<(&'t str, Ranges)>,
}

impl<'t> Collected<'t> {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seed, numbers: HashTable::new(), holders: Vec::new() }
    }

    /// What is known of this name so far.
    pub(super) fn entry(&mut self, name: &'t str) -> Option<&mut Ranges> {
        let Self { seed, numbers, holders } = self;
        let next = u32::try_from(holders.len()).ok()?;
        let named = |number: &u32| holder(holders, *number).is_some_and(|(held, _)| *held == name);
        let hash = |number: &u32| {
            seed.name(holder(holders, *number).map_or(b"".as_slice(), |(held, _)| held.as_bytes()))
        };
        let number = match numbers.entry(seed.name(name.as_bytes()), named, hash) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                place.insert(next);
                holders.push((name, Ranges::default()));
                next
            }
        };
        holders.get_mut(usize::try_from(number).ok()?).map(|(_, ranges)| ranges)
    }

    pub(super) fn join(self) -> Named {
        let Self { seed, numbers, holders } = self;
        let holders = holders.into_iter().map(|(name, ranges)| (name.into(), ranges.join())).collect();
        Named { seed, numbers, holders }
    }
}

fn holder<T>(holders: &[T], number: u32) -> Option<&T> {
    holders.get(usize::try_from(number).ok()?)
}
