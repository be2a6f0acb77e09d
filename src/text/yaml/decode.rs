//! Nodes to Go values by yaml.v3's rules.
//!
//! A type says with [`Decode`] or [`Record`] which Go type it stands for, and decodes as Go would fill that one: with the same
//! leniency (`010` is eight, a null leaves a string as it was), the same refusals (repeated keys, unknown fields) and the same
//! error texts. The source is `go.yaml.in/yaml/v3` v3.0.4, `decode.go`; method and branch names follow it.
//!
//! What Go's lists, maps and pointers can be beyond their content, nil, is `None` here: `YuniKorn` tells them apart.

use std::collections::{BTreeMap, HashSet};

use super::edit::Step;
use super::resolve::{self, Value};
use super::{DECODE, Kind, Node, Style};
use crate::text::diag::{Diagnostic, Span};

/// A Go slice: `None` is nil.
pub type List<T> = Option<Vec<T>>;
/// A Go map with string keys: `None` is nil.
pub type Map<T> = Option<BTreeMap<String, T>>;

/// The items of a Go slice, none for nil.
pub fn items<T>(list: &List<T>) -> &[T] {
    list.as_deref().unwrap_or_default()
}

/// A Go `string` with its place, for diagnostics and edits. Nothing else stands between it and the text Go has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spanned {
    /// What Go has.
    pub value: String,
    /// Where the scalar stands, quotes included; `None` when no text gave it.
    pub span: Option<Span>,
    /// How it was written; `None` when no text gave it.
    pub style: Option<Style>,
    /// Whether it, or something it stands in, is anchored, aliased or merged: it cannot be changed in this place alone.
    pub shared: bool,
}

impl Spanned {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// Whether the text is empty, as it also is when nothing was written.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }
}

impl From<&str> for Spanned {
    /// A text that stands nowhere.
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), ..Self::default() }
    }
}

/// Where a struct's mapping stands in the document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// From the document's root to the mapping.
    pub path: Vec<Step>,
    /// Where in the text.
    pub span: Span,
    /// Its line as Go counts it.
    pub line: usize,
    /// Whether it, or something it stands in, is anchored, aliased or merged: it cannot be changed in this place alone.
    pub shared: bool,
}

/// Why a document cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct DecodeError {
    /// Go's whole text: `yaml: unmarshal errors:\n  line 5: …`, or `yaml: …` for what ends the decoding at once.
    pub text: String,
    /// Each single one with its place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Decodes one document into the Go type that `T` stands for, unknown fields being errors. `None` is no document at all, which
/// leaves the zero value, as YuniKorn-core's `config.go:181` accepts it.
///
/// # Errors
/// All of Go's type errors, in its order, or the one that made it give up.
pub fn decode<T: Decode + Default>(document: Option<&Node>) -> Result<T, DecodeError> {
    let mut value = T::default();
    let Some(root) = document else { return Ok(value) };
    let mut decoder = Decoder::default();
    // Go counts the document itself as one more.
    decoder.count(root).and_then(|()| decoder.unmarshal(root, &mut value)).map_err(|failure| {
        let text = format!("yaml: {}", failure.message);
        DecodeError { diagnostics: vec![Diagnostic::error(DECODE, failure.message).at(failure.span)], text }
    })?;
    if decoder.issues.is_empty() {
        return Ok(value);
    }
    let lines: Vec<String> =
        decoder.issues.iter().map(|issue| format!("line {}: {}", issue.line, issue.message)).collect();
    let diagnostics = decoder
        .issues
        .into_iter()
        .map(|issue| {
            let diagnostic = Diagnostic::error(DECODE, issue.message).at(issue.span);
            Diagnostic { help: issue.help, ..diagnostic }
        })
        .collect();
    Err(DecodeError { text: format!("yaml: unmarshal errors:\n  {}", lines.join("\n  ")), diagnostics })
}

/// A type that decodes as one Go type does.
pub trait Decode {
    /// The Go type's name in error texts.
    fn go_type(&self) -> String;

    /// Decodes a node that is no alias any more into this value, as `decode.go` `unmarshal` does after it followed aliases.
    /// Answers whether Go would call it good: a list drops items that are not.
    ///
    /// # Errors
    /// What makes Go give up at once. Type errors are collected in the decoder.
    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure>;
}

