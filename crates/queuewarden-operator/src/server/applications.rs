//! The running applications, for queries about them. They are known from the pods that `YuniKorn` schedules,
//! which are watched, and from the configuration of a Spark driver, which is read on demand. If the pods
//! alone do not show whether an ID is free, the scheduler is queried.
//!
//! This is off by default, because it requires permission to list and watch pods in all namespaces. Nothing
//! else waits for it. Until the pods have been read once, queries about applications are undecided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use futures::future::join_all;
use http::StatusCode;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1 as core;
use kube::runtime::watcher;
use kube::{Api, Client};
use moka::future::Cache;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{interval, timeout};

use crate::controller::health::Health;
use crate::controller::metered::Cost;
use crate::controller::published::{Published, PublishedReceiver};
use crate::controller::watch::{Progress, Store, WatchInto};
use queuewarden_api::pod;
use queuewarden_client::call::call;
use queuewarden_client::scheduler::{self, Connector, SchedulerError};
use yunikorn::admission::request::{USER_INFO, YUNIKORN};
use yunikorn::application::properties;
use yunikorn::application::settings::SPARK_KEYS;
use yunikorn_access::review::Lookup;
use yunikorn_access::running::joins::{Running, Wanted};
use yunikorn_access::running::registry::Registry;
use yunikorn_access::running::{self, Pod, speaker};
use yunikorn_access::tree::Scheduler;
use yunikorn_access::user_info::wrong_aliases;

/// The key of a Spark driver's `ConfigMap` (spark-kubernetes 3.5 `Constants.SPARK_CONF_FILE_NAME`).
const SPARK_CONF: &str = "spark.properties";
/// The maximum size of a configuration, in bytes.
const MAX_CONF: usize = 1 << 20;
/// The maximum time between the creation of a driver's pod and of its configuration. Spark creates one after
/// the other, and makes the configuration immutable (spark-kubernetes 3.5 `KubernetesClientUtils`).
const CREATED_WITHIN: SignedDuration = SignedDuration::from_secs(10);
/// How long a driver's configuration is cached. It does not change while the driver lives, but a failure to
/// read it may pass.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);
/// The interval between counts of pods that lack an alias.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
/// The total bytes of cached configurations.
const REMEMBERED: u64 = 8 << 20;
/// The bytes of a configuration without any text.
const LEAST: usize = 512;
/// Longest wait for the watch to deliver the owner of a placeholder. The scheduler creates a placeholder as
/// soon as its own watch has delivered the owner.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);
/// Maximum number of applications that the scheduler is queried for in one request.
const MAX_ASKED: usize = 8;
/// Longest wait for its answers; the whole response may take 3 seconds.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// Maximum number of pods in the first response to a list ([`super::metered`]).
const PAGE: u32 = 8;

/// The supported queries about applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ApplicationsMode {
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
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Applications(Option<Arc<Inner>>);

struct Inner {
    mode: ApplicationsMode,
    pods: WatchInto<Pods>,
    client: Client,
    connector: Connector,
    /// The configurations by the driver's UID.
    confs: Cache<String, Settings>,
}

type Settings = Arc<Vec<(String, String)>>;

/// The pods that the watch has delivered.
#[derive(Debug, Default)]
struct Pods {
    registry: Registry,
    /// Is changed by every event.
    shown: watch::Sender<()>,
}

impl Store for Pods {
    const COST: Cost = Cost::POD;
    type Item = Pod;

    fn observe(&mut self, event: watcher::Event<Pod>) -> bool {
        use watcher::Event as E;
        let (registry, now) = (&mut self.registry, Instant::now());
        match event {
            E::Apply(pod) => registry.seen(pod, now),
            E::Delete(pod) => registry.gone(&pod, now),
            E::Init => registry.list_begins(),
            E::InitApply(pod) => registry.listed(pod),
            E::InitDone => registry.list_ends(now),
        }
        self.shown.send_replace(());
        // No plan waits for pods.
        false
    }
}

