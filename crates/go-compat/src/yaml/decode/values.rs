//! Strings, booleans and numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Decode, Decoder, List, Location, Map, NodePath, Record, Spanned};
use crate::yaml::edit::Step;
use crate::yaml::{KindIn, NodeIn, Style};

/// From here on, processors convert floats to different integers.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

impl Decode for String {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        match &node.kind {
            _ if node.is_null() => {}
            KindIn::Scalar { value, .. } => self.push_str(value),
            _ => decoder.mismatch(node, "a string", &as_one_text(node)),
        }
    }
}

/// Returns the help for an expected string. The items of a list of names become one string.
fn as_one_text(node: &NodeIn<'_>) -> String {
    let KindIn::Sequence(items) = &node.kind else { return "write a string".to_owned() };
    let is_plain = |name: &&str| !name.is_empty() && !name.contains([',', ' ', '"', '\\', '\n', '\t']);
    let names: Option<Vec<&str>> = items.iter().map(|item| item.as_scalar().filter(is_plain)).collect();
    match names {
        Some(names) if !names.is_empty() => format!("write a string, such as `\"{}\"`", names.join(",")),
        _ => "write a string".to_owned(),
    }
}

impl Decode for Spanned {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        self.value.decode(node, at, decoder);
        self.span = node.as_scalar().map(|_| node.span);
    }
}

impl Decode for bool {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        let found = match &node.kind {
            _ if node.is_null() => return,
            KindIn::Scalar { value, style } => boolean(value, *style == Style::Plain),
            _ => None,
        };
        match found {
            Some(found) => *self = found,
            None => decoder.mismatch(node, "`true` or `false`", "write `true` or `false`, without quotes"),
        }
    }
}

impl Decode for Option<bool> {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        if !node.is_null() {
            self.get_or_insert_default().decode(node, at, decoder);
        }
    }

    fn is_nilable(&self) -> bool {
        true
    }
}

/// Returns the number that a plain scalar represents.
fn number_of(node: &NodeIn<'_>) -> Option<Number> {
    match &node.kind {
        KindIn::Scalar { value, style: Style::Plain } => number(value),
        _ => None,
    }
}

impl Decode for u64 {
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        if node.is_null() {
            return;
        }
        let found = match number_of(node) {
            Some(Number::Integer(found)) => Self::try_from(found).ok(),
            // Go discards the fraction.
            Some(Number::Float(found)) if (0.0..TOO_LARGE).contains(&found) => {
                found.trunc().to_string().parse().ok()
            }
            Some(Number::Float(_)) => {
                let help = "write an integer from 0 to 18446744073709551615";
                return decoder.unsure(node.span, "this number", help);
            }
            None => None,
        };
        match found {
            Some(found) => *self = found,
            None => decoder.mismatch(node, "a non-negative integer", "write digits, without quotes"),
        }
    }
}

impl Decode for f64 {
    #[allow(clippy::cast_precision_loss, reason = "Go rounds in the same way")]
    fn decode(&mut self, node: &NodeIn<'_>, _at: &NodePath<'_>, decoder: &mut Decoder) {
        match number_of(node) {
            _ if node.is_null() => {}
            Some(Number::Integer(found)) => *self = found as Self,
            Some(Number::Float(found)) => *self = found,
            None => decoder.mismatch(node, "a number", "write a number, without quotes"),
        }
    }
}

// Structs, lists and maps.

/// A key and its value.
type Pair<'t> = (NodeIn<'t>, NodeIn<'t>);

impl<T: Record> Decode for T {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        match &node.kind {
            _ if node.is_null() => {}
            KindIn::Mapping(pairs) => {
                self.located(Location { path: at.path().clone(), span: node.span, shared: at.shared });
                fill(self, pairs, &mut 0, at, decoder);
            }
            _ => decoder.mismatch(node, T::NAME, "write it as `key: value` lines"),
        }
    }
}

impl<T: Record + Default> Decode for Option<Box<T>> {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        if !node.is_null() {
            self.get_or_insert_default().decode(node, at, decoder);
        }
    }

    fn is_nilable(&self) -> bool {
        true
    }
}

/// Decodes the fields that are not in the bit set `taken`.
fn fill<T: Record>(
    record: &mut T,
    pairs: &[Pair<'_>],
    taken: &mut u64,
    at: &NodePath<'_>,
    decoder: &mut Decoder,
) {
    let (mut own, mut source) = (0_u64, None);
    for (key, value) in pairs {
        if key.is_merge() {
            if source.replace(value).is_some() {
                decoder.repeated(key);
            }
            continue;
        }
        let Some(name) = key_of(key, decoder) else { continue };
        let mut fields = T::FIELDS.iter().copied().zip(0_u32..);
        let Some((field, index)) = fields.find(|(field, _)| *field == name) else {
            decoder.unknown(key, T::NAME, T::FIELDS);
            continue;
        };
        let bit = 1_u64.checked_shl(index).unwrap_or_default();
        if own & bit != 0 {
            decoder.repeated(key);
        }
        own |= bit;
        if *taken & bit == 0 {
            *taken |= bit;
            if let Some(found) = record.field(field) {
                found.decode(value, &at.child(Step::Key(field.into()), value), decoder);
            }
        }
    }
    if let Some(source) = source {
        merge(source, at, decoder, &mut |pairs, at, decoder| fill(record, pairs, taken, at, decoder));
    }
}

/// Returns the text of a key.
fn key_of<'n>(key: &'n NodeIn<'_>, decoder: &mut Decoder) -> Option<&'n str> {
    if key.is_null() {
        decoder.unsure(key.span, "null as a key", "put the key in quotes");
        return None;
    }
    let name = key.as_scalar()?;
    if name == "<<" {
        decoder.unsure(key.span, "`<<` in quotes", "remove the quotes, or rename the key");
        return None;
    }
    Some(name)
}

/// Calls `take` with the pairs of each mapping that `<<` refers to.
fn merge(
    source: &NodeIn<'_>,
    at: &NodePath<'_>,
    decoder: &mut Decoder,
    take: &mut dyn FnMut(&[Pair<'_>], &NodePath<'_>, &mut Decoder),
) {
    let mappings = match &source.kind {
        KindIn::Sequence(items) if source.alias().is_none() => items.as_slice(),
        _ => std::slice::from_ref(source),
    };
    for mapping in mappings {
        match &mapping.kind {
            KindIn::Mapping(pairs) => take(pairs, &at.merged(), decoder),
            _ => {
                decoder.mismatch(mapping, "a mapping to merge", "write `<<: *name` or `<<: [*name, *other]`");
            }
        }
    }
}

impl<T: Decode + Default> Decode for List<T> {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        match &node.kind {
            _ if node.is_null() => {}
            KindIn::Sequence(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let mut value = T::default();
                    value.decode(item, &at.child(Step::Index(index), item), decoder);
                    if value.is_nilable() || !item.is_null() {
                        values.push(value);
                    }
                }
                *self = Some(values);
            }
            _ => decoder.mismatch(node, "a list", "write `[a, b]`, or a line with `- ` for each item"),
        }
    }

    fn is_nilable(&self) -> bool {
        true
    }
}

