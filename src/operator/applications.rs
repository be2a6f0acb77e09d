//! The applications that run, for questions about them: a watch of the pods that `YuniKorn` schedules, kept as far as they say something
//! about their application, and on demand the configuration of a Spark driver.
//!
//! It is off unless asked for: it needs the right to list and watch pods in all namespaces. Nothing else waits for it; until the pods
//! were read once, questions about applications are undecided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use kube::runtime::watcher;
use kube::{Api, Client};
use moka::future::Cache;
use tokio::sync::Notify;

use super::cache::Kept;
use super::call::call;
use super::watch::{Progress, Watch};
use queuewarden_api::pod;
use yunikorn::application::properties;
use yunikorn_access::placement::workload::SCHEDULER;
use yunikorn_access::review::Found;
use yunikorn_access::running::joins::{BoundPod, Running};
use yunikorn_access::running::pods::PodQuestion;
use yunikorn_access::running::{self, Pod, Scheduler, first, speaker};

/// The key of a Spark driver's `ConfigMap` (spark-kubernetes 3.5 `Constants.SPARK_CONF_FILE_NAME`).
const SPARK_CONF: &str = "spark.properties";
/// Longer configurations are not read, in bytes.
const MAX_CONF: usize = 1 << 20;
/// How long a driver's configuration is remembered. It does not change while the driver lives; that it could not be read, may.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);
/// Drivers whose configuration is remembered.
const REMEMBERED: u64 = 1024;

/// Which questions about applications are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// None: pods are not watched.
    #[default]
    Off,
    /// Those about `applications`.
    On,
    /// These, and `get pods/log` and `delete pods` for the pods of applications.
    Pods,
}

/// What is known of them; clones are the same. By default nothing is.
#[derive(Clone, Default)]
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Applications {
    inner: Option<Arc<Inner>>,
    mode: Mode,
}

struct Inner {
    pods: Watch<Pod>,
    client: Client,
    /// By the driver's UID.
    confs: Cache<String, Settings>,
}

type Settings = Arc<Vec<(String, String)>>;

impl Applications {
    /// Begins to watch, if that is wanted.
    pub fn start(client: &Client, mode: Mode) -> Self {
        let inner = (mode != Mode::Off).then(|| {
            let config = watcher::Config::default().fields(&format!("spec.schedulerName={SCHEDULER}"));
            // What changes here changes nothing that is planned.
            let changed = Arc::new(Notify::new());
            let pods =
                Watch::start(client, Api::<core::Pod>::all, config, keep, Progress::new("pods"), changed);
            let confs = Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build();
            Arc::new(Inner { pods, client: client.clone(), confs })
        });
        Self { inner, mode }
    }

    /// Whether questions about pods are answered.
    pub fn answers_pods(&self) -> bool {
        self.mode == Mode::Pods
    }

