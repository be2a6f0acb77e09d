//! Extracts an `AdmissionReview` from the body of a request to a webhook.

use axum::body::Bytes;
use axum::extract::{self, FromRequest};

use super::api_error::ApiError;
use super::bounds::Cut;
use super::listener::guest;
use super::room::Guest;
use go_compat::diag::Diagnostic;
use queuewarden_api::review::codes;
use queuewarden_api::review::envelope::{AdmissionRequest, Unreadable};

/// A review with everything that could be parsed. A review with an unreadable part is answered too: an error
/// would leave the decision to `failurePolicy`, and the requester controls the content of the objects.
#[derive(Debug)]
pub(super) struct AdmissionReview {
    /// The request, or the readable part of it.
    pub(super) request: AdmissionRequest,
    /// Why the rest cannot be read, if it cannot.
    pub(super) problem: Option<Diagnostic>,
    /// The client that sent it.
    pub(super) from: Guest,
}

impl<S: Send + Sync> FromRequest<S> for AdmissionReview {
    /// The response if even the `uid` is missing, which API servers never send.
    type Rejection = ApiError;

    async fn from_request(request: extract::Request, state: &S) -> Result<Self, ApiError> {
        let cut = request.extensions().get::<Cut>().copied();
        let from = guest(request.extensions());
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|error| ApiError::bad_request(error.body_text()))?;
        let Unreadable { request, why } = match AdmissionRequest::read(&body) {
            Ok(request) => return Ok(Self { request, problem: None, from }),
            Err(unreadable) => *unreadable,
        };
        let problem = cut.map_or(why, not_read);
        if request.uid.is_empty() {
            return Err(ApiError::bad_request(problem.to_string()));
        }
        Ok(Self { request, problem: Some(problem), from })
    }
}

/// Explains why only the first bytes of a review were read.
fn not_read(cut: Cut) -> Diagnostic {
    let (code, help) = match cut {
        Cut::TooLarge(_) => (codes::TOO_LARGE, "make the object smaller"),
        Cut::Crowded | Cut::Late => (codes::NOT_READ, "try again, or make the object smaller"),
        Cut::Fault => (codes::NOT_READ, "report it"),
    };
    Diagnostic::error(code, cut.to_string()).help(help)
}

