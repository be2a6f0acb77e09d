//! Parses the parts of the request in an `AdmissionReview` (`admission.k8s.io/v1`, `AdmissionRequest`) that
//! are needed here, and writes the response of a webhook.
//!
//! A requester controls the size and depth of the objects in a request, but must not be able to prevent an
//! answer. All fields of a review that precede the objects are therefore read even if the objects cannot be
//! parsed.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::malformed;
use super::part::{MAX_ENTRIES, entries, member, text, text_at, texts, type_of, unread};
use go_compat::diag::Diagnostic;
use yunikorn::identity::Identity;
use yunikorn_access::running::joins::BoundPod;

/// A request to create, change or delete one object; an absent field is empty.
#[derive(Debug, Clone, Default)]
pub struct AdmissionRequest {
    /// `uid`, which the response repeats.
    pub uid: String,
    /// `kind.group`
    pub group: String,
    /// `kind.kind`
    pub kind: String,
    /// `resource`
    pub resource: Resource,
    /// `namespace`; empty for objects without one.
    pub namespace: String,
    /// `name`; empty while the API server has not generated one.
    pub name: String,
    /// `operation`: `CREATE`, `UPDATE`, `DELETE`.
    pub operation: String,
    /// The caller.
    pub by: Identity,
    /// `userInfo.uid`
    pub by_uid: String,
    /// `userInfo.extra`
    pub extra: BTreeMap<String, Vec<String>>,
    /// `object`; `None` in a deletion.
    pub object: Option<Box<RawValue>>,
    /// `oldObject`; `None` in a creation.
    pub old: Option<Box<RawValue>>,
    /// `dryRun`: if true, the API server stores nothing.
    pub dry_run: bool,
}

/// `resource`
#[derive(Debug, Clone, Default)]
pub struct Resource {
    /// The API group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// The plural name.
    pub name: String,
}

/// The keys in `userInfo.extra` of a pod-bound token (Kubernetes,
/// `k8s.io/apiserver/pkg/authentication/serviceaccount`).
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";

/// A review that could not be read completely.
#[derive(Debug)]
pub struct Unreadable {
    /// The part that was read before the error.
    pub request: AdmissionRequest,
    /// The reason.
    pub why: Diagnostic,
}

impl AdmissionRequest {
    /// Parses the body of a review.
    ///
    /// # Errors
    /// [`super::codes::MALFORMED_REVIEW`].
    pub fn read(body: &[u8]) -> Result<Self, Box<Unreadable>> {
        let mut request = None;
        let mut reader = serde_json::Deserializer::from_slice(body);
        let fields = Fields { request: &mut request, is_request: false };
        let read = fields.deserialize(&mut reader).and_then(|()| reader.end());
        let why = match (read, &request) {
            (Err(error), _) => unread(error),
            (Ok(()), None) => malformed("the review has no request"),
            (Ok(()), Some(_)) => return Ok(request.unwrap_or_default()),
        };
        Err(Box::new(Unreadable { request: request.unwrap_or_default(), why }))
    }

    /// Names the object by kind, namespace and name, or by `generateName` if the API server generates the
    /// name.
    pub fn object_name(&self) -> String {
        let beginning = || text_at(self.object.as_deref()?, &["metadata", "generateName"]).ok();
        let name = if self.name.is_empty() { beginning() } else { None };
        format!("{} {}/{}", self.kind, self.namespace, name.as_ref().unwrap_or(&self.name))
    }

