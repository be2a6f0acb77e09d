//! `AdmissionReview` of objects of ours and of ConfigMaps: what changes, by whom, and the response of a validating webhook.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::envelope::{UserInfo, request};
use super::{codes, malformed};
use crate::model::identity::Identity;
use crate::text::diag::Diagnostic;

/// A request to change one object (`admission.k8s.io/v1`, `AdmissionRequest`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `uid`, which the response repeats.
    pub uid: String,
    /// `kind.group`
    pub group: String,
    /// `kind.kind`
    pub kind: String,
    /// `namespace`; empty for what has none.
    pub namespace: String,
    /// `name`; empty while the API server has not made one up.
    pub name: String,
    /// `operation`: `CREATE`, `UPDATE`, `DELETE`.
    pub operation: String,
    /// Who asks.
    pub by: Identity,
    /// `userInfo.uid`
    pub by_uid: String,
    /// `userInfo.extra`
    pub extra: BTreeMap<String, Vec<String>>,
    /// `object`; `None` when it is deleted.
    pub object: Option<Value>,
    /// `oldObject`; `None` when it is created.
    pub old: Option<Value>,
}

/// Reads a review.
///
/// # Errors
/// [`codes::MALFORMED_REVIEW`].
pub fn read(review: &Value) -> Result<Asked, Diagnostic> {
    let raw = request(review)?;
    let present = |value: Value| (!value.is_null()).then_some(value);
    let UserInfo { username, uid: by_uid, groups, extra } = raw.user_info;
    let asked = Asked {
        uid: raw.uid,
        group: raw.kind.group,
        kind: raw.kind.kind,
        namespace: raw.namespace,
        name: raw.name,
        operation: raw.operation,
        by: Identity { user: username, groups },
        by_uid,
        extra,
        object: present(raw.object),
        old: present(raw.old_object),
    };
    if asked.object.is_none() && asked.old.is_none() {
        return Err(malformed(codes::MALFORMED_REVIEW, "the request has neither object nor oldObject"));
    }
    Ok(asked)
}

/// A whole review with the response of a validating webhook. A refusal becomes `403 Forbidden`, whose message kubectl prints behind the
/// webhook's name.
pub fn response(uid: &str, refusal: Option<&str>, warnings: &[String]) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), uid.into());
    response.insert("allowed".to_owned(), refusal.is_none().into());
    if let Some(message) = refusal {
        response.insert(
            "status".to_owned(),
            json!({"code": 403, "reason": "Forbidden", "status": "Failure", "message": message}),
        );
    }
    if !warnings.is_empty() {
        response.insert("warnings".to_owned(), warnings.into());
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_an_api_server_is_read() {
        let asked = read(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "queuewarden.dev", "version": "v1alpha1", "kind": "QueueAcl"}, "name": "a",
            "operation": "DELETE", "userInfo": {"username": "sue", "uid": "1", "groups": ["dev"], "extra": {"k": ["v"]}},
            "object": null, "oldObject": {"spec": {}}, "dryRun": false, "options": null,
        }}))
        .unwrap();
        assert_eq!(
            (asked.uid.as_str(), asked.kind.as_str(), asked.operation.as_str()),
            ("u", "QueueAcl", "DELETE")
        );
        assert_eq!(asked.by, Identity { user: "sue".into(), groups: vec!["dev".into()] });
        assert_eq!((asked.object, asked.old), (None, Some(json!({"spec": {}}))));
        assert_eq!(asked.extra["k"], ["v"]);
    }

    #[test]
    fn what_is_no_request_is_an_error() {
        for review in [
            json!(null),
            json!([]),
            json!({}),
            json!({"request": []}),
            json!({"request": {"uid": "u"}}),
            json!({"request": {"uid": 1, "object": {}}}),
            json!({"request": {"object": {}, "userInfo": {"groups": "dev"}}}),
        ] {
            assert!(read(&review).is_err(), "{review}");
        }
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