impl AdmissionReview {
    /// Reads more of the request.
    pub(super) fn read<T>(
        &self,
        more: impl FnOnce(&AdmissionRequest) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        self.problem.clone().map_or(Ok(()), Err)?;
        more(&self.request)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{codes, not_read};
    use crate::server::bounds::{Cut, RequestLimits, bound};
    use crate::server::testing::{self, TestService, client, defaults, not_found};
    use crate::server::{ServerState, submission as submissions, user_info, validating};
    use queuewarden_plan::snapshot::{AdmissionPolicySpec, ConfigSpec, Entry, Meta, Snapshot};
    use yunikorn_access::submission;
    use yunikorn_access::user_info::{Mode, Settings, Template};

    const ENDPOINTS: [&str; 5] =
        ["/user-info", "/user-info/check", "/submission", "/validate", "/configmaps"];
    /// The kept part of a body in these tests, whose random bodies are small.
    const KEPT: usize = 16 * 1024;
    const QUEUES: &str = "partitions: [{name: default, queues: [{name: root}]}]\n";

    /// Returns an endpoint that refuses everything that it can.
    fn service() -> TestService {
        let template = |path| Template {
            group: "ray.io".into(),
            version: Some("v1".into()),
            resource: "rayclusters".into(),
            path: String::from(path),
        };
        let templates = vec![template("spec.groups.*.template"), template("spec.head.annotations")];
        let user_info = Settings { mode: Mode::Enforce, templates, ..Settings::default() };
        let policy = AdmissionPolicySpec {
            user_info: Some(user_info),
            submission: Some(submission::Mode::Deny),
            ..AdmissionPolicySpec::default()
        };
        let spec = ConfigSpec { namespace: "yunikorn".into(), ..ConfigSpec::default() };
        let snapshot = Snapshot {
            policies: vec![Entry { meta: Meta::default(), spec: Ok(policy), in_force: None }],
            config: Some(Entry { meta: Meta::default(), spec: Ok(spec), in_force: None }),
            defaults: Some(defaults("queues.yaml", QUEUES)),
            ..testing::snapshot()
        };
        let routes: Router<std::sync::Arc<ServerState>> = Router::new()
            .merge(user_info::router())
            .merge(submissions::router())
            .merge(validating::router())
            .merge(validating::config_map_router());
        let limits = RequestLimits { body: KEPT, cuts: true, all: 64 * KEPT, cost: 2 };
        let routes = bound(routes, limits, &testing::requests(), &std::sync::Arc::default());
        TestService::closed(routes, client(async |_| not_found())).knowing(snapshot)
    }

    /// Generates JSON of all types, with the field names that are read.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        let name = prop::sample::select(vec![
            "spec",
            "template",
            "metadata",
            "annotations",
            "labels",
            "ownerReferences",
            "controller",
            "nodeName",
            "imagePullSecrets",
            "name",
            "groups",
            "head",
            "data",
            "binaryData",
            "managedFields",
            "queue",
            "submit",
            "yunikorn.apache.org/user.info",
        ]);
        leaf.prop_recursive(8, 64, 6, move |inner| {
            prop_oneof![
                1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                4 => prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn kind() -> impl Strategy<Value = (&'static str, &'static str, &'static str, &'static str)> {
        prop::sample::select(vec![
            ("", "v1", "Pod", "pods"),
            ("", "v1", "ConfigMap", "configmaps"),
            ("apps", "v1", "Deployment", "deployments"),
            ("batch", "v1", "CronJob", "cronjobs"),
            ("ray.io", "v1", "RayCluster", "rayclusters"),
            ("ray.io", "v1alpha1", "RayCluster", "rayclusters"),
            ("queuewarden.dev", "v1alpha1", "QueueAcl", "queueacls"),
            ("queuewarden.dev", "v1alpha1", "AdmissionPolicy", "admissionpolicies"),
            ("queuewarden.dev", "v1alpha1", "YuniKornConfig", "yunikornconfigs"),
            ("queuewarden.dev", "v1alpha1", "QueueAccessTest", "queueaccesstests"),
        ])
    }

    /// A nested list as text, because `serde_json` limits the depth of values.
    fn deep(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    /// Returns a review as API servers write it, in which the objects come after all fields that the
    /// requester does not control.
    fn body(of: (&str, &str, &str, &str), operation: &str, object: &str, old: &str) -> String {
        let (group, version, kind, resource) = of;
        let head = json!({"uid": "u1", "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": resource}, "name": "yunikorn-configs",
            "namespace": "yunikorn-jobs", "operation": operation,
            "userInfo": {"username": "mallory", "groups": ["system:authenticated"]}});
        let head = head.to_string();
        let head = head.strip_suffix('}').unwrap();
        // The uid first, as Go writes it.
        let head = head.replacen('{', r#"{"uid":"u1","#, 1);
        format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{head},"object":{object},"oldObject":{old},"dryRun":false}}}}"#
        )
    }

    async fn answered(service: &TestService, body: String) {
        for endpoint in ENDPOINTS {
            let request = http::Request::post(endpoint).body(body.clone().into()).unwrap();
            let answer = service.send(request).await;
            assert_eq!(
                (answer.code.as_u16(), &answer.body["response"]["uid"]),
                (200, &json!("u1")),
                "{endpoint}: {}",
                answer.body
            );
            assert!(answer.body["response"]["allowed"].is_boolean());
        }
    }

    #[tokio::test]
    async fn what_a_requester_makes_too_large_too_deep_or_too_many_is_refused_with_an_answer() {
        let service = service();
        let ray = ("ray.io", "v1", "RayCluster", "rayclusters");
        let deployment = ("apps", "v1", "Deployment", "deployments");
        let many: Vec<Value> = (0..257).map(|_| json!({"template": {}})).collect();
        let many = json!({"spec": {"groups": many}}).to_string();
        let large = json!({"metadata": {"annotations": {"a": "<".repeat(KEPT)}}}).to_string();
        let odd = json!({"spec": {"template": {"metadata": deep(1)}}}).to_string();
        let version = ("ray.io", "v1alpha1", "RayCluster", "rayclusters");
        for (of, object, endpoint) in [
            (ray, many.as_str(), "/user-info"),
            (version, "{}", "/user-info/check"),
            (deployment, large.as_str(), "/user-info"),
            (deployment, large.as_str(), "/submission"),
            (deployment, odd.as_str(), "/submission"),
            (("queuewarden.dev", "v1alpha1", "QueueAcl", "queueacls"), large.as_str(), "/validate"),
        ] {
            let body = body(of, "CREATE", object, "null");
            let request = http::Request::post(endpoint).body(body.into()).unwrap();
            let answer = service.send(request).await.expect(200, "u1");
            assert_eq!(answer["response"]["allowed"], false, "{endpoint}: {answer}");
        }
        let body = body(deployment, "CREATE", &large, "null").replace("yunikorn-jobs", "yunikorn");
        let guarded = body.replace(r#""kind":"Deployment""#, r#""kind":"ConfigMap""#).replace("apps", "");
        let request = http::Request::post("/configmaps").body(guarded.into()).unwrap();
        assert_eq!(service.send(request).await.expect(200, "u1")["response"]["allowed"], false);
    }

    #[test]
    fn what_is_not_read_is_refused_with_the_reason() {
        for (cut, expected) in [
            (Cut::TooLarge(7), "more than 7 bytes"),
            (Cut::Crowded, "too many large requests are in progress"),
            (Cut::Late, "in time"),
            (Cut::Fault, "internal error in queuewarden"),
        ] {
            let why = not_read(cut);
            let code = if matches!(cut, Cut::TooLarge(_)) { codes::TOO_LARGE } else { codes::NOT_READ };
            assert!(why.code == code && why.message.contains(expected) && why.help.is_some(), "{why}");
        }
    }

    #[tokio::test]
    async fn depth_alone_is_no_reason() {
        let service = service();
        let object = format!(r#"{{"metadata":{{}},"spec":{{"x":{}}}}}"#, deep(5000));
        for of in [("", "v1", "Pod", "pods"), ("ray.io", "v1", "RayCluster", "rayclusters")] {
            let body = body(of, "CREATE", &object, "null");
            let request = http::Request::post("/user-info").body(body.clone().into()).unwrap();
            assert_eq!(service.send(request).await.expect(200, "u1")["response"]["allowed"], true);
            answered(&service, body).await;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_review_of_an_api_server_has_an_answer(
            of in kind(), operation in prop::sample::select(vec!["CREATE", "UPDATE", "DELETE", "CONNECT"]),
            object in value(), old in value(), extra in 0..3_usize,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let old = match extra {
                0 => old.to_string(),
                1 => deep(3000),
                _ => json!({"metadata": {"annotations": {"a": "<".repeat(KEPT)}}}).to_string(),
            };
            let body = body(of, operation, &object.to_string(), &old);
            runtime.block_on(async { answered(&service(), body).await });
        }
    }
}
