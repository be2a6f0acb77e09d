//! Tests the endpoints with an API server that knows the namespaces `jobs` and `quiet`, and optionally has
//! `YuniKorn`'s own webhook.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use http::Request;
use k8s_openapi::ByteString;
use serde_json::json;

use super::*;
use crate::server::testing::{self, TestService, client, defaults, not_found, reply};
use queuewarden_plan::snapshot::{AdmissionPolicySpec, Entry, Meta, Snapshot};
use yunikorn::admission::UserInfo;
use yunikorn::admission::request::USER_INFO;
use yunikorn::testing::is_same_refusal;
use yunikorn_access::alias::{Kind, alias};
use yunikorn_access::user_info::Settings;

const STRICT: Settings =
    Settings { mode: Mode::Enforce, profile: Profile::Strict, templates: Vec::new(), operators: Vec::new() };
const PARITY: Settings = Settings {
    mode: Mode::Enforce,
    profile: Profile::YuniKorn,
    templates: Vec::new(),
    operators: Vec::new(),
};
const OWN: &str = r#"{"user":"alice","groups":["devs"]}"#;
const BOB: &str = r#"{"user":"bob"}"#;

fn snapshot(user_info: Option<Settings>) -> Snapshot {
    let policy = AdmissionPolicySpec { user_info, ..AdmissionPolicySpec::default() };
    Snapshot {
        policies: vec![Entry { meta: Meta::default(), spec: Ok(policy), in_force: None }],
        defaults: Some(defaults("admissionController.filtering.noLabelNamespaces", "^quiet$")),
        ..testing::snapshot()
    }
}

/// Returns endpoints whose API server has objects at paths with these suffixes, with these annotations.
fn closed(known: Vec<(String, Value)>) -> TestService {
    let answer = move |request: Request<kube::client::Body>| {
        let found = known.iter().find(|(path, _)| request.uri().path().ends_with(path));
        std::future::ready(found.map_or_else(not_found, |(_, annotations)| {
            let metadata = json!({"name": "x", "annotations": annotations});
            reply(200, &json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}))
        }))
    };
    TestService::closed(router(), client(answer))
}

/// Returns the namespaces `jobs` and `quiet`, and optionally `YuniKorn`'s own webhook.
fn namespaces(yunikorn: bool) -> Vec<(String, Value)> {
    let hook = yunikorn.then_some("mutatingwebhookconfigurations/yunikorn-admission-controller-mutations");
    let known = ["namespaces/jobs", "namespaces/quiet"].into_iter().chain(hook);
    known.map(|path| (path.to_owned(), Value::Null)).collect()
}

fn service(settings: Settings) -> TestService {
    closed(namespaces(false)).knowing(snapshot(Some(settings)))
}

/// Returns a review of an object of this kind that `alice` creates, with these annotations on its pods.
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
        let service = closed(namespaces(false)).knowing(snapshot(settings.clone()));
        let own = service.ask("/user-info", &created("Deployment", "jobs", &json!({}))).await;
        assert_eq!((&own["allowed"], &own["uid"]), (&json!(true), &json!("u1")));
        assert_eq!(own["patch"].is_string(), patched, "{settings:?}: {own}");
        for path in ["/user-info", "/user-info/check"] {
            let other = service.ask(path, &created("Deployment", "jobs", &json!({USER_INFO: BOB}))).await;
            assert_eq!(other["allowed"], !refused, "{settings:?} {path}: {other}");
        }
    }
}

#[tokio::test]
async fn what_would_be_refused_is_counted_once() {
    let service = service(Settings { mode: Mode::Audit, ..STRICT });
    let review = created("Deployment", "jobs", &json!({USER_INFO: BOB}));
    let answer = service.ask("/user-info", &review).await;
    assert_eq!(answer["auditAnnotations"]["clause"], "not_allowed");
    service.ask("/user-info/check", &review).await;
    assert_eq!(service.counted("user_info", "refused", "not_allowed"), 1);
}

