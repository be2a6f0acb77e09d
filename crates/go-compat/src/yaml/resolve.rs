//! Plain scalars as values: Go's reader takes them by YAML 1.1 with parts of 1.2.

/// A number as Go holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that fits 64 bits, with or without a sign.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

/// The truth that text is where a boolean is wanted: some words only without quotes.
pub fn boolean(text: &str, plain: bool) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" if plain => Some(true),
        "false" | "False" | "FALSE" if plain => Some(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// The number that a plain scalar is.
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

/// An integer with an optional sign and one of the prefixes `0x`, `0o`, `0b` and `0`, the latter two of which
/// are octal and binary.
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
    // A sign makes it no unsigned number.
    let fits = i64::try_from(value).is_ok() || (unsigned.is_none() && u64::try_from(value).is_ok());
    fits.then_some(Number::Integer(value))
}

/// A decimal number with an optional fraction and exponent. One that is too large for a float is none.
fn float(text: &str) -> Option<Number> {
    let decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let value: f64 = text.bytes().all(decimal).then(|| text.parse().ok())??;
    value.is_finite().then_some(Number::Float(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_go_s() {
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
