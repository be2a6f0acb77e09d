//! The door behind an API server in memory, which knows tokens and who may what.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::*;
use crate::plan::snapshot::Snapshot;
use crate::server::testing::{self, Door, Got, client, defaults, reply};

const QUEUES: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: 'sue devs'}]}]}, {name: gpu, queues: [{name: root}]}]\n";
const WIDER: &str = "partitions: [{name: default, queues: [{name: root, queues: [{name: prod, submitacl: 'sue,zoe devs'}]}]}]\n";
const HOST: (&str, &str) = ("host", "localhost:8081");

/// Tokens are names; `reader` may see the report, `sue` may not, nobody else is known.
fn door() -> Door {
    door_until(&Arc::default())
}

/// The same until `reader` loses the right.
fn door_until(lost: &Arc<AtomicBool>) -> Door {
    let lost = Arc::clone(lost);
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = client(move |request| {
        let lost = lost.load(Ordering::Relaxed);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let spec = review["spec"].clone();
            review["status"] = if spec["token"].is_string() {
                let known = spec["token"] == "reader" || spec["token"] == "sue";
                json!({"authenticated": known, "user": {"username": spec["token"]}})
            } else {
                let right = spec["nonResourceAttributes"] == json!({"path": "/report", "verb": "get"});
                json!({"allowed": spec["user"] == "reader" && right && !lost})
            };
            reply(201, &review)
        }
    });
    Door::closed(router(), client).knowing(seen(QUEUES))
}

fn seen(queues: &str) -> Snapshot {
    Snapshot { defaults: Some(defaults("queues.yaml", queues)), ..testing::snapshot() }
}

fn get(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::get(path).header(HOST.0, HOST.1);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::empty()).unwrap()
}

fn form(path: &str, body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post(path)
        .header(HOST.0, HOST.1)
        .header("content-type", "application/x-www-form-urlencoded");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.to_owned())).unwrap()
}

const READER: (&str, &str) = ("authorization", "Bearer reader");

fn header_of<'g>(got: &'g Got, name: &str) -> &'g str {
    got.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

/// The cookie of a new session.
async fn signed_in(door: &Door) -> String {
    let got = door.send(form("/sign-in", "token=reader", &[("origin", "http://localhost:8081")])).await;
    assert_eq!((got.code, header_of(&got, "location")), (StatusCode::SEE_OTHER, "/report"));
    let cookie = header_of(&got, "set-cookie").to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn data_are_for_those_who_may_get_the_path() {
    let door = door();
    let data = door.send(get("/report.json", &[READER])).await.expect(200, "root.prod");
    assert_eq!(data["live"]["url"], "report.json?partition=default");
    assert!(data["made"].is_string());
    door.send(get("/report.json", &[])).await.expect(401, "Unauthorized");
    door.send(get("/report.json", &[("authorization", "Bearer eve")])).await.expect(401, "Unauthorized");
    door.send(get("/report.json", &[("authorization", "Bearer sue")]))
        .await
        .expect(403, r#"User \"sue\" cannot get path \"/report\""#);
    door.send(get("/report.json?partition=GPU", &[READER])).await.expect(200, r#""partition":"gpu""#);
    door.send(get("/report.json?partition=none", &[READER])).await.expect(404, "`default`, `gpu`");
}

#[tokio::test]
async fn the_page_needs_a_session_that_ends() {
    let door = door();
    let got = door.send(get("/report", &[])).await;
    assert_eq!(got.code, StatusCode::UNAUTHORIZED);
    assert!(header_of(&got, "content-security-policy").contains("form-action 'self'"));
    let cookie = signed_in(&door).await;
    let own = ("cookie", cookie.as_str());
    let page = door.send(get("/report", &[own])).await;
    assert_eq!((page.code, header_of(&page, "content-type")), (StatusCode::OK, "text/html; charset=utf-8"));
    let policy = header_of(&page, "content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.ends_with("frame-ancestors 'none'"), "{policy}");
    assert_eq!(header_of(&page, "cache-control"), "no-store");
    door.send(get("/report.json", &[own])).await.expect(200, "root.prod");
    // Another site cannot end it, we can.
    let got = door.send(form("/sign-out", "", &[own, ("origin", "https://evil.example")])).await;
    assert_eq!(got.code, StatusCode::FORBIDDEN);
    door.send(get("/report.json", &[own])).await.expect(200, "root.prod");
    let got = door.send(form("/sign-out", "", &[own])).await;
    assert!(header_of(&got, "set-cookie").ends_with("Max-Age=0"));
    door.send(get("/report.json", &[own])).await.expect(401, "Unauthorized");
}

#[tokio::test]
async fn a_session_ends_with_the_right() {
    let lost = Arc::new(AtomicBool::new(false));
    let door = door_until(&lost);
    let cookie = signed_in(&door).await;
    let own = ("cookie", cookie.as_str());
    // What a token in a header may not is nothing to the session beside it.
    door.send(get("/report.json", &[own, ("authorization", "Bearer sue")])).await.expect(403, "sue");
    door.send(get("/report.json", &[own])).await.expect(200, "root.prod");
    lost.store(true, Ordering::Relaxed);
    door.send(get("/report.json", &[own])).await.expect(403, "cannot get path");
    lost.store(false, Ordering::Relaxed);
    door.send(get("/report.json", &[own])).await.expect(401, "Unauthorized");
}

#[tokio::test]
async fn no_session_begins_for_those_who_may_not() {
    let door = door();
    for (typed, code) in [("token=eve", 401), ("token=sue", 403), ("token=", 401), ("token=%20", 401)] {
        let got = door.send(form("/sign-in", typed, &[])).await;
        assert_eq!((got.code.as_u16(), header_of(&got, "set-cookie")), (code, ""), "{typed}");
    }
    let got = door.send(form("/sign-in", "token=reader", &[("sec-fetch-site", "cross-site")])).await;
    assert_eq!((got.code, header_of(&got, "set-cookie")), (StatusCode::FORBIDDEN, ""));
    let made_up = format!("queuewarden-report={}", "0".repeat(64));
    door.send(get("/report.json", &[("cookie", &made_up)])).await.expect(401, "Unauthorized");
}

#[tokio::test]
async fn a_tag_tells_whether_anything_has_changed() {
    let door = door();
    let got = door.send(get("/report.json", &[READER])).await;
    let tag = header_of(&got, "etag").to_owned();
    let again = door.send(get("/report.json", &[READER, ("if-none-match", &tag)])).await;
    assert_eq!((again.code, again.body), (StatusCode::NOT_MODIFIED, Value::Null));
    // Another round in which nothing has changed.
    door.learn(Snapshot { now: "2026-06-01T12:10:00Z".parse().unwrap(), ..seen(QUEUES) });
    let again = door.send(get("/report.json", &[READER, ("if-none-match", &tag)])).await;
    assert_eq!(again.code, StatusCode::NOT_MODIFIED);
    door.learn(seen(WIDER));
    let other = door.send(get("/report.json", &[READER, ("if-none-match", &tag)])).await;
    assert_ne!(header_of(&other, "etag"), tag);
    other.expect(200, "zoe");
}

#[tokio::test]
async fn what_is_not_known_is_not_shown() {
    let door = door();
    door.learn(seen("partitions: [{name: default, queues: [{name: root, submitacl: 'a  b'}]}]\n"));
    door.send(get("/report.json", &[READER])).await.expect(503, "nobody knows which queues");
    let got = door.send(get("/report", &[READER])).await;
    assert_eq!(got.code, StatusCode::SERVICE_UNAVAILABLE);
}
