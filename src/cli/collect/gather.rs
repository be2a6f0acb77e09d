//! What a bundle is made of. What cannot be read is noted, and the rest is gathered all the same: whoever needs help has something broken.

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
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bundle::{Bundle, FILE};
use crate::api::GROUP;
use crate::api::crd::crds;
use crate::cli::ask::live;
use crate::cli::diagnose::diagnose;
use crate::cli::installed::{Installed, NAME, ReachArgs};
use crate::cli::status;
use crate::operator::call::{self, call};
use crate::operator::world::Kind;
use crate::plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};
use crate::server::certificates::inject::{API_SERVICE, MUTATING, VALIDATING};

/// Objects of one list.
const OBJECTS: u32 = 5000;
/// Events of one namespace.
const EVENTS: u32 = 500;
/// Pods whose logs and metrics are read.
const PODS: usize = 6;
/// Lines of one log.
const LINES: i64 = 5000;
/// Pods of queuewarden, and of YuniKorn as its Helm chart labels them.
const OURS: &str = "app.kubernetes.io/name=queuewarden";
const YUNIKORN: &str = "app=yunikorn";

/// Gathers all of it, as it is at `now`.
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

/// The objects of ours, with who wrote what in them.
async fn ours(client: &Client, bundle: &mut Bundle) {
    for kind in Kind::ALL {
        let path = format!("objects/{}.json", kind.plural());
        put(bundle, path, call(kind.api(client.clone()).list(&ListParams::default().limit(OBJECTS))).await);
    }
}

/// The ConfigMaps, and what the scheduler says that it runs.
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

/// What makes the API server serve our kinds, and knock at the doors.
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

/// The Deployment and the Lease.
async fn running(client: &Client, namespace: &str, bundle: &mut Bundle) {
    one::<Deployment>(client, namespace, NAME, "operator/deployment.json".to_owned(), bundle).await;
    one::<Lease>(client, namespace, NAME, "operator/lease.json".to_owned(), bundle).await;
}

/// Pods with their logs; of ours also the logs before the last restart, and metrics.
async fn pods(client: &Client, namespace: &str, labels: &str, folder: &str, bundle: &mut Bundle) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let selected = ListParams::default().labels(labels).limit(OBJECTS);
    let found = match call(api.list(&selected)).await {
        Ok(found) => found.items,
        Err(error) => return bundle.problem(format!("the pods of {namespace}"), error),
    };
    bundle.objects(format!("{folder}/pods.json"), &found, found.len());
    for pod in found.iter().take(PODS) {
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
    let params = LogParams {
        container: Some(container.to_owned()),
        previous,
        tail_lines: Some(LINES),
        limit_bytes: i64::try_from(FILE).ok(),
        timestamps: true,
        ..LogParams::default()
    };
    let what = if previous { "previous" } else { "current" };
    match call(api.logs(pod, &params)).await {
        Ok(text) => bundle.lines(format!("{folder}/logs/{pod}-{container}-{what}.txt"), &text),
        // Most containers were never restarted.
        Err(_) if previous => {}
        Err(error) => bundle.problem(format!("the log of {pod}, container {container}"), error),
    }
}

/// Through the API server, as port 8080 is not open to the outside.
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

/// Events about the objects of ours, which are in namespace default, and those of queuewarden's own namespace.
async fn events(client: &Client, namespace: &str, bundle: &mut Bundle) {
    for place in ["default", namespace] {
        let api: Api<Event> = Api::namespaced(client.clone(), place);
        match call(api.list(&ListParams::default().limit(EVENTS))).await {
            Ok(mut found) => {
                if place != namespace {
                    found.items.retain(is_about_ours);
                }
                bundle.objects(format!("events/{place}.json"), &found.items, found.items.len());
            }
            Err(error) => bundle.problem(format!("the events of {place}"), error),
        }
    }
}

fn is_about_ours(event: &Event) -> bool {
    let version = event.involved_object.api_version.as_deref().unwrap_or_default();
    version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}

/// One object of a namespace, if it is there.
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

/// One object of the cluster; that it is not there is in `check.json`.
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

/// A list that was read, or why it was not.
fn put<K: Clone + Serialize>(
    bundle: &mut Bundle,
    path: String,
    list: Result<kube::core::ObjectList<K>, call::Error>,
) {
    match list {
        Ok(list) => {
            let more =
                usize::try_from(list.metadata.remaining_item_count.unwrap_or_default()).unwrap_or_default();
            bundle.objects(path, &list.items, list.items.len().saturating_add(more));
        }
        Err(error) => bundle.problem(path, error),
    }
}
