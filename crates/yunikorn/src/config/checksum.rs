//! The scheduler's checksum of a text, which shows whether it runs our text.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The marker that the scheduler removes from the text before hashing (yunikorn-core `config.go:194`).
const MARKER: &str = "checksum: ";
/// The maximum number of bytes that are removed together with the marker.
const HIDDEN: usize = 64;

/// Returns the `Checksum` that `GET /ws/v1/config` reports once this text is active: the SHA-256 in
/// upper-case hexadecimal of the text without the part described in [`contains_checksum_marker`]
/// (yunikorn-core `config.go:171-208`).
pub fn checksum(text: &str) -> String {
    let hashed = match hidden(text) {
        Some(hidden) => Sha256::digest(without(text.as_bytes(), hidden)),
        None => Sha256::digest(text),
    };
    hashed.iter().fold(String::with_capacity(64), |mut hex, byte| {
        _ = write!(hex, "{byte:02X}");
        hex
    })
}

/// Returns whether the text contains `checksum: `. The checksum ignores up to 64 characters after it. If two
/// texts differ only there, the scheduler considers them equal and skips the second.
pub fn contains_checksum_marker(text: &str) -> bool {
    text.contains(MARKER)
}

/// Returns the marker with the ignored part after it, which ends before the next marker, has no trailing
/// newlines and is limited in length.
fn hidden(text: &str) -> Option<&[u8]> {
    let start = text.find(MARKER)?;
    let behind = start.saturating_add(MARKER.len());
    let rest = text.get(behind..)?;
    let length = rest.find(MARKER).unwrap_or(rest.len());
    let marked = text.get(start..behind.saturating_add(length))?.trim_end_matches('\n');
    marked.as_bytes().get(..marked.len().min(MARKER.len() + HIDDEN))
}

/// `strings.ReplaceAll(text, part, "")`.
fn without(text: &[u8], part: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        match rest.strip_prefix(part) {
            Some(behind) if !part.is_empty() => rest = behind,
            _ => {
                kept.push(*first);
                rest = behind;
            }
        }
    }
    kept
}