#[tokio::test]
async fn at_the_end_nothing_is_changed_and_what_is_missing_is_refused() {
    let service = service(STRICT);
    let missing = service.ask("/user-info/check", &created("Pod", "jobs", &json!({}))).await;
    assert_eq!((&missing["allowed"], &missing["patch"]), (&json!(false), &Value::Null), "{missing}");
    assert!(missing["status"]["message"].as_str().unwrap().contains("still missing"), "{missing}");
    let own = service.ask("/user-info/check", &created("Pod", "jobs", &json!({USER_INFO: OWN}))).await;
    assert_eq!(own["allowed"], true, "{own}");
}

#[tokio::test]
async fn the_holes_are_closed_in_profile_strict_alone() {
    let update = updated("Deployment", &json!({USER_INFO: OWN}), &json!({USER_INFO: BOB}));
    let controller = created("ReplicationController", "jobs", &json!({USER_INFO: BOB}));
    for (settings, allowed) in [(PARITY, true), (STRICT, false)] {
        for review in [&update, &controller] {
            let answer = service(settings.clone()).ask("/user-info", review).await;
            assert_eq!(answer["allowed"], allowed, "{settings:?}: {answer}");
        }
    }
    // Annotations that are written twice, the second time without the name.
    let quiet = created("Pod", "quiet", &json!({}));
    let lost = patch(&service(PARITY).ask("/user-info", &quiet).await);
    assert_eq!(
        lost.as_array().unwrap().last().unwrap()["value"],
        json!({"yunikorn.apache.org/ignore-application": "true"})
    );
    let kept = patch(&service(STRICT).ask("/user-info", &quiet).await);
    assert_eq!(
        kept,
        json!([{"op": "add", "path": "/metadata/annotations/yunikorn.apache.org~1user.info", "value": OWN}])
    );
}

#[tokio::test]
async fn parity_is_byte_for_byte() {
    let answer =
        service(PARITY).ask("/user-info", &created("Deployment", "jobs", &json!({"a": "<b>"}))).await;
    let bytes: ByteString = serde_json::from_value(answer["patch"].clone()).unwrap();
    assert_eq!(
        String::from_utf8(bytes.0).unwrap(),
        r#"[{"op":"add","path":"/spec/template/metadata/annotations","value":{"a":"\u003cb\u003e","yunikorn.apache.org/user.info":"{\"user\":\"alice\",\"groups\":[\"devs\"]}"}}]"#
    );
    let refused = service(PARITY).ask("/user-info", &created("Pod", "jobs", &json!({USER_INFO: BOB}))).await;
    let message = "user alice with groups [devs] is not allowed to set user annotation";
    assert_eq!((&refused["allowed"], &refused["status"]["message"]), (&json!(false), &json!(message)));
    assert_eq!(refused.get("warnings"), None);
}

/// Returns the class of a pod. The recorder had one without a name, unlike real clusters.
fn priority_class(pod: &Value) -> &str {
    match pod["priorityClass"].as_str().unwrap() {
        "" => "nameless",
        name => name,
    }
}

/// Returns a recorded request as an API server sends it.
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
    for line in include_str!("../../../../../tests/vectors/yunikorn-mutate.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (asked, expected) = (&row["asked"], &row["answer"]);
        let mut snapshot = snapshot(Some(PARITY));
        let data: Option<_> = serde_json::from_value(asked["configs"]["data"].clone()).unwrap();
        Arc::make_mut(snapshot.defaults.as_mut().unwrap()).data = data.unwrap_or_default();
        let namespace = match asked["namespace"].as_str().unwrap() {
            "" => "default",
            other => other,
        };
        let class = priority_class(&asked["pod"]);
        let known = vec![
            (format!("namespaces/{namespace}"), asked["namespaceAnnotations"].clone()),
            (format!("priorityclasses/{class}"), asked["priorityClassAnnotations"].clone()),
        ];
        let answer = closed(known).knowing(snapshot).ask("/user-info", &recorded(asked)).await;
        if namespace == "kube-system" {
            assert_eq!(answer, json!({"uid": "u1", "allowed": true}));
            continue;
        }
        assert_eq!(answer["allowed"], expected["allowed"], "{line}: {answer}");
        assert_eq!(patch(&answer), expected["patch"], "{line}");
        if expected["allowed"] == false {
            let [ours, theirs] = [&answer["status"]["message"], &expected["message"]];
            assert!(is_same_refusal(ours.as_str().unwrap(), theirs.as_str().unwrap()), "{ours}: {line}");
            refused += 1;
        }
        patched += usize::from(answer.get("patch").is_some());
    }
    assert!(patched > 50 && refused > 20, "{patched} {refused}");
}

