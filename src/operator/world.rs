//! Everything that is watched, and the [`Snapshot`] of it.
//!
//! Our own kinds are watched in the whole cluster as [`DynamicObject`], so that one that cannot be decoded is still seen. ConfigMaps are
//! watched one by one, by name: that is all the shipped Role allows. Which ones is said by the `YuniKornConfig`; when it
//! names others, their watches are made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::Notify;

use super::cache::{Cache, Kept};
use super::mirror;
use super::standing::{Object, Standing, keep};
use super::watch::{Progress, Watch};
use crate::api::{API_VERSION, GROUP, VERSION, access_test, config_map, convert, v1alpha1 as api};
use crate::plan::conditions::{Condition, Type};
use crate::plan::snapshot::{
    AccessTestSpec, AdmissionPolicySpec, ConfigMapState, ConfigMemory, ConfigSpec, Entry, Observed,
    QueueAclEntry, QueueAclInForce, QueueAclSpec, Snapshot, YUNIKORN_DEFAULTS,
};
use crate::text::diag::{Code, Diagnostic};

/// A ConfigMap that the `YuniKornConfig` names may not be read.
pub const CONFIG_MAP_FORBIDDEN: Code = Code::new(5201, "config-map-forbidden");

/// All codes of the operator.
pub const CODES: &[Code] = &[CONFIG_MAP_FORBIDDEN];

/// Name of the one `YuniKornConfig`.
const SINGLETON: &str = "default";

/// A kind of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `QueueAcl`
    QueueAcl,
    /// `AdmissionPolicy`
    AdmissionPolicy,
    /// `YuniKornConfig`
    YuniKornConfig,
    /// `QueueAccessTest`
    QueueAccessTest,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::QueueAcl, Self::AdmissionPolicy, Self::YuniKornConfig, Self::QueueAccessTest];

    /// As in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueAcl => "QueueAcl",
            Self::AdmissionPolicy => "AdmissionPolicy",
            Self::YuniKornConfig => "YuniKornConfig",
            Self::QueueAccessTest => "QueueAccessTest",
        }
    }

    /// As in paths and in RBAC.
    pub fn plural(self) -> &'static str {
        match self {
            Self::QueueAcl => "queueacls",
            Self::AdmissionPolicy => "admissionpolicies",
            Self::YuniKornConfig => "yunikornconfigs",
            Self::QueueAccessTest => "queueaccesstests",
        }
    }

    /// All objects of the kind.
    pub fn api(self, client: Client) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: GROUP.into(),
            version: VERSION.into(),
            api_version: API_VERSION.into(),
            kind: self.name().into(),
            plural: self.plural().into(),
        };
        Api::all_with(client, &resource)
    }
}

type Objects<S, M> = Watch<Object<Entry<S, M>>>;

/// All watches.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct World {
    client: Client,
    changed: Arc<Notify>,
    queue_acls: Objects<QueueAclSpec, QueueAclInForce>,
    policies: Objects<AdmissionPolicySpec, AdmissionPolicySpec>,
    configs: Objects<ConfigSpec, ConfigMemory>,
    access_tests: Objects<AccessTestSpec, ()>,
    maps: Option<Maps>,
    mirror: Option<mirror::Watches>,
}

/// The watches of ConfigMaps.
#[derive(Debug)]
struct Maps {
    place: Place,
    watches: BTreeMap<String, Watch<ConfigMapState>>,
}

/// Which ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    namespace: String,
    base: String,
    output: String,
}

impl World {
    /// Begins to watch.
    pub fn start(client: Client, changed: Arc<Notify>) -> Self {
        Self {
            queue_acls: objects(&client, Kind::QueueAcl, keep_queue_acl, &changed),
            policies: objects(&client, Kind::AdmissionPolicy, keep_policy, &changed),
            configs: objects(&client, Kind::YuniKornConfig, keep_config, &changed),
            access_tests: objects(&client, Kind::QueueAccessTest, keep_access_test, &changed),
            maps: None,
            mirror: None,
            client,
            changed,
        }
    }