/// A Go struct: its name and its fields.
pub trait Record: Default {
    /// The Go type's name in error texts, with its package.
    const GO_TYPE: &'static str;
    /// The names of all fields, for suggestions.
    const FIELDS: &'static [&'static str];

    /// The field with this name: the lower-cased Go name, if no tag says otherwise.
    fn field(&mut self, name: &str) -> Option<&mut dyn Decode>;

    /// Called with the place of the mapping that fills it.
    fn placed(&mut self, _place: Place) {}
}

/// What ends the decoding at once (`failf` in yaml.v3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    message: String,
    span: Span,
}

impl Failure {
    fn new(message: impl Into<String>, node: &Node) -> Self {
        Self { message: message.into(), span: node.span }
    }
}

/// One type error.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Issue {
    line: usize,
    message: String,
    span: Span,
    help: Option<String>,
}

/// A key as Go's `interface{}` holds it, which is how the keys of a map that merges others are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    /// A number, a bool, a time or nil: never equal to the text a struct or a string map looks for.
    Other,
}

/// The state of one decoding.
#[derive(Debug, Default)]
pub struct Decoder {
    issues: Vec<Issue>,
    /// Keys that are already set, while the maps that are merged into their map are decoded.
    merged: Option<HashSet<Key>>,
    path: Vec<Step>,
    /// How many anchored, aliased or merged nodes we are in.
    shared: usize,
    decode_count: u64,
    alias_count: u64,
    alias_depth: u64,
}

impl Decoder {
    /// `decode.go` `unmarshal`, but for what depends on the type.
    fn unmarshal(&mut self, node: &Node, out: &mut dyn Decode) -> Result<bool, Failure> {
        self.count(node)?;
        let aliased = node.alias.is_some();
        if aliased {
            self.alias_depth += 1;
            // Go counts the alias, then what it stands for.
            self.count(node)?;
        }
        self.shared += usize::from(node.shared);
        let good = out.decode(node, self);
        self.shared -= usize::from(node.shared);
        self.alias_depth -= u64::from(aliased);
        good
    }

