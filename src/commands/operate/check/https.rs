//! Checks the way from the API server to queuewarden's endpoints: the installed webhooks and the served API,
//! their certificate authorities, ready pods for the Services, and a request as a test.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, PostParams, TypeMeta};
use kube::{Api, Client};
use serde::Deserialize as _;
use serde_json::json;

use super::features::Webhook;
use crate::source::checks::{Line, page};
use queuewarden_api::API_VERSION;
use queuewarden_api::registration::{API_SERVICE, MUTATING, VALIDATING};
use queuewarden_client::call::{CallError, call};
use queuewarden_client::objects::api;
use queuewarden_plan::ResourceKind;

const WEBHOOKS: &str = "webhooks";
const SERVED: &str = "served-api";
const AUTHORITIES: &str = "authorities";
const CERTIFICATE: &str = "certificate";
const BEHIND: &str = "endpoints";
const ANSWERS: &str = "webhook-answers";
/// Remaining time of an authority, in seconds, below which the next one should be in place.
const SOON: i64 = 7 * 24 * 3600;
/// The object that configures the webhook on our own kinds.
const OF_OWN_KINDS: &str = "ValidatingWebhookConfiguration queuewarden";
/// The webhook that checks changes of our kinds. The others respond in the same way.
const VALIDATES: &str = "validate.queuewarden.dev";
/// Name of the Secret of queuewarden's own certificate.
const OWN_CERTIFICATE: &str = "queuewarden-tls";
/// Name of the object in the test request; it is not written.
const PROBE: &str = "queuewarden-check";

/// An endpoint of queuewarden as the API server knows it.
struct Target {
    /// Kind and name of the object that configures it.
    by: String,
    /// Certificate authorities that the API server trusts.
    bundle: Option<ByteString>,
    /// True if the API server trusts any certificate and takes no bundle (`insecureSkipTLSVerify`).
    blind: bool,
    /// Namespace and name of its Service; `None` if it is a URL.
    service: Option<(String, String)>,
    /// True if requests fail when it does not answer.
    strict: bool,
}

/// What is known of the endpoints.
#[derive(Debug, Default)]
pub(super) struct Endpoints {
    /// The lines about them.
    pub(super) lines: Vec<Line>,
    /// True if any of them is used.
    pub(super) https: bool,
    /// True if the served API is used.
    pub(super) access: bool,
    /// The installed webhook configurations; `None` if they are unknown.
    pub(super) webhooks: Option<Vec<Webhook>>,
}

/// Checks all endpoints.
pub(super) async fn check(client: &Client, now: Timestamp) -> Endpoints {
    let targets = match webhooks(client).await {
        Ok(found) => found,
        Err(error) => {
            let lines = vec![Line::unknown(WEBHOOKS, "what webhooks are installed", &error)];
            return Endpoints { lines, ..Endpoints::default() };
        }
    };
    let webhooks = targets.iter().map(|target| (target.by.clone(), target.strict)).collect();
    let validates = targets.iter().any(|target| target.by == OF_OWN_KINDS);
    let names: Vec<&str> = targets.iter().map(|target| target.by.as_str()).collect();
    let installed = if names.is_empty() {
        "no webhook of queuewarden is installed, so objects are only checked after they are stored".to_owned()
    } else {
        format!("installed: {}", names.join(", "))
    };
    let mut lines = vec![Line::ok(WEBHOOKS, installed)];
    let (api, served) = served(client).await;
    let access = served.is_some();
    lines.extend(api);
    let targets: Vec<Target> = targets.into_iter().chain(served).collect();
    if targets.iter().any(|target| !target.blind) {
        lines.push(authorities(&targets, now));
    }
    if !targets.is_empty() {
        lines.push(behind(client, &targets).await);
    }
    if validates {
        lines.push(answers(client).await);
    }
    Endpoints { lines, https: !targets.is_empty(), access, webhooks: Some(webhooks) }
}

/// Returns the endpoints of all our webhooks.
async fn webhooks(client: &Client) -> Result<Vec<Target>, CallError> {
    let validating = VALIDATING.map(|name| ("ValidatingWebhookConfiguration", name));
    let mutating = MUTATING.map(|name| ("MutatingWebhookConfiguration", name));
    let mut targets = Vec::new();
    for (kind, name) in validating.into_iter().chain(mutating) {
        let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
        let Some(found) = call(api.get_opt(name)).await? else { continue };
        // The fields that are used here are the same in both kinds.
        let webhooks = found.data.get("webhooks").map(Vec::<ValidatingWebhook>::deserialize).transpose();
        let unreadable = |error| CallError::Unreachable(Box::new(kube::Error::SerdeError(error)));
        let webhooks = webhooks.map_err(unreadable)?;
        targets.extend(webhooks.into_iter().flatten().map(|webhook| Target {
            by: format!("{kind} {name}"),
            bundle: webhook.client_config.ca_bundle,
            blind: false,
            service: webhook.client_config.service.map(|service| (service.namespace, service.name)),
            // The default is Fail.
            strict: webhook.failure_policy.is_none_or(|policy| policy == "Fail"),
        }));
    }
    Ok(targets)
}

