//! Tests with a fake cluster in which some paths may not be read.

use http::Request;
use serde_json::{Value, json};
use yunikorn::admission::BYPASS_AUTH;
use yunikorn_access::Origin;

use super::*;
use crate::source::configuration::ObjectChange;

const QUEUE_ACLS: &str = "/apis/queuewarden.dev/v1alpha1/queueacls";
const POLICIES: &str = "/apis/queuewarden.dev/v1alpha1/admissionpolicies";
const CONFIG: &str = "/apis/queuewarden.dev/v1alpha1/yunikornconfigs/default";
const BASE: &str = "/api/v1/namespaces/yunikorn/configmaps/base";
const TREE: &str = "partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n          - name: team\n";

fn queue_acl(name: &str, user: &str) -> Value {
    json!({
        "apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": name},
        "spec": {"queue": "root.team", "submit": {"users": [user]}},
    })
}

/// Returns the object at a path: bob may submit until 2027 begins. If these settings name another output,
/// somebody else wrote `yunikorn-configs`.
fn object(path: &str, settings: &Value) -> Option<Value> {
    let map =
        |name: &str| json!({"metadata": {"name": name}, "data": {"queues.yaml": TREE, BYPASS_AUTH: "true"}});
    match path {
        CONFIG => Some(json!({
            "apiVersion": "queuewarden.dev/v1alpha1", "kind": "YuniKornConfig", "metadata": {"name": "default"},
            "spec": settings,
        })),
        QUEUE_ACLS => {
            let mut bob = queue_acl("old", "bob");
            bob["spec"]["baseAcl"] = json!("Extend");
            bob["spec"]["expiresAt"] = json!("2027-01-01T00:00:00Z");
            Some(
                json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAclList", "metadata": {}, "items": [bob]}),
            )
        }
        POLICIES => {
            let policy = json!({"metadata": {"name": "open"}, "spec": {"bypassAuth": true}});
            Some(
                json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicyList", "metadata": {}, "items": [policy]}),
            )
        }
        BASE => Some(map("base")),
        "/api/v1/namespaces/yunikorn/configmaps/yunikorn-defaults" => Some(map("yunikorn-defaults")),
        "/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs" if settings.get("output").is_some() => {
            Some(map("yunikorn-configs"))
        }
        _ => None,
    }
}

/// Creates a cluster in which one path may not be read.
fn cluster(forbidden: &'static str) -> Cluster {
    cluster_with(json!({"base": {"configMap": "base"}}), forbidden)
}

/// Creates such a cluster with other settings.
fn cluster_with(settings: Value, forbidden: &'static str) -> Cluster {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let path = request.uri().path();
        let refused = |code: u16, reason: &str| {
            let status = json!({"kind": "Status", "status": "Failure", "message": "not you", "reason": reason, "code": code});
            (code, status)
        };
        let (status, body) = if path == forbidden {
            refused(403, "Forbidden")
        } else {
            object(path, &settings).map_or_else(|| refused(404, "NotFound"), |object| (200, object))
        };
        let body = kube::client::Body::from(body.to_string().into_bytes());
        let response = http::Response::builder().status(status).body(body).unwrap();
        std::future::ready(Ok::<_, std::convert::Infallible>(response))
    });
    let client = {
        let _context = runtime.enter();
        Client::new(service, "default")
    };
    Cluster { runtime, client, server: String::new() }
}

/// Returns the text after alice may submit, too.
fn changed(cluster: &Cluster, now: &str) -> Result<String, Failure> {
    let alice = serde_json::from_value(queue_acl("new", "alice")).unwrap();
    let queue_acls = vec![Arc::new(convert::queue_acl(&alice))];
    let change = ObjectChange { queue_acls, ..ObjectChange::default() };
    let mut snapshot = cluster.objects(&ClusterArgs::default())?;
    snapshot.now = now.parse().unwrap();
    change.apply(&mut snapshot)?;
    planned(&snapshot, Console::silent()).map(|configuration| configuration.text().to_owned())
}

#[test]
fn a_change_is_looked_at_in_its_moment() {
    for (now, bob) in [("2026-12-31T00:00:00Z", true), ("2027-02-01T00:00:00Z", false)] {
        let text = changed(&cluster(""), now).unwrap();
        assert!(text.contains("alice"), "{text}");
        assert_eq!(text.contains("bob"), bob, "{now}: {text}");
    }
}

