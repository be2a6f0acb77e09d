//! Collects the contents of a bundle. Failures are recorded and the rest is collected all the same, because a
//! bundle is needed when something is broken.

use std::fmt::Debug;

use futures::AsyncReadExt as _;
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{ListParams, LogParams};
use kube::core::{NamespaceResourceScope, ObjectList};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bundle::{Bundle, FILE};
use crate::cli::ask::live;
use crate::cli::diagnose::diagnose;
use crate::cli::installed::{Installed, NAME, ReachArgs};
use crate::cli::status;
use crate::operator::call::{self, call};
use crate::operator::world::Kind;
use crate::server::certificates::inject::{API_SERVICE, MUTATING, VALIDATING};
use queuewarden_api::API_VERSION;
use queuewarden_api::crd::crds;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// Maximum number of objects in one list.
const OBJECTS: u32 = 5000;
/// Maximum number of events of one namespace.
const EVENTS: u32 = 500;
/// Maximum number of pods whose logs and metrics are read.
const PODS: usize = 6;
/// Maximum number of lines of one log.
const LINES: i64 = 5000;
/// Labels of queuewarden's pods, and of YuniKorn's as its Helm chart sets them.
const OURS: &str = "app.kubernetes.io/name=queuewarden";
const YUNIKORN: &str = "app=yunikorn";

/// Collects everything as it is at `now`.
pub fn gather(installed: &Installed, reach: &ReachArgs, logs: bool, now: Timestamp) -> Bundle {
    let mut bundle = Bundle::default();
    bundle.object("status.json", &status::look(installed, reach));
    bundle.object("check.json", &diagnose(installed, reach));
    installed.cluster.run(async |client| {
        ours(client, &mut bundle).await;
        yunikorn(client, installed, reach, &mut bundle).await;
        cluster(client, &mut bundle).await;
        running(client, &reach.namespace, &mut bundle).await;
        if logs {
            pods(client, &reach.namespace, OURS, "queuewarden", &mut bundle).await;
            pods(client, &installed.spec.namespace, YUNIKORN, "yunikorn", &mut bundle).await;
        }
        events(client, &reach.namespace, &mut bundle).await;
    });
    bundle.object(
        "collected.json",
        &serde_json::json!({"at": now.to_string(), "server": installed.cluster.server()}),
    );
    bundle
}

/// Collects the objects of ours, with their managed fields.
async fn ours(client: &Client, bundle: &mut Bundle) {
    for kind in Kind::ALL {
        let path = format!("objects/{}.json", kind.plural());
        put(bundle, path, call(kind.api(client.clone()).list(&ListParams::default().limit(OBJECTS))).await);
    }
}

/// Collects the ConfigMaps, and the configuration that the scheduler runs.
async fn yunikorn(client: &Client, installed: &Installed, reach: &ReachArgs, bundle: &mut Bundle) {
    let spec = &installed.spec;
    let mut names = vec![YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS, &spec.base_config_map, &spec.output_config_map];
    names.sort_unstable();
    names.dedup();
    for name in names {
        one::<ConfigMap>(client, &spec.namespace, name, format!("yunikorn/{name}.json"), bundle).await;
    }
    match live::ask(client, reach.scheduler_url.as_deref(), spec).await {
        Ok(answer) => bundle.lines("yunikorn/running.json", &answer.text().text),
        Err(failure) => bundle.problem("what the scheduler runs", failure),
    }
}

/// Collects the objects by which the API server serves our kinds and calls the webhooks.
async fn cluster(client: &Client, bundle: &mut Bundle) {
    match call(client.apiserver_version()).await {
        Ok(version) => bundle.object("cluster/version.json", &version),
        Err(error) => bundle.problem("the version of the API server", error),
    }
    for name in crds().iter().filter_map(|definition| definition.metadata.name.as_deref()) {
        global::<CustomResourceDefinition>(client, name, bundle).await;
    }
    for name in VALIDATING {
        global::<ValidatingWebhookConfiguration>(client, name, bundle).await;
    }
    for name in MUTATING {
        global::<MutatingWebhookConfiguration>(client, name, bundle).await;
    }
    global::<APIService>(client, API_SERVICE, bundle).await;
}

