//! JSON as Go's `encoding/json` reads and writes it.
//!
//! `serde_json` parses the text. This module adds the points in which Go differs: lone surrogates
//! ([`GoString`]), keys that match without regard to case ([`is_field`]), and the limit on nesting. `null` is
//! an `Option`; implement `Visitor::visit_map` to handle repeated keys.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, IgnoredAny, Visitor};

/// The deepest nesting that Go accepts (`scanner.go`, `maxNestingDepth`).
pub const MAX_DEPTH: usize = 10_000;

/// Parses a text that Go accepts as JSON.
///
/// # Errors
/// The reason and its position, if the text is not JSON, is nested too deeply or has another type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    // Checks the whole text first, because a `GoString` alone would accept control characters.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
    if depth(text) > MAX_DEPTH {
        return Err(format!("nested more than {MAX_DEPTH} deep"));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Deserializes a value; `null` gives the default.
///
/// # Errors
/// If the value has another type.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Returns how deeply a valid text is nested.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A string with U+FFFD in place of each lone surrogate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoString(pub String);

impl<'de> Deserialize<'de> for GoString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = GoString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    /// Converts the bytes that `serde_json` makes of a string: UTF-8, except that a lone surrogate has three
    /// bytes beginning with `ED`.
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<GoString, E> {
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if chunk.invalid() == [0xed] {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Ok(GoString(text))
    }
}

/// Serializes strings, lists and maps as `json.Marshal` does, with `<`, `>`, `&`, U+2028 and U+2029 escaped
/// so that the JSON can be embedded in HTML.
pub fn write(value: &impl Serialize) -> String {
    escaped(value, is_of_html)
}

/// Returns whether JSON in HTML must escape a character. Valid JSON has such characters only in strings.
pub fn is_of_html(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Serializes a value as JSON and also escapes all characters that `is_escaped` selects. They must occur only
/// in strings.
pub(crate) fn escaped(value: &impl Serialize, is_escaped: impl Fn(char) -> bool) -> String {
    // Serializing strings, lists and maps with string keys cannot fail.
    escaped_json(&serde_json::to_string(value).unwrap_or_default(), is_escaped)
}

/// Escapes characters of a JSON text. They must be inside strings, the only place where JSON allows escapes.
pub fn escaped_json(json: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if is_escaped(c) => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

/// Returns whether Go assigns a key to the struct field of this name. Go compares with Unicode case folding
/// (`fold.go`). `field` must be ASCII.
pub fn is_field(key: &str, field: &str) -> bool {
    // Two letters outside ASCII fold to an ASCII letter.
    let folded = key.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(field.chars().map(|c| c.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