/// Checks the served API by its conditions in the API server.
async fn served(client: &Client) -> (Option<Line>, Option<Target>) {
    let services: Api<APIService> = Api::all(client.clone());
    let service = match call(services.get_opt(API_SERVICE)).await {
        Ok(Some(service)) => service,
        Ok(None) => return (None, None),
        Err(error) => {
            return (Some(Line::unknown(SERVED, &format!("APIService {API_SERVICE}"), &error)), None);
        }
    };
    let conditions = service.status.and_then(|status| status.conditions).unwrap_or_default();
    let available = conditions.into_iter().find(|condition| condition.type_ == "Available");
    let line = if available.as_ref().is_some_and(|available| available.status == "True") {
        Line::ok(SERVED, format!("{API_SERVICE} is available"))
    } else {
        let why = available.and_then(|available| available.message);
        let why = why.unwrap_or_else(|| "the API server has not checked it yet".to_owned());
        let remedy = "check that the operator runs with --https, and that network policies allow connections from the API server";
        Line::fail(SERVED, format!("{API_SERVICE} is not available: {why}"), remedy)
    };
    let spec = service.spec.unwrap_or_default();
    let target = spec.service.map(|service| Target {
        by: format!("APIService {API_SERVICE}"),
        bundle: spec.ca_bundle,
        blind: spec.insecure_skip_tls_verify == Some(true),
        service: service.namespace.zip(service.name),
        strict: false,
    });
    (Some(line), target)
}

/// Checks that every bundle has a valid authority, and that all bundles are the same.
fn authorities(targets: &[Target], now: Timestamp) -> Line {
    let targets = || targets.iter().filter(|target| !target.blind);
    let restart = "Deployment queuewarden-certificates sets it when it runs and has permission to patch that object (manifests/https); with --tls-cert-file, set it yourself or with cert-manager";
    let ends: Result<BTreeSet<Timestamp>, String> = targets().map(|target| valid_end(target, now)).collect();
    let first = match ends {
        Ok(ends) => ends.first().copied().unwrap_or(now),
        Err(found) => return Line::fail(AUTHORITIES, found, restart),
    };
    let bundles: BTreeSet<&[u8]> =
        targets().filter_map(|target| Some(target.bundle.as_ref()?.0.as_slice())).collect();
    let found = format!("valid until {first}");
    if bundles.len() > 1 {
        Line::warn(AUTHORITIES, format!("{found}, but different authorities are in use"), restart)
    } else if first.duration_since(now).as_secs() < SOON {
        Line::warn(AUTHORITIES, found, restart)
    } else {
        Line::ok(AUTHORITIES, found)
    }
}

/// Returns the time until which the API server trusts an authority of the endpoint; fails if it trusts none.
fn valid_end(target: &Target, now: Timestamp) -> Result<Timestamp, String> {
    let by = &target.by;
    match &target.bundle {
        Some(pem) if !pem.0.is_empty() => match valid_until(&pem.0) {
            Some(until) if until > now => Ok(until),
            Some(until) => Err(format!("the authorities of {by} ended at {until}")),
            None => Err(format!("the caBundle of {by} contains no certificate")),
        },
        _ => Err(format!("{by} has no caBundle")),
    }
}

/// Returns the latest expiry of the certificates in a PEM text, if it has any.
fn valid_until(pem: &[u8]) -> Option<Timestamp> {
    let found = pem::parse_many(pem).ok()?;
    let ends = found.iter().filter_map(|block| {
        let (_, certificate) = x509_parser::parse_x509_certificate(block.contents()).ok()?;
        Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
    });
    ends.max()
}

/// Checks the Secret with queuewarden's own certificate.
pub(super) async fn certificate(client: &Client, namespace: &str, now: Timestamp) -> Line {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let place = format!("Secret {namespace}/{OWN_CERTIFICATE}");
    match call(secrets.get_opt(OWN_CERTIFICATE)).await {
        Ok(secret) => shown(secret, &place, now),
        // It has a private key, so no role for people lets them read it.
        Err(error) if error.is_forbidden() => {
            Line::ok(CERTIFICATE, format!("not checked: you have no permission to read {place}"))
        }
        Err(error) => Line::unread(CERTIFICATE, &place, &error),
    }
}

