//! The doors, with an API server behind them that knows the namespaces `jobs` and `quiet`, and perhaps `YuniKorn`'s own webhook.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use k8s_openapi::ByteString;
use kube::Client;
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::access::guard::Settings;
use crate::model::admission::request::USER_INFO;
use crate::operator::applications::{Applications, Mode as Which};
use crate::operator::health::Health;
use crate::plan::plan;
use crate::plan::snapshot::{
    AdmissionPolicySpec, ConfigMapState, Entry, Meta, Observed, Snapshot, YUNIKORN_DEFAULTS,
};
use crate::server::caller::Callers;
use crate::server::knowledge::{Knowledge, Publisher};

const STRICT: Settings = Settings { mode: Mode::Enforce, profile: Profile::Strict, templates: Vec::new() };
const PARITY: Settings = Settings { mode: Mode::Enforce, profile: Profile::YuniKorn, templates: Vec::new() };
const OWN: &str = r#"{"user":"alice","groups":["devs"]}"#;
const BOB: &str = r#"{"user":"bob"}"#;

fn snapshot(user_info: Option<Settings>) -> Snapshot {
    let keys = [("admissionController.filtering.noLabelNamespaces", "^quiet$")];
    let data = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let map = ConfigMapState { name: YUNIKORN_DEFAULTS.to_owned(), data, ..ConfigMapState::default() };
    let policy = AdmissionPolicySpec { user_info, ..AdmissionPolicySpec::default() };
    Snapshot {
        now: "2026-06-01T12:00:00Z".parse().unwrap(),
        config: None,
        queue_acls: Vec::new(),
        policies: vec![Entry { meta: Meta::default(), spec: Ok(policy), in_force: None }],
        access_tests: Vec::new(),
        defaults: Some(map),
        base: None,
        output: None,
        mirror: None,
        observed: Observed::default(),
    }
}

struct Door {
    router: Router,
    health: Arc<Health>,
}

impl Door {
    fn new(snapshot: Option<Snapshot>, yunikorn: bool) -> Self {
        let hook =
            yunikorn.then_some("mutatingwebhookconfigurations/yunikorn-admission-controller-mutations");
        let known = ["namespaces/jobs", "namespaces/quiet"].into_iter().chain(hook);
        Self::with(snapshot, known.map(|path| (path.to_owned(), Value::Null)).collect())
    }

    /// The API server knows objects at paths with these ends, annotated so.
    fn with(snapshot: Option<Snapshot>, known: Vec<(String, Value)>) -> Self {
        let answer = move |request: Request<kube::client::Body>| {
            let found = known.iter().find(|(path, _)| request.uri().path().ends_with(path));
            let (code, body) = match found {
                Some((_, annotations)) => (
                    200,
                    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                        "metadata": {"name": "x", "annotations": annotations}}),
                ),
                None => (
                    404,
                    json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"}),
                ),
            };
            let body = Body::from(body.to_string());
            std::future::ready(Ok::<_, Infallible>(
                http::Response::builder().status(code).body(body).unwrap(),
            ))
        };
        let client = Client::new(tower::service_fn(answer), "default");
        let publisher = Publisher::default();
        let health = Arc::new(Health::default());
        let doors = Doors {
            knows: publisher.subscribe(),
            client: client.clone(),
            health: Arc::clone(&health),
            applications: Applications::start(&client, Which::Off),
            callers: Callers::by_token(client),
        };
        if let Some(snapshot) = snapshot {
            let plan = plan(&snapshot);
            publisher.publish(Knowledge::of(snapshot, plan, None));
        }
        Self { router: router().with_state(doors), health }
    }

    fn of(settings: Settings) -> Self {
        Self::new(Some(snapshot(Some(settings))), false)
    }

    async fn asked(&self, path: &str, review: &Value) -> (u16, Value) {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn ask(&self, path: &str, review: &Value) -> Value {
        let (code, answer) = self.asked(path, review).await;
        assert_eq!(code, 200, "{answer}");
        answer["response"].clone()
    }
}

/// `alice` creates an object of this kind, whose pods are annotated so.
fn created(kind: &str, namespace: &str, annotations: &Value) -> Value {
    let group = if matches!(kind, "Pod" | "ReplicationController") { "" } else { "apps" };
    let pod = json!({"metadata": {"annotations": annotations}, "spec": {}});
    let object = if kind == "Pod" { pod } else { json!({"spec": {"template": pod}}) };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u1",
        "kind": {"group": group, "version": "v1", "kind": kind}, "operation": "CREATE", "namespace": namespace, "name": "n",
        "userInfo": {"username": "alice", "groups": ["devs"]}, "object": object}})
}

fn updated(kind: &str, old: &Value, new: &Value) -> Value {
    let mut review = created(kind, "jobs", new);
    review["request"]["oldObject"] = created(kind, "jobs", old)["request"]["object"].clone();
    review["request"]["operation"] = "UPDATE".into();
    review
}