/// Collects the Deployment and the Lease.
async fn running(client: &Client, namespace: &str, bundle: &mut Bundle) {
    one::<Deployment>(client, namespace, NAME, "operator/deployment.json".to_owned(), bundle).await;
    one::<Lease>(client, namespace, NAME, "operator/lease.json".to_owned(), bundle).await;
}

/// Collects pods with their logs; for queuewarden also the logs before the last restart, and metrics.
async fn pods(client: &Client, namespace: &str, labels: &str, folder: &str, bundle: &mut Bundle) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let selected = ListParams::default().labels(labels).limit(OBJECTS);
    let found = match call(api.list(&selected)).await {
        Ok(found) => found,
        Err(error) => return bundle.problem(format!("the pods of {namespace}"), error),
    };
    let all = total(&found);
    bundle.objects(format!("{folder}/pods.json"), &found.items, all);
    if all > PODS {
        let left = all.saturating_sub(PODS);
        bundle
            .problem(format!("{left} more pods of {namespace}"), format!("the first {PODS} are looked into"));
    }
    for pod in found.items.iter().take(PODS) {
        let Some(name) = pod.metadata.name.as_deref() else { continue };
        let containers =
            pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| container.name.as_str());
        for container in containers {
            for previous in [false, true] {
                log(&api, name, container, previous, folder, bundle).await;
            }
        }
        if labels == OURS {
            metrics(client, namespace, name, bundle).await;
        }
    }
}

async fn log(api: &Api<Pod>, pod: &str, container: &str, previous: bool, folder: &str, bundle: &mut Bundle) {
    let what = if previous { "previous" } else { "current" };
    match call(last(api, pod, container, previous)).await {
        Ok((text, cut)) => bundle.tail(format!("{folder}/logs/{pod}-{container}-{what}.txt"), &text, cut),
        // Most containers were never restarted.
        Err(_) if previous => {}
        Err(error) => bundle.problem(format!("the log of {pod}, container {container}"), error),
    }
}

/// Returns the last lines of a log, and whether there may be more.
async fn last(
    api: &Api<Pod>,
    pod: &str,
    container: &str,
    previous: bool,
) -> Result<(String, bool), kube::Error> {
    let mut params = LogParams {
        container: Some(container.to_owned()),
        previous,
        limit_bytes: i64::try_from(FILE).ok(),
        timestamps: true,
        ..LogParams::default()
    };
    let mut lines = LINES;
    loop {
        params.tail_lines = Some(lines);
        let mut bytes = Vec::new();
        let stream = api.log_stream(pod, &params).await?;
        std::pin::pin!(stream).read_to_end(&mut bytes).await.map_err(kube::Error::ReadEvents)?;
        let full = bytes.len() >= FILE;
        if !full || lines <= 1 {
            // The limit may have cut a character in two.
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let cut = full || is_cut(&text, lines);
            return Ok((text, cut));
        }
        // The byte limit counts from the first of these lines, so with too many lines the newest are missing.
        lines /= 8;
    }
}

/// Returns whether a log may have more than the requested lines.
fn is_cut(text: &str, asked: i64) -> bool {
    i64::try_from(text.lines().count()).unwrap_or(i64::MAX) >= asked
}