/// Checks the content of that Secret.
fn shown(secret: Option<Secret>, place: &str, now: Timestamp) -> Line {
    let keeper = "Deployment queuewarden-certificates writes it: check that it is running and has permission; to restore both, apply examples/https again, or run `helm upgrade`";
    let Some(secret) = secret else {
        return Line::fail(
            CERTIFICATE,
            format!("{place} is missing, so new replicas do not become ready"),
            keeper,
        );
    };
    let part = |key: &str| secret.data.as_ref().and_then(|data| data.get(key));
    let until = part("tls.crt").filter(|_| part("tls.key").is_some_and(|key| !key.0.is_empty()));
    match until.and_then(|pem| valid_until(&pem.0)).filter(|until| *until > now) {
        Some(until) => Line::ok(CERTIFICATE, format!("valid until {until}")),
        None => Line::fail(
            CERTIFICATE,
            format!("{place} has no valid certificate, so new replicas do not become ready"),
            keeper,
        ),
    }
}

/// Checks that each Service has a ready endpoint.
async fn behind(client: &Client, targets: &[Target]) -> Line {
    let services: BTreeSet<&(String, String)> =
        targets.iter().filter_map(|target| target.service.as_ref()).collect();
    if services.is_empty() {
        return Line::ok(BEHIND, "the webhooks use URLs instead of Services");
    }
    let mut worst = Line::ok(BEHIND, "each Service has a ready replica");
    for service in services {
        let (namespace, name) = service;
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let of = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
        let line = match call(slices.list(&of)).await {
            Ok(slices) if slices.items.iter().any(has_ready) => continue,
            Ok(_) => nobody(service, targets),
            Err(error) => Line::unknown(BEHIND, &format!("the state of Service {namespace}/{name}"), &error),
        };
        if line.level > worst.level {
            worst = line;
        }
    }
    worst
}

/// Reports a Service without a ready endpoint: requests to its strict webhooks are rejected, and the others
/// are not made.
fn nobody(service: &(String, String), targets: &[Target]) -> Line {
    let (namespace, name) = service;
    let found = format!("no ready replica for Service {namespace}/{name}");
    let remedy = format!(
        "kubectl -n {namespace} get pods; if the operator runs without --https, install the endpoints: {}",
        page("webhooks.md")
    );
    let strict = targets.iter().filter(|target| target.strict && target.service.as_ref() == Some(service));
    let mut names: Vec<&str> = strict.map(|target| target.by.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return Line::fail(BEHIND, format!("{found}: its webhooks are skipped"), remedy);
    }
    let refused = format!("requests to {} are refused", names.join(", "));
    Line::fail(BEHIND, format!("{found}: {refused}"), remedy)
}

fn has_ready(slice: &EndpointSlice) -> bool {
    // Kubernetes treats an unknown state as ready.
    let mut conditions = slice.endpoints.iter().map(|endpoint| &endpoint.conditions);
    conditions.any(|conditions| conditions.as_ref().is_none_or(|conditions| conditions.ready != Some(false)))
}

/// Creates an object in a dry run, which goes through the webhook.
async fn answers(client: &Client) -> Line {
    let kind = ResourceKind::QueueAcl;
    let object = DynamicObject {
        types: Some(TypeMeta { api_version: API_VERSION.to_owned(), kind: kind.name().to_owned() }),
        metadata: ObjectMeta { name: Some(PROBE.to_owned()), ..ObjectMeta::default() },
        data: json!({"spec": {"queue": "root", "submit": {"nobody": true}}}),
    };
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    evaluate(call(api(kind, client.clone()).create(&dry, &object)).await.map(drop))
}

