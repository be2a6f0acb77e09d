//! The checksum by which the scheduler distinguishes texts. It shows us whether the scheduler runs our text.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The marker that the scheduler cuts out of the text before it is hashed (yunikorn-core `config.go:194`).
const MARKER: &str = "checksum: ";
/// The most bytes after the marker that are cut out with it.
const HIDDEN: usize = 64;

/// `Checksum` of `GET /ws/v1/config` once this text is active: SHA-256 in upper-case hexadecimal, of the text
/// without the part that [`contains_checksum_marker`] warns of (yunikorn-core `config.go:171-208`).
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

/// Returns whether the text contains `checksum: `. Up to 64 characters after it do not count for the
/// checksum, so two texts that differ there are one to the scheduler: it skips the second.
pub fn contains_checksum_marker(text: &str) -> bool {
    text.contains(MARKER)
}

/// The marker and the part cut out with it: up to the next marker, without newlines at the end, cut to a
/// length.
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