    /// Returns the caller's pod, if the caller's token is bound to one, as tokens mounted into pods are.
    pub fn creator(&self) -> Option<BoundPod<'_>> {
        let account = self.by.user.strip_prefix("system:serviceaccount:")?;
        let (namespace, _) = account.split_once(':')?;
        let one = |key: &str| self.extra.get(key)?.first().map(String::as_str);
        Some(BoundPod { namespace, name: one(POD_NAME)?, uid: one(POD_UID)? })
    }

    fn set(&mut self, field: &str, part: &RawValue) -> Result<(), Diagnostic> {
        let present = || (type_of(part) != "null").then(|| part.to_owned());
        match field {
            "uid" => self.uid = nullable(part)?,
            "kind" => (self.group, self.kind) = (text_at(part, &["group"])?, text_at(part, &["kind"])?),
            "resource" => {
                self.resource = Resource {
                    group: text_at(part, &["group"])?,
                    version: text_at(part, &["version"])?,
                    name: text_at(part, &["resource"])?,
                }
            }
            "name" => self.name = nullable(part)?,
            "namespace" => self.namespace = nullable(part)?,
            "operation" => self.operation = nullable(part)?,
            "userInfo" => self.read_request(part)?,
            "object" => self.object = present(),
            "oldObject" => self.old = present(),
            "dryRun" => self.dry_run = part.get() == "true",
            _ => {}
        }
        Ok(())
    }

    /// Reads the caller.
    fn read_request(&mut self, part: &RawValue) -> Result<(), Diagnostic> {
        let groups = texts(member(part, "groups")?)?;
        self.by = Identity { user: text_at(part, &["username"])?, groups };
        self.by_uid = text_at(part, &["uid"])?;
        let mut count = 0_usize;
        for (name, values) in entries(member(part, "extra")?, "an object")? {
            let values = texts(Some(values))?;
            // Both the number of lists and the length of each list are bounded, so their product must be too.
            count = count.saturating_add(values.len());
            if count > MAX_ENTRIES {
                let message = format!("the review has more than {MAX_ENTRIES} values in userInfo.extra");
                return Err(malformed(message));
            }
            self.extra.insert(name.into_owned(), values);
        }
        Ok(())
    }
}

/// The response of a webhook. Empty fields are left out.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionResponse {
    /// `uid` of the request.
    pub uid: String,
    /// True if the request is admitted.
    pub allowed: bool,
    /// The `Status` of a refusal.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub status: Value,
    /// JSON Patch in base64, as `patchType` declares.
    #[serde(flatten)]
    pub patch: Option<JsonPatch>,
    /// The warnings, which kubectl prints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The decision, for the API server's audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<&'static str, String>,
}

/// Operations that change the object of a request.
#[derive(Debug, Serialize)]
#[serde(tag = "patchType", rename = "JSONPatch")]
pub struct JsonPatch {
    patch: ByteString,
}

impl JsonPatch {
    /// Returns the patch with these operations, written as JSON.
    pub fn new(operations: String) -> Self {
        Self { patch: ByteString(operations.into_bytes()) }
    }
}

impl AdmissionResponse {
    /// Returns the response of a validating webhook. A refusal becomes `403 Forbidden`; kubectl prints its
    /// message after the webhook's name.
    pub fn new(uid: &str, refusal: Option<&str>) -> Self {
        let status =
            |message| json!({"code": 403, "reason": "Forbidden", "status": "Failure", "message": message});
        let (uid, allowed) = (uid.to_owned(), refusal.is_none());
        Self { uid, allowed, status: refusal.map(status).unwrap_or_default(), ..Self::default() }
    }

    /// Returns a whole review with this response.
    pub fn review(&self) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": self})
    }
}

/// Returns audit annotations with a decision; an empty reason is left out.
pub fn audit_annotations(decision: &str, clause: &str, reason: &str) -> BTreeMap<&'static str, String> {
    let notes = [("decision", decision), ("clause", clause), ("reason", reason)];
    notes
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| (name, text.to_owned()))
        .collect()
}

/// Returns a whole review with the response of a validating webhook.
pub fn response(uid: &str, refusal: Option<&str>, warnings: &[String]) -> Value {
    AdmissionResponse { warnings: warnings.to_vec(), ..AdmissionResponse::new(uid, refusal) }.review()
}

/// Reads a text; `null` means absent, as in Go.
fn nullable(part: &RawValue) -> Result<String, Diagnostic> {
    if type_of(part) == "null" { Ok(String::new()) } else { text(part) }
}

