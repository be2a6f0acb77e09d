//! Watches everything that a plan depends on, and builds the [`Snapshot`] from it.
//!
//! Our own kinds are watched in the whole cluster as [`DynamicObject`], so that an object that cannot be
//! decoded is still seen. ConfigMaps are watched individually, by name, because the shipped Role allows no
//! more. The `YuniKornConfig` names them; when it names others, their watches are restarted.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::cache::{Cache, Cached, Moment};
use super::clock;
use super::current_object::{CachedObject, CurrentObject, to_cached};
use super::mirror::MirrorWatches;
use super::watch::{FORBIDDEN_FOR, Problem, Progress, Watch};
use go_compat::diag::Diagnostic;
use queuewarden_api::identity_webhook::{MUTATING, VALIDATING, Webhook, YUNIKORN, check, webhooks};
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_api::{config_map, convert, v1alpha1 as crd};
use queuewarden_client::objects::api;
use queuewarden_plan::ResourceKind;
use queuewarden_plan::conditions::{self, Type};
use queuewarden_plan::machine::FailingWatch;
use queuewarden_plan::snapshot::{
    AccessTestSpec, AdmissionPolicySpec, ConfigEntry, ConfigMapState, ConfigSpec, Entry, QueueAclEntry,
    QueueAclInForce, QueueAclSpec, Snapshot, YUNIKORN_DEFAULTS,
};
use yunikorn_access::user_info::Mode;

/// Maximum number of objects in the first response to a list ([`super::metered`]).
const PAGE: u32 = 32;

type Objects<S, M> = Watch<CachedObject<Entry<S, M>>>;
type CachedEntry<S, M> = Cached<CachedObject<Entry<S, M>>>;

/// All watches, and the watches that are about to replace them.
///
/// kube's stores cannot be read again from scratch, which a replica needs after it has won the Lease
/// ([`ClusterWatches::relist`]). The watches are therefore started a second time, and replace the running
/// ones once all of them have listed. Until then, the endpoints use the current data.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct ClusterWatches {
    current: Watches,
    /// True until a requested relist is reported as done.
    relisting: bool,
    next: Option<Watches>,
}

/// All watches, started together.
struct Watches {
    client: Client,
    changed: Arc<Notify>,
    queue_acls: Objects<QueueAclSpec, Arc<QueueAclInForce>>,
    policies: Objects<AdmissionPolicySpec, AdmissionPolicySpec>,
    configs: Watch<CachedObject<ConfigEntry>>,
    access_tests: Objects<AccessTestSpec, ()>,
    maps: Option<Maps>,
    mirror: Option<MirrorWatches>,
    identity_webhook: Option<IdentityWebhookWatches>,
    /// When the watches were started.
    begun: Instant,
}

/// The watches of the ConfigMaps in a `YuniKornConfig`.
#[derive(Debug)]
struct Maps {
    namespace: String,
    base: String,
    output: String,
    watches: BTreeMap<String, Watch<ConfigMapState>>,
}

impl ClusterWatches {
    /// Starts all watches.
    pub fn start(client: Client, changed: Arc<Notify>) -> Self {
        Self { current: Watches::start(client, changed), relisting: false, next: None }
    }

    /// Reads everything again with lists started after `since`; [`ClusterWatches::relisted`] reports when
    /// that is done.
    pub fn relist(&mut self, since: Instant) {
        self.relisting = true;
        let Watches { client, changed, begun, .. } = &self.current;
        self.next = (*begun < since).then(|| Watches::start(client.clone(), Arc::clone(changed)));
        // It may be done already.
        changed.notify_one();
    }

    /// Returns true once when everything has been read again since [`ClusterWatches::relist`]. From then on,
    /// no older state is observed.
    pub fn relisted(&mut self) -> bool {
        let watches = self.next.as_mut().unwrap_or(&mut self.current);
        if !self.relisting || watches.snapshot(clock::now()).is_none() {
            return false;
        }
        if let Some(next) = self.next.take() {
            self.current = next;
        }
        self.relisting = false;
        true
    }

