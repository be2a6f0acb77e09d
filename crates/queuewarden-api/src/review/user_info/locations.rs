//! Finds the places where an object declares its pods' user: pods, pod templates, and annotations that are
//! copied to pods.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::part::{entries, member, pods, some_entries, text, text_at, type_of};
use go_compat::diag::Diagnostic;
use yunikorn::admission::request::{
    DECIDING_ANNOTATIONS, DECIDING_LABELS, Pod, USER_INFO, USERNAME, YUNIKORN,
};
use yunikorn_access::placement::Workload;
use yunikorn_access::user_info::{Given, LeadsTo, MAX_SITES, Path, Segment, Site};

/// One location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateLocation {
    /// JSON pointer of the object that holds `metadata` or `annotations`.
    pointer: String,
    leads_to: LeadsTo,
    /// True if the path passes through a list, where the numbers in the pointer are not names.
    in_list: bool,
    /// True if the object has `metadata`; always true if it needs none.
    has_metadata: bool,
    /// True if `annotations` exist.
    has_annotations: bool,
}

/// One location in an object, and its content.
#[derive(Debug)]
pub(super) struct LocatedPart<'o> {
    pub(super) location: TemplateLocation,
    /// The part as it was sent.
    part: &'o RawValue,
    /// The content, without the earlier content.
    site: Site,
    /// The labels and annotations that determine its user, application and queue.
    pod: Pod,
}

/// Returns all locations in an object, or `None` if there are more than [`MAX_SITES`]. A path of `None` is
/// the object itself.
///
/// # Errors
/// Fails when the object cannot be parsed.
pub(super) fn locations<'o>(
    namespace: &str,
    object: &'o RawValue,
    paths: &[Option<Path>],
) -> Result<Option<Vec<LocatedPart<'o>>>, Diagnostic> {
    let mut all: Vec<LocatedPart<'o>> = Vec::new();
    for path in paths {
        let (segments, leads_to) = path
            .as_ref()
            .map_or((&[][..], LeadsTo::Template), |path| (path.segments.as_slice(), path.leads_to));
        let Some(reached) = reached(object, segments)? else { return Ok(None) };
        for reached in reached.into_iter().filter(|reached| type_of(reached.part) == "an object") {
            let found = LocatedPart::new(namespace, reached, leads_to)?;
            if all.iter().all(|known| known.location != found.location) {
                all.push(found);
            }
        }
    }
    Ok((all.len() <= MAX_SITES).then_some(all))
}

/// A part of an object.
struct Reached<'o> {
    pointer: String,
    /// True if the path passes through a list.
    in_list: bool,
    part: &'o RawValue,
}

/// Returns the parts at the end of the segments.
fn reached<'o>(object: &'o RawValue, segments: &[Segment]) -> Result<Option<Vec<Reached<'o>>>, Diagnostic> {
    let mut all = vec![Reached { pointer: String::new(), in_list: false, part: object }];
    for segment in segments {
        let mut next = Vec::new();
        for Reached { pointer, in_list, part } in all {
            match segment {
                Segment::Name(name) => {
                    let part = member(part, name)?;
                    next.extend(part.map(|part| Reached { pointer: below(&pointer, name), in_list, part }));
                }
                Segment::Every => {
                    let in_list = in_list || type_of(part) == "a list";
                    next.extend(some_entries(part, MAX_SITES)?.into_iter().map(|(name, part)| Reached {
                        pointer: below(&pointer, &name),
                        in_list,
                        part,
                    }));
                }
            }
            if next.len() > MAX_SITES {
                return Ok(None);
            }
        }
        all = next;
    }
    Ok(Some(all))
}

/// Returns the pointer of a member.
fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escaped(name))
}

/// Escapes a name within a JSON pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns each location of an object with its current and earlier content.
pub(super) fn sites(now: &[LocatedPart<'_>], before: &[LocatedPart<'_>]) -> Vec<Site> {
    let site = |found: &LocatedPart<'_>| {
        let there = before.iter().find(|old| old.location.pointer == found.location.pointer);
        let given = there.map(|old| old.site.given.clone()).unwrap_or_default();
        Site {
            old: if found.location.in_list { moved(given, &found.site, now, before) } else { given },
            // The API server serializes equal parts to the same bytes.
            changed: there.is_none_or(|old| old.part.get() != found.part.get()),
            moved_by: there.and_then(|old| found.pod.decides_otherwise(&old.pod)),
            ..found.site.clone()
        }
    };
    now.iter().map(site).collect()
}

