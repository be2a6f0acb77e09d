//! Nodes to Go values by yaml.v3's rules.
//!
//! A type says with [`Decode`] or [`Record`] which Go type it stands for, and decodes as Go would fill that one: with the same
//! leniency (`010` is eight, a null leaves a string as it was), the same refusals (repeated keys, unknown fields) and the same
//! error texts. The source is `go.yaml.in/yaml/v3` v3.0.4, `decode.go`; method and branch names follow it.
//!
//! What Go's lists, maps and pointers can be beyond their content, nil, is `None` here: `YuniKorn` tells them apart.

mod keys;
mod path;
mod values;

use std::collections::{BTreeMap, HashSet};

use super::edit::Step;
use super::resolve::{self, Value};
use super::{DECODE, KindIn, NodeIn, Style};
use crate::diag::{Diagnostic, Span};
pub(super) use keys::is_merge;
use keys::{Key, merged_before, suggestion, written_line};
pub use path::Path;

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
    pub path: Path,
    /// Where in the text.
    pub span: Span,
    /// Its line as Go counts it.
    pub line: u32,
    /// Whether it, or something it stands in, is anchored, aliased or merged: it cannot be changed in this place alone.
    pub shared: bool,
}

/// A key of a mapping and its value.
type Pair<'t> = (NodeIn<'t>, NodeIn<'t>);

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
pub fn decode<T: Decode + Default>(document: Option<&NodeIn<'_>>) -> Result<T, DecodeError> {
    let mut value = T::default();
    let Some(root) = document else { return Ok(value) };
    let mut decoder = Decoder::default();
    decoder.unmarshal(root, &mut value).map_err(|failure| {
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
    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure>;
}

/// A Go struct: its name and its fields.
pub trait Record: Default {
    /// The Go type's name in error texts, with its package.
    const GO_TYPE: &'static str;
    /// The names of all fields, at most 64.
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
    fn new(message: impl Into<String>, node: &NodeIn<'_>) -> Self {
        Self { message: message.into(), span: node.span }
    }
}

/// One type error.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Issue {
    line: u32,
    message: String,
    span: Span,
    help: Option<String>,
}

/// The state of one decoding.
#[derive(Debug, Default)]
pub struct Decoder {
    issues: Vec<Issue>,
    /// Keys that are already set, while the maps that are merged into their map are decoded.
    merged: Option<HashSet<Key>>,
    path: Path,
    /// How many anchored, aliased or merged nodes we are in.
    shared: usize,
}

impl Decoder {
    /// `decode.go` `unmarshal`, but for what depends on the type.
    fn unmarshal(&mut self, node: &NodeIn<'_>, out: &mut dyn Decode) -> Result<bool, Failure> {
        self.shared += usize::from(node.shared);
        let good = out.decode(node, self);
        self.shared -= usize::from(node.shared);
        good
    }

    /// `unmarshal` of a child.
    fn child(
        &mut self,
        step: impl FnOnce() -> Step,
        node: &NodeIn<'_>,
        out: &mut dyn Decode,
    ) -> Result<bool, Failure> {
        // Nothing in a scalar has a place.
        if node.as_scalar().is_some() {
            return self.unmarshal(node, out);
        }
        let below = self.path.join(step());
        let above = std::mem::replace(&mut self.path, below);
        let good = self.unmarshal(node, out);
        self.path = above;
        good
    }

    /// Records that the node does not fit the type (`decode.go` `terror`).
    fn mismatch(&mut self, node: &NodeIn<'_>, go_type: &str) {
        let tag = resolve::tag_of(node);
        let value = match node.as_scalar().unwrap_or_default() {
            _ if tag == resolve::SEQ || tag == resolve::MAP => String::new(),
            long if long.len() > 10 => {
                let head = long.as_bytes().get(..7).unwrap_or_default();
                format!(" `{}...`", resolve::lossy(head))
            }
            short => format!(" `{short}`"),
        };
        let message = format!("cannot unmarshal {tag}{value} into {go_type}");
        self.issues.push(Issue { line: node.line, message, span: node.span, help: None });
    }

    /// Records what is wrong with a key, on the line where it is written.
    fn key_issue(&mut self, key: &NodeIn<'_>, message: String, help: Option<String>) {
        self.issues.push(Issue { line: written_line(key), message, span: key.span, help });
    }

    fn place(&self, node: &NodeIn<'_>) -> Place {
        Place { path: self.path.clone(), span: node.span, line: node.line, shared: self.shared > 0 }
    }

    /// The value of a scalar node; `None` when it is a mapping or a list, which is then recorded as a mismatch.
    fn scalar<'n>(&mut self, node: &'n NodeIn<'_>, go_type: &str) -> Result<Option<Value<'n>>, Failure> {
        let Some(text) = node.as_scalar() else {
            self.not_a_scalar(node, go_type);
            return Ok(None);
        };
        resolve::value_of(node, text).map(Some).map_err(|message| Failure::new(message, node))
    }

    /// A mapping or list where none fits; a mapping's repeated keys are found first.
    fn not_a_scalar(&mut self, node: &NodeIn<'_>, go_type: &str) {
        if node.as_mapping().is_none_or(|pairs| self.unique_keys(pairs)) {
            self.mismatch(node, go_type);
        }
    }

    /// Merges `from`, the value of `<<`, into `out`, whose own mapping has `pairs` (`decode.go` `merge`).
    fn merge(&mut self, pairs: &[Pair<'_>], from: &NodeIn<'_>, out: &mut dyn Decode) -> Result<(), Failure> {
        let outermost = self.merged.is_none();
        if outermost {
            let mut keys = HashSet::new();
            for (key, _) in pairs {
                keys.extend(Key::of(key, self)?);
            }
            self.merged = Some(keys);
        }
        let want_map = || Failure::new("map merge requires map or sequence of maps as the value", from);
        self.shared += 1;
        match &from.kind {
            KindIn::Mapping(_) => {
                self.child(|| Step::Key("<<".to_owned()), from, out)?;
            }
            KindIn::Sequence(maps) if from.alias().is_none() => {
                for map in maps {
                    map.as_mapping().ok_or_else(want_map)?;
                    self.child(|| Step::Key("<<".to_owned()), map, out)?;
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

    fn record<T: Record>(
        &mut self,
        node: &NodeIn<'_>,
        pairs: &[Pair<'_>],
        out: &mut T,
    ) -> Result<(), Failure> {
        let mut merged = self.merged.take();
        if merged.is_none() {
            out.placed(self.place(node));
        }
        let mut merge = None;
        // One bit for each field, by its number.
        let mut done = 0_u64;
        let mut name = String::with_capacity(16);
        for (key, value) in pairs {
            if is_merge(key) {
                merge = Some(value);
                continue;
            }
            if !self.unmarshal(key, &mut name)? || merged_before(&mut merged, &name) {
                continue;
            }
            let number = T::FIELDS.iter().position(|field| *field == name);
            match number.map(|number| 1_u64 << (number % 64)).zip(out.field(&name)) {
                Some((bit, _)) if done & bit != 0 => {
                    self.key_issue(key, format!("field {name} already set in type {}", T::GO_TYPE), None);
                }
                Some((bit, field)) => {
                    done |= bit;
                    let step = || Step::Key(key.as_scalar().unwrap_or_default().to_owned());
                    self.child(step, value, field)?;
                }
                None => {
                    let message = format!("field {name} not found in type {}", T::GO_TYPE);
                    self.key_issue(key, message, Some(suggestion(&name, T::FIELDS)));
                }
            }
        }
        self.merged = merged;
        merge.map_or(Ok(()), |from| self.merge(pairs, from, out))
    }
}

#[cfg(test)]
mod tests;
