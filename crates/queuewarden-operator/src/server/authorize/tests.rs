//! Tests the endpoint with a cluster of two queues, and an API server that knows three tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::json;

use super::*;
use crate::server::testing::{self, Got, client, defaults, reply};
use queuewarden_plan::snapshot::Snapshot;

const QUEUES: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: 'sue devs', adminacl: ann}]}]}]\n";

struct AuthorizerService {
    fixture: testing::TestService,
    /// Counts the requests to the API server about the permission to create `subjectaccessreviews`.
    calls: Arc<AtomicUsize>,
}

/// Lets `apiserver` create `subjectaccessreviews`, and `reader` read queues; `sue`, `ann` and `eve` may do
/// nothing. The token `lost` causes an error. With the token `fault`, and in requests about `zed`, the client
/// panics, as an internal error would.
async fn answer(request: Request<kube::client::Body>, calls: Arc<AtomicUsize>) -> http::Response<Body> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let sent: Value = serde_json::from_slice(&body).unwrap();
    let status = if path.ends_with("/tokenreviews") {
        match sent["spec"]["token"].as_str().unwrap() {
            "fault" => panic!("a fault"),
            "lost" => return reply(500, &json!({})),
            name @ ("apiserver" | "reader" | "sue" | "ann" | "eve" | "zed") => {
                json!({"authenticated": true, "user": {"username": name, "groups": ["system:authenticated"]}})
            }
            _ => json!({"authenticated": false}),
        }
    } else {
        calls.fetch_add(1, Ordering::Relaxed);
        assert_ne!(sent["spec"]["user"], "zed", "a fault that zed finds");
        let (who, calls) = (&sent["spec"]["user"], &sent["spec"]["resourceAttributes"]["resource"]);
        let may =
            (calls == "subjectaccessreviews" && who == "apiserver") || (calls == "queues" && who == "reader");
        json!({"allowed": may, "reason": "RBAC"})
    };
    let mut filled = sent;
    filled["status"] = status;
    reply(201, &filled)
}

impl AuthorizerService {
    fn closed() -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let client = client(move |request| answer(request, Arc::clone(&count)));
        Self { fixture: testing::TestService::closed(router(), client), calls }
    }

    fn open() -> Self {
        let service = Self::closed();
        service
            .fixture
            .learn(Snapshot { defaults: Some(defaults("queues.yaml", QUEUES)), ..testing::snapshot() });
        service
    }

    async fn post(&self, path: &str, token: &str, body: impl Into<Body>) -> (StatusCode, Value) {
        let request = Request::post(path).header("authorization", format!("Bearer {token}"));
        let Got { code, body, .. } = self.fixture.send(request.body(body.into()).unwrap()).await;
        (code, body)
    }

    async fn ask(&self, path: &str, token: &str, review: &Value) -> (StatusCode, Value) {
        self.post(path, token, review.to_string()).await
    }
}

const HOOK: &str = "/authorize";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const OWN: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Returns a review as kube-apiserver 1.34 posts it.
fn review(user: &str, verb: &str, resource: &str, name: &str) -> Value {
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {"resourceAttributes": {"namespace": "default", "verb": verb, "group": "queuewarden.dev", "version": "*",
        "resource": resource, "name": name}, "user": user, "groups": ["system:authenticated"]}, "status": {"allowed": false}})
}

fn about(user: &str) -> Value {
    review(user, "submit", "queues", "root.prod")
}

#[tokio::test]
async fn the_api_server_may_ask_about_everybody_and_is_trusted_for_a_while() {
    let service = AuthorizerService::open();
    let (code, answer) = service.ask(HOOK, "apiserver", &about("sue")).await;
    assert_eq!((code, &answer["status"]["allowed"]), (StatusCode::OK, &json!(true)), "{answer}");
    assert_eq!((&answer["kind"], answer.get("spec")), (&json!("SubjectAccessReview"), None), "{answer}");
    let (_, answer) = service.ask(HOOK, "apiserver", &about("bob")).await;
    assert_eq!(answer["status"]["denied"], true, "{answer}");
    assert!(answer["status"]["reason"].as_str().unwrap().contains("bob"), "{answer}");
    assert_eq!(service.calls.load(Ordering::Relaxed), 1, "a yes is remembered");
}

#[tokio::test]
async fn both_versions_are_answered_in_their_own() {
    let service = AuthorizerService::open();
    let mut old = about("eve");
    old["apiVersion"] = "authorization.k8s.io/v1beta1".into();
    old["spec"]["group"] = json!(["devs"]);
    let (code, answer) = service.ask(HOOK, "apiserver", &old).await;
    assert_eq!((code, &answer["status"]["allowed"]), (StatusCode::OK, &json!(true)), "{answer}");
    assert_eq!(answer["apiVersion"], "authorization.k8s.io/v1beta1");
}