    /// The signs of life of the watch.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        self.inner.as_ref().map(|inner| Arc::clone(inner.pods.progress()))
    }

    /// The application with this ID; in this namespace, if that is not empty.
    pub async fn find(&self, namespace: &str, id: &str, scheduler: Scheduler<'_>) -> Found {
        let Some(inner) = &self.inner else {
            return Found::Undecided(
                "applications are not looked up here: start queuewarden run with --applications=on"
                    .to_owned(),
            );
        };
        let found = match inner.unready() {
            Some(why) => Err(why),
            None => first(inner.pods.cache().objects().map(|kept| &kept.value), namespace, id),
        };
        match found {
            Ok(Some(pod)) => inner.application(&pod, scheduler).await,
            Ok(None) => Found::Unknown,
            Err(why) => Found::Undecided(why),
        }
    }

    /// The applications with these IDs, as far as they run, and this pod. Where pods are not watched there is nothing.
    ///
    /// # Errors
    /// Why they are not known yet.
    pub fn running(&self, ids: &BTreeSet<&str>, creator: Option<BoundPod<'_>>) -> Result<Running, String> {
        let Some(inner) = self.inner.as_ref().filter(|_| !ids.is_empty() || creator.is_some()) else {
            return Ok(Running::default());
        };
        if let Some(why) = inner.unready() {
            return Err(why);
        }
        let cache = inner.pods.cache();
        let creator = creator.and_then(|bound| {
            let pod = cache.get(&key(bound.namespace, bound.name))?;
            (pod.value.workload.uid == bound.uid).then(|| Arc::clone(&pod.value))
        });
        Ok(Running::new(cache.objects().map(|kept| &kept.value), ids, creator))
    }

    /// The application of a pod; unknown where `YuniKorn` does not schedule it.
    pub async fn of_pod(&self, question: PodQuestion<'_>, scheduler: Scheduler<'_>) -> Found {
        let Some(inner) = self.inner.as_ref().filter(|_| self.answers_pods()) else { return Found::Unknown };
        if let Some(why) = inner.unready() {
            return Found::Undecided(why);
        }
        let speaking = {
            let cache = inner.pods.cache();
            let pod = cache.get(&key(question.namespace, question.name));
            pod.map(|pod| Arc::clone(speaker(cache.objects().map(|kept| &kept.value), &pod.value)))
        };
        match speaking {
            Some(pod) => inner.application(&pod, scheduler).await,
            None => Found::Unknown,
        }
    }
}

impl Inner {
    /// Why nothing is known of the pods.
    fn unready(&self) -> Option<String> {
        if self.pods.cache().synced() {
            return None;
        }
        let problem = self.pods.progress().problem().map(|problem| format!(": {}", problem.message));
        Some(format!("the pods have not been read yet{}", problem.unwrap_or_default()))
    }

    async fn application(&self, pod: &Pod, scheduler: Scheduler<'_>) -> Found {
        let settings = match &pod.spark_conf {
            Some(map) => self.conf(pod, map).await,
            None => Settings::default(),
        };
        running::application(pod, &settings, scheduler)
    }

    /// What a driver's configuration says. What cannot be read lets nobody in.
    async fn conf(&self, pod: &Pod, map: &str) -> Settings {
        let namespace = &pod.workload.namespace;
        let read = async {
            let maps: Api<core::ConfigMap> = Api::namespaced(self.client.clone(), namespace);
            match call(maps.get(map)).await {
                Ok(map) => settings(map.data.unwrap_or_default()),
                Err(error) => {
                    tracing::info!(%error, namespace, map, "The configuration of a Spark driver is not read");
                    Settings::default()
                }
            }
        };
        self.confs.get_with_by_ref(&pod.workload.uid, read).await
    }
}

fn settings(mut data: BTreeMap<String, String>) -> Settings {
    let text = data.remove(SPARK_CONF).filter(|text| text.len() <= MAX_CONF).unwrap_or_default();
    let mut settings = properties::parse(&text);
    // Only those that rules are read from: the others may be secrets.
    settings.retain(|(key, _)| key.starts_with("spark.") && key.contains("acls"));
    Arc::new(settings)
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn keep(object: core::Pod) -> Kept<Pod> {
    let pod = pod::read(&object);
    let version = object.metadata.resource_version.clone().unwrap_or_default();
    Kept {
        name: key(&pod.workload.namespace, &pod.name),
        // Pods change all the time, and nobody waits for it.
        stamp: String::new(),
        resource_version: version,
        value: Arc::new(pod),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_drivers_configuration_only_the_acls_are_kept() {
        let text = "spark.acls.enable=true\nspark.ui.view.acls=ann\nspark.hadoop.fs.s3a.secret.key=x\nspark.master=k8s\n";
        let data = [(SPARK_CONF.to_owned(), text.to_owned())].into();
        let kept: Vec<_> = settings(data).iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(kept, ["spark.acls.enable", "spark.ui.view.acls"]);
        assert!(settings(BTreeMap::new()).is_empty());
        assert!(settings([(SPARK_CONF.to_owned(), "x".repeat(MAX_CONF + 1))].into()).is_empty());
    }
}
