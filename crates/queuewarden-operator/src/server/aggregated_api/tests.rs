//! Tests the endpoints with an in-memory API server in front, which proxies requests and decides on
//! permissions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};

use super::testing::{certificate, data};
use super::*;
use crate::controller::testing::{Issuer, issuer};
use crate::server::testing::{self, Got, client, defaults, not_found, reply};
use queuewarden_plan::snapshot::Snapshot;

const QUEUES: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: 'sue devs', adminacl: ann}]}]}]\n";
const ALL: &str = "/apis/access.queuewarden.dev/v1alpha1/queues";
const NAMED: &str = "/apis/access.queuewarden.dev/v1alpha1/queueaccessreviews";
const OWN: &str = "/apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews";

/// The API server: `reader` may read queues, all users may create reviews, and nothing else is allowed.
#[derive(Default)]
struct ApiServer {
    /// The authority that it publishes.
    published: Mutex<Option<Issuer>>,
    reads: AtomicUsize,
    mute: AtomicBool,
}

impl ApiServer {
    async fn answer(&self, request: Request<kube::client::Body>) -> http::Response<Body> {
        if self.mute.load(Ordering::Relaxed) {
            return reply(500, &json!({}));
        }
        let path = request.uri().path().to_owned();
        if path.ends_with("/extension-apiserver-authentication") {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let published = self.published.lock().unwrap();
            let Some(issuer) = published.as_ref() else {
                return not_found();
            };
            return reply(200, &json!({"metadata": {"name": "x"}, "data": data(issuer, r#"["front"]"#)}));
        }
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        let permission = review["spec"]["resourceAttributes"].clone();
        let reads = permission["resource"] == "queues" && review["spec"]["user"] == "reader";
        let reviews = permission["verb"] == "create" && permission["group"] == "access.queuewarden.dev";
        review["status"] = json!({"allowed": reads || reviews, "reason": "RBAC"});
        reply(201, &review)
    }
}

struct AggregatedService {
    fixture: testing::TestService,
    server: Arc<ApiServer>,
    certificate: Vec<CertificateDer<'static>>,
}

impl AggregatedService {
    fn closed() -> Self {
        let server = Arc::new(ApiServer::default());
        let issuer = issuer("proxies");
        let certificate = certificate(&issuer, "front");
        *server.published.lock().unwrap() = Some(issuer);
        let behind = Arc::clone(&server);
        let client = client(move |request| {
            let server = Arc::clone(&behind);
            async move { server.answer(request).await }
        });
        Self { fixture: testing::TestService::closed(router(), client), server, certificate }
    }

    fn open() -> Self {
        let service = Self::closed();
        service.knows(QUEUES);
        service
    }

    fn knows(&self, queues: &str) {
        self.fixture
            .learn(Snapshot { defaults: Some(defaults("queues.yaml", queues)), ..testing::snapshot() });
    }

    async fn send(&self, user: &str, request: http::request::Builder, body: impl Into<Body>) -> Got {
        let peer = Peer::new(([127, 0, 0, 1], 1).into(), self.certificate.clone().into());
        let request = request.header("X-Remote-User", user).extension(peer);
        self.fixture.send(request.body(body.into()).unwrap()).await
    }

    async fn get(&self, user: &str, path: &str) -> Got {
        self.send(user, Request::get(path), Body::empty()).await
    }

    async fn create(&self, user: &str, path: &str, spec: Value) -> Got {
        let kind = if path == OWN { "SelfQueueAccessReview" } else { "QueueAccessReview" };
        let review = json!({"apiVersion": "access.queuewarden.dev/v1alpha1", "kind": kind, "spec": spec});
        self.send(user, Request::post(path), review.to_string()).await
    }
}

fn submit(user: &str) -> Value {
    json!({"user": user, "groups": ["x"], "verb": "submit", "queue": "root.prod"})
}

#[tokio::test]
async fn queues_are_for_those_who_may_read_them() {
    let service = AggregatedService::open();
    let got = service.get("reader", ALL).await;
    assert_eq!(
        got.warnings(),
        ["299 - \"queues created by placement rules are not shown: the YuniKornConfig has no schedulerUrl\""]
    );
    let list = got.expect(200, "QueueList");
    assert_eq!(list["items"][1]["status"]["submit"]["subjects"][0]["name"], "sue");
    service.get("reader", &format!("{ALL}/root.prod")).await.expect(200, "\"leaf\":true");
    service.get("reader", &format!("{ALL}/root.none")).await.expect(404, "NotFound");
    service.get("reader", &format!("{ALL}/root.a/b%2Fc")).await.expect(404, r#"\"root.a/b/c\" not found"#);
    service.get("reader", &format!("{ALL}/root.PROD")).await.expect(404, "queue names are in lower case");
    service.get("sue", ALL).await.expect(403, r#"User \"sue\" cannot list resource \"queues\""#);
    service.get("sue", &format!("{ALL}/root.prod")).await.expect(403, "cannot get");
    service
        .get("reader", &format!("{ALL}?fieldSelector=status.partition%3Dgpu"))
        .await
        .expect(400, "no partition `gpu`");
    service.send("reader", Request::delete(ALL), Body::empty()).await.expect(405, "MethodNotAllowed");
    service
        .send("reader", Request::patch(format!("{OWN}/x")), Body::empty())
        .await
        .expect(405, "MethodNotAllowed");
    service
        .get("reader", "/apis/access.queuewarden.dev/v1alpha1/pods")
        .await
        .expect(404, "requested resource");
}

/// A connection keeps its certificate for all its requests.
#[tokio::test]
async fn the_certificate_alone_is_nobodys() {
    let mut service = AggregatedService::open();
    service.get("", ALL).await.expect(401, "does not name the user of the request");
    service.certificate = Vec::new();
    service.get("reader", ALL).await.expect(401, "authenticate with a client certificate");
}

#[tokio::test]
async fn reviews_are_answered_to_those_whom_they_concern() {
    let service = AggregatedService::open();
    let own = json!({"verb": "submit", "queue": "root.prod"});
    let answer = service.create("sue", OWN, own.clone()).await.expect(201, "\"allowed\":true");
    assert_eq!(answer["status"]["user"], "sue");
    service.create("bob", OWN, own).await.expect(201, "\"allowed\":false");
    service.create("ann", NAMED, submit("sue")).await.expect(201, "\"allowed\":true");
    service.create("sue", NAMED, submit("bob")).await.expect(403, "only administrators of the queue");
    let invented = json!({"user": "sue", "groups": ["devs"], "verb": "submit", "queue": "root.prod"});
    service.create("sue", NAMED, invented).await.expect(403, "may ask about other users");
    let mut slip = submit("ann");
    slip["quue"] = "x".into();
    let warned = service.create("ann", NAMED, slip).await;
    assert_eq!(warned.warnings(), [r#"299 - "unknown field \"spec.quue\"""#]);
    warned.expect(201, "status");
    service.create("ann", NAMED, json!({"verb": "submit", "queue": "root"})).await.expect(422, "spec.user");
    service.create("ann", NAMED, json!("x")).await.expect(422, "spec");
    service.send("ann", Request::post(NAMED), "x").await.expect(400, "not JSON");
    service
        .send("ann", Request::post(NAMED).header("content-type", "application/yaml"), "{}")
        .await
        .expect(415, "application/json");
    let odd = json!({"verb": "submit", "queue": "root.a b"});
    service.create("reader", OWN, odd.clone()).await.expect(201, "is not a queue");
    service.create("sue", OWN, odd).await.expect(201, "or there is no such queue");
    service
        .create("a b", OWN, json!({"verb": "submit", "queue": "root"}))
        .await
        .expect(201, "YuniKorn refuses every request of user `a b`");
    for (decision, clause, times) in [
        ("allowed", "submitacl", 2),
        ("denied", "acl", 1),
        ("forbidden", "asker", 2),
        ("denied", "no_queue", 2),
        ("denied", "identity", 1),
    ] {
        assert_eq!(service.fixture.counted("submit", decision, clause), times, "{decision} {clause}");
    }
}

/// `reader` may read queues, `ann` administers the queue, and all others get only the part that concerns
/// themselves.
#[tokio::test]
async fn review_about_oneself_without_the_right_to_read_has_no_names_of_others() {
    let service = AggregatedService::open();
    let own = |queue: &str| json!({"verb": "submit", "queue": queue});
    let about_eve = json!({"user": "eve", "verb": "submit", "queue": "root.prod"});
    for (path, spec) in [(OWN, own("root.prod")), (NAMED, about_eve)] {
        let answer =
            service.create("eve", path, spec).await.expect(201, "ask an administrator of the cluster");
        let status = answer["status"].to_string();
        for name in ["sue", "devs", "ann", "adminacl", "trace", "remedies"] {
            assert!(!status.contains(name), "{path} {name}: {status}");
        }
    }
    let status = async |queue: &str, partition: &str| {
        let spec = json!({"verb": "submit", "queue": queue, "partition": partition});
        let answer = service.create("eve", OWN, spec).await.expect(201, "\"allowed\":false");
        answer["status"].to_string().replace(queue, "QUEUE").replace(partition, "PARTITION")
    };
    let there = status("root.prod", "default").await;
    assert_eq!(status("root.none", "default").await, there);
    assert_eq!(status("root.a b", "default").await, there);
    assert_eq!(status("root.prod", "gpu").await, there);
    let answer = service.create("sue", OWN, own("root.Prod")).await.expect(201, "\"allowed\":true");
    assert_eq!(answer["status"]["entry"], json!({"kind": "User", "name": "sue"}));
    for who in ["reader", "ann"] {
        service.create(who, OWN, own("root.prod")).await.expect(201, "\"text\":\"sue devs\"");
    }
}

#[tokio::test]
async fn nothing_is_answered_by_guess() {
    let service = AggregatedService::closed();
    service.get("reader", ALL).await.expect(503, "queuewarden has not read everything yet");
    let own = json!({"verb": "submit", "queue": "root.prod"});
    service
        .create("sue", OWN, own.clone())
        .await
        .expect(201, "\"evaluationError\":\"the ACLs are unknown at the moment");
    service.knows("partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]\n");
    service.get("reader", ALL).await.expect(503, "the configuration that it runs is unknown");
    service.create("sue", OWN, own.clone()).await.expect(201, "evaluationError");
    service.knows(QUEUES);
    service.get("reader", ALL).await.expect(200, "root.prod");
    // Cached answers stay valid for seconds; other answers need a request.
    service.server.mute.store(true, Ordering::Relaxed);
    service.get("another", ALL).await.expect(503, "cannot check your permissions with Kubernetes");
    service.create("bob", OWN, own).await.expect(503, "cannot check your permissions with Kubernetes");
}

#[tokio::test(start_paused = true)]
async fn the_authority_may_be_replaced_and_strangers_do_not_make_it_read_again_and_again() {
    let mut service = AggregatedService::open();
    service.get("reader", ALL).await.expect(200, "root");
    let other = issuer("others");
    let stranger = certificate(&issuer("strangers"), "front");
    service.certificate = certificate(&other, "front");
    *service.server.published.lock().unwrap() = Some(other);
    service.get("reader", ALL).await.expect(401, "Unauthorized");
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    service.get("reader", ALL).await.expect(200, "root");
    assert_eq!(service.server.reads.load(Ordering::Relaxed), 2);
    let known = std::mem::replace(&mut service.certificate, stranger);
    for _ in 0..20 {
        service.get("reader", ALL).await.expect(401, "the client certificate is not accepted here");
    }
    assert_eq!(service.server.reads.load(Ordering::Relaxed), 2);
    // The last data stays valid if it cannot be read again.
    service.certificate = known;
    service.server.mute.store(true, Ordering::Relaxed);
    tokio::time::advance(std::time::Duration::from_secs(100)).await;
    service.get("another", ALL).await.expect(503, "cannot check your permissions with Kubernetes");
    service.server.mute.store(false, Ordering::Relaxed);
    // Withdrawn data does not.
    *service.server.published.lock().unwrap() = None;
    tokio::time::advance(std::time::Duration::from_secs(100)).await;
    service.get("reader", ALL).await.expect(503, "extension-apiserver-authentication");
    assert_eq!(service.server.reads.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn what_there_is_is_advised_to_everyone_and_only_once() {
    let service = AggregatedService::closed();
    *service.server.published.lock().unwrap() = None;
    for path in [
        "/apis",
        "/apis/access.queuewarden.dev",
        ROOT,
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/apis/access.queuewarden.dev/v1alpha1",
    ] {
        let got = service.get("", path).await;
        let tag = got.headers.get("etag").unwrap().clone();
        got.expect(200, "access.queuewarden.dev");
        let again = service.send("", Request::get(path).header("if-none-match", tag), Body::empty()).await;
        assert_eq!(again.code, StatusCode::NOT_MODIFIED, "{path}");
    }
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let got = service.send("", Request::get("/apis").header("accept", accept), Body::empty()).await;
    assert_eq!(
        got.headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    got.expect(200, "APIGroupDiscoveryList");
    let root = service.get("", "/openapi/v3").await.expect(200, "serverRelativeURL");
    let hash = root["paths"]["apis/access.queuewarden.dev/v1alpha1"]["serverRelativeURL"].as_str().unwrap();
    service.get("", hash).await.expect(200, "SelfQueueAccessReview");
    service.get("reader", ALL).await.expect(503, "extension-apiserver-authentication");
}

#[test]
fn the_first_shape_that_there_is_wins() {
    let [table, beta] = ["v1", "v1beta1"].map(|version| ["Table", "meta.k8s.io", version]);
    let offered = [OBJECT, table, beta].map(|format| (format, format));
    let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    for (accept, expected) in [
        (None, Some(OBJECT)),
        (Some(kubectl), Some(table)),
        (Some("application/json;g=meta.k8s.io;v=v1beta1;as=Table"), Some(beta)),
        (Some("application/json;as=Table;v=v9;g=meta.k8s.io, */*"), Some(OBJECT)),
        (Some("application/vnd.kubernetes.protobuf, application/json"), Some(OBJECT)),
        (Some("application/vnd.kubernetes.protobuf"), None),
        (Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), None),
        (Some("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"), None),
        (Some(""), None),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        }
        assert_eq!(accepted(&headers, &offered).ok().copied(), expected, "{accept:?}");
    }
}
