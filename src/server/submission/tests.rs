//! The door with a queue behind it, and an API server that knows the namespace `jobs`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::access::submission::Mode;
use crate::operator::applications::{Applications, Mode as Which};
use crate::operator::health::Health;
use crate::plan::plan;
use crate::plan::snapshot::{
    AdmissionPolicySpec, ConfigMapState, Entry, Meta, Observed, Snapshot, YUNIKORN_DEFAULTS,
};
use crate::server::caller::Callers;
use crate::server::knowledge::Publisher;

const QUEUES: &str =
    "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: sue}]}]}]\n";

fn snapshot(mode: Option<Mode>) -> Snapshot {
    let data = [("queues.yaml".to_owned(), QUEUES.to_owned())].into();
    let map = ConfigMapState { name: YUNIKORN_DEFAULTS.to_owned(), data, ..ConfigMapState::default() };
    let policy = AdmissionPolicySpec { submission: mode, ..AdmissionPolicySpec::default() };
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

async fn namespace(request: Request<kube::client::Body>) -> Result<http::Response<Body>, Infallible> {
    let path = request.uri().path();
    assert!(!path.ends_with("/namespaces/fault"), "as if the fault were ours");
    let found = path.ends_with("/namespaces/jobs");
    let (code, body) = if found {
        (
            200,
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "jobs"}}),
        )
    } else {
        (
            404,
            json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
            "message": "gone"}),
        )
    };
    Ok(http::Response::builder().status(code).body(Body::from(body.to_string())).unwrap())
}

struct Door {
    router: Router,
    health: Arc<Health>,
}

impl Door {
    fn new(snapshot: Option<Snapshot>) -> Self {
        let client = Client::new(tower::service_fn(namespace), "default");
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

    async fn ask(&self, review: &Value) -> Value {
        let request = Request::post("/submission").header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()["response"].clone()
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
        let door = Door::new(Some(snapshot(mode)));
        let answer = door.ask(&review("bob", "jobs")).await;
        assert_eq!(
            (&answer["uid"], &answer["allowed"]),
            (&json!("u1"), &json!(allowed)),
            "{mode:?}: {answer}"
        );
        assert_eq!(answer["warnings"].as_array().map_or(0, Vec::len), warnings, "{mode:?}: {answer}");
        let own = door.ask(&review("sue", "jobs")).await;
        assert_eq!((&own["allowed"], &own["warnings"]), (&json!(true), &Value::Null), "{mode:?}: {own}");
    }
}

#[tokio::test]
async fn a_refusal_has_the_reason_and_is_counted() {
    let door = Door::new(Some(snapshot(Some(Mode::Deny))));
    let answer = door.ask(&review("bob", "jobs")).await;
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(message.contains("no ACL on the way from root.prod up to root names user bob"), "{message}");
    assert_eq!(answer["auditAnnotations"]["decision"], "refused");
    let metrics = door.health.metrics.text(&[]);
    let counted = r#"queuewarden_decisions_total{verb="submit",decision="refused",clause="acl"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn whatever_is_not_known_lets_pass() {
    let deny = || Door::new(Some(snapshot(Some(Mode::Deny))));
    for namespace in ["kube-system", "queuewarden-system", "not-there", "fault"] {
        let answer = deny().ask(&review("bob", namespace)).await;
        assert_eq!(
            (&answer["allowed"], &answer["uid"]),
            (&json!(true), &json!("u1")),
            "{namespace}: {answer}"
        );
    }
    assert_eq!(Door::new(None).ask(&review("bob", "jobs")).await["allowed"], true);
    for odd in
        [json!({}), json!({"request": 1}), json!({"request": {"uid": "u", "object": {"spec": 1}}}), json!([])]
    {
        assert_eq!(deny().ask(&odd).await["allowed"], true, "{odd}");
    }
    let door = deny();
    door.ask(&review("bob", "fault")).await;
    let metrics = door.health.metrics.text(&[]);
    let counted = r#"queuewarden_decisions_total{verb="submit",decision="undecided",clause="fault"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    let mut unreadable = snapshot(Some(Mode::Deny));
    unreadable.defaults.as_mut().unwrap().data.insert("queues.yaml".to_owned(), "{".to_owned());
    let answer = Door::new(Some(unreadable)).ask(&review("bob", "jobs")).await;
    assert_eq!(
        (&answer["allowed"], &answer["auditAnnotations"]["decision"]),
        (&json!(true), &json!("undecided"))
    );
}
