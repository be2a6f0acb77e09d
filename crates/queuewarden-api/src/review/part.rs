//! Parses parts of a review as they were sent. Only parts in use are decoded; all others cost no memory and
//! may be nested to any depth.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{codes, malformed, no_object, unread_at};
use go_compat::diag::Diagnostic;
use yunikorn::admission::request::Kind;
use yunikorn_access::running::joins::OwnerPod;

/// Maximum number of entries read from one list or object: users may be in thousands of groups, but no object
/// has that many labels.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// Maximum number of values in an object that is read as a whole.
const MAX_VALUES: usize = 50_000;

/// Maximum bytes in memory of one value as [`ValueCounter`] counts them. The largest is a mapping with one
/// entry, which is counted twice and takes 656 bytes, a node of a `BTreeMap<String, Value>` with a name.
pub const VALUE: usize = 336;

/// The entries of an object by name, or of a list by index.
pub(super) type Entries<'p> = Vec<(Cow<'p, str>, &'p RawValue)>;

/// Returns the member of an object with this name, or the last one if there are several. Returns `None` if
/// the object has no such member or the part is not an object.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`] when a name in the object is not a string.
pub fn member<'p>(part: &'p RawValue, name: &str) -> Result<Option<&'p RawValue>, Diagnostic> {
    let mut found = None;
    if type_of(part) == "an object" {
        each(part, |key, value| {
            if key.as_deref() == Some(name) {
                found = Some(value);
            }
        })?;
    }
    Ok(found)
}

/// Returns the part at a path of names.
///
/// # Errors
/// As [`member`].
pub(super) fn at<'p>(part: &'p RawValue, names: &[&str]) -> Result<Option<&'p RawValue>, Diagnostic> {
    names.iter().try_fold(Some(part), |part, name| part.map_or(Ok(None), |part| member(part, name)))
}

/// Returns the text at a path of names; empty if the path does not exist.
///
/// # Errors
/// As [`member`].
pub(super) fn text_at(part: &RawValue, names: &[&str]) -> Result<String, Diagnostic> {
    let part = at(part, names)?.filter(|part| type_of(part) == "a string");
    part.map_or(Ok(String::new()), text)
}

/// Parses a part that must be a string.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`].
pub(super) fn text(part: &RawValue) -> Result<String, Diagnostic> {
    serde_json::from_str(part.get()).map_err(unread)
}

/// Returns at most `limit + 1` entries; empty if the part is neither an object nor a list.
///
/// # Errors
/// As [`member`].
pub(super) fn some_entries(part: &RawValue, limit: usize) -> Result<Entries<'_>, Diagnostic> {
    let mut entries = Vec::new();
    if ["an object", "a list"].contains(&type_of(part)) {
        each(part, |name, value| {
            if entries.len() <= limit {
                entries.push((name.unwrap_or_else(|| entries.len().to_string().into()), value));
            }
        })?;
    }
    Ok(entries)
}

/// Returns all entries of an object or a list; empty if it is absent or `null`.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`], also when the part has another type (`"an object"`) or too many entries.
pub(super) fn entries<'p>(part: Option<&'p RawValue>, expected: &str) -> Result<Entries<'p>, Diagnostic> {
    let Some(part) = part.filter(|part| type_of(part) != "null") else { return Ok(Vec::new()) };
    if type_of(part) != expected {
        let message = format!("the review has {} in place of {expected}", type_of(part));
        return Err(malformed(message));
    }
    let entries = some_entries(part, MAX_ENTRIES)?;
    if entries.len() > MAX_ENTRIES {
        let message = format!("the review has {expected} with more than {MAX_ENTRIES} entries");
        return Err(malformed(message));
    }
    Ok(entries)
}

/// Parses a list of strings.
///
/// # Errors
/// As [`entries`].
pub(super) fn texts(part: Option<&RawValue>) -> Result<Vec<String>, Diagnostic> {
    entries(part, "a list")?.into_iter().map(|(_, part)| text(part)).collect()
}

/// Parses a map of strings, such as labels.
///
/// # Errors
/// As [`entries`].
pub(super) fn named_texts(part: Option<&RawValue>) -> Result<BTreeMap<String, String>, Diagnostic> {
    entries(part, "an object")?.into_iter().map(|(name, part)| Ok((name.into_owned(), text(part)?))).collect()
}