#[tokio::test]
async fn others_ask_about_themselves_and_administrators_about_their_queue() {
    let service = AuthorizerService::open();
    let cases = [
        ("sue", about("sue"), StatusCode::CREATED),
        ("sue", about("bob"), StatusCode::FORBIDDEN),
        ("ann", about("bob"), StatusCode::CREATED),
        ("ann", review("bob", "submit", "queues", "root"), StatusCode::FORBIDDEN),
        ("ann", review("bob", "submit", "queues", ""), StatusCode::FORBIDDEN),
        ("ann", review("bob", "kill", "applications", "spark-1"), StatusCode::FORBIDDEN),
        ("eve", review("eve", "kill", "applications", "spark-1"), StatusCode::CREATED),
        ("eve", review("bob", "get", "queues", "root.prod"), StatusCode::CREATED),
        ("nobody", about("nobody"), StatusCode::UNAUTHORIZED),
    ];
    for (token, review, expected) in cases {
        let (code, answer) = service.ask(REVIEWS, token, &review).await;
        assert_eq!(code, expected, "{token} {review} {answer}");
        assert_eq!(answer["status"].is_object(), expected == StatusCode::CREATED, "{answer}");
    }
    // With a group that they are not in, they would ask about its members.
    let mut more = about("eve");
    more["spec"]["groups"] = json!(["devs"]);
    assert_eq!(service.ask(REVIEWS, "eve", &more).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn oneself_is_who_asks() {
    let service = AuthorizerService::open();
    let mut own = about("bob");
    own["kind"] = "SelfSubjectAccessReview".into();
    let (code, answer) = service.ask(OWN, "sue", &own).await;
    assert_eq!((code, &answer["status"]["allowed"]), (StatusCode::CREATED, &json!(true)), "{answer}");
    let mut local = about("sue");
    local["kind"] = "LocalSubjectAccessReview".into();
    local["metadata"]["namespace"] = "default".into();
    let path =
        |namespace| format!("/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews");
    assert_eq!(service.ask(&path("default"), "sue", &local).await.0, StatusCode::CREATED);
    assert_eq!(service.ask(&path("other"), "sue", &local).await.0, StatusCode::BAD_REQUEST);
}

/// `reader` may read queues, `ann` administers the queue, and `apiserver` may ask about every user; the
/// others only get the part that concerns themselves.
#[tokio::test]
async fn review_about_oneself_without_the_right_to_read_has_no_names_of_others() {
    let service = AuthorizerService::open();
    let own = |user: &str, verb: &str, resource: &str, name: &str| {
        let mut own = review(user, verb, resource, name);
        own["kind"] = "SelfSubjectAccessReview".into();
        own
    };
    let reported = async |path: &str, token: &str, review: &Value| {
        let (code, answer) = service.ask(path, token, review).await;
        assert!(code.is_success(), "{code} {answer}");
        answer["status"].clone()
    };
    for (path, review) in
        [(OWN, own("", "submit", "queues", "root.prod")), (REVIEWS, about("eve")), (HOOK, about("eve"))]
    {
        let status = reported(path, "eve", &review).await;
        let expected = "user eve has no right to submit to `root.prod`, or there is no such queue; ask an administrator of the cluster";
        assert_eq!(status, json!({"allowed": false, "denied": true, "reason": expected}), "{path}");
    }
    // A missing queue gives the same answer.
    let there = reported(OWN, "eve", &own("", "submit", "queues", "root.prod")).await.to_string();
    for absent in ["root.none", "root.a b", "prod"] {
        let status = reported(OWN, "eve", &own("", "submit", "queues", absent)).await.to_string();
        assert_eq!(status, there.replace("root.prod", absent));
    }
    let status = reported(OWN, "eve", &own("", "kill", "applications", "spark-1")).await;
    assert_eq!(status["evaluationError"], Value::Null, "{status}");
    assert!(status["reason"].as_str().unwrap().contains("or there is no such application"), "{status}");
    let status = reported(OWN, "eve", &own("", "administer", "queues", "")).await;
    assert_eq!(
        status["reason"],
        "user eve has no right to administer all queues; ask an administrator of the cluster"
    );
    let status = reported(OWN, "sue", &own("", "submit", "queues", "root.Prod")).await;
    assert_eq!(status, json!({"allowed": true, "reason": "user sue may submit to `root.Prod`"}));
    for (token, review) in
        [("reader", about("reader")), ("ann", about("ann")), ("apiserver", about("apiserver"))]
    {
        let status = reported(REVIEWS, token, &review).await.to_string();
        assert!(!status.contains("no such queue") && !status.contains("`root.prod`"), "{token}: {status}");
    }
    // If the ACLs are unknown, only users who may read them learn why.
    service.fixture.learn(Snapshot {
        defaults: Some(defaults("queues.yaml", &QUEUES.replace("sue devs", "sue  devs"))),
        ..testing::snapshot()
    });
    let [eve, reader] = ["eve", "reader"].map(|token| (token, about(token)));
    let status = reported(REVIEWS, eve.0, &eve.1).await;
    assert!(
        status["evaluationError"].as_str().unwrap().contains("the ACLs are unknown at the moment"),
        "{status}"
    );
    let status = reported(REVIEWS, reader.0, &reader.1).await;
    assert!(
        !status["evaluationError"].as_str().unwrap().contains("the ACLs are unknown at the moment"),
        "{status}"
    );
}

#[tokio::test]
async fn what_is_not_known_is_no_opinion() {
    let undecided = |answer: &Value| {
        answer["status"]["allowed"] == false
            && answer["status"].get("denied").is_none()
            && answer["status"]["evaluationError"].is_string()
    };
    let service = AuthorizerService::closed();
    for path in [HOOK, REVIEWS] {
        let (code, answer) = service.ask(path, "apiserver", &about("sue")).await;
        assert!(code.is_success() && undecided(&answer), "{code} {answer}");
    }
    let service = AuthorizerService::open();
    let (code, answer) = service.ask(HOOK, "lost", &about("sue")).await;
    assert!(code.is_success() && undecided(&answer), "{code} {answer}");
}

#[tokio::test]
async fn what_is_no_review_is_refused_in_words() {
    let service = AuthorizerService::open();
    let mut pod = about("sue");
    pod["kind"] = "Pod".into();
    let mut rules = about("sue");
    rules["kind"] = "SelfSubjectRulesReview".into();
    let mut broken = about("sue");
    broken["spec"]["groups"] = json!("devs");
    for body in [
        String::new(),
        "[]".to_owned(),
        "garbage".to_owned(),
        pod.to_string(),
        rules.to_string(),
        broken.to_string(),
    ] {
        let (code, answer) = service.post(HOOK, "apiserver", body.clone()).await;
        assert_eq!(code, StatusCode::BAD_REQUEST, "{body} {answer}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{body} {answer}");
    }
}

#[tokio::test]
async fn what_is_decided_is_counted_by_words_of_ours() {
    let service = AuthorizerService::open();
    let unnamed = review("sue", "submit", "queues", "");
    for (token, review, counted) in [
        ("apiserver", about("sue"), ("submit", "allowed", "submitacl")),
        ("apiserver", review("ann", "use", "queues", "root.prod"), ("submit", "allowed", "adminacl")),
        ("apiserver", review("sue", "administer", "queues", "root.prod"), ("administer", "denied", "acl")),
        ("apiserver", review("sue", "submit", "queues", "prod"), ("submit", "denied", "no_queue")),
        ("apiserver", unnamed, ("submit", "no_opinion", "no_queue_named")),
        ("apiserver", review("sue", "kill", "applications", "a"), ("kill", "undecided", "application")),
        ("apiserver", review("sue", "Frobnicate", "queues", "root.prod"), ("other", "no_opinion", "verb")),
        ("apiserver", review("sue", "submit", "frogs", "root"), ("other", "no_opinion", "elsewhere")),
        ("sue", about("bob"), ("submit", "forbidden", "asker")),
        ("lost", about("bob"), ("other", "undecided", "asker")),
    ] {
        let (verb, decision, clause) = counted;
        let before = service.fixture.counted(verb, decision, clause);
        let (_, answer) = service.ask(REVIEWS, token, &review).await;
        assert_eq!(service.fixture.counted(verb, decision, clause), before + 1, "{counted:?} {answer}");
    }
    let names = service.fixture.health.metrics.text(&[]);
    assert!(!names.contains("Frobnicate") && !names.contains("frogs"), "{names}");
}

/// After a server error the API server repeats the request five times, while the user's request waits.
#[tokio::test]
async fn a_fault_is_no_opinion() {
    let service = AuthorizerService::open();
    for (token, user) in [("fault", "sue"), ("zed", "bob")] {
        for (path, expected) in [(HOOK, StatusCode::OK), (REVIEWS, StatusCode::CREATED)] {
            let (code, answer) = service.ask(path, token, &about(user)).await;
            assert_eq!(code, expected, "{token} {answer}");
            assert_eq!(answer["status"]["allowed"], false, "{answer}");
            assert_eq!(answer["status"].get("denied"), None, "{answer}");
            let why = answer["status"]["evaluationError"].as_str().unwrap();
            assert!(why.contains("internal error in queuewarden"), "{why}");
        }
    }
    assert_eq!(service.fixture.counted("other", "undecided", "fault"), 4);
    // Others are served as before.
    assert_eq!(service.ask(HOOK, "apiserver", &about("sue")).await.1["status"]["allowed"], true);
}
