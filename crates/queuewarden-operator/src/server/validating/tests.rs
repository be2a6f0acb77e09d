//! Tests both endpoints with a client of the API server that panics.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::*;
use crate::server::testing::{self, TestService, client};
use queuewarden_plan::snapshot::{ConfigSpec, Entry, Meta, Snapshot};

fn closed() -> TestService {
    TestService::closed(
        router().merge(config_map_router()),
        client(async |_| panic!("a fault, as if it were ours")),
    )
}

/// Endpoints with a complete state and delegation enabled.
fn open() -> TestService {
    let spec = ConfigSpec { delegation: true, ..ConfigSpec::default() };
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
    assert!(why.contains("internal error in queuewarden"), "{why}");
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
    let decided =
        planned(&Arc::new(Semaphore::new(1)), (&Budget::new(1), 1), known, |_| panic!("a fault")).await;
    assert_eq!(decided, Err(InternalError.to_string()));
}

#[tokio::test]
async fn work_that_nobody_waits_for_keeps_its_place() {
    let known = open().publisher.borrow().clone().unwrap();
    let permits = Arc::new(Semaphore::new(1));
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let memory = Budget::new(1);
    let mut left = Box::pin(planned(&permits, (&memory, 1), known, move |_| {
        let _ = ended.recv();
        Response::default()
    }));
    assert!(futures::poll!(&mut left).is_pending());
    drop(left);
    assert_eq!((permits.available_permits(), memory.free()), (0, 0));
    drop(end);
    assert!(permits.acquire().await.is_ok());
    assert_eq!(memory.wait(1).await.bytes(), 1);
}

