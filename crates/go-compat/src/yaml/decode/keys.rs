//! Keys of mappings: which of them are equal to Go, which are set before what is merged, and which merge.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::super::resolve::{self, Value};
use super::super::{KindIn, NodeIn};
use super::{Decoder, Failure, Pair};

/// A key as Go's `interface{}` holds it, which is how the keys of a map that merges others are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Text(String),
    /// A number, a bool, a time or nil: never equal to the text a struct or a string map looks for.
    Other,
}

impl Key {
    /// A key decoded into `interface{}`; `None` when that fails, which is recorded.
    pub(super) fn of(node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<Option<Self>, Failure> {
        let text = match &node.kind {
            KindIn::Scalar { value, .. } => value,
            KindIn::Mapping(pairs) if !decoder.unique_keys(pairs) => return Ok(None),
            KindIn::Mapping(pairs) if pairs.iter().all(|(key, _)| is_text(key)) => {
                return Err(unhashable("map[string]interface {}", node));
            }
            KindIn::Mapping(_) => return Err(unhashable("map[interface {}]interface {}", node)),
            KindIn::Sequence(_) => return Err(unhashable("[]interface {}", node)),
        };
        match resolve::value_of(node, text).map_err(|message| Failure::new(message, node))? {
            Value::Text(text) => Ok(Some(Self::Text(text.into_owned()))),
            _ => Ok(Some(Self::Other)),
        }
    }
}

fn unhashable(go_type: &str, node: &NodeIn<'_>) -> Failure {
    Failure::new(format!("runtime error: hash of unhashable type {go_type}"), node)
}

impl Decoder {
    /// Whether no key stands twice. Go compares kind and content of what is written: an alias by its anchor's name, and lists and
    /// mappings, which have no content of their own, as equal.
    pub(super) fn unique_keys(&mut self, pairs: &[Pair<'_>]) -> bool {
        if pairs.len() <= FEW_KEYS && all_differ(pairs) {
            return true;
        }
        let mut places: BTreeMap<(u8, &str), Vec<usize>> = BTreeMap::new();
        for (index, (key, _)) in pairs.iter().enumerate() {
            places.entry(as_written(key)).or_default().push(index);
        }
        if places.len() == pairs.len() {
            return true;
        }
        let repeated = pairs.iter().enumerate().flat_map(|(index, (first, _))| {
            let same = places.get(&as_written(first)).map(Vec::as_slice).unwrap_or_default();
            same.iter()
                .filter(move |other| **other > index)
                .filter_map(|other| pairs.get(*other))
                .map(move |(second, _)| (first, second))
        });
        for (first, second) in repeated.take(MAX_REPEATED) {
            let name = go_quoted(as_written(second).1);
            let message = format!("mapping key {name} already defined at line {}", written_line(first));
            self.key_issue(second, message, Some("remove one of the two".to_owned()));
        }
        false
    }
}

/// So few keys are compared with each other rather than sorted.
const FEW_KEYS: usize = 16;

fn all_differ(pairs: &[Pair<'_>]) -> bool {
    pairs.iter().enumerate().all(|(index, (key, _))| {
        let key = as_written(key);
        pairs.iter().take(index).all(|(before, _)| as_written(before) != key)
    })
}

/// Go lists each pair of equal keys, whose number grows with the square; we stop after so many in one mapping.
const MAX_REPEATED: usize = 1000;

/// The line of the node, or of the alias that it came from.
pub(super) fn written_line(node: &NodeIn<'_>) -> u32 {
    node.alias().map_or(node.line, |alias| alias.line)
}

/// Kind and content of a key, as Go compares them.
fn as_written<'n>(key: &'n NodeIn<'_>) -> (u8, &'n str) {
    match (key.alias(), &key.kind) {
        (Some(alias), _) => (0, alias.anchor.as_str()),
        (None, KindIn::Scalar { value, .. }) => (1, value),
        (None, KindIn::Sequence(_)) => (2, ""),
        (None, KindIn::Mapping(_)) => (3, ""),
    }
}

fn is_text(key: &NodeIn<'_>) -> bool {
    let tag = resolve::tag_of(key);
    tag == resolve::STR || tag == resolve::MERGE
}

/// `decode.go` `isMerge`: a plain `<<`, or one with the tag `!!merge`.
pub(in crate::yaml) fn is_merge(key: &NodeIn<'_>) -> bool {
    key.alias().is_none() && key.as_scalar() == Some("<<") && resolve::tag_of(key) == resolve::MERGE
}

/// Whether a key is set already by something that comes before what is being merged; remembers it otherwise.
pub(super) fn merged_before(merged: &mut Option<HashSet<Key>>, name: &str) -> bool {
    merged.as_mut().is_some_and(|keys| !keys.insert(Key::Text(name.to_owned())))
}

/// A field of this name in another case, or all that there are.
pub(super) fn suggestion(name: &str, fields: &[&str]) -> String {
    let lower = name.to_lowercase();
    match fields.iter().find(|field| **field == lower) {
        Some(field) => format!("write `{field}`: YuniKorn's keys are all lower case"),
        None => format!("the fields here are {}", fields.join(", ")),
    }
}

/// Go's `strconv.IsPrint`: Rust's judgement of what needs no escape, combining marks included.
fn is_print(c: char) -> bool {
    c.is_ascii_graphic() || format!("_{c}").escape_debug().count() == 2
}

/// Go's `%#v` of a string.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{0}'..='\u{1f}' | '\u{7f}' => _ = write!(quoted, "\\x{:02x}", u32::from(c)),
            c if !is_print(c) && c > '\u{ffff}' => _ = write!(quoted, "\\U{:08x}", u32::from(c)),
            c if !is_print(c) => _ = write!(quoted, "\\u{:04x}", u32::from(c)),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