fn patch(response: &Value) -> Value {
    let Some(bytes) = response.get("patch") else { return Value::Null };
    let bytes: ByteString = serde_json::from_value(bytes.clone()).unwrap();
    serde_json::from_slice(&bytes.0).unwrap()
}

#[tokio::test]
async fn the_policy_says_how_much_is_done() {
    for (settings, patched, refused) in [
        (None, false, false),
        (Some(Settings { mode: Mode::Off, ..STRICT }), false, false),
        (Some(Settings { mode: Mode::Audit, ..STRICT }), false, false),
        (Some(STRICT), true, true),
    ] {
        let door = Door::new(Some(snapshot(settings.clone())), false);
        let own = door.ask("/user-info", &created("Deployment", "jobs", &json!({}))).await;
        assert_eq!((&own["allowed"], &own["uid"]), (&json!(true), &json!("u1")));
        assert_eq!(own["patch"].is_string(), patched, "{settings:?}: {own}");
        for path in ["/user-info", "/user-info/check"] {
            let other = door.ask(path, &created("Deployment", "jobs", &json!({USER_INFO: BOB}))).await;
            assert_eq!(other["allowed"], !refused, "{settings:?} {path}: {other}");
        }
    }
}

#[tokio::test]
async fn what_would_be_refused_is_counted_once() {
    let door = Door::of(Settings { mode: Mode::Audit, ..STRICT });
    let review = created("Deployment", "jobs", &json!({USER_INFO: BOB}));
    let answer = door.ask("/user-info", &review).await;
    assert_eq!(answer["auditAnnotations"]["clause"], "not_allowed");
    door.ask("/user-info/check", &review).await;
    let counted =
        r#"queuewarden_decisions_total{verb="user_info",decision="refused",clause="not_allowed"} 1"#;
    let metrics = door.health.metrics.text(&[]);
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn at_the_end_nothing_is_changed_and_what_is_missing_is_refused() {
    let door = Door::of(STRICT);
    let missing = door.ask("/user-info/check", &created("Pod", "jobs", &json!({}))).await;
    assert_eq!((&missing["allowed"], &missing["patch"]), (&json!(false), &Value::Null), "{missing}");
    assert!(missing["status"]["message"].as_str().unwrap().contains("missing at the end"), "{missing}");
    let own = door.ask("/user-info/check", &created("Pod", "jobs", &json!({USER_INFO: OWN}))).await;
    assert_eq!(own["allowed"], true, "{own}");
}

#[tokio::test]
async fn the_holes_are_closed_in_profile_strict_alone() {
    let update = updated("Deployment", &json!({USER_INFO: OWN}), &json!({USER_INFO: BOB}));
    let controller = created("ReplicationController", "jobs", &json!({USER_INFO: BOB}));
    for (settings, allowed) in [(PARITY, true), (STRICT, false)] {
        for review in [&update, &controller] {
            let answer = Door::of(settings.clone()).ask("/user-info", review).await;
            assert_eq!(answer["allowed"], allowed, "{settings:?}: {answer}");
        }
    }
    // Annotations that are written twice, the second time without the name.
    let quiet = created("Pod", "quiet", &json!({}));
    let lost = patch(&Door::of(PARITY).ask("/user-info", &quiet).await);
    assert_eq!(
        lost.as_array().unwrap().last().unwrap()["value"],
        json!({"yunikorn.apache.org/ignore-application": "true"})
    );
    let kept = patch(&Door::of(STRICT).ask("/user-info", &quiet).await);
    assert_eq!(
        kept,
        json!([{"op": "add", "path": "/metadata/annotations/yunikorn.apache.org~1user.info", "value": OWN}])
    );
}

#[tokio::test]
async fn parity_is_byte_for_byte() {
    let answer =
        Door::of(PARITY).ask("/user-info", &created("Deployment", "jobs", &json!({"a": "<b>"}))).await;
    let bytes: ByteString = serde_json::from_value(answer["patch"].clone()).unwrap();
    assert_eq!(
        String::from_utf8(bytes.0).unwrap(),
        r#"[{"op":"add","path":"/spec/template/metadata/annotations","value":{"a":"\u003cb\u003e","yunikorn.apache.org/user.info":"{\"user\":\"alice\",\"groups\":[\"devs\"]}"}}]"#
    );
    let refused = Door::of(PARITY).ask("/user-info", &created("Pod", "jobs", &json!({USER_INFO: BOB}))).await;
    let message = "user alice with groups [devs] is not allowed to set user annotation";
    assert_eq!((&refused["allowed"], &refused["status"]["message"]), (&json!(false), &json!(message)));
    assert_eq!(refused.get("warnings"), None);
}

/// The recorder had a class without a name, as no cluster has.
fn priority_class(pod: &Value) -> &str {
    match pod["priorityClass"].as_str().unwrap() {
        "" => "nameless",
        name => name,
    }
}

/// A recorded request as an API server asks it.
fn recorded(asked: &Value) -> Value {
    let kind = asked["kind"].as_str().unwrap();
    let group = match kind {
        "Job" | "CronJob" => "batch",
        "Pod" | "pod" | "ReplicationController" => "",
        _ => "apps",
    };
    let object = |pod: &Value| {
        let pod = json!({
            "metadata": {"labels": pod["labels"], "annotations": pod["annotations"], "uid": pod["uid"]},
            "spec": {"priorityClassName": priority_class(pod), "schedulerName": pod["schedulerName"]},
        });
        match kind {
            "Pod" => pod,
            "CronJob" => json!({"spec": {"jobTemplate": {"spec": {"template": pod}}}}),
            _ => json!({"spec": {"template": pod}}),
        }
    };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u1",
        "kind": {"group": group, "version": "v1", "kind": kind}, "operation": asked["operation"], "namespace": asked["namespace"],
        "userInfo": {"username": asked["user"], "groups": asked["groups"]},
        "object": object(&asked["pod"]), "oldObject": object(&asked["oldPod"])}})
}

