//! A hash of names and paths: a few nanoseconds for what an ACL holds.
//!
//! Sixteen bytes at a time are multiplied into 128 bits, of which both halves are kept (the scheme of wyhash). The seed is drawn for each
//! index, so that nobody who may write names into ACLs can make them collide.

use std::hash::{BuildHasher as _, RandomState};

/// An odd number with bits all over: lengths, which are small, change the whole state.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bytes of two words.
pub(super) const SHORT: usize = 16;

/// A text with its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key<'a> {
    pub(super) hash: u64,
    /// Its last [`SHORT`] bytes: with the length, all of a text that has no more.
    pub(super) words: [u64; 2],
    pub(super) text: &'a [u8],
}

/// What makes the hashes of one index its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed {
    first: u64,
    second: u64,
}

impl Seed {
    pub(super) fn draw() -> Self {
        let random = RandomState::new();
        Self { first: random.hash_one(1), second: random.hash_one(2) }
    }

    /// Of a name, byte for byte.
    #[inline]
    pub(super) fn name(self, name: &[u8]) -> Key<'_> {
        self.key(name, |word| word)
    }

    /// Of a path, whatever the case of its ASCII letters.
    #[inline]
    pub(super) fn path(self, path: &[u8]) -> Key<'_> {
        self.key(path, lower)
    }

    #[inline]
    fn key(self, text: &[u8], read: impl Fn(u64) -> u64) -> Key<'_> {
        let mut state = self.first.wrapping_add(length(text).wrapping_mul(SPREAD));
        if text.len() > SHORT {
            for chunk in text.as_chunks::<SHORT>().0 {
                let [left, right] = halves(chunk).map(&read);
                state = fold(state ^ left, self.second ^ right);
            }
        }
        let words = tail(text).map(read);
        let [left, right] = words;
        Key { hash: fold(state ^ left, self.second ^ right), words, text }
    }
}

/// The last sixteen bytes as two words; of a shorter text all of it, and then the words may overlap.
#[inline]
fn tail(bytes: &[u8]) -> [u64; 2] {
    if let Some(last) = bytes.last_chunk::<SHORT>() {
        return halves(last);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return [u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last))];
    }
    let [first, middle, last] =
        [bytes.first(), bytes.get(1), bytes.last()].map(|byte| byte.copied().unwrap_or_default());
    [u64::from(u16::from_le_bytes([first, last])), u64::from(middle)]
}

#[inline]
fn halves(chunk: &[u8; SHORT]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*chunk);
    [low(whole), low(whole >> 64)]
}

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    low(product) ^ low(product >> 64)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
fn low(whole: u128) -> u64 {
    whole as u64
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Eight bytes with ASCII's capitals as small letters.
#[inline]
pub(super) fn lower(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let ascii = word & !HIGH;
    let from_a = ascii + (0x80 - u64::from(b'A')) * EACH;
    let above_z = ascii + (0x7f - u64::from(b'Z')) * EACH;
    let capitals = (from_a ^ above_z) & !word & HIGH;
    // 0x80 >> 2 is the bit between the cases.
    word | (capitals >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn each_byte_is_lowered_as_ascii_says() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                let mut bytes = *b"aZ[@`{zA";
                bytes[place] = byte;
                let expected = bytes.map(|byte| byte.to_ascii_lowercase());
                assert_eq!(lower(u64::from_le_bytes(bytes)).to_le_bytes(), expected, "{byte} {place}");
            }
        }
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let seed = Seed::draw();
        let mut hashes = HashSet::new();
        let mut texts = 0;
        for length in 0..70 {
            let zeros = vec![0_u8; length];
            texts += 1;
            hashes.insert(seed.name(&zeros).hash);
            for place in 0..length {
                let mut changed = zeros.clone();
                changed[place] = 1;
                texts += 1;
                hashes.insert(seed.name(&changed).hash);
            }
        }
        assert_eq!(hashes.len(), texts);
    }

    #[test]
    fn short_texts_are_their_words() {
        let seed = Seed::draw();
        for length in 0..=SHORT {
            let zeros = vec![0_u8; length];
            let mut words = HashSet::from([seed.name(&zeros).words]);
            for place in 0..length {
                let mut changed = zeros.clone();
                changed[place] = 1;
                words.insert(seed.name(&changed).words);
            }
            assert_eq!(words.len(), length + 1);
        }
    }

    proptest! {
        #[test]
        fn case_changes_the_hash_of_names_only(text in "[a-zA-Z.@é-]{0,40}") {
            let seed = Seed::draw();
            let small = text.to_ascii_lowercase();
            let [name, path] = [seed.name(text.as_bytes()), seed.path(text.as_bytes())];
            prop_assert_eq!(path.hash, seed.path(small.as_bytes()).hash);
            prop_assert_eq!(path.hash, seed.name(small.as_bytes()).hash);
            prop_assert_eq!(name.hash == path.hash, text == small);
        }
    }
}