    /// Everything that is watched, at `now`, and nothing observed; `None` until all of it was read once.
    pub fn snapshot(&mut self, now: Timestamp) -> Option<Snapshot> {
        if !(self.queue_acls.cache().synced()
            && self.policies.cache().synced()
            && self.configs.cache().synced()
            && self.knows_access_tests())
        {
            return None;
        }
        self.follow_config();
        self.follow_mirror();
        if self.mirror.as_ref().is_some_and(mirror::Watches::reading) {
            return None;
        }
        let mut config = self.configs.cache().get(SINGLETON).map(|kept| (*kept.value.entry).clone());
        let spec = config.as_ref().and_then(|config| config.spec.as_ref().ok()).cloned();
        let [mut defaults, mut base, mut output] = [None, None, None];
        if let (Some(spec), Some(maps)) = (spec, &self.maps) {
            if let Some(problem) = maps.forbidden() {
                if let Some(config) = &mut config {
                    config.spec = Err(vec![problem]);
                }
            } else if maps.synced() {
                defaults = maps.get(YUNIKORN_DEFAULTS);
                base = maps.get(&spec.base_config_map);
                output = maps.get(&spec.output_config_map);
            } else {
                return None;
            }
        }
        Some(Snapshot {
            now,
            config,
            queue_acls: shared(&self.queue_acls.cache()),
            policies: entries(&self.policies.cache()),
            access_tests: entries(&self.access_tests.cache()),
            defaults,
            base,
            output,
            last_base: None,
            mirror: self.mirror.as_ref().map(mirror::Watches::seen),
            observed: Observed::default(),
        })
    }

    /// Whether the tests were read, or there are none because the kind is not installed, or not meant for us: access is managed without them.
    fn knows_access_tests(&self) -> bool {
        self.access_tests.cache().synced() || self.access_tests.progress().is_refused()
    }

    /// The spec of the `YuniKornConfig`, if it can be read.
    pub fn spec(&self) -> Option<ConfigSpec> {
        self.configs.cache().get(SINGLETON)?.value.entry.spec.clone().ok()
    }

    /// What the `YuniKornConfig` says about logs.
    pub fn log_level(&self) -> Option<String> {
        self.configs.cache().get(SINGLETON)?.value.log_level.clone()
    }

    /// Watches the ConfigMaps that the `YuniKornConfig` names now.
    fn follow_config(&mut self) {
        let Some(spec) = self.spec() else { return };
        let place =
            Place { namespace: spec.namespace, base: spec.base_config_map, output: spec.output_config_map };
        if self.maps.as_ref().is_none_or(|maps| maps.place != place) {
            tracing::info!(
                namespace = place.namespace,
                base = place.base,
                output = place.output,
                "Watching ConfigMaps"
            );
            self.maps = Some(Maps::start(&self.client, place, &self.changed));
        }
    }

    /// Watches the RBAC mirror while there is to be one, and until the last one is gone.
    fn follow_mirror(&mut self) {
        let wanted = self.configs.cache().get(SINGLETON).is_some_and(|kept| {
            let entry = &kept.value.entry;
            let told = |condition: &Condition| condition.type_ == Type::Mirrored.as_str();
            entry.spec.as_ref().is_ok_and(|spec| spec.rbac_mirror) || entry.meta.conditions.iter().any(told)
        });
        if !wanted {
            self.mirror = None;
        } else if self.mirror.is_none() {
            tracing::info!("Watching the RBAC mirror");
            self.mirror = Some(mirror::Watches::start(&self.client, &self.changed));
        }
    }

    /// An object as it stands, if it is known.
    pub fn standing(&self, kind: Kind, name: &str) -> Option<Standing> {
        match kind {
            Kind::QueueAcl => standing(&self.queue_acls, name),
            Kind::AdmissionPolicy => standing(&self.policies, name),
            Kind::YuniKornConfig => standing(&self.configs, name),
            Kind::QueueAccessTest => standing(&self.access_tests, name),
        }
    }

    /// Takes in what a patch of ours returned: the watch may lag behind.
    pub fn learn(&self, kind: Kind, object: DynamicObject) {
        match kind {
            Kind::QueueAcl => self.queue_acls.cache().learn_if_held(keep_queue_acl(object)),
            Kind::AdmissionPolicy => self.policies.cache().learn_if_held(keep_policy(object)),
            Kind::YuniKornConfig => self.configs.cache().learn_if_held(keep_config(object)),
            Kind::QueueAccessTest => self.access_tests.cache().learn_if_held(keep_access_test(object)),
        }
    }

    /// Takes in a ConfigMap as a request of ours returned it, if it is one of those that are watched.
    pub fn learn_config_map(&self, map: ConfigMap) {
        let kept = keep_config_map(map);
        if let Some(watch) = self.maps.as_ref().and_then(|maps| maps.watches.get(&kept.name)) {
            watch.cache().learn(kept);
        }
    }

    /// Takes in what came of a step towards the mirror.
    pub fn learn_mirror(&self, answer: mirror::Answer) {
        if let Some(mirror) = &self.mirror {
            mirror.learn(answer);
        }
    }