    /// Returns all watched objects at `now`, without data from the scheduler; `None` until all of it has been
    /// read once.
    pub fn snapshot(&mut self, now: Timestamp) -> Option<Snapshot> {
        self.current.snapshot(now)
    }

    /// Returns whether the user-info webhook writes the aliases of all pods, or why not; `None` while no
    /// policy enforces names. `left_alone` are `YuniKorn`'s namespace and queuewarden's.
    pub fn identity_webhook(&self, now: Timestamp, left_alone: &[&str]) -> Option<Result<(), String>> {
        Some(self.current.identity_webhook.as_ref()?.observed(now, left_alone))
    }

    /// Returns the longest-failing watch among the watches that a correct plan requires.
    pub fn failing(&self) -> Option<FailingWatch> {
        self.next.as_ref().unwrap_or(&self.current).failing()
    }

    /// Returns the log level that an annotation of the `YuniKornConfig` sets.
    pub fn log_level(&self) -> Option<String> {
        self.current.configs.get(SINGLETON)?.log_level.clone()
    }

    /// Returns the current version of an object, if it is known.
    pub fn current_object(&self, kind: ResourceKind, name: &str) -> Option<CurrentObject> {
        let Watches { queue_acls, policies, configs, access_tests, .. } = &self.current;
        match kind {
            ResourceKind::QueueAcl => queue_acls.store().get(name).map(CurrentObject::from_cached),
            ResourceKind::AdmissionPolicy => policies.store().get(name).map(CurrentObject::from_cached),
            ResourceKind::YuniKornConfig => configs.store().get(name).map(CurrentObject::from_cached),
            ResourceKind::QueueAccessTest => access_tests.store().get(name).map(CurrentObject::from_cached),
        }
    }

    /// Stores the object that was returned when we patched its status, because the watch may be slower.
    pub fn learn_status(&self, kind: ResourceKind, object: DynamicObject) {
        let Watches { queue_acls, policies, configs, access_tests, .. } = &self.current;
        match kind {
            ResourceKind::QueueAcl => queue_acls.store().learn_status(queue_acl_to_cached(object)),
            ResourceKind::AdmissionPolicy => policies.store().learn_status(policy_to_cached(object)),
            ResourceKind::YuniKornConfig => configs.store().learn_status(config_to_cached(object)),
            ResourceKind::QueueAccessTest => access_tests.store().learn_status(access_test_to_cached(object)),
        }
    }

    /// Returns the moment before a request for the ConfigMap `name`; `None` if it is not watched.
    pub fn moment(&self, name: &str) -> Option<Moment> {
        Some(self.map(name)?.store().moment())
    }

    /// Returns the current version of the ConfigMap `name`, if it is known.
    pub fn config_map(&self, name: &str) -> Option<Arc<ConfigMapState>> {
        self.map(name)?.get(name)
    }

    /// Stores a ConfigMap that our request, made after `moment`, returned.
    pub fn learn_config_map(&self, map: ConfigMap, moment: Option<Moment>) {
        let map = config_map_to_cached(map);
        if let Some((watch, moment)) = self.map(&map.name).zip(moment) {
            watch.store().learn(map, moment);
        }
    }

    /// Records that our request did not find the ConfigMap `name`.
    pub fn forget_config_map(&self, name: &str) {
        if let Some(watch) = self.map(name) {
            watch.store().forget(name);
        }
    }

    fn map(&self, name: &str) -> Option<&Watch<ConfigMapState>> {
        self.current.maps.as_ref()?.watches.get(name)
    }

    /// Returns the watches of the RBAC mirror, if there are any.
    pub fn mirror(&self) -> Option<&MirrorWatches> {
        self.current.mirror.as_ref()
    }

    /// Ends the watches of the RBAC mirror once they are not needed. After the last status was written,
    /// nothing else may trigger this for a long time.
    pub fn follow_mirror(&mut self) {
        self.current.follow_mirror();
    }