    /// The guard against documents that are mostly aliases.
    fn count(&mut self, node: &Node) -> Result<(), Failure> {
        self.decode_count += 1;
        if self.alias_depth > 0 {
            self.alias_count += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts are bounded by the parser, far below 2^52")]
        let (all, aliases) = (self.decode_count as f64, self.alias_count as f64);
        let allowed = match self.decode_count {
            ..=400_000 => 0.99,
            4_000_000.. => 0.10,
            _ => 0.99 - 0.89 * ((all - 400_000.0) / 3_600_000.0),
        };
        if self.alias_count > 100 && self.decode_count > 1000 && aliases / all > allowed {
            return Err(Failure::new("document contains excessive aliasing", node));
        }
        Ok(())
    }

    /// `unmarshal` of a child.
    fn child(&mut self, step: Step, node: &Node, out: &mut dyn Decode) -> Result<bool, Failure> {
        self.path.push(step);
        let good = self.unmarshal(node, out);
        self.path.pop();
        good
    }

    /// Records that the node does not fit the type (`decode.go` `terror`).
    fn mismatch(&mut self, node: &Node, go_type: &str) {
        let tag = resolve::tag_of(node);
        let value = match node.as_scalar().unwrap_or_default() {
            _ if tag == resolve::SEQ || tag == resolve::MAP => String::new(),
            long if long.len() > 10 => {
                let head = long.as_bytes().get(..7).unwrap_or_default();
                format!(" `{}...`", String::from_utf8_lossy(head))
            }
            short => format!(" `{short}`"),
        };
        let message = format!("cannot unmarshal {tag}{value} into {go_type}");
        self.issue(node, message, None);
    }

    fn issue(&mut self, node: &Node, message: String, help: Option<String>) {
        self.issues.push(Issue { line: node.line, message, span: node.span, help });
    }

    fn place(&self, node: &Node) -> Place {
        Place { path: self.path.clone(), span: node.span, line: node.line, shared: self.shared > 0 }
    }

    /// The value of a scalar node; `None` when it is a mapping or a list, which is then recorded as a mismatch.
    fn scalar(&mut self, node: &Node, go_type: &str) -> Result<Option<Value>, Failure> {
        let Some(text) = node.as_scalar() else {
            self.not_a_scalar(node, go_type);
            return Ok(None);
        };
        resolve::resolve(&resolve::tag_of(node), text)
            .map(|(_, value)| Some(value))
            .map_err(|message| Failure::new(message, node))
    }

    /// A mapping or list where none fits; a mapping's repeated keys are found first.
    fn not_a_scalar(&mut self, node: &Node, go_type: &str) {
        if node.as_mapping().is_none_or(|pairs| self.unique_keys(pairs)) {
            self.mismatch(node, go_type);
        }
    }

    /// Whether no key stands twice. Go compares kind and content of what is written: an alias by its anchor's name, and lists and
    /// mappings, which have no content of their own, as equal.
    fn unique_keys(&mut self, pairs: &[(Node, Node)]) -> bool {
        let mut places: BTreeMap<(u8, &str), Vec<usize>> = BTreeMap::new();
        for (index, (key, _)) in pairs.iter().enumerate() {
            places.entry(as_written(key)).or_default().push(index);
        }
        if places.len() == pairs.len() {
            return true;
        }
        let repeated = pairs.iter().enumerate().flat_map(|(index, (first, _))| {
            let same = places.get(&as_written(first)).map(Vec::as_slice).unwrap_or_default();
            same.iter().filter(move |other| **other > index).filter_map(|other| pairs.get(*other)).map(move |(second, _)| (first, second))
        });
        for (first, second) in repeated.take(MAX_REPEATED) {
            let name = go_quoted(as_written(second).1);
            let message = format!("mapping key {name} already defined at line {}", first.line);
            self.issue(second, message, Some("remove one of the two".to_owned()));
        }
        false
    }

    /// Merges `from`, the value of `<<`, into `out`, whose own mapping has `pairs` (`decode.go` `merge`).
    fn merge(&mut self, pairs: &[(Node, Node)], from: &Node, out: &mut dyn Decode) -> Result<(), Failure> {
        let outermost = self.merged.is_none();
        if outermost {
            let mut keys = HashSet::new();
            for (key, _) in pairs {
                keys.insert(self.interface_key(key)?);
            }
            self.merged = Some(keys);
        }
        let want_map = || Failure::new("map merge requires map or sequence of maps as the value", from);
        self.shared += 1;
        match &from.kind {
            Kind::Mapping(_) => {
                self.child(Step::Key("<<".to_owned()), from, out)?;
            }
            Kind::Sequence(maps) if from.alias.is_none() => {
                for map in maps {
                    map.as_mapping().ok_or_else(want_map)?;
                    self.child(Step::Key("<<".to_owned()), map, out)?;
                }
            }
            _ => return Err(want_map()),
        }
        self.shared -= 1;
        if outermost {
            self.merged = None;
        }
        Ok(())
    }

    /// A key decoded into `interface{}`.
    fn interface_key(&mut self, node: &Node) -> Result<Key, Failure> {
        self.unmarshal(node, &mut Ignored)?;
        let Some(text) = node.as_scalar() else {
            let unhashable = match &node.kind {
                Kind::Sequence(_) => "[]interface {}",
                Kind::Mapping(pairs) if pairs.iter().all(|(key, _)| is_text(key)) => "map[string]interface {}",
                _ => "map[interface {}]interface {}",
            };
            return Err(Failure::new(format!("runtime error: hash of unhashable type {unhashable}"), node));
        };
        match resolve::resolve(&resolve::tag_of(node), text).map_err(|message| Failure::new(message, node))?.1 {
            Value::Text(text) => Ok(Key::Text(text)),
            _ => Ok(Key::Other),
        }
    }

    /// Whether a key is set already by something that comes before what is being merged; remembers it otherwise.
    fn merged_before(&mut self, merged: &mut Option<HashSet<Key>>, name: &str) -> bool {
        merged.as_mut().is_some_and(|keys| !keys.insert(Key::Text(name.to_owned())))
    }

    fn record<T: Record>(&mut self, node: &Node, pairs: &[(Node, Node)], out: &mut T) -> Result<(), Failure> {
        let mut merged = self.merged.take();
        if merged.is_none() {
            out.placed(self.place(node));
        }
        let mut merge = None;
        let mut done: HashSet<String> = HashSet::new();
        let mut name = String::new();
        for (key, value) in pairs {
            if is_merge(key) {
                merge = Some(value);
                continue;
            }
            if !self.unmarshal(key, &mut name)? || self.merged_before(&mut merged, &name) {
                continue;
            }
            match out.field(&name) {
                Some(_) if !done.insert(name.clone()) => {
                    self.issue(key, format!("field {name} already set in type {}", T::GO_TYPE), None);
                }
                Some(field) => {
                    let step = Step::Key(key.as_scalar().unwrap_or_default().to_owned());
                    self.child(step, value, field)?;
                }
                None => {
                    let message = format!("field {name} not found in type {}", T::GO_TYPE);
                    self.issue(key, message, suggestion(&name, T::FIELDS));
                }
            }
        }
        self.merged = merged;
        merge.map_or(Ok(()), |from| self.merge(pairs, from, out))
    }
}

/// Go lists each pair of equal keys, whose number grows with the square; we stop after so many in one mapping.
const MAX_REPEATED: usize = 1000;

/// Takes any node without looking at it.
struct Ignored;

impl Decode for Ignored {
    fn go_type(&self) -> String {
        "interface {}".to_owned()
    }

