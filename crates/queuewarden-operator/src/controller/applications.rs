//! Knows the running applications, for queries about them: it watches the pods that `YuniKorn` schedules,
//! stores what they reveal about their application, and reads the configuration of a Spark driver on demand.
//!
//! It is off by default, because it needs the right to list and watch pods in all namespaces. Nothing else
//! waits for it. Until the pods were read once, queries about applications are undecided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher;
use kube::{Api, Client};
use moka::future::Cache;
use tokio::time::interval;

use super::cache::{self, Cached};
use super::call::call;
use super::health::Health;
use super::published::Knows;
use super::watch::{Progress, Watch};
use queuewarden_api::pod;
use yunikorn::admission::patch::YUNIKORN;
use yunikorn::admission::request::USER_INFO;
use yunikorn::application::properties;
use yunikorn::version::Version;
use yunikorn_access::review::Lookup;
use yunikorn_access::running::joins::{BoundPod, Running};
use yunikorn_access::running::pods::PodRequest;
use yunikorn_access::running::{self, Pod, Scheduler, first, speaker};
use yunikorn_access::user_info::wrong_aliases;

/// The key of a Spark driver's `ConfigMap` (spark-kubernetes 3.5 `Constants.SPARK_CONF_FILE_NAME`).
const SPARK_CONF: &str = "spark.properties";
/// The largest configuration that is read, in bytes.
const MAX_CONF: usize = 1 << 20;
/// The time for which a driver's configuration is cached. It does not change while the driver lives, but a
/// failure to read it may pass.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);
/// The time between two counts of pods that lack an alias.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
/// The number of drivers whose configuration is cached.
const REMEMBERED: u64 = 1024;

/// The queries about applications that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Mode {
    /// None: pods are not watched
    #[default]
    Off,
    /// Queries about applications
    On,
    /// The same, and `get pods/log` and `delete pods` for the pods of applications
    Pods,
}

/// The running applications; clones share the same data. The default knows none.
#[derive(Clone, Default)]
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Applications(Option<Arc<Inner>>);

struct Inner {
    mode: Mode,
    pods: Watch<Pod>,
    client: Client,
    /// The configurations by the driver's UID.
    confs: Cache<String, Settings>,
}

type Settings = Arc<Vec<(String, String)>>;

impl Applications {
    /// Starts to watch, unless `mode` is off.
    pub fn start(client: &Client, mode: Mode) -> Self {
        Self((mode != Mode::Off).then(|| {
            let config = watcher::Config::default().fields(&format!("spec.schedulerName={YUNIKORN}"));
            // No plan depends on pods, so nobody waits for this.
            let changed = Arc::default();
            let kind = ApiResource::erase::<core::Pod>(&());
            let pods =
                Watch::start(client, |client| Api::all_with(client, &kind), config, keep, "pods", &changed);
            let confs = Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build();
            Arc::new(Inner { mode, pods, client: client.clone(), confs })
        }))
    }