/// Reads the fields of a review, or of its request, one at a time, so that an unreadable field does not lose
/// the fields before it.
struct Fields<'r> {
    request: &'r mut Option<AdmissionRequest>,
    is_request: bool,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_request { "a request" } else { "a review" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        if self.is_request {
            let request = self.request.get_or_insert_default();
            while let Some((field, part)) = fields.next_entry::<String, &RawValue>()? {
                request.set(&field, part).map_err(|why| A::Error::custom(why.message))?;
            }
            return Ok(());
        }
        while let Some(field) = fields.next_key::<String>()? {
            if field == "request" {
                *self.request = Some(AdmissionRequest::default());
                fields.next_value_seed(Fields { request: &mut *self.request, is_request: true })?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(review: &Value) -> Result<AdmissionRequest, Box<Unreadable>> {
        AdmissionRequest::read(review.to_string().as_bytes())
    }

    #[test]
    fn a_request_of_an_api_server_is_read() {
        let request = read(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "queuewarden.dev", "version": "v1alpha1", "kind": "QueueAcl"}, "name": "a",
            "resource": {"group": "queuewarden.dev", "version": "v1alpha1", "resource": "queueacls"}, "operation": "DELETE",
            "userInfo": {"username": "sue", "uid": "1", "groups": ["dev"], "extra": {"k": ["v"]}},
            "object": null, "oldObject": {"spec": {}}, "dryRun": false, "options": null,
        }}))
        .unwrap();
        assert_eq!((&*request.uid, &*request.kind, &*request.operation), ("u", "QueueAcl", "DELETE"));
        assert_eq!((&*request.resource.version, &*request.resource.name), ("v1alpha1", "queueacls"));
        assert_eq!(request.by, Identity { user: "sue".into(), groups: vec!["dev".into()] });
        assert!(request.object.is_none());
        assert_eq!(request.old.unwrap().get(), r#"{"spec":{}}"#);
        assert_eq!(request.extra["k"], ["v"]);
    }

    #[test]
    fn the_pod_that_asks_is_known_by_its_token() {
        let request = |user: &str, extra: Value| {
            read(&json!({"request": {"userInfo": {"username": user, "extra": extra}}})).unwrap()
        };
        let extra = json!({POD_NAME: ["driver"], POD_UID: ["u1"]});
        let driver = request("system:serviceaccount:jobs:spark", extra.clone());
        assert_eq!(driver.creator(), Some(BoundPod { namespace: "jobs", name: "driver", uid: "u1" }));
        for other in [
            request("sue", extra),
            request("system:serviceaccount:jobs:spark", json!({POD_NAME: ["driver"], POD_UID: []})),
            request("system:serviceaccount:jobs:spark", json!(null)),
        ] {
            assert_eq!(other.creator(), None);
        }
    }

    #[test]
    fn values_of_extra_are_bounded_together() {
        let extra = |lists: usize| {
            let values = vec![""; 5000];
            let lists: BTreeMap<String, _> = (0..lists).map(|list| (list.to_string(), &values)).collect();
            read(&json!({"request": {"uid": "u", "userInfo": {"username": "sue", "extra": lists}}}))
        };
        assert_eq!(extra(2).unwrap().extra.len(), 2);
        let Unreadable { request, why } = *extra(3).unwrap_err();
        assert_eq!((&*request.uid, &*request.by.user), ("u", "sue"));
        assert!(why.message.contains("more than 10000 values in userInfo.extra"), "{why}");
    }

    #[test]
    fn a_body_without_a_request_is_an_error() {
        for review in [
            json!(null),
            json!([]),
            json!({}),
            json!({"request": []}),
            json!({"request": {"uid": 1, "object": {}}}),
            json!({"request": {"object": {}, "userInfo": {"groups": "dev"}}}),
        ] {
            assert!(read(&review).is_err(), "{review}");
        }
    }

    #[test]
    fn a_review_that_is_cut_keeps_what_stands_before() {
        let review = br#"{"kind":"AdmissionReview","request":{"uid":"u","name":"n","userInfo":{"username":"sue"},"object":{"a":["#;
        let Unreadable { request, .. } = *AdmissionRequest::read(review).unwrap_err();
        assert_eq!((&*request.uid, &*request.name, &*request.by.user), ("u", "n", "sue"));
        assert!(request.object.is_none());
    }

    #[test]
    fn an_object_may_be_as_deep_as_it_likes() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let request =
            AdmissionRequest::read(format!(r#"{{"request":{{"uid":"u","object":{deep}}}}}"#).as_bytes())
                .unwrap();
        assert_eq!(request.object.unwrap().get(), deep);
    }

    #[test]
    fn a_refusal_is_forbidden_and_nothing_empty_is_written() {
        let allowed = response("u", None, &[]);
        assert_eq!(allowed["response"], json!({"uid": "u", "allowed": true}));
        let refused = response("u", Some("no"), &["w".to_owned()]);
        assert_eq!(refused["response"]["allowed"], false);
        assert_eq!(refused["response"]["status"]["code"], 403);
        assert_eq!(refused["response"]["status"]["message"], "no");
        assert_eq!(refused["response"]["warnings"], json!(["w"]));
    }
}
