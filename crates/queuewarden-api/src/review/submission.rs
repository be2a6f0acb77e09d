//! Parses the parts of an `AdmissionReview` of a pod or a workload that decide whether `YuniKorn` accepts it,
//! and writes the response.

use serde_json::Value;

use super::admission;
use super::envelope::{AdmissionRequest, AdmissionResponse, audit_annotations};
use super::part::{at, entries, has_checked_controller, member, pods, text_at};
use go_compat::diag::Diagnostic;
use yunikorn::admission::request::Request;
use yunikorn_access::running::joins::OwnerPod;
use yunikorn_access::submission::{Decision, Mode};

/// The parts of an applied object that affect the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionRequest {
    /// The part that the admission controller reads.
    pub request: Request,
    /// True when its controller is of a kind that is checked itself.
    pub owned: bool,
    /// The pods that own it.
    pub owners: Vec<OwnerPod>,
    /// `spec.nodeName` of the pod.
    pub node_name: String,
    /// The names in `spec.imagePullSecrets` of the pod, or of the template.
    pub image_pull_secrets: Vec<String>,
}

/// Reads a request.
///
/// # Errors
/// As [`admission::read`].
pub fn read(request: &AdmissionRequest) -> Result<SubmissionRequest, Diagnostic> {
    let read = admission::read(request)?;
    let object = request.object.as_deref();
    let spec = admission::template(object, &read.kind)?.map_or(Ok(None), |pod| member(pod, "spec"))?;
    let secrets = spec.map_or(Ok(None), |spec| member(spec, "imagePullSecrets"))?;
    let secrets = entries(secrets, "a list")?.into_iter();
    let owners = object.map_or(Ok(None), |object| at(object, &["metadata", "ownerReferences"]))?;
    Ok(SubmissionRequest {
        owned: has_checked_controller(owners)?,
        owners: pods(owners)?,
        node_name: spec.map_or(Ok(String::new()), |spec| text_at(spec, &["nodeName"]))?,
        image_pull_secrets: secrets
            .map(|(_, secret)| text_at(secret, &["name"]))
            .collect::<Result<_, _>>()?,
        request: read,
    })
}

/// Returns the response; its `auditAnnotations` hold the decision.
pub fn response(uid: &str, decision: &Decision, mode: Mode) -> Value {
    let Decision { outcome, clause, reason, .. } = decision;
    let response = AdmissionResponse {
        warnings: decision.warning(mode).map(str::to_owned).into_iter().collect(),
        audit_annotations: audit_annotations(outcome.as_str(), clause, reason),
        ..AdmissionResponse::new(uid, decision.refusal(mode))
    };
    response.review()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use yunikorn_access::submission::Outcome;

    fn submission(object: &Value, kind: (&str, &str)) -> SubmissionRequest {
        read(&request(object, kind)).unwrap()
    }

    fn request(object: &Value, kind: (&str, &str)) -> AdmissionRequest {
        let kind = json!({"group": kind.0, "version": "v1", "kind": kind.1});
        let review = json!({"request": {"uid": "u", "kind": kind, "operation": "CREATE", "object": object}});
        AdmissionRequest::read(review.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_a_checked_controller_makes_is_owned() {
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
            let submission = submission(&pod, ("", "Pod"));
            assert_eq!(
                (submission.owned, submission.node_name.as_str()),
                (expected, "n1"),
                "{version} {kind}"
            );
        }
        for odd in [json!(null), json!({"metadata": {"ownerReferences": [1, {"controller": 1}]}})] {
            assert!(!submission(&odd, ("", "Pod")).owned);
        }
    }

    #[test]
    fn secrets_are_those_of_the_template() {
        let spec = json!({"imagePullSecrets": [{"name": "a"}, {}]});
        let job = json!({"spec": {"template": {"metadata": {"labels": {"queue": "q"}}, "spec": spec}}});
        let read = submission(&job, ("batch", "Job"));
        assert_eq!(read.image_pull_secrets, ["a", ""]);
        assert_eq!(read.request.pod.label("queue"), "q");
        let cron = json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}});
        assert_eq!(submission(&cron, ("batch", "CronJob")).image_pull_secrets, ["a", ""]);
    }

    #[test]
    fn the_response_says_what_the_mode_lets_it() {
        let decision = |outcome| Decision {
            outcome,
            clause: "acl",
            reason: "why".to_owned(),
            user: "bob".to_owned(),
            queue: "root.prod".to_owned(),
        };
        for (outcome, mode, allowed, warned) in [
            (Outcome::Refused, Mode::Audit, true, false),
            (Outcome::Refused, Mode::Warn, true, true),
            (Outcome::Refused, Mode::Deny, false, false),
            (Outcome::Doubtful, Mode::Deny, true, true),
            (Outcome::Elsewhere, Mode::Deny, true, true),
            (Outcome::Undecided, Mode::Deny, true, false),
            (Outcome::Placed, Mode::Deny, true, false),
        ] {
            let review = response("u", &decision(outcome), mode);
            assert_eq!(review["response"]["uid"], "u");
            assert_eq!(review["response"]["allowed"], allowed, "{outcome:?} {mode:?}");
            assert_eq!(review["response"]["warnings"].is_array(), warned, "{outcome:?} {mode:?}");
            assert_eq!(review["response"]["auditAnnotations"]["decision"], outcome.as_str());
            if !allowed {
                assert_eq!(review["response"]["status"]["message"], "why");
            }
        }
    }
}
