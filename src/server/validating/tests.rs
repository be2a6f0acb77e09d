//! The two doors with an API server behind them that cannot be asked without a fault.

use std::convert::Infallible;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::operator::applications::Applications;
use crate::operator::health::Health;
use crate::plan::plan;
use crate::plan::snapshot::{ConfigSpec, Delegation, Entry, Meta, Observed, Snapshot};
use crate::server::caller::Callers;
use crate::server::knowledge::Publisher;

struct Door {
    router: Router,
    health: Arc<Health>,
    knows: Publisher,
}

/// Panics, as if the fault were ours.
async fn fault(_: Request<kube::client::Body>) -> Result<http::Response<Body>, Infallible> {
    panic!("a fault")
}

impl Door {
    fn closed() -> Self {
        let client = Client::new(tower::service_fn(fault), "default");
        let (knows, health) = (Publisher::default(), Arc::new(Health::default()));
        let doors = Doors {
            knows: knows.subscribe(),
            client: client.clone(),
            health: Arc::clone(&health),
            applications: Applications::default(),
            callers: Callers::by_token(client),
        };
        Self { router: router().with_state(doors), health, knows }
    }

    /// Where everything was read, and administrators of queues may write.
    fn open() -> Self {
        let door = Self::closed();
        let spec = ConfigSpec { delegation: Delegation::Enabled, ..ConfigSpec::default() };
        let snapshot = Snapshot {
            now: "2026-06-01T12:00:00Z".parse().unwrap(),
            config: Some(Entry { meta: Meta::default(), spec: Ok(spec), in_force: None }),
            queue_acls: Vec::new(),
            policies: Vec::new(),
            access_tests: Vec::new(),
            defaults: None,
            base: None,
            output: None,
            mirror: None,
            observed: Observed::default(),
        };
        let plan = plan(&snapshot);
        door.knows.publish(Knowledge::of(snapshot, plan, None));
        door
    }

    async fn ask(&self, path: &str, review: &Value) -> Value {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()["response"].clone()
    }

    fn counts(&self, verb: &str, decision: &str, clause: &str) {
        let labels = format!(r#"{{verb="{verb}",decision="{decision}",clause="{clause}"}} 1"#);
        let metrics = self.health.metrics.text(&[]);
        assert!(metrics.contains(&format!("queuewarden_decisions_total{labels}")), "{labels}: {metrics}");
    }
}

fn review(kind: &str, operation: &str) -> Value {
    let group = if kind == "ConfigMap" { "" } else { "queuewarden.dev" };
    let version = if kind == "ConfigMap" { "v1" } else { "queuewarden.dev/v1alpha1" };
    let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "yunikorn"},
        "spec": {"queue": "root.prod", "submit": {"users": ["sue"]}}});
    json!({"request": {"uid": "u1", "kind": {"group": group, "kind": kind}, "operation": operation, "name": "a",
        "namespace": "yunikorn", "userInfo": {"username": "sue"}, "object": object}})
}

#[tokio::test]
async fn in_doubt_our_own_kinds_are_refused_and_config_maps_are_not() {
    let door = Door::open();
    let answer = door.ask("/validate", &review("QueueAcl", "CREATE")).await;
    assert_eq!((&answer["uid"], &answer["allowed"]), (&json!("u1"), &json!(false)), "{answer}");
    let why = answer["status"]["message"].as_str().unwrap();
    assert!(why.contains("fault in queuewarden"), "{why}");
    door.counts("create", "undecided", "unknown");

    let door = Door::closed();
    let answer = door.ask("/guard", &review("ConfigMap", "UPDATE")).await;
    assert_eq!((&answer["uid"], &answer["allowed"]), (&json!("u1"), &json!(true)), "{answer}");
    assert!(answer["warnings"][0].as_str().unwrap().contains("cannot judge this"), "{answer}");
    door.counts("update", "undecided", "unknown");
}

#[tokio::test]
async fn a_fault_in_judging_is_a_doubt() {
    let door = Door::open();
    let known = door.knows.last().unwrap();
    let judged = planned(&Semaphore::new(1), known, |_| panic!("a fault")).await;
    assert_eq!(judged, Err(Fault.to_string()));
}

#[tokio::test]
async fn what_is_said_is_counted_by_words_of_ours() {
    let door = Door::open();
    door.ask("/guard", &review("ConfigMap", "FROBNICATE")).await;
    door.counts("other", "accepted", "none");
    let policy = review("AdmissionPolicy", "DELETE");
    let mut deleted = policy.clone();
    deleted["request"]["oldObject"] = deleted["request"]["object"].take();
    door.ask("/validate", &deleted).await;
    door.counts("delete", "accepted", "none");
    let mut wrong = policy;
    wrong["request"]["operation"] = "UPDATE".into();
    wrong["request"]["object"]["spec"] = json!({"submission": "Loud"});
    door.ask("/validate", &wrong).await;
    door.counts("update", "refused", "invalid");
}
