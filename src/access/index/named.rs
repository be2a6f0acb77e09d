//! Whom the ACLs name, and on which queues each of them holds each right.

use std::ops::Range;

use super::hash::{Key, Seed};
use super::table::{Table, at};
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
    filter: Filter,
    /// In the order in which the tree names them first.
    names: Table,
    /// In the same order.
    reaches: Box<[Reach]>,
}

impl Named {
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Reach> {
        self.find(&self.seed.name(name.as_bytes()))
    }

    /// As [`Named::get`], and faster for a name that is most likely not there.
    #[inline]
    pub(super) fn get_rare(&self, name: &str) -> Option<&Reach> {
        let key = self.seed.name(name.as_bytes());
        if self.filter.excludes(key.hash) { None } else { self.find_rare(key) }
    }

    #[inline]
    fn find(&self, key: &Key<'_>) -> Option<&Reach> {
        let number = self.names.find(key, |held, asked| held == asked)?;
        at(&self.reaches, number)
    }

    /// Out of line, so that what comes before it stays in registers.
    #[inline(never)]
    fn find_rare(&self, key: Key<'_>) -> Option<&Reach> {
        self.find(&key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Reach)> {
        self.names.texts().map(|name| std::str::from_utf8(name).unwrap_or_default()).zip(&self.reaches)
    }
}

/// [`Named`] in the making.
#[derive(Debug)]
pub(super) struct Collected {
    seed: Seed,
    names: Table,
    ranges: Vec<Ranges>,
}

impl Collected {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seed, names: Table::default(), ranges: Vec::new() }
    }

    /// What is known of this name so far.
    pub(super) fn entry(&mut self, name: &str) -> Option<&mut Ranges> {
        let number = self.names.number(&self.seed.name(name.as_bytes()))?;
        let number = usize::try_from(number).ok()?;
        if number == self.ranges.len() {
            self.ranges.push(Ranges::default());
        }
        self.ranges.get_mut(number)
    }

    pub(super) fn join(self) -> Named {
        let Self { seed, names, ranges } = self;
        let filter = Filter::of(names.hashes());
        Named { seed, filter, names, reaches: ranges.into_iter().map(Ranges::join).collect() }
    }
}

/// One bit of sixteen is set for each name: of those who are not named, most are known by it.
#[derive(Debug, Clone)]
struct Filter {
    words: Box<[u64]>,
    /// Takes a hash to the number of its bit.
    shift: u32,
}

impl Filter {
    fn of(hashes: &[u64]) -> Self {
        let bits = hashes.len().saturating_mul(16).next_power_of_two().max(64);
        let mut filter = Self { words: vec![0; bits / 64].into(), shift: 64 - bits.ilog2() };
        for hash in hashes {
            let (word, bit) = filter.place(*hash);
            if let Some(word) = filter.words.get_mut(word) {
                *word |= bit;
            }
        }
        filter
    }

    #[inline]
    fn excludes(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.words.get(word).is_none_or(|word| word & bit == 0)
    }

    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let bit = hash >> self.shift;
        (usize::try_from(bit / 64).unwrap_or(usize::MAX), 1 << (bit % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_knows_most_who_are_not_named_and_no_name() {
        let hashes: Vec<u64> = (0..1000).map(|number| number * (u64::MAX / 1000)).collect();
        for step in [1000, 300, 2] {
            let named: Vec<u64> = hashes.iter().copied().step_by(step).collect();
            let filter = Filter::of(&named);
            assert!(named.iter().all(|hash| !filter.excludes(*hash)), "{step}");
            let others: Vec<u64> = hashes.iter().copied().filter(|hash| !named.contains(hash)).collect();
            let known = others.iter().filter(|hash| filter.excludes(**hash)).count();
            assert!(known * 10 > others.len() * 9, "{step}: {known} of {}", others.len());
        }
        assert!(hashes.iter().all(|hash| Filter::of(&[]).excludes(*hash)));
    }
}