/// The part of `dao.ApplicationDAOInfo` that is used.
#[derive(Deserialize)]
struct ApplicationInfo {
    user: String,
}

impl Applications {
    /// Starts to watch, unless `mode` is off.
    pub fn start(client: &Client, mode: ApplicationsMode) -> Self {
        Self((mode != ApplicationsMode::Off).then(|| {
            // Includes pods that have ended, because their logs may be read and their IDs are not free at
            // once.
            let config = watcher::Config::default().fields(&format!("spec.schedulerName={YUNIKORN}"));
            let config = config.page_size(PAGE);
            // No plan depends on pods, so nothing waits for this.
            let changed = Arc::default();
            let pods = WatchInto::start(
                client,
                Api::all,
                config,
                |object: pod::Decoded| pod::read(&object),
                "pods",
                &changed,
            );
            let confs = Cache::builder().weigher(|uid: &String, settings: &Settings| bytes(uid, settings));
            let confs = confs.max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build();
            let connector = Connector::new(client.clone());
            Arc::new(Inner { mode, pods, client: client.clone(), connector, confs })
        }))
    }

    /// Returns whether queries about pods are answered.
    pub fn answers_pods(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.mode == ApplicationsMode::Pods)
    }

    /// Returns the progress of the watch.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        self.0.as_ref().map(|inner| Arc::clone(inner.pods.progress()))
    }

    /// Periodically counts the pods that lack an alias used in an ACL, or have an alias that is not theirs.
    pub async fn count_wrong_aliases(self, knows: PublishedReceiver, health: Arc<Health>) {
        let Some(inner) = self.0 else { return };
        let mut next = interval(COUNTED_EVERY);
        loop {
            next.tick().await;
            let (Some(state), Ok(pods)) = (knows.borrow().clone(), inner.all()) else { continue };
            let counts = |pod: &&Arc<Pod>| !pod.ended && has_wrong_aliases(pod, state.granted_aliases());
            health.metrics.counted_wrong_aliases(pods.iter().filter(counts).count());
        }
    }

    /// Finds the application with this ID, in this namespace unless it is empty.
    pub async fn find(&self, namespace: &str, id: &str, scheduler: Scheduler<'_>) -> Lookup {
        let Some(inner) = &self.0 else {
            return Lookup::Undecided(
                "applications are not looked up here: start queuewarden run with --applications=on"
                    .to_owned(),
            );
        };
        let pod = inner.pods().and_then(|pods| pods.registry.first(namespace, id));
        inner.application(pod, scheduler).await
    }

    /// Returns the data that a request of these applications and pods needs. The result is empty if pods are
    /// not watched.
    ///
    /// # Errors
    /// Explains why the pods are not known yet.
    pub async fn running(&self, wanted: &Wanted<'_>, known: &Published) -> Result<Running, String> {
        let Some(inner) = self.0.as_ref().filter(|_| !wanted.is_empty()) else {
            return Ok(Running::default());
        };
        let mut running = inner.running(wanted)?;
        if !wanted.owners.is_empty() && !running.knows_owner() {
            running = inner.running_with_owner(wanted).await?;
        }
        let unsettled = running.unsettled();
        if !unsettled.is_empty() {
            Box::pin(inner.ask(&mut running, unsettled, known)).await;
        }
        Ok(running)
    }

    /// Finds the application of a pod. It is unknown if `YuniKorn` does not schedule the pod.
    pub async fn of_pod(&self, namespace: &str, name: &str, scheduler: Scheduler<'_>) -> Lookup {
        let Some(inner) = self.0.as_ref().filter(|_| self.answers_pods()) else { return Lookup::Unknown };
        let pod = inner.pods().map(|pods| {
            let pod = pods.registry.get(namespace, name)?;
            Some(Arc::clone(speaker(pods.registry.pods(), pod)))
        });
        inner.application(pod, scheduler).await
    }
}