/// Collects metrics through the API server, because port 8080 is not reachable from outside.
async fn metrics(client: &Client, namespace: &str, pod: &str, bundle: &mut Bundle) {
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:8080/proxy/metrics");
    let read = async {
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        let stream = client.request_stream(request).await?;
        let mut text = String::new();
        let limit = u64::try_from(FILE).unwrap_or(u64::MAX);
        std::pin::pin!(stream)
            .take(limit)
            .read_to_string(&mut text)
            .await
            .map_err(kube::Error::ReadEvents)?;
        Ok(text)
    };
    match call(read).await {
        Ok(text) => bundle.lines(format!("queuewarden/metrics/{pod}.txt"), &text),
        Err(error) => bundle.problem(format!("the metrics of {pod}"), error),
    }
}

/// Collects events about the objects of ours, which are in namespace default, and those of queuewarden's own
/// namespace.
async fn events(client: &Client, namespace: &str, bundle: &mut Bundle) {
    for place in ["default", namespace] {
        let api: Api<Event> = Api::namespaced(client.clone(), place);
        let mut selected = ListParams::default().limit(EVENTS);
        if place != namespace {
            selected = selected.fields(&format!("involvedObject.apiVersion={API_VERSION}"));
        }
        match call(api.list(&selected)).await {
            Ok(found) => bundle.objects(format!("events/{place}.json"), &found.items, total(&found)),
            Err(error) => bundle.problem(format!("the events of {place}"), error),
        }
    }
}

/// Collects one object of a namespace, or records that it is missing.
async fn one<K>(client: &Client, namespace: &str, name: &str, path: String, bundle: &mut Bundle)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Serialize
        + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    match call(api.get_opt(name)).await {
        Ok(Some(object)) => bundle.object(path, &object),
        Ok(None) => bundle.problem(format!("{} {namespace}/{name}", K::kind(&())), "there is none"),
        Err(error) => bundle.problem(format!("{} {namespace}/{name}", K::kind(&())), error),
    }
}

/// Collects one cluster-scoped object; a missing one is reported in `check.json`.
async fn global<K>(client: &Client, name: &str, bundle: &mut Bundle)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug,
{
    let api: Api<K> = Api::all(client.clone());
    match call(api.get_opt(name)).await {
        Ok(Some(object)) => bundle.object(format!("cluster/{}-{name}.json", K::plural(&())), &object),
        Ok(None) => {}
        Err(error) => bundle.problem(format!("{} {name}", K::kind(&())), error),
    }
}

/// Adds a list, or the reason why it could not be read.
fn put<K: Clone + Serialize>(bundle: &mut Bundle, path: String, list: Result<ObjectList<K>, call::Error>) {
    match list {
        Ok(list) => bundle.objects(path, &list.items, total(&list)),
        Err(error) => bundle.problem(path, error),
    }
}

/// Returns the number of objects as far as the API server reports it: with a selector it does not count the
/// rest, and only says that there are more.
fn total<K: Clone>(list: &ObjectList<K>) -> usize {
    let unread = list.metadata.continue_.as_deref().is_some_and(|next| !next.is_empty());
    let counted = list.metadata.remaining_item_count.and_then(|count| usize::try_from(count).ok());
    list.items.len().saturating_add(counted.unwrap_or_default().max(usize::from(unread)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_was_not_read_is_counted() {
        let list = |metadata: Value| -> ObjectList<Event> {
            let items = json!([{"metadata": {}, "involvedObject": {}}]);
            let list = json!({"kind": "EventList", "apiVersion": "v1", "metadata": metadata, "items": items});
            serde_json::from_value(list).unwrap()
        };
        assert_eq!(total(&list(json!({}))), 1);
        assert_eq!(total(&list(json!({"continue": ""}))), 1);
        assert_eq!(total(&list(json!({"continue": "x"}))), 2, "a selector");
        assert_eq!(total(&list(json!({"continue": "x", "remainingItemCount": 7}))), 8);
    }

    #[test]
    fn a_log_of_as_many_lines_as_were_asked_for_may_have_more() {
        assert!(!is_cut("", 1));
        assert!(!is_cut("a\nb\n", 3));
        assert!(is_cut("a\nb\n", 2));
    }
}