#[tokio::test]
async fn recorded_requests_are_answered_as_by_yunikorns_controller() {
    let (mut patched, mut refused) = (0, 0);
    for line in include_str!("../../../tests/vectors/yunikorn-mutate.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (asked, expected) = (&row["asked"], &row["answer"]);
        let mut snapshot = snapshot(Some(PARITY));
        let data: Option<_> = serde_json::from_value(asked["configs"]["data"].clone()).unwrap();
        snapshot.defaults.as_mut().unwrap().data = data.unwrap_or_default();
        let namespace = match asked["namespace"].as_str().unwrap() {
            "" => "default",
            other => other,
        };
        let class = priority_class(&asked["pod"]);
        let known = vec![
            (format!("namespaces/{namespace}"), asked["namespaceAnnotations"].clone()),
            (format!("priorityclasses/{class}"), asked["priorityClassAnnotations"].clone()),
        ];
        let answer = Door::with(Some(snapshot), known).ask("/user-info", &recorded(asked)).await;
        if namespace == "kube-system" {
            assert_eq!(answer, json!({"uid": "u1", "allowed": true}));
            continue;
        }
        assert_eq!(answer["allowed"], expected["allowed"], "{line}: {answer}");
        assert_eq!(patch(&answer), expected["patch"], "{line}");
        if expected["allowed"] == false {
            assert_eq!(answer["status"]["message"], expected["message"], "{line}");
            refused += 1;
        }
        patched += usize::from(answer.get("patch").is_some());
    }
    assert!(patched > 50 && refused > 20, "{patched} {refused}");
}

/// Names are not made visible where `YuniKorn` does not.
#[tokio::test]
async fn parity_repeats_names_as_they_are() {
    let mut review = created("Pod", "jobs", &json!({USER_INFO: BOB}));
    review["request"]["userInfo"]["username"] = "a\u{1}\\\u{2028}b".into();
    let refused = Door::of(PARITY).ask("/user-info", &review).await;
    let message = "user a\u{1}\\\u{2028}b with groups [devs] is not allowed to set user annotation";
    assert_eq!(refused["status"]["message"], message);
    let reason = refused["auditAnnotations"]["reason"].as_str().unwrap();
    assert!(!reason.contains('\u{1}'), "{reason}");
}

/// What its controller has added for alice is not hers to add; behind it, it is not refused.
#[tokio::test]
async fn beside_yunikorns_controller_its_own_work_passes() {
    let review = created("Pod", "jobs", &json!({USER_INFO: OWN}));
    for (yunikorn, allowed) in [(false, false), (true, true)] {
        let door = Door::new(Some(snapshot(Some(PARITY))), yunikorn);
        let answer = door.ask("/user-info", &review).await;
        assert_eq!((&answer["allowed"], &answer["patch"]), (&json!(allowed), &Value::Null), "{answer}");
    }
    let door = Door::new(Some(snapshot(Some(PARITY))), true);
    assert_eq!(
        door.ask("/user-info", &created("Pod", "jobs", &json!({USER_INFO: BOB}))).await["allowed"],
        false
    );
}

#[tokio::test]
async fn namespaces_of_the_cluster_are_left_alone() {
    for namespace in ["kube-system", "kube-public", "kube-node-lease", "queuewarden-system"] {
        for path in ["/user-info", "/user-info/check"] {
            let answer =
                Door::of(STRICT).ask(path, &created("Pod", namespace, &json!({USER_INFO: BOB}))).await;
            assert_eq!(answer, json!({"uid": "u1", "allowed": true}), "{namespace}");
        }
    }
}

/// So that `failurePolicy` decides.
#[tokio::test]
async fn what_cannot_be_answered_is_an_error() {
    let review = created("Pod", "jobs", &json!({}));
    assert_eq!(Door::new(None, false).asked("/user-info", &review).await.0, 503);
    for odd in [
        json!({}),
        json!({"request": 1}),
        json!({"request": {"uid": "u", "object": {}, "userInfo": []}}),
        json!([]),
    ] {
        for path in ["/user-info", "/user-info/check"] {
            assert_eq!(Door::of(STRICT).asked(path, &odd).await.0, 400, "{odd}");
        }
    }
}
