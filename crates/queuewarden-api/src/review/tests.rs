use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use yunikorn::admission::{Conf, Request, Surroundings, evaluate};
use yunikorn::identity::Identity;
use yunikorn::testing::is_same_refusal;
use yunikorn::version::Version;
use yunikorn_access::review::Answer;

use super::access::SubjectAccessReview;

/// The body that kube-apiserver 1.34.2 posted to an authorization webhook for `kubectl auth can-i submit
/// queues.…/root.prod`.
fn posted() -> Value {
    json!({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},
        "spec":{"resourceAttributes":{"namespace":"default","verb":"submit","group":"queuewarden.dev","version":"*",
        "resource":"queues","name":"root.prod"},"user":"sue","groups":["dev","system:authenticated"]},
        "status":{"allowed":false}})
}

#[test]
fn a_review_is_read_as_posted_and_keeps_everything_but_its_status() {
    let review = SubjectAccessReview::read(&posted()).unwrap();
    let user = review.user(ReviewKind::Subject, None).unwrap();
    assert_eq!((user.user.as_str(), user.groups.len()), ("sue", 2));
    assert!(review.action(false).is_ok());
    let filled = access::filled(posted(), &Answer::deny("acl", "why"));
    assert_eq!(filled["status"], json!({"allowed": false, "denied": true, "reason": "why"}));
    assert_eq!(filled["spec"], posted()["spec"]);
    let undecided = access::status(&Answer::undecided("acl", "why"));
    assert_eq!(undecided, json!({"allowed": false, "reason": "why", "evaluationError": "why"}));
    assert_eq!(access::status(&Answer::allow("acl", "yes")), json!({"allowed": true, "reason": "yes"}));
}

/// Returns the user in question.
fn user_of(kind: ReviewKind, review: &Value, caller: Option<&Identity>) -> Result<Identity, Diagnostic> {
    SubjectAccessReview::read(review)?.user(kind, caller).cloned()
}

#[test]
fn groups_have_another_name_in_v1beta1() {
    let mut review = posted();
    review["apiVersion"] = "authorization.k8s.io/v1beta1".into();
    review["spec"]["group"] = json!(["ops"]);
    assert_eq!(user_of(ReviewKind::Subject, &review, None).unwrap().groups, ["ops"]);
}

#[test]
fn what_the_api_server_refuses_is_refused() {
    let caller = Identity { user: "sue".to_owned(), groups: vec!["dev".to_owned()] };
    let with = |pointer: &str, value: Value| {
        let mut review = posted();
        *review.pointer_mut(pointer).unwrap() = value;
        review
    };
    let code = |kind, review: &Value, caller| user_of(kind, review, caller).map_err(|wrong| wrong.code);
    assert_eq!(code(ReviewKind::Own, &posted(), None), Err(codes::REVIEW_BY_NOBODY));
    assert_eq!(code(ReviewKind::Own, &posted(), Some(&caller)).unwrap().groups, ["dev"]);
    assert_eq!(code(ReviewKind::Local, &posted(), None), Err(codes::MALFORMED_REVIEW));
    assert!(code(ReviewKind::Local, &with("/metadata", json!({"namespace": "default"})), None).is_ok());
    assert_eq!(code(ReviewKind::Subject, &with("/spec", Value::Null), None), Err(codes::MALFORMED_REVIEW));
    let wrong = user_of(ReviewKind::Subject, &with("/spec/groups", json!(["a", 5])), None).unwrap_err();
    assert!(wrong.message.contains("spec.groups[1]"), "{}", wrong.message);
    // `null` is treated as absent.
    assert!(code(ReviewKind::Subject, &with("/spec/groups", Value::Null), None).unwrap().groups.is_empty());
}

#[test]
fn only_reviews_are_reviews() {
    let kind = |version: &str, kind: &str| {
        ReviewKind::from_document(&json!({"apiVersion": version, "kind": kind}))
            .map(|found| found.map_err(|wrong| wrong.code))
    };
    assert_eq!(kind("authorization.k8s.io/v1", "SubjectAccessReview"), Some(Ok(ReviewKind::Subject)));
    assert_eq!(kind("authorization.k8s.io/v1beta1", "LocalSubjectAccessReview"), Some(Ok(ReviewKind::Local)));
    assert_eq!(kind("admission.k8s.io/v1", "AdmissionReview"), Some(Ok(ReviewKind::Admission)));
    for (version, name) in [
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview"),
        ("authorization.k8s.io/v2", "SubjectAccessReview"),
        ("admission.k8s.io/v1", "SubjectAccessReview"),
    ] {
        assert_eq!(kind(version, name), Some(Err(codes::UNKNOWN_REVIEW)), "{version} {name}");
    }
    for document in [json!({"apiVersion": "v1", "kind": "Pod"}), json!([]), json!(null), json!({"kind": 1})] {
        assert!(ReviewKind::from_document(&document).is_none(), "{document}");
    }
}

