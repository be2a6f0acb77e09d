//! An immutable map with short texts as keys: paths of queues, names of users and groups. Access decisions
//! spend most of their time looking up a path and the names of a user. A look-up in the standard library's
//! map takes nearly twice as long, because it is not inlined.

use std::borrow::Borrow;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::RandomState;

/// A map with texts as keys. The hash has a random seed, because users choose the texts.
#[derive(Debug, Clone)]
pub struct TextMap<K, V> {
    hasher: RandomState,
    /// The number of slots is a power of two, and at most half are used. An entry is in the slot of its hash,
    /// or in the next free one.
    slots: Vec<Option<(K, V)>>,
}

impl<K, V> Default for TextMap<K, V> {
    fn default() -> Self {
        Self { hasher: RandomState::default(), slots: vec![None] }
    }
}

/// If several entries have the same key, look-ups find the first.
impl<K: Borrow<str>, V> FromIterator<(K, V)> for TextMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = Vec::from_iter(entries);
        let slots = (0..(entries.len() * 2).next_power_of_two()).map(|_| None).collect();
        let mut map = Self { slots, ..Self::default() };
        for entry in entries {
            if let Err(free) = map.find(entry.0.borrow())
                && let Some(slot) = map.slots.get_mut(free)
            {
                *slot = Some(entry);
            }
        }
        map
    }
}

impl<K: Borrow<str>, V> TextMap<K, V> {
    /// Returns the stored key and its value.
    #[expect(clippy::inline_always, reason = "a call takes as long as the look-up")]
    #[inline(always)]
    pub fn get(&self, text: &str) -> Option<&(K, V)> {
        self.find(text).ok()
    }

    /// Returns the entry, or the number of the free slot for it.
    #[expect(clippy::inline_always, reason = "see `get`")]
    #[inline(always)]
    fn find(&self, text: &str) -> Result<&(K, V), usize> {
        let mask = self.slots.len().wrapping_sub(1);
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits are enough")]
        let mut number = self.hash(text) as usize & mask;
        // There is a free slot, so the search ends.
        while let Some(Some(entry)) = self.slots.get(number) {
            if equal(entry.0.borrow(), text) {
                return Ok(entry);
            }
            number = number.wrapping_add(1) & mask;
        }
        Err(number)
    }

    #[inline]
    fn hash(&self, text: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

/// Two maps are equal if the same keys have equal values.
impl<K: Borrow<str>, V: PartialEq> PartialEq for TextMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        let count = |map: &Self| map.slots.iter().flatten().count();
        count(self) == count(other)
            && self
                .slots
                .iter()
                .flatten()
                .all(|(key, value)| other.get(key.borrow()).is_some_and(|(_, other)| other == value))
    }
}

/// Compares with possibly overlapping words; for most names and paths, a call takes longer.
#[inline]
fn equal(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    match left.len() {
        length if length != right.len() => false,
        0..8 => left.iter().eq(right),
        8..=16 => ends::<8>(left, right),
        _ => {
            let words = left.as_chunks::<16>().0.iter().zip(right.as_chunks::<16>().0);
            ends::<16>(left, right) && words.skip(1).all(|(word, other)| word == other)
        }
    }
}

/// Returns whether the first words and the last words of two texts are equal.
#[inline]
fn ends<const N: usize>(left: &[u8], right: &[u8]) -> bool {
    left.first_chunk::<N>() == right.first_chunk() && left.last_chunk::<N>() == right.last_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_stored_texts_are_found() {
        let texts: Vec<String> = (0..100).map(|length| "x".repeat(length)).collect();
        let more = [("xx".to_owned(), 7)];
        let map: TextMap<String, usize> = texts.iter().cloned().zip(0..).chain(more).collect();
        for text in &texts {
            assert_eq!(map.get(text), Some(&(text.clone(), text.len())));
            for at in 0..text.len() {
                let mut other = text.clone();
                other.replace_range(at..=at, "y");
                assert_eq!(map.get(&other), None, "{other}");
            }
        }
        assert_eq!(map.get(&"x".repeat(100)), None);
        assert_eq!(TextMap::<&str, ()>::default().get(""), None);
        assert!(map == map.clone() && map != TextMap::default());
    }

    #[test]
    fn ten_thousand_paths_are_found() {
        let map: TextMap<String, usize> =
            (0..10_000).map(|number| (format!("root.q{number}"), number)).collect();
        for number in 0..10_000 {
            assert_eq!(map.get(&format!("root.q{number}")).map(|entry| entry.1), Some(number));
        }
        assert_eq!(map.get("root.q10000"), None);
    }
}