    fn decode(&mut self, _node: &Node, _decoder: &mut Decoder) -> Result<bool, Failure> {
        Ok(true)
    }
}

/// Kind and content of a key, as Go compares them.
fn as_written(key: &Node) -> (u8, &str) {
    match (&key.alias, &key.kind) {
        (Some(anchor), _) => (0, anchor),
        (None, Kind::Scalar { value, .. }) => (1, value),
        (None, Kind::Sequence(_)) => (2, ""),
        (None, Kind::Mapping(_)) => (3, ""),
    }
}

fn is_text(key: &Node) -> bool {
    let tag = resolve::tag_of(key);
    tag == resolve::STR || tag == resolve::MERGE
}

/// `decode.go` `isMerge`: a plain `<<`, or one with the tag `!!merge`.
fn is_merge(key: &Node) -> bool {
    key.alias.is_none() && key.as_scalar() == Some("<<") && resolve::tag_of(key) == resolve::MERGE
}

/// A field of this name in another case, or the nearest one.
fn suggestion(name: &str, fields: &[&str]) -> Option<String> {
    let lower = name.to_lowercase();
    let known = fields.iter().find(|field| **field == lower);
    Some(match known {
        Some(field) => format!("write `{field}`: YuniKorn's keys are all lower case"),
        None => format!("the fields here are {}", fields.join(", ")),
    })
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
            '\u{0}'..='\u{1f}' | '\u{7f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c != ' ' && (c.is_control() || c.is_whitespace()) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether Go would return before it touched anything: the node is null.
fn is_null(node: &Node) -> bool {
    resolve::tag_of(node) == resolve::NULL
}

impl Decode for String {
    fn go_type(&self) -> String {
        "string".to_owned()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        match decoder.scalar(node, "string")? {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Text(text)) => {
                *self = text;
                Ok(true)
            }
            Some(_) => {
                node.as_scalar().unwrap_or_default().clone_into(self);
                Ok(true)
            }
        }
    }
}

impl Decode for Spanned {
    fn go_type(&self) -> String {
        self.value.go_type()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        let good = self.value.decode(node, decoder)?;
        self.span = Some(node.span);
        self.shared = decoder.shared > 0;
        self.style = match &node.kind {
            Kind::Scalar { style, .. } => Some(*style),
            _ => None,
        };
        Ok(good)
    }
}

impl Decode for bool {
    fn go_type(&self) -> String {
        "bool".to_owned()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        *self = match decoder.scalar(node, "bool")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Bool(value)) => value,
            Some(Value::Text(text)) => match text.as_str() {
                "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => true,
                "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => false,
                _ => {
                    decoder.mismatch(node, "bool");
                    return Ok(false);
                }
            },
            Some(_) => {
                decoder.mismatch(node, "bool");
                return Ok(false);
            }
        };
        Ok(true)
    }
}

impl Decode for u64 {
    fn go_type(&self) -> String {
        "uint64".to_owned()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        let number = match decoder.scalar(node, "uint64")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Int(number)) => u64::try_from(number).ok(),
            Some(Value::Uint(number)) => Some(number),
            Some(Value::Float(number)) => float_to_uint(number),
            Some(_) => None,
        };
        match number {
            Some(number) => *self = number,
            None => decoder.mismatch(node, "uint64"),
        }
        Ok(number.is_some())
    }
}

/// Go's `uint64(float)` on amd64, for what is not larger than the largest one as a float: fractions are cut, and what does not fit
/// becomes 2^63 (negative ones the two's complement).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the ranges are checked")]
fn float_to_uint(number: f64) -> Option<u64> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    if number.is_nan() || number > TWO_64 {
        None
    } else if number >= TWO_64 || number <= -TWO_63 {
        Some(1 << 63)
    } else if number < 0.0 {
        Some((number as i64).cast_unsigned())
    } else {
        Some(number as u64)
    }
}