fn admission(kind: [&str; 2], object: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "7f3", "kind": {"group": kind[0], "version": "v1", "kind": kind[1]}, "operation": "CREATE", "namespace": "jobs",
        "userInfo": {"username": "sue", "groups": ["devs", "system:authenticated"]}, "object": object}})
}

/// Parses the request of a review as the admission controller does.
fn read_admission(review: &Value) -> Result<(envelope::AdmissionRequest, Request), Diagnostic> {
    let asked = envelope::AdmissionRequest::read(review.to_string().as_bytes())
        .map_err(|unreadable| unreadable.why)?;
    admission::read(&asked).map(|request| (asked, request))
}

fn answered(review: &Value) -> Value {
    let (asked, request) = read_admission(review).unwrap();
    let conf = Conf::from_keys(&[].into(), Version::V1_8).0;
    admission::filled(review.clone(), &asked.uid, &evaluate(&request, &Surroundings::default(), &conf))
}

/// Returns the patch of a response, decoded.
fn patch(answered: &Value) -> Value {
    let bytes: k8s_openapi::ByteString =
        serde_json::from_value(answered["response"]["patch"].clone()).unwrap();
    serde_json::from_slice(&bytes.0).unwrap()
}

#[test]
fn a_pod_gets_the_name_of_its_user() {
    let review = admission(["", "Pod"], &json!({"metadata": {"labels": {"app": "<x>"}}, "spec": null}));
    let answered = answered(&review);
    let response = &answered["response"];
    assert_eq!((&response["uid"], &response["allowed"]), (&json!("7f3"), &json!(true)));
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = patch(&answered);
    assert_eq!(patch[0]["path"], "/metadata/annotations");
    let info = patch[0]["value"]["yunikorn.apache.org/user.info"].as_str().unwrap();
    assert_eq!(info, r#"{"user":"sue","groups":["devs","system:authenticated"]}"#);
    assert_eq!(answered["request"], review["request"]);
}

#[test]
fn templates_are_found_in_each_kind() {
    let template =
        json!({"metadata": {"annotations": {"yunikorn.apache.org/user.info": "{\"user\":\"bob\"}"}}});
    let cases = [
        (["batch", "Job"], json!({"spec": {"template": template}})),
        (["batch", "CronJob"], json!({"spec": {"jobTemplate": {"spec": {"template": template}}}})),
        (["apps", "Deployment"], json!({"spec": {"template": template}})),
    ];
    for (kind, object) in cases {
        let answered = answered(&admission(kind, &object));
        let response = &answered["response"];
        assert_eq!(response["allowed"], false, "{kind:?}");
        let message = response["status"]["message"].as_str().unwrap();
        assert_eq!(
            message,
            "user sue with groups [devs,system:authenticated] is not allowed to set user annotation"
        );
        assert!(response["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()));
        assert!(response.get("patch").is_none());
    }
}

#[test]
fn config_maps_are_decided_elsewhere_and_broken_objects_not_at_all() {
    let code = |review: &Value| read_admission(review).map(drop).map_err(|wrong| wrong.code);
    assert_eq!(code(&admission(["", "ConfigMap"], &json!({}))), Err(codes::DECIDED_ELSEWHERE));
    assert_eq!(code(&admission(["", "Pod"], &json!({"metadata": 1}))), Err(codes::MALFORMED_REVIEW));
    assert_eq!(code(&json!({"request": null})), Err(codes::MALFORMED_REVIEW));
    assert!(code(&admission(["", "Pod"], &Value::Null)).is_ok());
}

#[test]
fn patches_are_written_as_go_writes_them() {
    use yunikorn::admission::request::{Patch, Value};
    let texts = [("b".to_owned(), "<&>".to_owned()), ("a".to_owned(), "\u{2028}".to_owned())].into();
    let patches = [
        Patch { path: "/metadata/labels", value: Value::Texts(texts) },
        Patch { path: "/spec/schedulerName", value: Value::Text("yunikorn") },
    ];
    assert_eq!(
        admission::json_patch(&patches),
        r#"[{"op":"add","path":"/metadata/labels","value":{"a":"\u2028","b":"\u003c\u0026\u003e"}},{"op":"add","path":"/spec/schedulerName","value":"yunikorn"}]"#
    );
}

/// Wraps a pod of the fixture in an object of the given kind.
fn object(kind: &str, pod: &Value) -> Value {
    let template = json!({
        "metadata": {"labels": pod["labels"], "annotations": pod["annotations"], "uid": pod["uid"]},
        "spec": {"priorityClassName": pod["priorityClass"], "schedulerName": pod["schedulerName"]},
    });
    match kind {
        "Pod" | "pod" => template,
        "CronJob" => json!({"spec": {"jobTemplate": {"spec": {"template": template}}}}),
        _ => json!({"spec": {"template": template}}),
    }
}

/// Requests as an API server sends them, with the admission controller's answers
/// (`e2e/tests/agreement/mutate.rs` maintains the fixture).
#[test]
fn responses_are_those_of_the_admission_controller() {
    let texts =
        |value: &Value| serde_json::from_value::<Option<_>>(value.clone()).unwrap().unwrap_or_default();
    let mut patched = 0;
    for line in include_str!("../../../../tests/vectors/yunikorn-mutate.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (asked, answer) = (&row["asked"], &row["answer"]);
        let kind = asked["kind"].as_str().unwrap();
        let group = match kind {
            "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => "apps",
            "Job" | "CronJob" => "batch",
            _ => "",
        };
        let review = json!({"request": {
            "uid": "1", "kind": {"group": group, "version": "v1", "kind": kind}, "operation": asked["operation"],
            "namespace": asked["namespace"], "userInfo": {"username": asked["user"], "groups": asked["groups"]},
            "object": object(kind, &asked["pod"]), "oldObject": object(kind, &asked["oldPod"]),
        }});
        let (sent, request) = read_admission(&review).unwrap();
        let surroundings = Surroundings {
            namespace_annotations: texts(&asked["namespaceAnnotations"]),
            priority_class_annotations: texts(&asked["priorityClassAnnotations"]),
        };
        let conf = Conf::from_keys(&texts(&asked["configs"]["data"]), Version::V1_8).0;
        let filled = admission::filled(review, &sent.uid, &evaluate(&request, &surroundings, &conf));
        let response = &filled["response"];
        assert_eq!(response["allowed"], answer["allowed"], "{line}");
        let message = response.pointer("/status/message").and_then(Value::as_str).unwrap_or_default();
        assert!(is_same_refusal(message, answer["message"].as_str().unwrap()), "{message}: {line}");
        let decoded = if response["patch"].is_null() { Value::Null } else { patch(&filled) };
        assert_eq!(decoded, answer["patch"], "{line}");
        patched += usize::from(!decoded.is_null());
    }
    assert!(patched > 50, "{patched}");
}

/// Generates JSON of every shape, with the names that reviews have.
fn any_json() -> impl Strategy<Value = Value> {
    let name = proptest::sample::select(vec![
        "spec",
        "user",
        "groups",
        "group",
        "extra",
        "resourceAttributes",
        "nonResourceAttributes",
        "verb",
        "name",
        "request",
        "object",
        "oldObject",
        "kind",
        "userInfo",
        "metadata",
        "labels",
        "annotations",
        "template",
        "jobTemplate",
        "operation",
    ]);
    let text = proptest::sample::select(vec![
        "", "submit", "queues", "Pod", "Job", "CronJob", "batch", "CREATE", "root.a",
    ]);
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => proptest::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_panics(mut review in any_json(), kind in proptest::sample::select(vec![ReviewKind::Subject, ReviewKind::Local, ReviewKind::Own])) {
        let caller = Identity::default();
        if let Ok(read) = SubjectAccessReview::read(&review) && read.user(kind, Some(&caller)).is_ok() {
            prop_assert!(review["spec"].is_object());
            drop(read.action(true));
        }
        if let Ok((asked, request)) = read_admission(&review) {
            let conf = Conf::from_keys(&[].into(), Version::V1_8).0;
            let evaluation = evaluate(&request, &Surroundings::default(), &conf);
            review = admission::filled(review, &asked.uid, &evaluation);
            prop_assert!(review["response"]["allowed"].is_boolean());
        }
    }
}