impl Inner {
    /// Returns the pods.
    ///
    /// # Errors
    /// Explains why they are not known yet.
    fn pods(&self) -> Result<MutexGuard<'_, Pods>, String> {
        let pods = self.pods.store();
        if pods.registry.synced() {
            return Ok(pods);
        }
        let problem = self.pods.progress().problem().map(|problem| format!(": {}", problem.message));
        Err(format!("the pods have not been read yet{}", problem.unwrap_or_default()))
    }

    fn running(&self, wanted: &Wanted<'_>) -> Result<Running, String> {
        Ok(self.pods()?.registry.running(wanted, Instant::now()))
    }

    /// Returns the same data once the watch has delivered an owner of the placeholder, or after some time.
    async fn running_with_owner(&self, wanted: &Wanted<'_>) -> Result<Running, String> {
        let mut shown = self.pods.store().shown.subscribe();
        let known = async {
            loop {
                let running = self.running(wanted)?;
                // The sender lives as long as this value.
                if running.knows_owner() || shown.changed().await.is_err() {
                    return Ok(running);
                }
            }
        };
        timeout(SHOWN_WITHIN, known).await.unwrap_or_else(|_| self.running(wanted))
    }

    /// Queries the scheduler for IDs that no pod has. It may keep such an application longer than its pods
    /// exist, for example if its only pod was deleted before it was scheduled.
    async fn ask(&self, running: &mut Running, ids: Vec<String>, known: &Published) {
        let spec = known.snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
        let address = spec.and_then(|spec| spec.scheduler.as_ref());
        let asked = async {
            let address = address.ok_or("the YuniKornConfig has no schedulerUrl")?;
            if ids.len() > MAX_ASKED {
                return Err(format!("the scheduler is not queried for more than {MAX_ASKED} applications"));
            }
            let scheduler = self.connector.connect(address).await.map_err(|error| error.to_string())?;
            let answers = ids.iter().map(async |id| {
                if !is_label(id) {
                    return Err(
                        "the scheduler is only queried for IDs that can be the value of a label".to_owned()
                    );
                }
                match scheduler.get::<ApplicationInfo>(&scheduler::application_path(id)).await {
                    Ok(application) => Ok(Some(application.user)),
                    Err(SchedulerError::Status(_, StatusCode::NOT_FOUND)) => Ok(None),
                    Err(error) => Err(error.to_string()),
                }
            });
            Ok(join_all(answers).await)
        };
        let asked = timeout(ANSWERED_WITHIN, asked).await;
        let asked = asked.unwrap_or_else(|_| Err("the scheduler does not answer in time".to_owned()));
        let answers = asked.unwrap_or_else(|why| vec![Err(why); ids.len()]);
        for (id, answer) in ids.iter().zip(answers) {
            running.learn(id, answer.as_ref().map(Option::as_deref).map_err(String::as_str));
        }
    }

    /// Returns copies of the pods, so that counting them does not block other tasks.
    fn all(&self) -> Result<Vec<Arc<Pod>>, String> {
        self.pods().map(|pods| pods.registry.pods().cloned().collect())
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

    /// Returns the ACL settings in a driver's configuration. A configuration that cannot be parsed gives no
    /// one access.
    async fn conf(&self, pod: &Pod, map: &str) -> Settings {
        let namespace = &pod.workload.namespace;
        let read = async {
            let maps: Api<core::ConfigMap> = Api::namespaced(self.client.clone(), namespace);
            match call(maps.get(map)).await {
                Ok(map) if is_of(pod, &map) => settings(map.data.unwrap_or_default()),
                Ok(_) => {
                    tracing::info!(
                        namespace,
                        map,
                        "The configuration of a Spark driver may belong to \
                         another driver"
                    );
                    Settings::default()
                }
                Err(error) => {
                    tracing::info!(%error, namespace, map, "The configuration of a Spark driver cannot be \
                         read");
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

/// Returns whether a driver started with this configuration. Users who may write ConfigMaps could change or
/// replace it later.
fn is_of(driver: &Pod, map: &core::ConfigMap) -> bool {
    let created = map.metadata.creation_timestamp.as_ref().map(|time| time.0);
    map.immutable == Some(true)
        && created.is_some_and(|created| created.duration_since(driver.created) <= CREATED_WITHIN)
}

fn settings(mut data: BTreeMap<String, String>) -> Settings {
    let text = data.remove(SPARK_CONF).filter(|text| text.len() <= MAX_CONF).unwrap_or_default();
    let mut settings = properties::parse(&text);
    // Only settings that affect rules are stored, because others may be secrets. A list that is too long
    // admits no one.
    settings.retain(|(key, text)| SPARK_KEYS.contains(&key.as_str()) && text.len() <= pod::MAX_TEXT);
    Arc::new(settings)
}

/// Returns whether the ID can be a label value. For other IDs the scheduler answers that the path does not
/// exist.
fn is_label(id: &str) -> bool {
    let is_outer = |c: char| c.is_ascii_alphanumeric();
    id.starts_with(is_outer) && id.ends_with(is_outer) && id.chars().all(|c| is_outer(c) || "-_.".contains(c))
}

/// Returns the bytes of a configuration in the cache.
fn bytes(uid: &str, settings: &[(String, String)]) -> u32 {
    let texts = settings.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>();
    u32::try_from(LEAST + uid.len() + texts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_scheduler_is_asked_about_ids_that_its_paths_can_have() {
        for id in ["spark-1", "a", "app_1.b-C"] {
            assert!(is_label(id), "{id}");
        }
        for id in ["", "..", ".", "a/b", "a b", "-a", "a-", "sha256:00", "a%2fb", "\u{e4}"] {
            assert!(!is_label(id), "{id}");
        }
        assert_eq!(scheduler::application_path("app_1.b"), "ws/v1/partition/default/application/app_1.b");
    }

    #[test]
    fn a_configuration_that_was_written_after_the_beginning_gives_nobody_access() {
        let driver = Pod { created: "2026-06-01T12:00:00Z".parse().unwrap(), ..Pod::default() };
        for (immutable, created, expected) in [
            (json!(true), json!("2026-06-01T12:00:10Z"), true),
            (json!(true), json!("2026-06-01T11:00:00Z"), true),
            (json!(true), json!("2026-06-01T12:00:11Z"), false),
            (json!(true), json!(null), false),
            (json!(false), json!("2026-06-01T12:00:00Z"), false),
            (json!(null), json!("2026-06-01T12:00:00Z"), false),
        ] {
            let map = json!({"immutable": immutable, "metadata": {"creationTimestamp": created}});
            let map = serde_json::from_value(map).unwrap();
            assert_eq!(is_of(&driver, &map), expected, "{map:?}");
        }
    }

    #[test]
    fn of_a_drivers_configuration_only_the_acls_are_kept() {
        let text = "spark.acls.enable=true\nspark.ui.view.acls=ann\nspark.hadoop.fs.s3a.secret.key=x\nspark.master=k8s\n";
        let data = [(SPARK_CONF.to_owned(), text.to_owned())].into();
        let kept: Vec<_> = settings(data).iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(kept, ["spark.acls.enable", "spark.ui.view.acls"]);
        assert!(settings(BTreeMap::new()).is_empty());
        assert!(settings([(SPARK_CONF.to_owned(), "x".repeat(MAX_CONF + 1))].into()).is_empty());
        let list = |length: usize| format!("spark.ui.view.acls={}\n", "x".repeat(length));
        for (length, kept) in [(pod::MAX_TEXT, 1), (pod::MAX_TEXT + 1, 0)] {
            assert_eq!(settings([(SPARK_CONF.to_owned(), list(length))].into()).len(), kept, "{length}");
        }
    }
}