impl Decode for f64 {
    fn go_type(&self) -> String {
        "float64".to_owned()
    }

    #[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        *self = match decoder.scalar(node, "float64")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Int(number)) => number as f64,
            Some(Value::Uint(number)) => number as f64,
            Some(Value::Float(number)) => number,
            Some(_) => {
                decoder.mismatch(node, "float64");
                return Ok(false);
            }
        };
        Ok(true)
    }
}

/// A pointer: null is nil, anything else is decoded into what it points to.
fn pointer<P: Default>(
    out: &mut Option<P>,
    node: &Node,
    decoder: &mut Decoder,
    pointee: impl FnOnce(&mut P) -> &mut dyn Decode,
) -> Result<bool, Failure> {
    if !is_null(node) {
        return pointee(out.get_or_insert_default()).decode(node, decoder);
    }
    let go_type = format!("*{}", pointee(&mut P::default()).go_type());
    let null = decoder.scalar(node, &go_type)?.is_some();
    if null {
        *out = None;
    }
    Ok(null)
}

impl Decode for Option<bool> {
    fn go_type(&self) -> String {
        "*bool".to_owned()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        pointer(self, node, decoder, |value| value)
    }
}

impl<T: Record> Decode for Option<Box<T>> {
    fn go_type(&self) -> String {
        format!("*{}", T::GO_TYPE)
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        pointer(self, node, decoder, |value| value.as_mut())
    }
}

impl<T: Decode + Default> Decode for List<T> {
    fn go_type(&self) -> String {
        format!("[]{}", T::default().go_type())
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        let Some(nodes) = node.as_sequence() else {
            return composite(self, node, decoder);
        };
        let mut list = Vec::with_capacity(nodes.len());
        for (index, item) in nodes.iter().enumerate() {
            let mut value = T::default();
            if decoder.child(Step::Index(index), item, &mut value)? {
                list.push(value);
            }
        }
        *self = Some(list);
        Ok(true)
    }
}

impl<T: Decode + Default> Decode for Map<T> {
    fn go_type(&self) -> String {
        format!("map[string]{}", T::default().go_type())
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        let Some(pairs) = node.as_mapping() else {
            return composite(self, node, decoder);
        };
        if !decoder.unique_keys(pairs) {
            return Ok(false);
        }
        let mut merged = decoder.merged.take();
        let mut merge = None;
        let is_new = self.is_none();
        let map = self.get_or_insert_default();
        for (key, value) in pairs {
            if is_merge(key) {
                merge = Some(value);
                continue;
            }
            let mut name = String::new();
            if !decoder.unmarshal(key, &mut name)? || decoder.merged_before(&mut merged, &name) {
                continue;
            }
            let mut item = T::default();
            let good = decoder.child(Step::Key(name.clone()), value, &mut item)?;
            if good || (is_null(value) && (is_new || !map.contains_key(&name))) {
                map.insert(name, item);
            }
        }
        decoder.merged = merged;
        merge.map_or(Ok(()), |from| decoder.merge(pairs, from, self))?;
        Ok(true)
    }
}

/// What is neither list nor map where one belongs: null is nil, all else does not fit.
fn composite<T>(out: &mut Option<T>, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure>
where
    Option<T>: Decode,
{
    let go_type = out.go_type();
    match decoder.scalar(node, &go_type)? {
        Some(Value::Null) => {
            *out = None;
            Ok(true)
        }
        Some(_) => {
            decoder.mismatch(node, &go_type);
            Ok(false)
        }
        None => Ok(false),
    }
}

impl<T: Record> Decode for T {
    fn go_type(&self) -> String {
        T::GO_TYPE.to_owned()
    }

    fn decode(&mut self, node: &Node, decoder: &mut Decoder) -> Result<bool, Failure> {
        if let Some(pairs) = node.as_mapping() {
            if !decoder.unique_keys(pairs) {
                return Ok(false);
            }
            decoder.record(node, pairs, self)?;
            return Ok(true);
        }
        match decoder.scalar(node, T::GO_TYPE)? {
            Some(Value::Null) | None => {}
            Some(_) => decoder.mismatch(node, T::GO_TYPE),
        }
        Ok(false)
    }
}