/// Names are escaped only where `YuniKorn` escapes them.
#[tokio::test]
async fn parity_repeats_names_as_they_are() {
    let mut review = created("Pod", "jobs", &json!({USER_INFO: BOB}));
    review["request"]["userInfo"]["username"] = "a\u{1}\\\u{2028}b".into();
    let refused = service(PARITY).ask("/user-info", &review).await;
    let message = "user a\u{1}\\\u{2028}b with groups [devs] is not allowed to set user annotation";
    assert_eq!(refused["status"]["message"], message);
    let reason = refused["auditAnnotations"]["reason"].as_str().unwrap();
    assert!(!reason.contains('\u{1}'), "{reason}");
}

/// The annotation that its controller adds for alice is refused from alice herself, but allowed after the
/// controller.
#[tokio::test]
async fn beside_yunikorns_controller_its_own_work_passes() {
    let review = created("Pod", "jobs", &json!({USER_INFO: OWN}));
    for (yunikorn, allowed) in [(false, false), (true, true)] {
        let service = closed(namespaces(yunikorn)).knowing(snapshot(Some(PARITY)));
        let answer = service.ask("/user-info", &review).await;
        assert_eq!((&answer["allowed"], &answer["patch"]), (&json!(allowed), &Value::Null), "{answer}");
    }
    let service = closed(namespaces(true)).knowing(snapshot(Some(PARITY)));
    assert_eq!(
        service.ask("/user-info", &created("Pod", "jobs", &json!({USER_INFO: BOB}))).await["allowed"],
        false
    );
}

/// If the registration cannot be read, `failurePolicy` decides, also for further requests until it can.
#[tokio::test(start_paused = true)]
async fn beside_nobody_knows_whom_is_an_error() {
    // The API server's status code for webhooks; at 0 it does not answer.
    let code = Arc::new(AtomicU16::new(0));
    let says = Arc::clone(&code);
    let answer = move |request: Request<kube::client::Body>| {
        let hook = request.uri().path().contains("mutatingwebhookconfigurations");
        let code = if hook { says.load(Ordering::SeqCst) } else { 200 };
        async move {
            match code {
                0 => std::future::pending().await,
                200 => {
                    let kind = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "x"}});
                    reply(200, &kind)
                }
                _ => reply(
                    403,
                    &json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden",
                        "message": "not yours"}),
                ),
            }
        }
    };
    let service = TestService::closed(router(), client(answer)).knowing(snapshot(Some(PARITY)));
    let review = created("Pod", "jobs", &json!({USER_INFO: OWN}));
    service.reviewed("/user-info", &review).await.expect(503, "was not received in time");
    code.store(403, Ordering::SeqCst);
    service.reviewed("/user-info", &review).await.expect(503, "not yours");
    let other = created("Pod", "jobs", &json!({USER_INFO: BOB}));
    assert_eq!(service.ask("/user-info", &other).await["allowed"], false);
    code.store(200, Ordering::SeqCst);
    assert_eq!(service.ask("/user-info", &review).await["allowed"], true);
    // The answer is cached for a while.
    code.store(403, Ordering::SeqCst);
    assert_eq!(service.ask("/user-info", &review).await["allowed"], true);
}

#[tokio::test]
async fn namespaces_of_the_cluster_are_left_alone() {
    for namespace in ["kube-system", testing::OWN_NAMESPACE] {
        for path in ["/user-info", "/user-info/check"] {
            let answer =
                service(STRICT).ask(path, &created("Pod", namespace, &json!({USER_INFO: BOB}))).await;
            assert_eq!(answer, json!({"uid": "u1", "allowed": true}), "{namespace}");
        }
    }
}

