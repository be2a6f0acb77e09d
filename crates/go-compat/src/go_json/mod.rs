//! JSON as Go's `encoding/json` reads and writes it.
//!
//! `serde_json` reads. What Go takes otherwise is here: lone surrogates ([`GoString`]), keys without case
//! ([`is_field`]), and its bound on nesting. `null` is an `Option`; for repeated keys, implement
//! `Visitor::visit_map`.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, IgnoredAny, Visitor};

/// The deepest nesting that Go reads (`scanner.go`, `maxNestingDepth`).
pub const MAX_DEPTH: usize = 10_000;

/// Reads a text if Go takes it for JSON.
///
/// # Errors
/// When it is no JSON, nested too deeply, or of another type: why, and where.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    // Checks the whole text, at any depth: a `GoString` alone would take control characters.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
    if depth(text) > MAX_DEPTH {
        return Err(format!("nested more than {MAX_DEPTH} deep"));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Reads a value; `null` means absent.
///
/// # Errors
/// When it is of another type.
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

/// A string in which each lone surrogate is U+FFFD.
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

    /// Takes what `serde_json` makes of a string: UTF-8, but for lone surrogates, which have three bytes and
    /// begin with `ED`.
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

/// Returns a value of strings, lists and maps as `json.Marshal` writes it: `<`, `>`, `&`, U+2028 and U+2029
/// are escaped for the sake of HTML.
pub fn write(value: &impl Serialize) -> String {
    escaped(value, is_of_html)
}

/// Returns whether a character of JSON within HTML is escaped. Such characters occur only in strings.
pub fn is_of_html(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Returns a value as JSON, with escapes for what JSON must escape and what `is_escaped` takes, which must
/// occur in strings only.
pub(crate) fn escaped(value: &impl Serialize, is_escaped: impl Fn(char) -> bool) -> String {
    // Strings, lists and maps by strings can always be written.
    escaped_json(&serde_json::to_string(value).unwrap_or_default(), is_escaped)
}

/// Escapes characters of a JSON text. They must be inside strings, because JSON allows escapes only there.
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

/// Returns whether Go takes a key for the struct field of this name (`fold.go`): without case, as Unicode
/// folds it. `field` is ASCII.
pub fn is_field(key: &str, field: &str) -> bool {
    // Two letters outside ASCII fold to one inside it.
    let folded = key.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(field.chars().map(|c| c.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
