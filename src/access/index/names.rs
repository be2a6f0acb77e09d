//! A table of texts, each with a number: the order in which they were added.
//!
//! Looking up allocates nothing and takes a bounded number of steps: a table in which some text would need more is built anew
//! with another seed, and larger.

use super::hash::{Exact, Reading, glance, hash};

/// A place that holds nothing.
const FREE: u32 = u32::MAX;
/// Most places that are looked at for one text. At a quarter full, ten is already rare.
const MOST_STEPS: usize = 16;
/// Bits of [`glance`] that are kept: eight per name, up to what stays near the processor.
const FEWEST_BITS: usize = 1 << 10;
const MOST_BITS: usize = 1 << 20;

/// Texts and their numbers. `R` says whether case matters.
#[derive(Debug, Clone)]
pub(super) struct Names<R> {
    text: String,
    /// Where each text ends in `text`.
    ends: Vec<usize>,
    /// The hash's upper half and the number, or [`FREE`].
    places: Vec<(u32, u32)>,
    seed: u64,
    seen: Vec<u64>,
    reading: std::marker::PhantomData<R>,
}

impl<R: Reading> Default for Names<R> {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            places: vec![(0, FREE); 16],
            seed: 0,
            seen: vec![0; FEWEST_BITS / 64],
            reading: std::marker::PhantomData,
        }
    }
}

impl Names<Exact> {
    /// Whether the text may be in the table: a quick no, or a perhaps.
    pub(super) fn perhaps(&self, text: &str) -> bool {
        let bit = self.bit(text);
        self.seen.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Prepares [`Self::perhaps`]; texts that are added later make it wrong.
    pub(super) fn finish(&mut self) {
        let bits = (self.ends.len() * 16).next_power_of_two().clamp(FEWEST_BITS, MOST_BITS);
        self.seen = vec![0; bits / 64];
        for number in 0..self.ends.len() {
            let bit = self.bit(self.get(number));
            if let Some(word) = self.seen.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// The upper bits of the glance; the number of bits is a power of two.
    fn bit(&self, text: &str) -> usize {
        let bits = self.seen.len() * 64;
        usize::try_from(glance(text.as_bytes()) >> 44).unwrap_or_default() & (bits - 1)
    }
}

impl<R: Reading> Names<R> {
    /// The number of a text.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let hash = hash::<R>(text.as_bytes(), self.seed);
        self.walk(hash)
            .map_while(|at| self.places.get(at).filter(|place| place.1 != FREE))
            .find_map(|(tag, number)| (*tag == tag_of(hash) && self.same(*number, text)).then_some(*number))
    }

    /// The number of a text, which is added if it is not there.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        if let Some(number) = self.find(text) {
            return number;
        }
        let number = u32::try_from(self.ends.len()).unwrap_or(FREE);
        self.text.push_str(text);
        self.ends.push(self.text.len());
        if self.ends.len() * 4 > self.places.len() || !self.put(text, number) {
            self.rebuild();
        }
        number
    }

    /// The text with this number; empty if there is none.
    pub(super) fn get(&self, number: usize) -> &str {
        let end = self.ends.get(number).copied().unwrap_or_default();
        let start =
            number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    fn same(&self, number: u32, text: &str) -> bool {
        let held = self.get(number as usize).as_bytes();
        held.len() == text.len() && equal::<R>(held, text.as_bytes())
    }

    /// The places a text may be in, the first one first.
    fn walk(&self, hash: u64) -> impl Iterator<Item = usize> + use<R> {
        let mask = self.places.len() - 1;
        let first = usize::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
        (0..MOST_STEPS).map(move |step| (first + step) & mask)
    }

    /// Whether there was a place.
    fn put(&mut self, text: &str, number: u32) -> bool {
        let hash = hash::<R>(text.as_bytes(), self.seed);
        let free = self.walk(hash).find(|at| self.places.get(*at).is_some_and(|place| place.1 == FREE));
        let Some(place) = free.and_then(|at| self.places.get_mut(at)) else { return false };
        *place = (tag_of(hash), number);
        true
    }

    /// Makes the table larger, with other seeds, until each text has a place. Each round doubles the room, so texts that
    /// collide under every seed would have to be equal.
    fn rebuild(&mut self) {
        loop {
            let size = (self.places.len() * 2).max(self.ends.len() * 8).next_power_of_two();
            self.places = vec![(0, FREE); size];
            self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            let text = std::mem::take(&mut self.text);
            let mut start = 0;
            let ends = std::mem::take(&mut self.ends);
            let placed = ends.iter().enumerate().all(|(number, end)| {
                let name = text.get(start..*end).unwrap_or_default();
                start = *end;
                self.put(name, u32::try_from(number).unwrap_or(FREE))
            });
            (self.text, self.ends) = (text, ends);
            if placed {
                return;
            }
        }
    }
}

fn tag_of(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

/// Whether texts of one length are the same.
fn equal<R: Reading>(left: &[u8], right: &[u8]) -> bool {
    let ((left_words, left_rest), (right_words, right_rest)) =
        (left.as_chunks::<8>(), right.as_chunks::<8>());
    let same = |left: [u8; 8], right: [u8; 8]| {
        R::word(u64::from_le_bytes(left)) == R::word(u64::from_le_bytes(right))
    };
    let padded = |rest: &[u8]| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(rest) {
            *to = *from;
        }
        word
    };
    left_words.iter().zip(right_words).all(|(left, right)| same(*left, *right))
        && same(padded(left_rest), padded(right_rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::index::hash::Caseless;

    #[test]
    fn what_was_added_is_found_and_nothing_else() {
        let mut names = Names::<Exact>::default();
        let all: Vec<String> =
            (0..5000).map(|n| format!("some-rather-long-team-name-{n:05}-of-us")).collect();
        for (number, name) in all.iter().enumerate() {
            assert_eq!(names.add(name) as usize, number);
            assert_eq!(names.add(name) as usize, number);
        }
        names.finish();
        for (number, name) in all.iter().enumerate() {
            assert_eq!(names.find(name), u32::try_from(number).ok());
            assert!(names.perhaps(name));
            assert_eq!(names.find(&name.to_uppercase()), None);
        }
        assert_eq!(names.find(""), None);
    }

    #[test]
    fn case_matters_only_where_it_should() {
        let mut names = Names::<Caseless>::default();
        names.add("root.prod.etl-jobs-of-the-night");
        names.add("root");
        assert_eq!(names.find("ROOT.Prod.etl-Jobs-of-the-NIGHT"), Some(0));
        assert_eq!(names.find("Root"), Some(1));
        // These differ in the bit that separates the cases of letters.
        assert_eq!(names.find("rOO\u{54}"), Some(1));
        assert_eq!(names.find("roo\u{14}"), None);
    }

    #[test]
    fn a_quick_no_is_rarely_missed() {
        let mut names = Names::<Exact>::default();
        for n in 0..400 {
            names.add(&format!("group-{n}"));
        }
        names.finish();
        let missed = (0..10_000).filter(|n| names.perhaps(&format!("other-{n}"))).count();
        assert!(missed < 1_500, "{missed} of 10000");
    }
}