/// The policy of the API server leaves texts that it cannot compare to the webhook.
#[tokio::test]
async fn namespaces_of_the_operators_have_no_foreign_aliases() {
    let forged = r#"{"user":"alice","groups":["devs","qw-u-boss-00112233445566778899aabbccddeeff"]}"#;
    let escaped = forged.replace("qw-", r"\u0071w-");
    for (namespace, text, allowed) in [
        (testing::OWN_NAMESPACE, forged, false),
        (testing::OWN_NAMESPACE, &escaped, false),
        (testing::OWN_NAMESPACE, OWN, true),
        ("kube-system", forged, true),
        ("jobs", &escaped, false),
    ] {
        let review = created("Pod", namespace, &json!({USER_INFO: text}));
        let answer = service(STRICT).ask("/user-info/check", &review).await;
        assert_eq!(answer["allowed"], allowed, "{namespace} {text}: {answer}");
    }
}

#[tokio::test]
async fn a_text_without_aliases_is_replaced() {
    let mut review =
        created("Pod", "jobs", &json!({"a": "b", USER_INFO: r#"{"user":"alice","groups":["team.a"]}"#}));
    review["request"]["userInfo"]["groups"] = json!(["team.a"]);
    let answer = service(STRICT).ask("/user-info", &review).await;
    let text = format!(r#"{{"user":"alice","groups":["team.a","{}"]}}"#, alias(Kind::Group, "team.a"));
    assert_eq!(
        patch(&answer),
        json!([{"op": "add", "path": "/metadata/annotations/yunikorn.apache.org~1user.info", "value": text}])
    );
    let yunikorns = service(PARITY).ask("/user-info", &review).await;
    assert_eq!(yunikorns["allowed"], false, "{yunikorns}");
}

const KUBERAY: &str = "system:serviceaccount:kuberay:kuberay-operator";

/// Returns a review of a pod that `KubeRay`'s account creates under this name for owners with these names and
/// UIDs.
fn passed_on(namespace: &str, text: &str, owners: &[(&str, &str)]) -> Value {
    let reference = |(name, uid): &(&str, &str)| json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": name, "uid": uid});
    let owners: Vec<Value> = owners.iter().map(reference).collect();
    let mut review = created("Pod", namespace, &json!({USER_INFO: text}));
    review["request"]["userInfo"]["username"] = KUBERAY.into();
    review["request"]["object"]["metadata"]["ownerReferences"] = owners.into();
    review
}

/// Returns endpoints that treat `KubeRay`'s account as an operator. Their API server has the `RayCluster`s
/// `alices` and `bobs`, refuses to return `secret`, and counts requests.
fn operators() -> (TestService, Arc<AtomicU16>) {
    let calls = Arc::new(AtomicU16::new(0));
    let count = Arc::clone(&calls);
    let answer = move |request: Request<kube::client::Body>| {
        count.fetch_add(1, Ordering::SeqCst);
        let path = request.uri().path().to_owned();
        let cluster = |uid: &str, text: &str| {
            let head = json!({"template": {"metadata": {"annotations": {USER_INFO: text}}}});
            reply(200, &json!({"metadata": {"uid": uid}, "spec": {"headGroupSpec": head}}))
        };
        std::future::ready(match path.strip_prefix("/apis/ray.io/v1/namespaces/jobs/rayclusters/") {
            Some("alices") => cluster("a", OWN),
            Some("bobs") => cluster("b", BOB),
            Some("secret") => reply(
                403,
                &json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"}),
            ),
            _ => not_found(),
        })
    };
    let template = |resource: &str| user_info::Template {
        group: "ray.io".to_owned(),
        version: None,
        resource: resource.to_owned(),
        path: "spec.headGroupSpec.template".to_owned(),
    };
    let templates = vec![template("rayjobs"), template("rayclusters")];
    let settings = Settings { templates, operators: vec![KUBERAY.to_owned()], ..STRICT };
    (TestService::closed(router(), client(answer)).knowing(snapshot(Some(settings))), calls)
}

#[tokio::test]
async fn an_operator_passes_on_the_name_in_the_resource_that_owns_its_pod() {
    let (service, _) = operators();
    let own = UserInfo { user: KUBERAY.to_owned(), groups: vec!["devs".to_owned()] }.write();
    for (text, owners, reason) in [
        (OWN, &[("alices", "a")][..], None),
        (&own, &[], None),
        (BOB, &[("alices", "a")], Some("RayCluster `alices`, which owns it, names user `alice`")),
        (BOB, &[("bobs", "b"), ("alices", "a")], Some("names user `alice`")),
        (OWN, &[], Some("no resource of a kind in spec.userInfo.templates owns it")),
        // This message gives nothing away, because the existence of such an object is not secret.
        (OWN, &[("alices", "other")], Some("no RayCluster `alices` with the UID")),
        (OWN, &[("none", "a")], Some("no RayCluster `none` with the UID")),
        (OWN, &[("../rayclusters/alices", "a")], Some("with the UID")),
        (OWN, &[("secret", "a")], Some("allow queuewarden's service account to get it")),
    ] {
        for path in ["/user-info", "/user-info/check"] {
            let answer = service.ask(path, &passed_on("jobs", text, owners)).await;
            assert_eq!(answer["allowed"], reason.is_none(), "{path} {text} {owners:?}: {answer}");
            let message = answer["status"]["message"].to_string();
            assert!(reason.is_none_or(|reason| message.contains(reason)), "{message}");
        }
    }
    // Other owners are not looked up, and the ignored namespaces are not a way around the check.
    let mut alices = passed_on("jobs", BOB, &[("bobs", "b")]);
    alices["request"]["userInfo"]["username"] = "alice".into();
    assert_eq!(service.ask("/user-info", &alices).await["auditAnnotations"]["clause"], "not_allowed");
    for (text, allowed) in [(BOB, false), ("", true)] {
        let mut review = passed_on(testing::OWN_NAMESPACE, text, &[]);
        if text.is_empty() {
            review["request"]["object"]["metadata"]["annotations"] = json!({});
        }
        let answer = service.ask("/user-info/check", &review).await;
        assert_eq!(answer["allowed"], allowed, "{answer}");
    }
}

#[tokio::test]
async fn an_owner_is_read_once_for_many_pods_and_only_if_it_decides() {
    let (service, calls) = operators();
    for _ in 0..50 {
        let answer = service.ask("/user-info", &passed_on("jobs", OWN, &[("alices", "a")])).await;
        assert_eq!(answer["allowed"], true, "{answer}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let mut unnamed = passed_on("jobs", OWN, &[("bobs", "b")]);
    unnamed["request"]["object"]["metadata"]["annotations"] = json!({});
    assert_eq!(service.ask("/user-info", &unnamed).await["allowed"], true);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    for times in 1..3 {
        let answer = service.ask("/user-info", &passed_on("jobs", OWN, &[("none", "a")])).await;
        assert_eq!(answer["allowed"], false);
        // An absence is not cached. Another resource of the group may have the name.
        assert_eq!(calls.load(Ordering::SeqCst), 1 + 2 * times);
    }
}

/// An error lets `failurePolicy` decide.
#[tokio::test]
async fn what_is_not_known_is_an_error() {
    let review = created("Pod", "jobs", &json!({}));
    assert_eq!(closed(namespaces(false)).reviewed("/user-info", &review).await.code, 503);
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused_where_names_are_enforced() {
    let mut odd = created("Deployment", "jobs", &json!({}));
    odd["request"]["userInfo"] = json!({"username": "alice", "groups": 1});
    for (settings, path, allowed, counted) in [
        (STRICT, "/user-info", false, 1),
        (STRICT, "/user-info/check", false, 1),
        (PARITY, "/user-info", false, 1),
        (Settings { mode: Mode::Audit, ..STRICT }, "/user-info", true, 1),
        (Settings { mode: Mode::Off, ..STRICT }, "/user-info", true, 0),
    ] {
        let service = service(settings.clone());
        let answer = service.ask(path, &odd).await;
        assert_eq!(
            (&answer["allowed"], &answer["uid"]),
            (&json!(allowed), &json!("u1")),
            "{settings:?}: {answer}"
        );
        assert_eq!(service.counted("user_info", "refused", "unreadable"), counted, "{settings:?}");
    }
}