#[test]
fn who_may_not_read_all_sees_no_lost_grants() {
    for (forbidden, why, role) in [
        (CONFIG, "cannot read the YuniKornConfig: not you; help: ", "queuewarden-viewer"),
        (QUEUE_ACLS, "cannot read the objects of kind QueueAcl: not you; help: ", "queuewarden-viewer"),
        (BASE, "cannot read ConfigMap yunikorn/base: not you; help: ", "the ClusterRole view"),
    ] {
        let cluster = cluster(forbidden);
        let failure = changed(&cluster, "2026-12-31T00:00:00Z").unwrap_err();
        assert!(matches!(failure, Failure::Forbidden(_)), "{failure:?}");
        let failure = failure.to_string();
        assert!(failure.starts_with(why) && failure.contains(role), "{failure}");
        let stands = cluster.read(&ClusterArgs::default(), Console::silent()).unwrap();
        assert_eq!(stands.text(), TREE);
    }
}

#[test]
fn a_change_is_for_the_output_of_the_settings() {
    let elsewhere = json!({"base": {"configMap": "base"}, "output": {"configMap": "preview"}});
    let text = changed(&cluster_with(elsewhere, ""), "2026-12-31T00:00:00Z").unwrap();
    assert!(text.contains("alice"), "{text}");
    let here = json!({"base": {"configMap": "base"}, "output": {"configMap": "yunikorn-configs"}});
    let failure = changed(&cluster_with(here, ""), "2026-12-31T00:00:00Z").unwrap_err().to_string();
    assert!(failure.contains("would not write"), "it is somebody else's: {failure}");
}

#[test]
fn settings_that_cannot_be_read_are_not_taken_for_defaults() {
    let cluster = cluster_with(json!({"mode": 7}), "");
    let failure = changed(&cluster, "2026-12-31T00:00:00Z").unwrap_err().to_string();
    assert!(failure.starts_with("the YuniKornConfig is invalid: "), "{failure}");
    let mut notes = Vec::new();
    let spec = cluster.run(async |_| cluster.spec(None, &mut notes).await).unwrap();
    assert_eq!(spec.namespace, "yunikorn");
    assert!(notes.concat().contains("assuming namespace yunikorn"), "{notes:?}");
}

#[test]
fn findings_about_admission_settings_name_the_object_as_far_as_it_may_be_read() {
    for (forbidden, kind, name) in
        [("", "AdmissionPolicy", "open"), (POLICIES, "ConfigMap", "yunikorn-defaults")]
    {
        let configuration = cluster(forbidden).read(&ClusterArgs::default(), Console::silent()).unwrap();
        let risks = queuewarden_plan::risks(&configuration.rendered.context.settled);
        let [(origin, found)] = risks.as_slice() else { panic!("{risks:?}") };
        assert_eq!(
            (origin, found.code.number),
            (&Origin::Object { kind, name: name.to_owned(), until: None }, 4117)
        );
    }
}

#[test]
fn errors_of_a_connection_are_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let mut file = |text: &str| {
        count += 1;
        let path = folder.path().join(format!("kubeconfig{count}"));
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let user = "users: [{name: me, user: {token: SECRET}}]";
    let context = "contexts: [{name: here, context: {cluster: c, user: me}}]";
    let cluster = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]";
    let head = "apiVersion: v1\nkind: Config\n";
    let known = ["gone", "here"];
    let all = format!("{head}{context}\n{user}\n");
    for (kubeconfig, named, why) in [
        (Some(folder.path().join("none")), None, "/none: No such file or directory; use -f"),
        (file("a: [SECRET"), None, "the kubeconfig is not the YAML that kubectl writes; use -f"),
        (file(&format!("{all}{cluster}")), None, "the kubeconfig has no current context: name one by"),
        (file(&format!("{all}{cluster}")), Some(known[0]), "the kubeconfig has no context `gone`: kubectl"),
        (file(&all), Some(known[1]), "the kubeconfig has no cluster `c`, which its context names; use -f"),
        (
            file(&format!("{all}clusters: [{{name: c, cluster: {{server: 'SECRET %'}}}}]")),
            Some(known[1]),
            "the kubeconfig's server is not a URL; use -f",
        ),
    ] {
        let args = ServerArgs { kubeconfig, context: named.map(str::to_owned) };
        let failure = Cluster::connect(&args).unwrap_err().to_string();
        assert!(failure.starts_with("cannot connect to a cluster: ") && failure.contains(why), "{failure}");
        assert!(!failure.contains("SECRET"), "{failure}");
    }
}

#[test]
fn a_rejected_login_and_a_lost_connection_are_in_plain_words() {
    let cluster = cluster("");
    let rejected =
        queuewarden_client::call::CallError::Refused { code: 401, message: "Unauthorized".to_owned() };
    let failure = cluster.failure(SETTINGS, &rejected).to_string();
    assert!(failure.contains("the API server rejected the token"), "{failure}");
    let refused = std::io::Error::from_raw_os_error(111);
    assert_eq!(cause(&kube::Error::ReadEvents(refused)), "Connection refused");
}