impl<T: Decode + Default> Decode for Map<T> {
    fn decode(&mut self, node: &NodeIn<'_>, at: &NodePath<'_>, decoder: &mut Decoder) {
        match &node.kind {
            _ if node.is_null() => {}
            KindIn::Mapping(pairs) => insert(self.get_or_insert_default(), pairs, at, decoder),
            _ => decoder.mismatch(node, "a mapping", "write it as `key: value` lines"),
        }
    }

    fn is_nilable(&self) -> bool {
        true
    }
}

/// Decodes the keys that are not in the map yet.
fn insert<T: Decode + Default>(
    map: &mut BTreeMap<String, T>,
    pairs: &[Pair<'_>],
    at: &NodePath<'_>,
    decoder: &mut Decoder,
) {
    let (mut own, mut source) = (BTreeSet::new(), None);
    for (key, value) in pairs {
        if !own.insert(key.as_scalar()) {
            decoder.repeated(key);
        }
        if key.is_merge() {
            source = Some(value);
            continue;
        }
        let Some(name) = key_of(key, decoder) else { continue };
        if !map.contains_key(name) {
            let mut entry = T::default();
            entry.decode(value, &at.child(Step::Key(name.to_owned().into()), value), decoder);
            map.insert(name.to_owned(), entry);
        }
    }
    if let Some(source) = source {
        merge(source, at, decoder, &mut |pairs, at, decoder| insert(map, pairs, at, decoder));
    }
}

// Plain scalars. Go's parser follows YAML 1.1 with parts of 1.2.

/// A number in Go's representation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that fits in 64 bits, signed or unsigned.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

/// Converts a text to a boolean. Some words are accepted only without quotes.
pub fn boolean(text: &str, plain: bool) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" if plain => Some(true),
        "false" | "False" | "FALSE" if plain => Some(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Converts a plain scalar to a number.
pub fn number(text: &str) -> Option<Number> {
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(Number::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(Number::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Some(Number::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    match text.bytes().next()? {
        b'.' => float(text),
        b'+' | b'-' | b'0'..=b'9' => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| float(&digits))
        }
        _ => None,
    }
}

/// Parses an integer with an optional sign and an optional prefix: `0x` (hexadecimal), `0o` or `0` (octal),
/// or `0b` (binary).
fn integer(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']);
    let digits = unsigned.unwrap_or(text);
    let lower = digits.to_ascii_lowercase();
    let prefixes = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)];
    let found = prefixes.iter().find_map(|(prefix, radix)| {
        Some((lower.strip_prefix(prefix).filter(|rest| !rest.is_empty())?, *radix))
    });
    let (digits, radix) = found.unwrap_or((lower.as_str(), 10));
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let size = i128::from_str_radix(digits, radix).ok()?;
    let value = if text.starts_with('-') { -size } else { size };
    // A number with a sign cannot be unsigned.
    let fits = i64::try_from(value).is_ok() || (unsigned.is_none() && u64::try_from(value).is_ok());
    fits.then_some(Number::Integer(value))
}

/// Parses a decimal number with an optional fraction and exponent. Returns `None` if a float cannot represent
/// it.
fn float(text: &str) -> Option<Number> {
    let decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let value: f64 = text.bytes().all(decimal).then(|| text.parse().ok())??;
    value.is_finite().then_some(Number::Float(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_gos() {
        for (text, expected) in [
            ("0", Some(Number::Integer(0))),
            ("-0", Some(Number::Integer(0))),
            ("+7", Some(Number::Integer(7))),
            ("017", Some(Number::Integer(15))),
            ("0o17", Some(Number::Integer(15))),
            ("0x1_F", Some(Number::Integer(31))),
            ("-0b11", Some(Number::Integer(-3))),
            ("9223372036854775808", Some(Number::Integer(1 << 63))),
            ("+9223372036854775808", Some(Number::Float(9_223_372_036_854_775_808.0))),
            ("08", Some(Number::Float(8.0))),
            ("1.", Some(Number::Float(1.0))),
            (".5e1", Some(Number::Float(5.0))),
            ("1e999", None),
            ("0x", None),
            ("+-1", None),
            ("1 ", None),
            ("e1", None),
            ("_1", None),
            (".", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }
}
