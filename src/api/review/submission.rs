//! An `AdmissionReview` of a pod or a workload, as far as it decides whether `YuniKorn` takes it, and the response.

use serde_json::{Value, json};

use super::{admission, change};
use crate::access::submission::{Judgement, Mode};
use crate::model::admission::request::{Kind, Request, Workload};
use crate::text::diag::Diagnostic;

/// Kinds that are judged themselves, so that what they make is not: API group and kind. A `SparkApplication` is none of them: its driver is
/// the first that is seen of it.
const JUDGED: [(&str, &str); 7] = [
    ("", "Pod"),
    ("apps", "Deployment"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
];

/// What is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `request.uid`
    pub uid: String,
    /// What the admission controller reads.
    pub request: Request,
    /// `request.name`; empty where the API server makes the name up later.
    pub name: String,
    /// Whether its controller is of a kind that is judged itself.
    pub owned: bool,
    /// `spec.nodeName` of the pod.
    pub node_name: String,
    /// The names in `spec.imagePullSecrets` of the pod, or of the template.
    pub image_pull_secrets: Vec<String>,
}

/// Reads a review.
///
/// # Errors
/// As [`admission::read`].
pub fn read(review: &Value) -> Result<Asked, Diagnostic> {
    let admission::Asked { uid, request } = admission::read(review)?;
    let object = review.pointer("/request/object").unwrap_or(&Value::Null);
    let spec = match request.kind {
        Kind::Workload(Workload::CronJob) => object.pointer("/spec/jobTemplate/spec/template/spec"),
        Kind::Workload(_) => object.pointer("/spec/template/spec"),
        Kind::Pod | Kind::Other(_) => object.get("spec"),
    };
    let spec = spec.unwrap_or(&Value::Null);
    let secrets = spec.get("imagePullSecrets").and_then(Value::as_array).into_iter().flatten();
    Ok(Asked {
        uid,
        name: text(review, "/request/name").to_owned(),
        owned: owned(object),
        node_name: text(spec, "/nodeName").to_owned(),
        image_pull_secrets: secrets.map(|secret| text(secret, "/name").to_owned()).collect(),
        request,
    })
}

/// The UID of a review that cannot be read otherwise: a response without it is an error to the API server.
pub fn uid(review: &Value) -> &str {
    text(review, "/request/uid")
}

fn owned(object: &Value) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        let version = text(owner, "/apiVersion");
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        owner.get("controller").and_then(Value::as_bool) == Some(true)
            && JUDGED.contains(&(group, text(owner, "/kind")))
    })
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The response; what was decided stands in its `auditAnnotations`.
pub fn response(uid: &str, judgement: &Judgement, mode: Mode) -> Value {
    let warnings: Vec<String> = judgement.warning(mode).map(str::to_owned).into_iter().collect();
    let mut review = change::response(uid, judgement.refusal(mode), &warnings);
    if let Some(response) = review.get_mut("response").and_then(Value::as_object_mut) {
        let mut notes = json!({"decision": judgement.verdict.as_str(), "clause": judgement.clause});
        if let (Some(notes), false) = (notes.as_object_mut(), judgement.reason.is_empty()) {
            notes.insert("reason".to_owned(), judgement.reason.as_str().into());
        }
        response.insert("auditAnnotations".to_owned(), notes);
    }
    review
}

/// Lets everything pass, and says nothing.
pub fn silent(uid: &str) -> Value {
    change::response(uid, None, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::submission::Verdict;

    fn asked(object: &Value, kind: (&str, &str)) -> Asked {
        let kind = json!({"group": kind.0, "version": "v1", "kind": kind.1});
        read(&json!({"request": {"uid": "u", "kind": kind, "operation": "CREATE", "name": "n", "object": object}}))
            .unwrap()
    }

    #[test]
    fn what_a_judged_controller_makes_is_owned() {
        for (version, kind, controller, expected) in [
            ("apps/v1", "ReplicaSet", true, true),
            ("batch/v1", "Job", true, true),
            ("v1", "Pod", true, true),
            ("batch/v1", "Job", false, false),
            ("sparkoperator.k8s.io/v1beta2", "SparkApplication", true, false),
            ("example.com/v1", "Job", true, false),
        ] {
            let owner = json!({"apiVersion": version, "kind": kind, "name": "o", "uid": "x", "controller": controller});
            let pod = json!({"metadata": {"ownerReferences": [owner]}, "spec": {"nodeName": "n1"}});
            let asked = asked(&pod, ("", "Pod"));
            assert_eq!((asked.owned, asked.node_name.as_str()), (expected, "n1"), "{version} {kind}");
        }
        for odd in [json!(null), json!({"metadata": {"ownerReferences": [1, {"controller": 1}]}}), json!([])]
        {
            assert!(!owned(&odd));
        }
    }

    #[test]
    fn secrets_are_those_of_the_template() {
        let spec = json!({"imagePullSecrets": [{"name": "a"}, {}]});
        let job = json!({"spec": {"template": {"metadata": {"labels": {"queue": "q"}}, "spec": spec}}});
        let read = asked(&job, ("batch", "Job"));
        assert_eq!(read.image_pull_secrets, ["a", ""]);
        assert_eq!(read.request.pod.label("queue"), "q");
        let cron = json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}});
        assert_eq!(asked(&cron, ("batch", "CronJob")).image_pull_secrets, ["a", ""]);
    }

    #[test]
    fn the_response_says_what_the_mode_lets_it() {
        let judgement = |verdict| Judgement {
            verdict,
            clause: "acl",
            reason: "why".to_owned(),
            user: "bob".to_owned(),
            queue: "root.prod".to_owned(),
        };
        for (verdict, mode, allowed, warned) in [
            (Verdict::Refused, Mode::Audit, true, false),
            (Verdict::Refused, Mode::Warn, true, true),
            (Verdict::Refused, Mode::Deny, false, false),
            (Verdict::Doubtful, Mode::Deny, true, true),
            (Verdict::Elsewhere, Mode::Deny, true, true),
            (Verdict::Undecided, Mode::Deny, true, false),
            (Verdict::Placed, Mode::Deny, true, false),
        ] {
            let review = response("u", &judgement(verdict), mode);
            assert_eq!(review["response"]["uid"], "u");
            assert_eq!(review["response"]["allowed"], allowed, "{verdict:?} {mode:?}");
            assert_eq!(review["response"]["warnings"].is_array(), warned, "{verdict:?} {mode:?}");
            assert_eq!(review["response"]["auditAnnotations"]["decision"], verdict.as_str());
            if !allowed {
                assert_eq!(review["response"]["status"]["message"], "why");
            }
        }
    }
}