/// Returns the earlier content of a list element; `there` holds it by index. Elements have no names, so an
/// element whose content occurred earlier at another index is treated as moved.
fn moved(there: Given, found: &Site, now: &[LocatedPart<'_>], before: &[LocatedPart<'_>]) -> Given {
    let among = |all: &[LocatedPart<'_>], given: &Given| all.iter().any(|one| one.site.given == *given);
    match &found.given {
        given if *given == there => there,
        Given::Absent if among(now, &there) => Given::Absent,
        Given::Absent => there,
        given if among(before, given) => given.clone(),
        _ => there,
    }
}

impl<'o> LocatedPart<'o> {
    /// Returns the annotation's value.
    pub(super) fn given(&self) -> &Given {
        &self.site.given
    }

    fn new(
        namespace: &str,
        Reached { pointer, in_list, part }: Reached<'o>,
        leads_to: LeadsTo,
    ) -> Result<Self, Diagnostic> {
        let metadata = match leads_to {
            LeadsTo::Template => member(part, "metadata")?.filter(|metadata| type_of(metadata) != "null"),
            LeadsTo::Annotated => Some(part),
        };
        let of_metadata = |name: &str| metadata.map_or(Ok(None), |metadata| member(metadata, name));
        let annotations = of_metadata("annotations")?.filter(|annotations| type_of(annotations) != "null");
        let location = TemplateLocation {
            pointer,
            leads_to,
            in_list,
            has_metadata: metadata.is_some(),
            has_annotations: annotations.is_some(),
        };
        let of_spec = |name: &str| match leads_to {
            LeadsTo::Template => text_at(part, &["spec", name]),
            LeadsTo::Annotated => Ok(String::new()),
        };
        let pod = Pod {
            labels: texts(of_metadata("labels")?, &DECIDING_LABELS)?,
            annotations: texts(annotations, &DECIDING_ANNOTATIONS)?,
            scheduler_name: of_spec("schedulerName")?,
            ..Pod::default()
        };
        let workload = Workload { namespace: namespace.to_owned(), pod, ..Workload::default() };
        let is_placeholder = location.pointer.is_empty() && workload.pod.has_placeholder_flag();
        let placeholder = if is_placeholder { Some(pods(of_metadata("ownerReferences")?)?) } else { None };
        let site = Site {
            location: location.pointer.trim_start_matches('/').replace('/', "."),
            given: given(metadata, annotations)?,
            username: workload.pod.label(USERNAME).to_owned(),
            odd_key: odd_key(annotations)?,
            // An ID that other objects cannot share is treated as absent.
            application: workload.named_application().to_owned(),
            placeholder,
            node_name: of_spec("nodeName")?,
            is_scheduled: location.pointer.is_empty() && workload.pod.scheduler_name == YUNIKORN,
            ..Site::default()
        };
        Ok(Self { location, part, site, pod: workload.pod })
    }
}

/// Returns the labels or annotations with these keys whose values are strings.
fn texts(of: Option<&RawValue>, keys: &[&str]) -> Result<BTreeMap<String, String>, Diagnostic> {
    let Some(of) = of else { return Ok(BTreeMap::new()) };
    keys.iter().map(|key| Ok(((*key).to_owned(), text_at(of, &[key])?))).collect()
}

/// Returns the first annotation key that the API server would reject on a pod. Some operators change keys on
/// the way to the pod: spark-operator writes `KEY=VALUE` (`submission.go`, `driverConfOption`), and
/// `spark-submit` splits that at the first `=`.
fn odd_key(annotations: Option<&RawValue>) -> Result<String, Diagnostic> {
    let of_keys = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let annotations = annotations.filter(|annotations| type_of(annotations) == "an object");
    let odd = entries(annotations, "an object")?.into_iter().find(|(key, _)| !key.chars().all(of_keys));
    Ok(odd.map(|(key, _)| key.into_owned()).unwrap_or_default())
}

fn given(metadata: Option<&RawValue>, annotations: Option<&RawValue>) -> Result<Given, Diagnostic> {
    let is_object = |part: &&RawValue| type_of(part) == "an object";
    if let Some(odd) = metadata.filter(|metadata| !is_object(metadata)) {
        return Ok(Given::Odd(format!("metadata that is {}", type_of(odd))));
    }
    if let Some(odd) = annotations.filter(|annotations| !is_object(annotations)) {
        return Ok(Given::Odd(format!("annotations that are {}", type_of(odd))));
    }
    let user_info = annotations.map_or(Ok(None), |annotations| member(annotations, USER_INFO))?;
    Ok(match user_info {
        None => Given::Absent,
        Some(part) if type_of(part) == "a string" => Given::Text(text(part)?),
        Some(odd) => Given::Odd(type_of(odd).to_owned()),
    })
}

impl TemplateLocation {
    fn metadata(&self) -> &'static str {
        if self.leads_to == LeadsTo::Template { "/metadata" } else { "" }
    }

    /// Returns the JSON Patch operation that adds the annotation.
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