    /// Returns whether queries about pods are answered.
    pub fn answers_pods(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.mode == Mode::Pods)
    }

    /// Returns the progress of the watch.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        self.0.as_ref().map(|inner| Arc::clone(inner.pods.progress()))
    }

    /// Counts the pods that lack an alias which an ACL names, or have a foreign one, again and again.
    pub async fn count_wrong_aliases(self, knows: Knows, health: Arc<Health>) {
        let Some(inner) = self.0 else { return };
        let mut next = interval(COUNTED_EVERY);
        loop {
            next.tick().await;
            let (Some(state), Ok(pods)) = (knows.borrow().clone(), inner.all()) else { continue };
            let counts = |pod: &&Arc<Pod>| !pod.ended && has_wrong_aliases(pod, state.granted_aliases());
            health.metrics.counted_wrong_aliases(pods.iter().filter(counts).count());
        }
    }

    /// Finds the application with this ID; only in this namespace, if that is not empty.
    pub async fn find(&self, namespace: &str, id: &str, scheduler: Scheduler<'_>) -> Lookup {
        let Some(inner) = &self.0 else {
            return Lookup::Undecided(
                "applications are not looked up here: start queuewarden run with --applications=on"
                    .to_owned(),
            );
        };
        let pod = inner.pods().and_then(|pods| first(pods.objects(), namespace, id));
        inner.application(pod, scheduler).await
    }

    /// Returns the running applications with these IDs, and this pod. The result is empty when pods are not
    /// watched.
    ///
    /// # Errors
    /// The reason why the pods are not known yet.
    pub fn running(
        &self,
        ids: &BTreeSet<&str>,
        creator: Option<BoundPod<'_>>,
        version: Version,
    ) -> Result<Running, String> {
        let Some(inner) = self.0.as_ref().filter(|_| !ids.is_empty() || creator.is_some()) else {
            return Ok(Running::default());
        };
        let pods = inner.pods()?;
        let creator = creator.and_then(|bound| {
            let pod = pods.get(&key(bound.namespace, bound.name))?;
            (pod.value.workload.pod.uid == bound.uid).then(|| Arc::clone(&pod.value))
        });
        Ok(Running::new(pods.objects(), ids, creator, version))
    }

    /// Finds the application of a pod; unknown if `YuniKorn` does not schedule it.
    pub async fn of_pod(&self, request: PodRequest<'_>, scheduler: Scheduler<'_>) -> Lookup {
        let Some(inner) = self.0.as_ref().filter(|_| self.answers_pods()) else { return Lookup::Unknown };
        let pod = inner.pods().map(|pods| {
            let pod = pods.get(&key(request.namespace, request.name))?;
            Some(Arc::clone(speaker(pods.objects(), &pod.value)))
        });
        inner.application(pod, scheduler).await
    }
}

impl Inner {
    /// Returns the pods.
    ///
    /// # Errors
    /// The reason why they are not known yet.
    fn pods(&self) -> Result<MutexGuard<'_, cache::Cache<Pod>>, String> {
        let pods = self.pods.cache();
        if pods.synced() {
            return Ok(pods);
        }
        let problem = self.pods.progress().problem().map(|problem| format!(": {}", problem.message));
        Err(format!("the pods have not been read yet{}", problem.unwrap_or_default()))
    }

    /// Returns copies of the pods, so that counting them keeps nobody waiting.
    fn all(&self) -> Result<Vec<Arc<Pod>>, String> {
        self.pods().map(|pods| pods.objects().cloned().collect())
    }

    /// Returns the application of a pod, if there is one.
    async fn application(&self, pod: Result<Option<Arc<Pod>>, String>, scheduler: Scheduler<'_>) -> Lookup {
        let pod = match pod {
            Ok(Some(pod)) => pod,
            Ok(None) => return Lookup::Unknown,
            Err(why) => return Lookup::Undecided(why),
        };
        let settings = match &pod.spark_conf {
            Some(map) => self.conf(&pod, map).await,
            None => Settings::default(),
        };
        running::application(&pod, &settings, scheduler)
    }

    /// Returns the ACL settings in a driver's configuration. A configuration that cannot be read gives nobody
    /// access.
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
        self.confs.get_with_by_ref(&pod.workload.pod.uid, read).await
    }
}

fn has_wrong_aliases(pod: &Pod, granted: &BTreeSet<String>) -> bool {
    let text = pod.workload.pod.annotations.get(USER_INFO);
    text.is_some_and(|text| wrong_aliases(text, granted).is_some())
}

fn settings(mut data: BTreeMap<String, String>) -> Settings {
    let text = data.remove(SPARK_CONF).filter(|text| text.len() <= MAX_CONF).unwrap_or_default();
    let mut settings = properties::parse(&text);
    // Only settings that rules are read from are stored: others may be secrets.
    settings.retain(|(key, _)| key.starts_with("spark.") && key.contains("acls"));
    Arc::new(settings)
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn keep(object: DynamicObject) -> Cached<Pod> {
    let pod = pod::read(&object);
    let version = object.metadata.resource_version.clone().unwrap_or_default();
    Cached {
        name: key(&pod.workload.namespace, &pod.name),
        // Pods change all the time, and no plan waits for them.
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