    /// The signs of life of all watches.
    pub fn progress(&self) -> Vec<Arc<Progress>> {
        let own = [
            self.queue_acls.progress(),
            self.policies.progress(),
            self.configs.progress(),
            self.access_tests.progress(),
        ];
        let maps = self.maps.iter().flat_map(|maps| maps.watches.values().map(Watch::progress));
        let mirror = self.mirror.iter().flat_map(mirror::Watches::progress);
        own.into_iter().chain(maps).chain(mirror).cloned().collect()
    }
}

impl Maps {
    fn start(client: &Client, place: Place, changed: &Arc<Notify>) -> Self {
        let mut watches = BTreeMap::new();
        let names = [
            (YUNIKORN_DEFAULTS, "configmaps-defaults"),
            (place.base.as_str(), "configmaps-base"),
            (place.output.as_str(), "configmaps-output"),
        ];
        for (name, label) in names {
            watches.entry(name.to_owned()).or_insert_with(|| {
                let api = |client| Api::<ConfigMap>::namespaced(client, &place.namespace);
                let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
                Watch::start(client, api, config, keep_config_map, Progress::new(label), Arc::clone(changed))
            });
        }
        Self { place, watches }
    }

    fn synced(&self) -> bool {
        self.watches.values().all(|watch| watch.cache().synced())
    }

    fn get(&self, name: &str) -> Option<Arc<ConfigMapState>> {
        let watch = self.watches.get(name)?;
        let cache = watch.cache();
        Some(Arc::clone(&cache.get(name)?.value))
    }

    /// Says so when a ConfigMap may not be read: a plan without it would take it for missing.
    fn forbidden(&self) -> Option<Diagnostic> {
        self.watches.iter().find_map(|(name, watch)| {
            let problem = watch.progress().problem().filter(|problem| problem.code == Some(403))?;
            let namespace = &self.place.namespace;
            let message = format!(
                "queuewarden may not read ConfigMap {namespace}/{name}; name it in the Role of its ServiceAccount: {}",
                problem.message
            );
            Some(Diagnostic::error(CONFIG_MAP_FORBIDDEN, message))
        })
    }
}

fn objects<T: Send + Sync + 'static>(
    client: &Client,
    kind: Kind,
    keep: fn(DynamicObject) -> Kept<T>,
    changed: &Arc<Notify>,
) -> Watch<T> {
    // See `World::knows_access_tests`.
    let progress = match kind {
        Kind::QueueAccessTest => Progress::optional(kind.plural()),
        _ => Progress::new(kind.plural()),
    };
    Watch::start(
        client,
        |client| kind.api(client),
        watcher::Config::default(),
        keep,
        progress,
        Arc::clone(changed),
    )
}

fn standing<S: Send + Sync + 'static, M: Send + Sync + 'static>(
    objects: &Objects<S, M>,
    name: &str,
) -> Option<Standing> {
    objects.cache().get(name).map(Standing::of)
}

fn entries<E: Clone>(cache: &Cache<Object<E>>) -> Vec<E> {
    cache.objects().map(|kept| (*kept.value.entry).clone()).collect()
}

fn shared<E>(cache: &Cache<Object<E>>) -> Vec<Arc<E>> {
    cache.objects().map(|kept| Arc::clone(&kept.value.entry)).collect()
}

fn keep_queue_acl(object: DynamicObject) -> Kept<Object<QueueAclEntry>> {
    keep::<_, _, api::QueueAclStatus>(object, convert::queue_acl)
}

fn keep_policy(object: DynamicObject) -> Kept<Object<Entry<AdmissionPolicySpec, AdmissionPolicySpec>>> {
    keep::<_, _, api::AdmissionPolicyStatus>(object, convert::admission_policy)
}

fn keep_config(object: DynamicObject) -> Kept<Object<Entry<ConfigSpec, ConfigMemory>>> {
    keep::<_, _, api::YuniKornConfigStatus>(object, convert::yunikorn_config)
}

fn keep_access_test(object: DynamicObject) -> Kept<Object<Entry<AccessTestSpec, ()>>> {
    keep::<_, _, api::QueueAccessTestStatus>(object, access_test::access_test)
}

/// Every change of a ConfigMap matters, also that of an owner.
#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn keep_config_map(map: ConfigMap) -> Kept<ConfigMapState> {
    let state = config_map::state(&map);
    Kept {
        name: state.name.clone(),
        resource_version: state.resource_version.clone(),
        stamp: state.resource_version.clone(),
        value: Arc::new(state),
    }
}
