//! Where an object says in whose name pods run: pods, pod templates, and annotations that become those of pods.

use serde_json::{Value, json};

use crate::access::guard::{Given, LeadsTo, MAX_SITES, Path, Segment, Site};
use crate::model::admission::request::{USER_INFO, USERNAME};

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// JSON pointer of the object that holds `metadata` or `annotations`.
    pointer: String,
    leads_to: LeadsTo,
    /// Whether there is a list on the way, so that the numbers in the pointer are not names.
    in_list: bool,
    /// Whether there is an object `metadata`; always where there has to be none.
    has_metadata: bool,
    /// Whether there is an object `annotations`.
    has_annotations: bool,
}

/// All places of an object; `None` where there are more than [`MAX_SITES`]. A path of `None` is the object itself.
pub(super) fn places(object: &Value, paths: &[Option<Path>]) -> Option<Vec<Place>> {
    let mut found: Vec<Place> = Vec::new();
    for path in paths {
        let (segments, leads_to) =
            path.as_ref().map_or((&[][..], LeadsTo::Template), |path| (path.segments(), path.leads_to()));
        for (pointer, in_list) in reached(object, segments)? {
            let Some(holder) = object.pointer(&pointer).filter(|holder| holder.is_object()) else { continue };
            let metadata = match leads_to {
                LeadsTo::Template => holder.get("metadata").filter(|metadata| !metadata.is_null()),
                LeadsTo::Annotated => Some(holder),
            };
            let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
            let place = Place {
                pointer,
                leads_to,
                in_list,
                has_metadata: metadata.is_some(),
                has_annotations: annotations.is_some_and(|annotations| !annotations.is_null()),
            };
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    (found.len() <= MAX_SITES).then_some(found)
}

/// The pointers that the segments lead to, and whether through a list.
fn reached(object: &Value, segments: &[Segment]) -> Option<Vec<(String, bool)>> {
    let mut reached = vec![(String::new(), false, object)];
    for segment in segments {
        let mut next = Vec::new();
        for (pointer, in_list, value) in reached {
            match (segment, value) {
                (Segment::Name(name), Value::Object(fields)) => {
                    next.extend(fields.get(name).map(|value| (below(&pointer, name), in_list, value)));
                }
                (Segment::Every, Value::Object(fields)) => {
                    next.extend(fields.iter().map(|(name, value)| (below(&pointer, name), in_list, value)));
                }
                (Segment::Every, Value::Array(elements)) => {
                    let numbered = elements.iter().enumerate();
                    next.extend(
                        numbered.map(|(index, value)| (below(&pointer, &index.to_string()), true, value)),
                    );
                }
                _ => {}
            }
        }
        if next.len() > MAX_SITES {
            return None;
        }
        reached = next;
    }
    Some(reached.into_iter().map(|(pointer, in_list, _)| (pointer, in_list)).collect())
}

/// The pointer of a member.
fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escaped(name))
}

/// A name within a JSON pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// What the places of an object say, with what they said before.
pub(super) fn sites((object, places): (&Value, &[Place]), (old, before): (&Value, &[Place])) -> Vec<Site> {
    let said: Vec<Given> = before.iter().map(|place| place.given(old)).collect();
    let says: Vec<Given> = places.iter().map(|place| place.given(object)).collect();
    let known = Known { before, said: &said, says: &says };
    places
        .iter()
        .zip(&says)
        .map(|(place, given)| Site {
            place: place.pointer.trim_start_matches('/').replace('/', "."),
            given: given.clone(),
            old: known.old(place, given),
            changed: old.pointer(&place.pointer) != object.pointer(&place.pointer),
            username: place.label(object, USERNAME),
            node_name: place.node_name(object),
        })
        .collect()
}

/// What all places said and say.
struct Known<'a> {
    before: &'a [Place],
    said: &'a [Given],
    says: &'a [Given],
}

impl Known<'_> {
    /// What a place said before. Elements of a list have no names: one that says what another one said is taken for that one, moved.
    fn old(&self, place: &Place, given: &Given) -> Given {
        let there = self.before.iter().zip(self.said).find(|(old, _)| old.pointer == place.pointer);
        let there = there.map(|(_, said)| said.clone()).unwrap_or_default();
        if !place.in_list || there == *given {
            return there;
        }
        match given {
            Given::Absent if self.says.contains(&there) => Given::Absent,
            Given::Absent => there,
            moved if self.said.contains(moved) => moved.clone(),
            _ => there,
        }
    }
}

impl Place {
    fn metadata(&self) -> &'static str {
        if self.leads_to == LeadsTo::Template { "/metadata" } else { "" }
    }

    fn given(&self, object: &Value) -> Given {
        let metadata = object.pointer(&format!("{}{}", self.pointer, self.metadata()));
        if let Some(odd) = metadata.filter(|metadata| !metadata.is_object() && !metadata.is_null()) {
            return Given::Odd(format!("metadata that is {}", type_of(odd)));
        }
        match metadata.and_then(|metadata| metadata.get("annotations")) {
            None | Some(Value::Null) => Given::Absent,
            Some(Value::Object(annotations)) => match annotations.get(USER_INFO) {
                None => Given::Absent,
                Some(Value::String(text)) => Given::Text(text.clone()),
                Some(other) => Given::Odd(type_of(other).to_owned()),
            },
            Some(other) => Given::Odd(format!("annotations that are {}", type_of(other))),
        }
    }

    fn label(&self, object: &Value, key: &str) -> String {
        let labels = object.pointer(&format!("{}{}/labels", self.pointer, self.metadata()));
        labels.and_then(|labels| labels.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn node_name(&self, object: &Value) -> String {
        let name = match self.leads_to {
            LeadsTo::Template => object.pointer(&format!("{}/spec/nodeName", self.pointer)),
            LeadsTo::Annotated => None,
        };
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The operation of JSON Patch that adds the annotation.
    pub(super) fn addition(&self, text: &str) -> Value {
        let one = json!({USER_INFO: text});
        let below = |rest: &str| format!("{}{}", self.pointer, rest);
        let (path, value) = match (self.has_metadata, self.has_annotations) {
            (false, _) => (below("/metadata"), json!({"annotations": one})),
            (true, false) => (below(&format!("{}/annotations", self.metadata())), one),
            (true, true) => {
                (below(&format!("{}/annotations/{}", self.metadata(), escaped(USER_INFO))), text.into())
            }
        };
        json!({"op": "add", "path": path, "value": value})
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