    /// Returns the progress of all watches. Watches of tests and webhooks are left out if they have never
    /// worked because they are forbidden or the kind is not installed: otherwise, alerts on stalled watches
    /// would report them forever.
    pub fn progress(&self) -> Vec<Arc<Progress>> {
        let mirror = self.current.mirror.iter().flat_map(MirrorWatches::progress);
        let webhooks = self.current.identity_webhook.iter().flat_map(IdentityWebhookWatches::progress);
        let optional = webhooks.chain([self.current.access_tests.progress()]);
        let optional = optional.filter(|watch| !watch.is_refused() || watch.succeeded() > 0);
        self.current.needed().chain(optional).chain(mirror).cloned().collect()
    }
}

impl Watches {
    fn start(client: Client, changed: Arc<Notify>) -> Self {
        Self {
            queue_acls: objects(&client, ResourceKind::QueueAcl, queue_acl_to_cached, &changed),
            policies: objects(&client, ResourceKind::AdmissionPolicy, policy_to_cached, &changed),
            configs: objects(&client, ResourceKind::YuniKornConfig, config_to_cached, &changed),
            access_tests: objects(&client, ResourceKind::QueueAccessTest, access_test_to_cached, &changed),
            maps: None,
            mirror: None,
            identity_webhook: None,
            begun: Instant::now(),
            client,
            changed,
        }
    }

    fn snapshot(&mut self, now: Timestamp) -> Option<Snapshot> {
        if !(self.queue_acls.store().synced()
            && self.policies.store().synced()
            && self.configs.store().synced()
            && self.knows_access_tests())
        {
            return None;
        }
        let mut config = self.configs.get(SINGLETON).map(|config| (*config.entry).clone());
        self.follow_mirror();
        let [mut defaults, mut base, mut output] = [None, None, None];
        if let Some(config) = &mut config
            && let Ok(spec) = &config.spec
        {
            let maps = self.follow_config(spec);
            if maps.synced() {
                defaults = maps.get(YUNIKORN_DEFAULTS);
                base = maps.get(&maps.base);
                output = maps.get(&maps.output);
            } else {
                config.spec = Err(vec![maps.forbidden(now)?]);
            }
        }
        self.follow_identity_webhook();
        if self.mirror.as_ref().is_some_and(MirrorWatches::reading)
            || self.identity_webhook.as_ref().is_some_and(|watches| watches.reading(now))
        {
            return None;
        }
        Some(Snapshot {
            config,
            queue_acls: shared(&self.queue_acls.store()),
            policies: entries(&self.policies.store()),
            access_tests: entries(&self.access_tests.store()),
            defaults,
            base,
            output,
            mirror: self.mirror.as_ref().map(MirrorWatches::observed),
            ..Snapshot::empty(now)
        })
    }

    /// Returns whether the tests were read, or cannot be read because the kind is not installed or the
    /// operator is not allowed to. Access is managed without them.
    fn knows_access_tests(&self) -> bool {
        self.access_tests.store().synced() || self.access_tests.progress().is_refused()
    }

    /// Watches the ConfigMaps that the `YuniKornConfig` names now.
    fn follow_config(&mut self, spec: &ConfigSpec) -> &Maps {
        let maps = self.maps.take().filter(|maps| {
            (&maps.namespace, &maps.base, &maps.output)
                == (&spec.namespace, &spec.base_config_map, &spec.output_config_map)
        });
        self.maps.insert(maps.unwrap_or_else(|| Maps::start(&self.client, spec, &self.changed)))
    }

    /// Watches the RBAC mirror while it is enabled, and until its last object is removed.
    fn follow_mirror(&mut self) {
        let needed = self.configs.get(SINGLETON).is_some_and(|config| {
            config.entry.spec.as_ref().is_ok_and(|spec| spec.rbac_mirror)
                || conditions::find(&config.entry.meta.conditions, Type::Mirrored).is_some()
        });
        if !needed {
            self.mirror = None;
        } else if self.mirror.is_none() {
            tracing::info!("Watching the RBAC mirror");
            self.mirror = Some(MirrorWatches::start(&self.client, &self.changed));
        }
    }

