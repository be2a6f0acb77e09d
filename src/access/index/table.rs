//! Numbers by names: an open-addressing hash table that compares short names as two words, so that a look-up is one read of memory.
//!
//! General hash maps read their control bytes, then the entry, then the text it points to, and compare by a call. Here nearly every look-up is
//! of a name or path of at most [`SHORT`] bytes, or of one that is not there.

use super::hash::{Key, SHORT};

/// Different texts, numbered in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// A power of two of them, at most half of them taken; none while there is no text.
    slots: Vec<Slot>,
    /// Takes a hash to its slot.
    shift: u32,
    /// By number.
    hashes: Vec<u64>,
    /// All of them, one behind the other.
    texts: Vec<u8>,
    /// By number: the offset behind its last byte.
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    words: [u64; 2],
    length: u32,
    number: u32,
}

impl Slot {
    /// Its length is that of no text.
    const VACANT: Self = Self { words: [0; 2], length: u32::MAX, number: u32::MAX };

    #[inline]
    fn is_vacant(&self) -> bool {
        self.number == u32::MAX
    }

    /// Up to [`SHORT`] bytes this is all there is to compare.
    #[inline]
    fn is_of(&self, key: &Key<'_>) -> bool {
        self.words == key.words && usize::try_from(self.length).is_ok_and(|length| length == key.text.len())
    }
}

const FEWEST: usize = 16;

impl Table {
    /// The number of a text. `same` compares texts that are too long for two words.
    #[inline]
    pub(super) fn find(&self, key: &Key<'_>, same: impl Fn(&[u8], &[u8]) -> bool) -> Option<u32> {
        let mut place = place(key.hash, self.shift);
        loop {
            let slot = self.slots.get(place & self.slots.len().wrapping_sub(1))?;
            if slot.is_of(key) && (key.text.len() <= SHORT || same(self.text(slot.number), key.text)) {
                return Some(slot.number);
            }
            if slot.is_vacant() {
                return None;
            }
            place = place.wrapping_add(1);
        }
    }

    /// The number of a text, which is a new one if it has none. `None` when there are no more numbers.
    pub(super) fn number(&mut self, key: &Key<'_>) -> Option<u32> {
        if let Some(known) = self.find(key, |held, asked| held == asked) {
            return Some(known);
        }
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number != u32::MAX)?;
        let length = u32::try_from(key.text.len()).ok().filter(|length| *length != u32::MAX)?;
        if self.ends.len() >= self.slots.len() / 2 {
            self.grow();
        }
        self.take(key.hash, Slot { words: key.words, length, number });
        self.hashes.push(key.hash);
        self.texts.extend_from_slice(key.text);
        self.ends.push(self.texts.len());
        Some(number)
    }

    fn grow(&mut self) {
        let size = self.slots.len().saturating_mul(2).max(FEWEST);
        self.shift = u64::BITS - size.ilog2();
        let taken = std::mem::replace(&mut self.slots, vec![Slot::VACANT; size]);
        for slot in taken.into_iter().filter(|slot| !slot.is_vacant()) {
            if let Some(hash) = at(&self.hashes, slot.number) {
                self.take(*hash, slot);
            }
        }
    }

    fn take(&mut self, hash: u64, slot: Slot) {
        let place = place(hash, self.shift).min(self.slots.len());
        let (before, behind) = self.slots.split_at_mut(place);
        if let Some(vacant) = behind.iter_mut().chain(before).find(|slot| slot.is_vacant()) {
            *vacant = slot;
        }
    }

    /// The texts in the order of their numbers.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        (0..).zip(&self.ends).map(|(number, _)| self.text(number))
    }

    /// The hashes in the order of the numbers.
    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    fn text(&self, number: u32) -> &[u8] {
        let start = number.checked_sub(1).map_or(Some(&0), |before| at(&self.ends, before));
        let (Some(start), Some(end)) = (start, at(&self.ends, number)) else { return &[] };
        self.texts.get(*start..*end).unwrap_or_default()
    }
}

/// The slot a hash leads to, when all but `shift` of its bits lead to one.
#[inline]
fn place(hash: u64, shift: u32) -> usize {
    usize::try_from(hash >> shift).unwrap_or(usize::MAX)
}

/// What has a number.
#[inline]
pub(super) fn at<T>(numbered: &[T], number: u32) -> Option<&T> {
    numbered.get(usize::try_from(number).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::index::hash::Seed;

    /// Whether each text has its own number and no other has one, for texts with these hashes.
    fn holds_texts(hash: impl Fn(u64) -> u64) {
        let seed = Seed::draw();
        let mut texts: Vec<String> = (0..200).map(|i| "x".repeat(i % 40) + &i.to_string()).collect();
        // As long, and with the same end.
        texts.extend((0..50).map(|i| format!("{i:02}-and-the-same-for-all")));
        let keys: Vec<Key<'_>> = texts
            .iter()
            .map(|text| {
                let key = seed.name(text.as_bytes());
                Key { hash: hash(key.hash), ..key }
            })
            .collect();
        let mut table = Table::default();
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(table.find(key, |held, asked| held == asked), None);
            assert_eq!(table.number(key), Some(number));
        }
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(table.find(key, |held, asked| held == asked), Some(number));
            assert_eq!(table.number(key), Some(number));
        }
        assert!(table.texts().eq(texts.iter().map(String::as_bytes)));
        assert_eq!(table.hashes().len(), texts.len());
    }

    #[test]
    fn it_numbers_texts_in_their_order() {
        holds_texts(|hash| hash);
    }

    #[test]
    fn texts_with_one_hash_are_told_apart() {
        for hash in [0, u64::MAX] {
            holds_texts(|_| hash);
        }
    }

    #[test]
    fn texts_whose_hashes_are_apart_stand_apart() {
        let texts: Vec<String> = (0..1000).map(|i| format!("u{i}")).collect();
        let seed = Seed::draw();
        let mut table = Table::default();
        for (number, text) in (0..).zip(&texts) {
            table.number(&Key { hash: number * (u64::MAX / 1000), ..seed.name(text.as_bytes()) });
        }
        let longest = table.slots.split(Slot::is_vacant).map(<[Slot]>::len).max();
        assert_eq!((table.hashes().len(), longest), (1000, Some(1)));
    }
}
