//! Tests the endpoint with one queue, and an API server that knows the namespace `jobs`.

use std::sync::Arc;

use axum::body::Body;
use http::Request;
use serde_json::json;

use super::*;
use crate::server::testing::{self, client, defaults, not_found, reply};
use queuewarden_plan::snapshot::{AdmissionPolicySpec, Entry, Meta, Snapshot};
use yunikorn_access::submission::Mode;

const QUEUES: &str =
    "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: sue}]}]}]\n";

fn snapshot(mode: Option<Mode>) -> Snapshot {
    let policy = AdmissionPolicySpec { submission: mode, ..AdmissionPolicySpec::default() };
    Snapshot {
        policies: vec![Entry { meta: Meta::default(), spec: Ok(policy), in_force: None }],
        defaults: Some(defaults("queues.yaml", QUEUES)),
        ..testing::snapshot()
    }
}

/// Answers for the namespace `jobs`, and panics for `fault`, as an internal error would.
async fn answer(request: Request<kube::client::Body>) -> http::Response<Body> {
    let path = request.uri().path();
    assert!(!path.ends_with("/namespaces/fault"), "a fault");
    if !path.ends_with("/namespaces/jobs") {
        return not_found();
    }
    reply(
        200,
        &json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "jobs"}}),
    )
}

struct SubmissionService(testing::TestService);

impl SubmissionService {
    fn closed() -> Self {
        Self(testing::TestService::closed(router(), client(answer)))
    }

    fn new(snapshot: Snapshot) -> Self {
        Self(Self::closed().0.knowing(snapshot))
    }

    async fn ask(&self, review: &Value) -> Value {
        self.0.ask("/submission", review).await
    }
}

fn review(user: &str, namespace: &str) -> Value {
    let pod = json!({"metadata": {"labels": {"queue": "root.prod", "applicationId": "a"}}, "spec": {}});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u1",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE", "namespace": namespace,
        "userInfo": {"username": user, "groups": []}, "object": {"spec": {"template": pod}}}})
}

#[tokio::test]
async fn the_policy_says_how_loudly() {
    for (mode, allowed, warnings) in [
        (None, true, 0),
        (Some(Mode::Off), true, 0),
        (Some(Mode::Audit), true, 0),
        (Some(Mode::Warn), true, 1),
        (Some(Mode::Deny), false, 0),
    ] {
        let service = SubmissionService::new(snapshot(mode));
        let answer = service.ask(&review("bob", "jobs")).await;
        assert_eq!(
            (&answer["uid"], &answer["allowed"]),
            (&json!("u1"), &json!(allowed)),
            "{mode:?}: {answer}"
        );
        assert_eq!(answer["warnings"].as_array().map_or(0, Vec::len), warnings, "{mode:?}: {answer}");
        let own = service.ask(&review("sue", "jobs")).await;
        assert_eq!((&own["allowed"], &own["warnings"]), (&json!(true), &Value::Null), "{mode:?}: {own}");
    }
}

#[tokio::test]
async fn a_refusal_has_the_reason_and_is_counted() {
    let service = SubmissionService::new(snapshot(Some(Mode::Deny)));
    let answer = service.ask(&review("bob", "jobs")).await;
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(message.contains("no ACL from root.prod up to root names user bob"), "{message}");
    assert_eq!(answer["auditAnnotations"]["decision"], "refused");
    assert_eq!(service.0.counted("submit", "refused", "acl"), 1);
}

#[tokio::test]
async fn whatever_is_not_known_lets_pass() {
    let deny = || SubmissionService::new(snapshot(Some(Mode::Deny)));
    for namespace in ["kube-system", testing::OWN_NAMESPACE, "not-there", "fault"] {
        let answer = deny().ask(&review("bob", namespace)).await;
        assert_eq!(
            (&answer["allowed"], &answer["uid"]),
            (&json!(true), &json!("u1")),
            "{namespace}: {answer}"
        );
    }
    assert_eq!(SubmissionService::closed().ask(&review("bob", "jobs")).await["allowed"], true);
    let other = json!({"request": {"uid": "u", "object": {"spec": 1}}});
    assert_eq!(deny().ask(&other).await["allowed"], true);
    let service = deny();
    service.ask(&review("bob", "fault")).await;
    assert_eq!(service.0.counted("submit", "undecided", "fault"), 1);
    let mut unreadable = snapshot(Some(Mode::Deny));
    Arc::make_mut(unreadable.defaults.as_mut().unwrap())
        .data
        .insert("queues.yaml".to_owned(), "{".to_owned());
    let answer = SubmissionService::new(unreadable).ask(&review("bob", "jobs")).await;
    assert_eq!(
        (&answer["allowed"], &answer["auditAnnotations"]["decision"]),
        (&json!(true), &json!("undecided"))
    );
}

#[tokio::test]
async fn a_workload_that_cannot_be_read_is_refused_as_one_that_is_rejected() {
    let mut odd = review("sue", "jobs");
    odd["request"]["object"]["spec"]["template"]["metadata"] = json!(1);
    for (mode, allowed, warned) in
        [(Mode::Deny, false, false), (Mode::Warn, true, true), (Mode::Audit, true, false)]
    {
        let service = SubmissionService::new(snapshot(Some(mode)));
        let answer = service.ask(&odd).await;
        assert_eq!(
            (answer["allowed"] == true, answer["warnings"].is_array()),
            (allowed, warned),
            "{mode:?}: {answer}"
        );
        assert_eq!(service.0.counted("submit", "refused", "unreadable"), 1);
    }
}
