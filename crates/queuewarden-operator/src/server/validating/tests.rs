//! The two endpoints with a client of the API server that panics.

use serde_json::json;

use super::*;
use crate::server::testing::{self, TestService, client};
use queuewarden_plan::snapshot::{ConfigSpec, Delegation, Entry, Meta, Snapshot};

fn closed() -> TestService {
    TestService::closed(
        router().merge(config_map_router()),
        client(async |_| panic!("a fault, as if it were ours")),
    )
}

/// Endpoints with a complete state, in which administrators of queues may write.
fn open() -> TestService {
    let spec = ConfigSpec { delegation: Delegation::Enabled, ..ConfigSpec::default() };
    let config = Some(Entry { meta: Meta::default(), spec: Ok(spec), in_force: None });
    closed().knowing(Snapshot { config, ..testing::snapshot() })
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
    let service = open();
    let answer = service.ask("/validate", &review("QueueAcl", "CREATE")).await;
    assert_eq!((&answer["uid"], &answer["allowed"]), (&json!("u1"), &json!(false)), "{answer}");
    let why = answer["status"]["message"].as_str().unwrap();
    assert!(why.contains("fault in queuewarden"), "{why}");
    assert_eq!(service.counted("create", "undecided", "unknown"), 1);

    let service = closed();
    let answer = service.ask("/configmaps", &review("ConfigMap", "UPDATE")).await;
    assert_eq!((&answer["uid"], &answer["allowed"]), (&json!("u1"), &json!(true)), "{answer}");
    assert!(answer["warnings"][0].as_str().unwrap().contains("cannot decide this"), "{answer}");
    assert_eq!(service.counted("update", "undecided", "unknown"), 1);
}

#[tokio::test]
async fn kubernetes_is_asked_who_writes_a_queue_acl_also_without_delegation() {
    let config = Some(Entry { meta: Meta::default(), spec: Ok(ConfigSpec::default()), in_force: None });
    for snapshot in [testing::snapshot(), Snapshot { config, ..testing::snapshot() }] {
        let no =
            async |_| testing::reply(201, &json!({"metadata": {}, "spec": {}, "status": {"allowed": false}}));
        let service = TestService::closed(router().merge(config_map_router()), client(no)).knowing(snapshot);
        let answer = service.ask("/validate", &review("QueueAcl", "CREATE")).await;
        assert_eq!(answer["allowed"], json!(false), "{answer}");
        assert_eq!(service.counted("create", "refused", "delegation"), 1);
    }
}

#[tokio::test]
async fn a_fault_in_deciding_is_a_doubt() {
    let service = open();
    let known = service.publisher.borrow().clone().unwrap();
    let decided = planned(&Arc::new(Semaphore::new(1)), known, |_| panic!("a fault")).await;
    assert_eq!(decided, Err(InternalError.to_string()));
}

#[tokio::test]
async fn work_that_nobody_waits_for_keeps_its_place() {
    let known = open().publisher.borrow().clone().unwrap();
    let permits = Arc::new(Semaphore::new(1));
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let mut left = Box::pin(planned(&permits, known, move |_| {
        let _ = ended.recv();
        Response::default()
    }));
    assert!(futures::poll!(&mut left).is_pending());
    drop(left);
    assert_eq!(permits.available_permits(), 0);
    drop(end);
    assert!(permits.acquire().await.is_ok());
}

#[tokio::test]
async fn what_is_said_is_counted_by_words_of_ours() {
    let service = open();
    service.ask("/configmaps", &review("ConfigMap", "FROBNICATE")).await;
    assert_eq!(service.counted("other", "accepted", "none"), 1);
    let policy = review("AdmissionPolicy", "DELETE");
    let mut deleted = policy.clone();
    deleted["request"]["oldObject"] = deleted["request"]["object"].take();
    service.ask("/validate", &deleted).await;
    assert_eq!(service.counted("delete", "accepted", "none"), 1);
    let mut wrong = policy;
    wrong["request"]["operation"] = "UPDATE".into();
    wrong["request"]["object"]["spec"] = json!({"submission": "Loud"});
    service.ask("/validate", &wrong).await;
    assert_eq!(service.counted("update", "refused", "invalid"), 1);
}