    /// Watches the registration of the user-info webhook while a policy enforces names.
    fn follow_identity_webhook(&mut self) {
        let enforces = |spec: &AdmissionPolicySpec| {
            spec.user_info.as_ref().is_some_and(|settings| settings.mode == Mode::Enforce)
        };
        let needed = self.policies.store().objects().any(|policy| {
            let Entry { spec, in_force, .. } = &*policy.entry;
            spec.as_ref().is_ok_and(enforces) || in_force.as_ref().is_some_and(enforces)
        });
        if !needed {
            self.identity_webhook = None;
        } else if self.identity_webhook.is_none() {
            tracing::info!("Watching the registration of the user-info webhook");
            self.identity_webhook = Some(IdentityWebhookWatches::start(&self.client, &self.changed));
        }
    }

    /// Returns the watches that a correct plan requires.
    fn needed(&self) -> impl Iterator<Item = &Arc<Progress>> {
        let own = [self.queue_acls.progress(), self.policies.progress(), self.configs.progress()];
        let maps = self.maps.iter().flat_map(|maps| maps.watches.values().map(Watch::progress));
        own.into_iter().chain(maps)
    }

    fn failing(&self) -> Option<FailingWatch> {
        let failing = self.needed().filter_map(|progress| {
            let problem = progress.problem()?;
            let message = format!("the watch of {} fails: {}", progress.resource, problem.message);
            Some(FailingWatch { since: problem.since, message })
        });
        failing.min_by_key(|failing| failing.since)
    }
}

impl Maps {
    fn start(client: &Client, spec: &ConfigSpec, changed: &Arc<Notify>) -> Self {
        let ConfigSpec { namespace, base_config_map: base, output_config_map: output, .. } = spec.clone();
        tracing::info!(namespace, base, output, "Watching ConfigMaps");
        let mut watches = BTreeMap::new();
        let names = [
            (YUNIKORN_DEFAULTS, "configmaps-defaults"),
            (base.as_str(), "configmaps-base"),
            (output.as_str(), "configmaps-output"),
        ];
        for (name, label) in names {
            watches.entry(name.to_owned()).or_insert_with(|| {
                let api = |client| Api::<ConfigMap>::namespaced(client, &namespace);
                let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
                Watch::start(client, api, config, config_map_to_cached, label, changed)
            });
        }
        Self { namespace, base, output, watches }
    }

    fn synced(&self) -> bool {
        self.watches.values().all(|watch| watch.store().synced())
    }

    fn get(&self, name: &str) -> Option<Arc<ConfigMapState>> {
        self.watches.get(name)?.get(name)
    }

    /// Returns a problem if reading a ConfigMap is forbidden, because a plan without it would treat it as
    /// missing. A single refusal is ignored.
    fn forbidden(&self, now: Timestamp) -> Option<Diagnostic> {
        self.watches.iter().find_map(|(name, watch)| {
            let problem = watch.progress().problem().filter(|problem| problem.is_denied(now))?;
            let message = format!(
                "queuewarden may not read ConfigMap {}/{name}; if `spec.namespace` and the name are right, list it \
                 in the Role of its ServiceAccount: {}",
                self.namespace, problem.message
            );
            Some(Diagnostic::error(config_map::FORBIDDEN, message))
        })
    }
}

fn objects<T: Send + Sync + 'static>(
    client: &Client,
    kind: ResourceKind,
    convert: fn(DynamicObject) -> Cached<T>,
    changed: &Arc<Notify>,
) -> Watch<T> {
    let config = watcher::Config::default().page_size(PAGE);
    Watch::start(client, |client| api(kind, client), config, convert, kind.plural(), changed)
}

fn entries<E: Clone>(cache: &Cache<CachedObject<E>>) -> Vec<E> {
    cache.objects().map(|object| (*object.entry).clone()).collect()
}

fn shared<E>(cache: &Cache<CachedObject<E>>) -> Vec<Arc<E>> {
    cache.objects().map(|object| Arc::clone(&object.entry)).collect()
}

fn queue_acl_to_cached(object: DynamicObject) -> Cached<CachedObject<QueueAclEntry>> {
    to_cached::<_, _, crd::QueueAclStatus>(object, convert::queue_acl)
}