/// Evaluates the result of the dry run. A rejection by the webhook itself is an answer, too.
fn evaluate(result: Result<(), CallError>) -> Line {
    let fine = Line::ok(ANSWERS, "the webhook accepted a QueueAcl in a dry run");
    let silent = format!("failed calling webhook \"{VALIDATES}\"");
    let denied = format!("webhook \"{VALIDATES}\" denied the request");
    match result {
        Ok(()) => fine,
        Err(CallError::Refused { message, .. }) if message.contains(&silent) => Line::fail(
            ANSWERS,
            message,
            "check the lines above about the authorities and the Service, then network \
            policies between the API server and the operator's port",
        ),
        Err(CallError::Refused { message, .. }) if message.contains(&denied) => fine,
        // The API server itself, or another webhook, rejected the request before ours was called.
        Err(error) => Line::unread(ANSWERS, "whether the webhook answers", &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::operate::check::Level;

    fn authority(days: i64) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::default();
        let until = time::OffsetDateTime::UNIX_EPOCH + time::Duration::days(days);
        (params.not_before, params.not_after) = (time::OffsetDateTime::UNIX_EPOCH, until);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().pem().into_bytes()
    }

    fn trusting(bundle: &[u8]) -> Target {
        Target {
            by: "X".into(),
            bundle: Some(ByteString(bundle.to_vec())),
            blind: false,
            service: None,
            strict: true,
        }
    }

    #[test]
    fn authorities_are_decided_by_the_last_that_ends() {
        let at = |day: i64| Timestamp::from_second(day * 24 * 3600).unwrap();
        let (old, new) = (authority(10), authority(30));
        let both = [old.as_slice(), new.as_slice()].concat();
        let level = |targets: &[Target], day| authorities(targets, at(day)).level;
        assert_eq!(level(&[trusting(&both)], 1), Level::Ok);
        assert_eq!(level(&[trusting(&both)], 20), Level::Ok, "the newer one holds");
        assert_eq!(level(&[trusting(&both)], 25), Level::Warn);
        assert_eq!(level(&[trusting(&both)], 31), Level::Fail);
        assert_eq!(level(&[trusting(&both), trusting(&new)], 1), Level::Warn, "they differ");
        for broken in
            [&b""[..], b"nothing", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        {
            assert_eq!(level(&[trusting(&both), trusting(broken)], 1), Level::Fail, "{broken:?}");
        }
    }

    #[test]
    fn a_missing_or_invalid_certificate_is_a_failure() {
        let at = |day: i64| Timestamp::from_second(day * 24 * 3600).unwrap();
        let secret = |data: &[(&str, Vec<u8>)]| {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.clone())));
            Some(Secret { data: Some(data.collect()), ..Secret::default() })
        };
        let pair = secret(&[("tls.crt", authority(10)), ("tls.key", b"key".to_vec())]);
        assert_eq!(shown(pair.clone(), "X", at(1)).level, Level::Ok);
        let alone = secret(&[("tls.crt", authority(10))]);
        for (broken, day) in [(None, 1), (pair, 11), (alone, 1), (secret(&[]), 1)] {
            let line = shown(broken, "X", at(day));
            assert_eq!(line.level, Level::Fail, "{line:?}");
            assert!(line.remedy.as_ref().unwrap().contains("examples/https"), "{line:?}");
        }
    }

    #[test]
    fn a_endpoint_that_takes_any_certificate_needs_no_authority() {
        let now = Timestamp::from_second(24 * 3600).unwrap();
        let blind = Target { bundle: None, blind: true, ..trusting(b"") };
        assert_eq!(authorities(&[trusting(&authority(30)), blind], now).level, Level::Ok);
    }

    #[test]
    fn who_refuses_while_nobody_is_there_is_named() {
        let service = ("ns".to_owned(), "a".to_owned());
        let target = |by: &str, name: &str, strict| Target {
            by: by.into(),
            service: Some(("ns".into(), name.into())),
            strict,
            ..trusting(b"")
        };
        let targets =
            [target("X", "a", true), target("X", "a", true), target("Y", "a", false), target("Z", "b", true)];
        let line = nobody(&service, &targets);
        assert_eq!(line.level, Level::Fail);
        assert_eq!(line.found, "no ready replica for Service ns/a: requests to X are refused");
        assert_eq!(nobody(&service, &[target("Y", "a", false), target("Z", "b", true)]).level, Level::Fail);
    }

    #[test]
    fn only_silence_of_the_webhook_is_a_failure() {
        let refused = |message: &str| Err(CallError::Refused { code: 500, message: message.into() });
        assert_eq!(evaluate(Ok(())).level, Level::Ok);
        let silent = r#"Internal error occurred: failed calling webhook "validate.queuewarden.dev": connection refused"#;
        assert_eq!(evaluate(refused(silent)).level, Level::Fail);
        assert_eq!(
            evaluate(refused(r#"admission webhook "validate.queuewarden.dev" denied the request: no"#)).level,
            Level::Ok
        );
        assert_eq!(evaluate(refused(r#"queueacls is forbidden: User "x" cannot create"#)).level, Level::Warn);
        for theirs in [
            r#"Internal error occurred: failed calling webhook "validate.kyverno.svc": connection refused"#,
            r#"admission webhook "validation.gatekeeper.sh" denied the request: no"#,
        ] {
            assert_eq!(evaluate(refused(theirs)).level, Level::Warn, "{theirs}");
        }
        assert_eq!(evaluate(Err(CallError::Timeout(std::time::Duration::from_secs(10)))).level, Level::Warn);
    }
}
