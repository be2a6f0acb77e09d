//! What a scalar means: yaml.v3's `resolve.go`, rule for rule, so that `010` is eight and `2001-01-01` is no text.
//!
//! The tags are yaml.v3's short ones (`!!int`); [`short_tag`] makes them. The timestamp's value is never needed, only whether
//! Go would take the text for one, because that changes its error texts.

use std::borrow::Cow;

use super::{KindIn, NodeIn, Style};

pub(super) const NULL: &str = "!!null";
pub(super) const BOOL: &str = "!!bool";
pub(super) const STR: &str = "!!str";
pub(super) const INT: &str = "!!int";
pub(super) const FLOAT: &str = "!!float";
pub(super) const TIMESTAMP: &str = "!!timestamp";
pub(super) const SEQ: &str = "!!seq";
pub(super) const MAP: &str = "!!map";
pub(super) const BINARY: &str = "!!binary";
pub(super) const MERGE: &str = "!!merge";

/// The prefix of the tags of YAML itself.
const LONG_TAG: &str = "tag:yaml.org,2002:";

/// The value of a scalar, by its tag.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Timestamp,
    Text(Cow<'t, str>),
}

/// `tag:yaml.org,2002:int` as `!!int`; any other tag as it is (`resolve.go` `shortTag`).
pub(super) fn short_tag(tag: &str) -> Cow<'_, str> {
    match tag.strip_prefix(LONG_TAG) {
        Some(rest) => Cow::Owned(format!("!!{rest}")),
        None => Cow::Borrowed(tag),
    }
}

/// The tag that is written on a node, unless it is the one that says nothing.
fn written_tag<'n>(node: &'n NodeIn<'_>) -> Option<&'n str> {
    node.tag().filter(|tag| !tag.is_empty() && *tag != "!")
}

/// The tag Go's parser puts on a node: the written one, or the one its kind and text imply (`decode.go` `parser.node`).
pub(super) fn tag_of<'n>(node: &'n NodeIn<'_>) -> Cow<'n, str> {
    if let Some(tag) = written_tag(node) {
        return short_tag(tag);
    }
    Cow::Borrowed(match &node.kind {
        KindIn::Mapping(_) => MAP,
        KindIn::Sequence(_) => SEQ,
        KindIn::Scalar { style: Style::Plain, value } if value == "<<" => MERGE,
        KindIn::Scalar { style: Style::Plain, value } => plain(value, "").0,
        KindIn::Scalar { .. } => STR,
    })
}

/// The value of a scalar node with this text, by its tag ([`tag_of`]).
///
/// # Errors
/// As [`resolve`].
pub(super) fn value_of<'n>(node: &NodeIn<'_>, text: &'n str) -> Result<Value<'n>, String> {
    match (written_tag(node), &node.kind) {
        (Some(tag), _) => resolve(&short_tag(tag), text),
        // The tag that a text implies never refuses it.
        (None, KindIn::Scalar { style: Style::Plain, .. }) => Ok(plain(text, "").1),
        (None, _) => Ok(Value::Text(Cow::Borrowed(text))),
    }
}

/// The value of a scalar with this tag (`resolve.go` `resolve`, and the base64 of `decode.go` `scalar`).
///
/// # Errors
/// Go's text, without `yaml: `, when the value does not fit the tag.
fn resolve<'t>(tag: &str, text: &'t str) -> Result<Value<'t>, String> {
    match tag {
        BINARY => return binary(text).map(|text| Value::Text(Cow::Owned(text))),
        "" | BOOL | INT | FLOAT | NULL | TIMESTAMP => {}
        _ => return Ok(Value::Text(Cow::Borrowed(text))),
    }
    match plain(text, tag) {
        (found, value) if tag.is_empty() || tag == found => Ok(value),
        #[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
        (INT, Value::Int(number)) if tag == FLOAT => Ok(Value::Float(number as f64)),
        (found, _) => Err(format!("cannot decode {found} `{text}` as a {tag}")),
    }
}

/// The tag and value of a scalar by its text alone. `tag` is empty or the explicit one; it only decides whether a timestamp is
/// looked for.
fn plain<'t>(text: &'t str, tag: &str) -> (&'static str, Value<'t>) {
    let found = match text.as_bytes().first() {
        None | Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F') => word(text),
        Some(b'.') => word(text).or_else(|| dotted_float(text).map(|number| (FLOAT, Value::Float(number)))),
        Some(b'+' | b'-' | b'0'..=b'9') => word(text).or_else(|| {
            let may_be_time = tag.is_empty() || tag == TIMESTAMP;
            if may_be_time && is_timestamp(text) { Some((TIMESTAMP, Value::Timestamp)) } else { number(text) }
        }),
        Some(_) => None,
    };
    found.unwrap_or((STR, Value::Text(Cow::Borrowed(text))))
}

/// The words that are no text.
fn word(text: &str) -> Option<(&'static str, Value<'static>)> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => (NULL, Value::Null),
        "true" | "True" | "TRUE" => (BOOL, Value::Bool(true)),
        "false" | "False" | "FALSE" => (BOOL, Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => (FLOAT, Value::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => (FLOAT, Value::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => (FLOAT, Value::Float(f64::NEG_INFINITY)),
        _ => return None,
    })
}

/// A number that begins with a digit or a sign.
fn number(text: &str) -> Option<(&'static str, Value<'static>)> {
    let plain = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    go_int(&plain)
        .or_else(|| styled_float(&plain).map(|number| (FLOAT, Value::Float(number))))
        .or_else(|| prefixed(&plain, "0b", 2))
        .or_else(|| prefixed(&plain, "0o", 8))
}