fn policy_to_cached(object: DynamicObject) -> CachedEntry<AdmissionPolicySpec, AdmissionPolicySpec> {
    to_cached::<_, _, crd::AdmissionPolicyStatus>(object, convert::admission_policy)
}

fn config_to_cached(object: DynamicObject) -> Cached<CachedObject<ConfigEntry>> {
    to_cached::<_, _, crd::YuniKornConfigStatus>(object, convert::yunikorn_config)
}

fn access_test_to_cached(object: DynamicObject) -> CachedEntry<AccessTestSpec, ()> {
    to_cached::<_, _, crd::QueueAccessTestStatus>(object, convert::access_test)
}

/// Converts a ConfigMap. Every change matters, including a change of ownership.
#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn config_map_to_cached(map: ConfigMap) -> Cached<ConfigMapState> {
    let state = config_map::state(&map);
    Cached::by_version(state.name.clone(), state.resource_version.clone(), state)
}

/// The watches of the registration of the user-info webhook, which show the plan whether pods get their
/// aliases. The permissions come with manifests/user-info, so the registration is only watched while an
/// `AdmissionPolicy` enforces names. The configurations are watched individually, because the shipped
/// `ClusterRole` allows no more.
struct IdentityWebhookWatches([(Watch<Vec<Webhook>>, &'static str); 3]);

impl IdentityWebhookWatches {
    /// Starts to watch.
    fn start(client: &Client, changed: &Arc<Notify>) -> Self {
        let mutating = ApiResource::erase::<MutatingWebhookConfiguration>(&());
        let validating = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
        let watch = |kind: &ApiResource, name: &'static str, label: &'static str| {
            let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let api = |client| Api::all_with(client, kind);
            (Watch::start(client, api, config, webhooks_to_cached, label, changed), name)
        };
        Self([
            watch(&mutating, MUTATING, "mutatingwebhookconfigurations-user-info"),
            watch(&validating, VALIDATING, "validatingwebhookconfigurations-user-info"),
            watch(&mutating, YUNIKORN, "mutatingwebhookconfigurations-yunikorn"),
        ])
    }

    /// Returns whether the configurations are still being read. A watch that is forbidden, or fails for a
    /// long time, is ignored, because withdrawals are more important.
    fn reading(&self, now: Timestamp) -> bool {
        let waits =
            |problem: Problem| problem.code != Some(403) && now.duration_since(problem.since) < FORBIDDEN_FOR;
        let is_read =
            |watch: &Watch<_>| watch.store().synced() || !watch.progress().problem().is_none_or(waits);
        !self.0.iter().all(|(watch, _)| is_read(watch))
    }

    /// Checks that pods get their aliases. `left_alone` are `YuniKorn`'s namespace and queuewarden's. While a
    /// watch that worked before fails, its last state is used, unless it has been forbidden for a long time.
    ///
    /// # Errors
    /// Explains why they do not, and what to do.
    fn observed(&self, now: Timestamp, left_alone: &[&str]) -> Result<(), String> {
        for (watch, name) in &self.0 {
            let synced = watch.store().synced();
            let problem = watch.progress().problem();
            if let Some(problem) = problem.filter(|problem| !synced || problem.is_denied(now)) {
                return Err(format!(
                    "queuewarden cannot read the webhook configuration {name}; install manifests/user-info, \
                     whose ClusterRole lets it: {}",
                    problem.message
                ));
            }
        }
        let [mutating, validating, yunikorn] = self.0.each_ref().map(|(watch, name)| watch.get(name));
        let [mutating, validating, yunikorn] =
            [&mutating, &validating, &yunikorn].map(|webhooks| webhooks.as_deref().map(Vec::as_slice));
        check(mutating, validating, yunikorn, left_alone)
    }

    /// Returns the progress of the watches.
    fn progress(&self) -> [&Arc<Progress>; 3] {
        self.0.each_ref().map(|(watch, _)| watch.progress())
    }
}

/// Converts a configuration for the cache.
#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn webhooks_to_cached(object: DynamicObject) -> Cached<Vec<Webhook>> {
    let version = object.resource_version().unwrap_or_default();
    Cached::by_version(object.name_any(), version, webhooks(&object.data))
}