#[tokio::test]
async fn a_crowd_keeps_nobody_but_queuewarden_from_being_checked() {
    use crate::server::bounds::Cut;

    let service = open();
    for (user, cut, allowed) in [
        ("system:serviceaccount:guards:queuewarden", Cut::Crowded, true),
        ("system:serviceaccount:guards:queuewarden", Cut::TooLarge(1), false),
        ("system:serviceaccount:guard:queuewarden", Cut::Crowded, false),
        ("system:serviceaccount:guards", Cut::Crowded, false),
        ("sue", Cut::Late, false),
    ] {
        let mut review = review("ConfigMap", "UPDATE");
        review["request"]["name"] = json!("yunikorn-configs");
        review["request"]["userInfo"]["username"] = json!(user);
        review["request"].as_object_mut().unwrap().remove("object");
        // Like the first bytes of a review, in which the object comes last and is incomplete.
        let head = review["request"].to_string();
        let text = format!(r#"{{"request":{},"object":{{"apiV"#, head.strip_suffix('}').unwrap());
        let mut request = axum::http::Request::post("/configmaps").body(text.into()).unwrap();
        request.extensions_mut().insert(cut);
        let answer = service.send(request).await.expect(200, "u1");
        assert_eq!(answer["response"]["allowed"], json!(allowed), "{user} {cut:?}: {answer}");
    }
}

#[tokio::test]
async fn what_no_api_server_would_store_is_refused_before_it_is_planned() {
    let yes =
        async |_| testing::reply(201, &json!({"metadata": {}, "spec": {}, "status": {"allowed": true}}));
    let config = Some(Entry { meta: Meta::default(), spec: Ok(ConfigSpec::default()), in_force: None });
    let service = TestService::closed(router().merge(config_map_router()), client(yes));
    let service = service.knowing(Snapshot { config, ..testing::snapshot() });
    let mut long = review("QueueAcl", "CREATE");
    long["request"]["object"]["spec"]["submit"] = json!({"acl": "a,".repeat(10_000)});
    let mut status = review("QueueAcl", "UPDATE");
    status["request"]["oldObject"] = status["request"]["object"].clone();
    status["request"]["oldObject"]["status"] = json!({"inForce": {"submit": "a,".repeat(200_000)}});
    let mut notes = review("ConfigMap", "CREATE");
    notes["request"]["name"] = json!("yunikorn-configs");
    notes["request"]["object"]["metadata"]["annotations"] = json!({"a": "b".repeat(300_000)});
    let mut large = review("ConfigMap", "CREATE");
    large["request"]["name"] = json!("yunikorn-configs");
    large["request"]["object"]["data"] = json!({"queues.yaml": "- a\n".repeat(150_000)});
    for (path, review, expected) in [
        ("/validate", long, "spec.submit.acl has 20000 characters; at most 16384"),
        ("/validate", status, "status.inForce.submit has 400000 bytes; at most 262144"),
        ("/configmaps", notes, "metadata.annotations has 300001 bytes; at most 262144"),
        ("/configmaps", large, "more than 150000 nodes"),
    ] {
        let answer = service.ask(path, &review).await;
        assert_eq!(answer["allowed"], json!(false), "{answer}");
        let why = answer["status"]["message"].as_str().unwrap();
        assert!(why.contains(expected), "{why}");
    }
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

fn request(user: &str, operation: &str, old: &Value, new: &Value) -> AdmissionRequest {
    let request =
        json!({"userInfo": {"username": user}, "operation": operation, "object": new, "oldObject": old});
    AdmissionRequest::read(json!({"request": request}).to_string().as_bytes()).unwrap()
}

#[test]
fn kubernetes_tidies_up_and_writes_no_spec() {
    let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    let (one, same, other) = (
        json!({"spec": {"queue": "root.a"}}),
        json!({"metadata": {"finalizers": []}, "spec": {"queue": "root.a"}}),
        json!({"spec": {"queue": "root.b"}}),
    );
    for (user, operation, new, expected) in [
        (collector, "DELETE", &Value::Null, true),
        (collector, "UPDATE", &same, true),
        (collector, "UPDATE", &other, false),
        (collector, "CREATE", &one, false),
        ("system:kube-controller-manager", "DELETE", &Value::Null, true),
        ("system:serviceaccount:default:generic-garbage-collector", "DELETE", &Value::Null, false),
        ("system:serviceaccount:kube-systems:x", "DELETE", &Value::Null, false),
        ("sue", "UPDATE", &same, false),
    ] {
        assert_eq!(is_housekeeping(&request(user, operation, &one, new)), expected, "{user} {operation}");
    }
}

fn promise(name: &str, stored: usize) -> Promise {
    Promise { name: name.to_owned(), writer: "sue".to_owned(), stored }
}

#[tokio::test(start_paused = true)]
async fn a_promise_counts_for_its_client_until_it_ends() {
    let (process, mut promises) = (Budget::new(MIB), Promises::default());
    let stranger = Guest::Stranger(Ipv4Addr::LOCALHOST.into());
    promises.make(Guest::ApiServer, promise("a", 2), &process).unwrap();
    tokio::time::advance(LASTS / 2).await;
    promises.make(Guest::ApiServer, promise("b", 1), &process).unwrap();
    assert_eq!(promises.of(Guest::ApiServer), [promise("a", 2), promise("b", 1)]);
    assert_eq!(promises.of(stranger), []);
    tokio::time::advance(LASTS / 4).await;
    promises.make(Guest::ApiServer, promise("a", 1), &process).unwrap();
    assert_eq!(promises.of(Guest::ApiServer), [promise("b", 1), promise("a", 2)], "the larger size");
    tokio::time::advance(LASTS / 4 * 3).await;
    assert_eq!(promises.of(Guest::ApiServer), [promise("a", 2)]);
    tokio::time::advance(LASTS / 2).await;
    assert_eq!(promises.of(Guest::ApiServer), []);
    assert_eq!(process.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn promises_have_a_bounded_memory() {
    let (process, mut promises) = (Budget::new(2 * ONE), Promises::default());
    assert_eq!(promises.make(Guest::ApiServer, promise("a", 1), &process), Ok(()));
    assert_eq!(promises.make(Guest::ApiServer, promise("b", 1), &process), Err(Full));
    tokio::time::advance(LASTS).await;
    assert_eq!(promises.of(Guest::ApiServer), []);
    assert_eq!(promises.make(Guest::ApiServer, promise("b", 1), &process), Ok(()));
}