/// `strconv.ParseInt(text, 0, 64)`, then `ParseUint`: a base prefix in any case, or a leading zero for octal.
fn go_int(text: &str) -> Option<(&'static str, Value<'static>)> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'+') => ("", text.get(1..)?),
        Some(b'-') => ("-", text.get(1..)?),
        _ => ("", text),
    };
    let signed = digits.len() != text.len();
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'b' | b'B', _, ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, digits.get(2..)?),
        [b'0', b'x' | b'X', _, ..] => (16, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let written = if signed { Cow::Owned(format!("{sign}{digits}")) } else { Cow::Borrowed(digits) };
    if let Ok(number) = i64::from_str_radix(&written, base) {
        return Some((INT, Value::Int(number)));
    }
    if signed {
        return None;
    }
    u64::from_str_radix(digits, base).ok().map(|number| (INT, Value::Uint(number)))
}

/// yaml.v3's own reading of `0b` and `0o`: only reached by what `ParseInt` refuses, such as a second sign (`0b-1`).
fn prefixed(text: &str, prefix: &str, base: u32) -> Option<(&'static str, Value<'static>)> {
    let (digits, negative) = match text.strip_prefix('-').and_then(|rest| rest.strip_prefix(prefix)) {
        Some(digits) => (format!("-{digits}"), true),
        None => (text.strip_prefix(prefix)?.to_owned(), false),
    };
    if let Ok(number) = i64::from_str_radix(&digits, base) {
        return Some((INT, Value::Int(number)));
    }
    if negative || digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(&digits, base).ok().map(|number| (INT, Value::Uint(number)))
}

/// A float by yaml.v3's `yamlStyleFloat` (`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`) that is not too large.
fn styled_float(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match bare.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (bare, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    if !mantissa_ok || !exponent.is_none_or(digits) {
        return None;
    }
    finite(text)
}

/// `strconv.ParseFloat` of a text that begins with a dot: underscores may stand between digits.
fn dotted_float(text: &str) -> Option<f64> {
    let mut before = b'.';
    for byte in text.bytes().chain(std::iter::once(b'.')) {
        if (byte == b'_' && !before.is_ascii_digit()) || (before == b'_' && !byte.is_ascii_digit()) {
            return None;
        }
        before = byte;
    }
    let plain = text.replace('_', "");
    if plain.as_bytes().get(1).is_some_and(u8::is_ascii_digit) { styled_float(&plain) } else { None }
}

/// A decimal float; `None` where Go reports that it is out of range.
fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// `resolve.go` `parseTimestamp`: a year, then one of four layouts by the rules of Go's `time.Parse`.
fn is_timestamp(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    let Some(rest) = text.get(4..).and_then(|rest| rest.strip_prefix('-')).filter(|_| year == 4) else {
        return false;
    };
    let Some(date_end) = date(text.get(..4).unwrap_or_default(), rest) else {
        return false;
    };
    if date_end.is_empty() {
        return true;
    }
    if let Some(rest) = date_end.strip_prefix(['T', 't']) {
        return clock(rest).is_some_and(zone);
    }
    // A blank in the layout takes any number of blanks, but at least one.
    date_end.starts_with(' ') && clock(date_end.trim_start_matches(' ')).is_some_and(str::is_empty)
}

/// Takes `month-day` of that year; the rest behind it.
fn date<'a>(year: &str, text: &'a str) -> Option<&'a str> {
    let year: u32 = year.parse().ok()?;
    let (month, rest) = one_or_two(text, 1, 12)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    one_or_two(rest.strip_prefix('-')?, 1, days).map(|(_, rest)| rest)
}

/// Takes `hour:minute:second` and an optional fraction; the rest behind it.
fn clock(text: &str) -> Option<&str> {
    let (_, rest) = one_or_two(text, 0, 23)?;
    let (_, rest) = one_or_two(rest.strip_prefix(':')?, 0, 59)?;
    let (_, rest) = one_or_two(rest.strip_prefix(':')?, 0, 59)?;
    let fraction =
        rest.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Some(fraction.map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit())))
}

/// Whether the text is `Z` or an offset like `+01:00`, within the bounds of Go's `time.Parse`.
fn zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some((hours, minutes)) = text.strip_prefix(['+', '-']).and_then(|offset| offset.split_once(':'))
    else {
        return false;
    };
    let within = |text: &str, most: u32| {
        text.len() == 2
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|n| n <= most)
    };
    within(hours, 24) && within(minutes, 60)
}

/// Takes one digit, or two when the second is one as well; the number, which must be within the bounds, and the rest.
fn one_or_two(text: &str, least: u32, most: u32) -> Option<(u32, &str)> {
    let length = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    let number = digits.parse().ok()?;
    (least..=most).contains(&number).then_some((number, rest))
}

/// Go's `base64.StdEncoding`: padded, line breaks ignored, stray bits in the last digit allowed. Bytes that are no UTF-8
/// become U+FFFD, which no name in a configuration may contain either.
fn binary(text: &str) -> Result<String, String> {
    let refused = || "!!binary value contains invalid base64 data".to_owned();
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let padding = digits.iter().rev().take_while(|byte| **byte == b'=').count();
    let data = digits.get(..digits.len().saturating_sub(padding)).unwrap_or_default();
    if padding > 2 || !digits.len().is_multiple_of(4) {
        return Err(refused());
    }
    let mut bytes = Vec::with_capacity(digits.len());
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in data {
        let six = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(refused()),
        };
        held = ((held << 6) | u32::from(six)) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xFF).unwrap_or_default());
        }
    }
    Ok(lossy(&bytes))
}

/// Text with U+FFFD for every byte that is not UTF-8, as Go has it when it prints such bytes or goes through them.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let chunks = bytes.utf8_chunks();
    chunks.flat_map(|chunk| [chunk.valid().to_owned(), "\u{fffd}".repeat(chunk.invalid().len())]).collect()
}