/// Deserializes a part; `null` gives the default.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`].
pub(super) fn decode_part<'p, T: Deserialize<'p> + Default>(part: &'p RawValue) -> Result<T, Diagnostic> {
    match type_of(part) {
        "an object" => serde_path_to_error::deserialize(&mut reader(part)).map_err(unread_at),
        "null" => Ok(T::default()),
        _ => Err(no_object()),
    }
}

/// Deserializes a whole object. The number of its values is limited, because each of them takes memory.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`], and [`codes::TOO_LARGE`] if it has more than [`MAX_VALUES`] values.
pub fn object<T: DeserializeOwned>(part: &RawValue) -> Result<T, Diagnostic> {
    if values(part.get()) > MAX_VALUES {
        let message = format!("the object has more than {MAX_VALUES} values");
        return Err(Diagnostic::error(codes::TOO_LARGE, message).help("make the object smaller"));
    }
    serde_path_to_error::deserialize(&mut reader(part)).map_err(unread_at)
}

/// Returns an upper bound for the memory of an [`object`], from the length of its JSON and the number of its
/// values.
pub fn decoded_bytes(part: &RawValue) -> usize {
    let values = values(part.get()).min(MAX_VALUES);
    part.get().len().saturating_add(values.saturating_mul(VALUE))
}

fn values(json: &str) -> usize {
    let mut counter = ValueCounter::default();
    counter.read(json.as_bytes());
    counter.count
}

/// Counts commas, `{` and `[` outside of strings, in JSON that arrives in pieces. Their number plus one is an
/// upper bound for the number of values.
#[derive(Debug, Clone, Copy, Default)]
pub struct ValueCounter {
    /// The number so far.
    pub count: usize,
    in_text: bool,
    escaped: bool,
}

impl ValueCounter {
    /// Reads the next piece.
    pub fn read(&mut self, json: &[u8]) {
        for byte in json {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                b',' | b'{' | b'[' if !self.in_text => self.count = self.count.saturating_add(1),
                _ => {}
            }
        }
    }
}

/// Returns the type of a part, with its article.
pub(super) fn type_of(part: &RawValue) -> &'static str {
    match part.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') | None => "null",
        Some(_) => "a number",
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn unread(error: serde_json::Error) -> Diagnostic {
    malformed(format!("the review cannot be read: {error}"))
}

fn reader(part: &RawValue) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(part.get())
}

/// Calls a function for each entry of an object or a list. The entries of a list have no names.
fn each<'p>(
    part: &'p RawValue,
    visit: impl FnMut(Option<Cow<'p, str>>, &'p RawValue),
) -> Result<(), Diagnostic> {
    reader(part).deserialize_any(Each(visit)).map_err(unread)
}

struct Each<F>(F);

/// A name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'p>(#[serde(borrow)] Cow<'p, str>);

impl<'p, F: FnMut(Option<Cow<'p, str>>, &'p RawValue)> Visitor<'p> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'p>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((Name(name), part)) = map.next_entry()? {
            (self.0)(Some(name), part);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'p>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(part) = list.next_element()? {
            (self.0)(None, part);
        }
        Ok(())
    }
}

/// Maximum number of owner pods that are read from one object; a placeholder has one.
const MAX_PODS: usize = 16;

/// Returns the first pods among the owners.
pub(super) fn pods(owners: Option<&RawValue>) -> Result<Vec<OwnerPod>, Diagnostic> {
    let mut pods = Vec::new();
    for (_, owner) in entries(owners, "a list")? {
        if text_at(owner, &["kind"])? == "Pod" && pods.len() < MAX_PODS {
            pods.push(OwnerPod { name: text_at(owner, &["name"])?, uid: text_at(owner, &["uid"])? });
        }
    }
    Ok(pods)
}

/// Returns whether the object's controller is of a kind that is checked itself, which makes a check of its
/// objects unnecessary. `SparkApplication` is not such a kind: its driver is the first object that is
/// checked.
pub(super) fn has_checked_controller(owners: Option<&RawValue>) -> Result<bool, Diagnostic> {
    for (_, owner) in entries(owners, "a list")? {
        let controls = member(owner, "controller")?.is_some_and(|controls| controls.get() == "true");
        let version = text_at(owner, &["apiVersion"])?;
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        if controls && !matches!(Kind::parse(group, &text_at(owner, &["kind"])?), Kind::Other(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}
