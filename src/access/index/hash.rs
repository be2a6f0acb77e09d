//! Hashing of names and paths: short texts, read eight bytes at a time.
//!
//! Not a defence against chosen keys: tables hold names of the configuration only, and bound their probes ([`super::names`]).

/// Odd numbers without a pattern (the fractional digits of π and e).
const FIRST: u64 = 0x243f_6a88_85a3_08d3;
const SECOND: u64 = 0xb7e1_5162_8aed_2a6b;

/// How the bytes of a text are taken.
pub(super) trait Reading {
    /// Eight bytes on the way into the hash.
    fn word(word: u64) -> u64;
}

/// Byte for byte.
#[derive(Debug, Clone)]
pub(super) struct Exact;

/// ASCII letters without case.
#[derive(Debug, Clone)]
pub(super) struct Caseless;

impl Reading for Exact {
    fn word(word: u64) -> u64 {
        word
    }
}

impl Reading for Caseless {
    /// Each byte of the word in lower case, all eight at once.
    fn word(word: u64) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x80 * ONES;
        let low = word & !HIGH;
        let from_a = low + (0x80 - u64::from(b'A')) * ONES;
        let above_z = low + (0x7f - u64::from(b'Z')) * ONES;
        let upper = (from_a ^ above_z) & !word & HIGH;
        word | (upper >> 2)
    }
}

/// The hash of a text under a seed.
pub(super) fn hash<R: Reading>(text: &[u8], seed: u64) -> u64 {
    let mut state = seed ^ (text.len() as u64).wrapping_mul(SECOND);
    if text.len() > 16 {
        let (words, _) = text.as_chunks::<8>();
        for word in words {
            state = fold(state ^ R::word(u64::from_le_bytes(*word)), FIRST);
        }
    }
    let (first, last) = ends(text);
    fold(fold(state ^ R::word(first), SECOND) ^ R::word(last), FIRST)
}

/// A few bits of a text, enough to tell most texts that no table holds, at less than half the cost of its hash. Long texts
/// that begin and end alike are not told apart.
pub(super) fn glance(text: &[u8]) -> u64 {
    let (first, last) = ends(text);
    (first ^ last.rotate_left(23) ^ text.len() as u64).wrapping_mul(FIRST)
}

/// The first and the last eight bytes, which overlap in shorter texts; all bytes of a text of up to 16.
fn ends(text: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        return (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
    }
    let byte = |at: usize| u64::from(text.get(at).copied().unwrap_or_default());
    (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
}

/// Both halves of a product, so that each bit of the input reaches each bit of the result.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let low = product as u64;
    low ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn case_does_not_matter_to_caseless(text in any::<String>()) {
            let seed = 7;
            let lower = text.to_ascii_lowercase();
            prop_assert_eq!(hash::<Caseless>(text.as_bytes(), seed), hash::<Exact>(lower.as_bytes(), seed));
        }

        #[test]
        fn words_are_lowered_byte_by_byte(bytes in any::<[u8; 8]>()) {
            let expected = u64::from_le_bytes(bytes.map(|byte| byte.to_ascii_lowercase()));
            prop_assert_eq!(Caseless::word(u64::from_le_bytes(bytes)), expected);
        }
    }

    #[test]
    fn texts_of_every_length_differ() {
        let text = [b'a'; 64];
        let mut seen = std::collections::HashSet::new();
        for length in 0..text.len() {
            assert!(seen.insert(hash::<Exact>(&text[..length], 0)), "{length}");
        }
    }
}
