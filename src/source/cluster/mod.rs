//! Reads the current configuration of a cluster: both of `YuniKorn`'s ConfigMaps as it merges them, and the
//! objects that wrote into them. It writes nothing, and every request has a timeout.

mod connect;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::api::{
    ApiResource, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, PartialObjectMeta, PostParams,
    TypeMeta,
};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::configuration::{self, ClusterContext, Configuration, RenderedText, Text};
use super::live;
use crate::output::{Console, Failure};
use crate::source::times::clock;
use go_compat::diag::Diagnostic;
use queuewarden_api::v1alpha1::SINGLETON;
use queuewarden_api::{config_map, convert};
use queuewarden_client::call::{CallError, call};
use queuewarden_client::objects::api;
use queuewarden_plan::release::Release;
use queuewarden_plan::snapshot::{
    ConfigEntry, ConfigMapState, ConfigSpec, Entry, Meta, Mode, QueueAclEntry, Snapshot, YUNIKORN_CONFIGS,
    YUNIKORN_DEFAULTS,
};
use queuewarden_plan::{
    ObjectRef, ParseCache, ResourceKind, attribution, config_map_of, managed_keys, merged,
};
use yunikorn::config::Flattened;
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::placement::Live;

pub(crate) use connect::{ClusterArgs, SchedulerLogin, ServerArgs, cause, context};
use connect::{config, no_cluster};

/// Maximum number of objects in one response.
const PAGE: u32 = 500;
/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// Name of the source of settings, for messages.
const SETTINGS: &str = "the YuniKornConfig";

/// A connection to a cluster.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    /// The URL of the API server.
    pub server: String,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to the cluster of the kubeconfig, or of the service account of the pod this runs in.
    ///
    /// # Errors
    /// When both are missing, or it cannot be used.
    pub fn connect(args: &ServerArgs) -> Result<Self, Failure> {
        // Two dependencies bring rustls, so a cryptography provider must be chosen. This fails if one was
        // chosen before.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Undecided(format!("cannot start a runtime: {error}")))?;
        let mut config = runtime.block_on(config(args)).map_err(|error| no_cluster(&*error, args))?;
        config.connect_timeout = Some(CONNECT);
        let server = config.cluster_url.to_string();
        let client = {
            let _context = runtime.enter();
            Client::try_from(config).map_err(|error| no_cluster(&error, args))?
        };
        Ok(Self { runtime, client, server })
    }

    /// Connects to a cluster, reads the settings of its `YuniKornConfig`, and prints notes about it. Returns
    /// the defaults if there is none.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not answer.
    pub fn open(
        args: &ServerArgs,
        namespace: Option<&str>,
        console: Console,
    ) -> Result<(Self, ConfigSpec), Failure> {
        let cluster = Self::connect(args)?;
        let mut notes = Vec::new();
        let spec = cluster.runtime.block_on(cluster.spec(namespace, &mut notes))?;
        console.notes(&notes);
        Ok((cluster, spec))
    }

    /// Runs requests against the API server.
    pub fn run<T>(&self, ask: impl AsyncFnOnce(&Client) -> T) -> T {
        self.runtime.block_on(ask(&self.client))
    }

    /// Reads `YuniKorn`'s configuration: from its ConfigMaps, or with `--live` from the scheduler.
    ///
    /// # Errors
    /// When it cannot be read, or the ConfigMaps hold no configuration that `YuniKorn` accepts.
    pub fn read(&self, args: &ClusterArgs, console: Console) -> Result<Configuration, Failure> {
        let mut notes = Vec::new();
        let written = self.runtime.block_on(self.written(args, &mut notes));
        let written = written.inspect_err(|_| console.notes(&notes))?;
        Configuration::read(written, notes, false, console)
    }

    /// Reads the settings and everything that plans depend on.
    ///
    /// # Errors
    /// When any of it cannot be read.
    pub fn objects(&self, args: &ClusterArgs) -> Result<Snapshot, Failure> {
        self.runtime.block_on(async {
            let settings = self.settings().await.map_err(|error| self.failure(SETTINGS, &error))?;
            let settings = settings.map_err(|problems| unusable(&problems))?;
            let spec = of_namespace(settings, args.cluster_namespace.as_deref());
            Ok(of_operator(&spec, self.all(&spec).await?))
        })
    }

    /// Returns both ConfigMaps as `YuniKorn` merges them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn merged(&self, args: &ClusterArgs) -> Result<Flattened, Failure> {
        // Reading the queues adds the same notes.
        let mut notes = Vec::new();
        self.runtime.block_on(async {
            let spec = self.spec(args.cluster_namespace.as_deref(), &mut notes).await?;
            Ok(merged(&self.config_maps(&spec).await?))
        })
    }

    /// Returns the kubeconfig's user as the API server, and so `YuniKorn`'s admission controller, sees it.
    ///
    /// # Errors
    /// When the API server does not report it.
    pub fn whoami(&self) -> Result<Identity, Failure> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let review = SelfSubjectReview::default();
        let answer = self
            .runtime
            .block_on(call(reviews.create(&PostParams::default(), &review)))
            .map_err(|error| self.failure("who you are", &error))?;
        let info = answer.status.and_then(|status| status.user_info).unwrap_or_default();
        Ok(Identity { user: info.username.unwrap_or_default(), groups: info.groups.unwrap_or_default() })
    }

    /// Returns whether the kubeconfig's user has a right on a queue, and the reason, as queuewarden's served
    /// API answers everyone about themselves. `None` if this API is not installed or does not answer.
    pub fn own_access(&self, right: Right, queue: &str, partition: &str) -> Option<(bool, String)> {
        let gvk = GroupVersionKind::gvk("access.queuewarden.dev", "v1alpha1", "SelfQueueAccessReview");
        let kind = ApiResource::from_gvk_with_plural(&gvk, "selfqueueaccessreviews");
        let reviews: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let review = DynamicObject {
            types: Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() }),
            metadata: ObjectMeta::default(),
            data: json!({"spec": {"verb": right.verb(), "queue": queue, "partition": partition}}),
        };
        let answer = self.runtime.block_on(call(reviews.create(&PostParams::default(), &review))).ok()?;
        let allowed = answer.data.pointer("/status/allowed")?.as_bool()?;
        let reason = answer.data.pointer("/status/reason").and_then(Value::as_str).unwrap_or_default();
        Some((allowed, reason.to_owned()))
    }

    /// Returns the annotations of a namespace, or nothing and prints a note if they may not be read.
    pub fn namespace_annotations(&self, name: &str, console: Console) -> BTreeMap<String, String> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        match self.runtime.block_on(call(namespaces.get(name))) {
            Ok(namespace) => namespace.metadata.annotations.unwrap_or_default(),
            Err(error) => {
                console.note(&format!("the annotations of namespace {name} are not known: {error}"));
                BTreeMap::new()
            }
        }
    }

    /// Returns the queues that the scheduler has in addition to its configuration.
    ///
    /// # Errors
    /// When the scheduler does not answer.
    pub fn live_queues(&self, args: &ClusterArgs, partition: &str) -> Result<Live, Failure> {
        self.runtime.block_on(async {
            let spec = self.spec(args.cluster_namespace.as_deref(), &mut Vec::new()).await?;
            let named = args.login.address(args.scheduler_url.as_deref(), &spec)?;
            live::queues(&self.client, named, &spec, partition).await
        })
    }

    async fn written(&self, args: &ClusterArgs, notes: &mut Vec<String>) -> Result<RenderedText, Failure> {
        let spec = self.spec(args.cluster_namespace.as_deref(), notes).await?;
        if !args.live {
            let snapshot = self.readable(&spec, notes).await?;
            return written_now(&spec, &snapshot, &merged(&snapshot), notes);
        }
        let named = args.login.address(args.scheduler_url.as_deref(), &spec)?;
        let answer = live::read(&self.client, named, &spec).await?;
        let version = Release::new(spec.version, answer.release.as_deref()).version;
        // Without the ConfigMaps the answer is still valid, only its origins are unknown.
        match self.readable(&spec, notes).await {
            Ok(snapshot) => {
                let flat = merged(&snapshot);
                let key = flat.queues_key();
                answer.compare(flat.queues(&key).map_or("", |queues| &queues.text), &key, notes);
                let written = written_now(&spec, &snapshot, &flat, &mut Vec::new())?;
                let base = Some(written.base.unwrap_or(written.text));
                Ok(RenderedText { text: answer.text(), base, cache: ParseCache::new(version), ..written })
            }
            Err(failure) => {
                notes.push(format!("not compared with the ConfigMaps: {failure}"));
                Ok(RenderedText::alone(answer.text(), version))
            }
        }
    }

    /// Returns the settings of the `YuniKornConfig`; the defaults if there is none, and, with a note, if it
    /// cannot be read.
    pub(crate) async fn spec(
        &self,
        namespace: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<ConfigSpec, Failure> {
        let unknown = match self.settings().await {
            Ok(Ok(settings)) => return Ok(of_namespace(settings, namespace)),
            Ok(Err(problems)) => unusable(&problems).to_string(),
            Err(error) if error.is_forbidden() => format!("{SETTINGS} may not be read ({error})"),
            Err(error) => return Err(self.failure(SETTINGS, &error)),
        };
        let settings = ConfigSpec::default();
        if namespace.is_none() {
            let namespace = &settings.namespace;
            notes.push(format!(
                "{unknown}: assuming namespace {namespace}; to use another one, add --cluster-namespace"
            ));
        }
        Ok(of_namespace(settings, namespace))
    }

    /// Returns the settings of the `YuniKornConfig` or its problems; the defaults if there is none.
    async fn settings(&self) -> Result<Result<ConfigSpec, Vec<Diagnostic>>, CallError> {
        Ok(self.config_entry().await?.map_or_else(|| Ok(ConfigSpec::default()), |config| config.spec))
    }

    async fn config_entry(&self) -> Result<Option<ConfigEntry>, CallError> {
        // Without the definitions it is a 404, too, but none that `get_opt` knows.
        match call(api(ResourceKind::YuniKornConfig, self.client.clone()).get(SINGLETON)).await {
            Ok(object) => Ok(Some(convert::yunikorn_config(&object))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the `YuniKornConfig`, if it exists.
    ///
    /// # Errors
    /// When the API server does not return it.
    pub fn config(&self) -> Result<Option<ConfigEntry>, CallError> {
        self.runtime.block_on(self.config_entry())
    }

    /// Reads everything, for plans, or fails: a plan without some of the objects would take away what they
    /// grant.
    async fn all(&self, spec: &ConfigSpec) -> Result<Snapshot, Failure> {
        let mut snapshot = self.config_maps(spec).await?;
        if spec.output_config_map != YUNIKORN_CONFIGS {
            snapshot.output = self.config_map(spec, &spec.output_config_map).await?;
        }
        snapshot.base = self.base(spec, &snapshot).await?;
        snapshot.queue_acls = self.list(ResourceKind::QueueAcl, queue_acl).await?;
        snapshot.policies =
            Box::pin(self.list(ResourceKind::AdmissionPolicy, convert::admission_policy)).await?;
        Ok(snapshot)
    }

    /// Reads what may be read, for questions about the current text: without the rest only origins are
    /// unknown, and of findings about admission settings what is guarded.
    pub(crate) async fn readable(
        &self,
        spec: &ConfigSpec,
        notes: &mut Vec<String>,
    ) -> Result<Snapshot, Failure> {
        let (maps, queue_acls, policies) = tokio::join!(
            self.config_maps(spec),
            self.list(ResourceKind::QueueAcl, queue_acl),
            Box::pin(self.list(ResourceKind::AdmissionPolicy, convert::admission_policy))
        );
        let mut snapshot = maps?;
        snapshot.base = self.base(spec, &snapshot).await.unwrap_or_default();
        snapshot.queue_acls = queue_acls.unwrap_or_else(|failure| {
            notes.push(format!("origins are places in the ConfigMaps: {failure}"));
            Vec::new()
        });
        snapshot.policies = policies.unwrap_or_default();
        Ok(snapshot)
    }

    /// Reads both ConfigMaps of `YuniKorn`, and nothing else.
    async fn config_maps(&self, spec: &ConfigSpec) -> Result<Snapshot, Failure> {
        let defaults = self.config_map(spec, YUNIKORN_DEFAULTS);
        let output = self.config_map(spec, YUNIKORN_CONFIGS);
        let (defaults, output) = tokio::try_join!(defaults, output)?;
        if defaults.is_none() && output.is_none() {
            return Err(Failure::NoConfigMaps(format!(
                "namespace {} has neither ConfigMap {YUNIKORN_DEFAULTS} nor {YUNIKORN_CONFIGS}: select YuniKorn's namespace with --cluster-namespace, or read from the scheduler with --live",
                spec.namespace
            )));
        }
        Ok(Snapshot { defaults, output, ..Snapshot::empty(clock()) })
    }

    async fn base(&self, spec: &ConfigSpec, maps: &Snapshot) -> Result<Option<Arc<ConfigMapState>>, Failure> {
        match spec.base_config_map.as_str() {
            YUNIKORN_DEFAULTS => Ok(maps.defaults.clone()),
            name => self.config_map(spec, name).await,
        }
    }

    /// Returns the objects of a kind, converted.
    async fn list<T>(
        &self,
        kind: ResourceKind,
        convert: impl Fn(&DynamicObject) -> T,
    ) -> Result<Vec<T>, Failure> {
        match objects_of(&self.client, kind).await {
            Ok(objects) => Ok(objects.iter().map(convert).collect()),
            Err(error) => Err(self.failure(&format!("the objects of kind {}", kind.name()), &error)),
        }
    }

    /// Returns the `QueueAcl`s.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn queue_acls(&self) -> Result<Vec<Arc<QueueAclEntry>>, Failure> {
        self.runtime.block_on(self.list(ResourceKind::QueueAcl, queue_acl))
    }

    /// Returns an object; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find(&self, object: &ObjectRef) -> Result<Option<Value>, Failure> {
        let ObjectRef { kind, name } = object;
        match self.run(async |client| call(api(*kind, client.clone()).get(name)).await) {
            Ok(found) => {
                let value = serde_json::to_value(found);
                value.map(Some).map_err(|error| Failure::Undecided(error.to_string()))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(self.failure(&object.to_string(), &error)),
        }
    }

    /// Returns the events about an object of a kind, the oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn events(&self, kind: ResourceKind, about: &Meta) -> Result<Vec<Event>, Failure> {
        // Those of objects without a namespace are in this one.
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        let fields = format!(
            "involvedObject.kind={},involvedObject.name={},involvedObject.uid={}",
            kind.name(),
            about.name,
            about.uid
        );
        let list = self.runtime.block_on(call(events.list(&ListParams::default().fields(&fields))));
        let mut events = list.map_err(|error| self.failure("the events", &error))?.items;
        events.sort_by_key(seen);
        Ok(events)
    }

    async fn config_map(
        &self,
        spec: &ConfigSpec,
        name: &str,
    ) -> Result<Option<Arc<ConfigMapState>>, Failure> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &spec.namespace);
        match call(api.get_opt(name)).await {
            Ok(map) => Ok(map.map(|map| Arc::new(config_map::state(&map)))),
            Err(error) => Err(self.failure(&format!("ConfigMap {}/{name}", spec.namespace), &error)),
        }
    }

    /// Returns the failure to read something.
    pub(crate) fn failure(&self, what: &str, error: &CallError) -> Failure {
        Failure::Undecided(match error {
            CallError::Refused { code: 403, message } => {
                let ours = [SETTINGS, "the objects of kind ", "QueueAcl/", "the events"];
                let help = if what.starts_with("ConfigMap ") {
                    TO_READ_MAPS
                } else if ours.iter().any(|ours| what.starts_with(ours)) {
                    TO_READ_OBJECTS
                } else {
                    ""
                };
                return Failure::Forbidden(format!("cannot read {what}: {message}{help}"));
            }
            CallError::Refused { code: 401, .. } => format!(
                "cannot read {what}: the API server rejected the token, or client certificate, of the \
                 kubeconfig ({}): log in again",
                self.server
            ),
            CallError::Refused { message, .. } => format!("cannot read {what}: {message}"),
            CallError::Timeout(_) => format!("cannot read {what}: {error} ({})", self.server),
            CallError::Unreachable(why) => {
                format!("no answer from the API server {}: {}", self.server, cause(why.as_ref()))
            }
        })
    }
}

/// The roles that let people read `YuniKorn`'s ConfigMaps.
const TO_READ_MAPS: &str = "; help: ask an administrator to bind the ClusterRole view to you in YuniKorn's namespace, and \
    queuewarden-viewer in the cluster";
/// The role that lets people read queuewarden's objects.
const TO_READ_OBJECTS: &str =
    "; help: ask an administrator to bind the ClusterRole queuewarden-viewer to you in the cluster";

/// Returns the time at which an event was seen last.
pub fn seen(event: &Event) -> Option<Timestamp> {
    let again = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    again.or(event.event_time.as_ref()).map(|time| time.0).or(last)
}

/// Returns the objects of a kind, which are empty if the kind is not installed.
pub(crate) async fn objects_of(client: &Client, kind: ResourceKind) -> Result<Vec<DynamicObject>, CallError> {
    match call(api(kind, client.clone()).list(&ListParams::default())).await {
        Ok(list) => Ok(list.items),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads the metadata of the objects that these parameters select, page by page; returns what `keep` makes
/// of it.
pub(crate) async fn listed<K: Clone + DeserializeOwned + fmt::Debug, T>(
    api: &Api<K>,
    params: ListParams,
    keep: impl Fn(PartialObjectMeta<K>) -> Option<T>,
) -> Result<Vec<T>, CallError> {
    let mut all = Vec::new();
    let mut page = params.limit(PAGE);
    loop {
        let list = call(api.list_metadata(&page)).await?;
        all.extend(list.items.into_iter().filter_map(&keep));
        let Some(next) = list.metadata.continue_.filter(|next| !next.is_empty()) else { return Ok(all) };
        page = page.continue_token(&next);
    }
}

fn queue_acl(object: &DynamicObject) -> Arc<QueueAclEntry> {
    Arc::new(convert::queue_acl(object))
}

/// Returns the current text of the ConfigMaps, which merge to `flat`, and who wrote which part of it.
///
/// # Errors
/// When the text is ambiguous.
fn written_now(
    spec: &ConfigSpec,
    snapshot: &Snapshot,
    flat: &Flattened,
    notes: &mut Vec<String>,
) -> Result<RenderedText, Failure> {
    let key = flat.queues_key();
    let text = configuration::current(flat, located, notes)?;
    let context = ClusterContext::unchanged(snapshot.clone());
    let written = RenderedText { context, ..RenderedText::alone(text, snapshot.version()) };
    if !is_ours(snapshot, flat, &key) {
        return Ok(written);
    }
    let attributions = attribution::in_force(&snapshot.queue_acls);
    let over_time = (spec.mode == Mode::Enforce).then(|| Arc::new(of_operator(spec, snapshot.clone())));
    Ok(RenderedText {
        base: configuration::base(snapshot, Some(spec), &key, located),
        attributions,
        over_time,
        ..written
    })
}

/// Adds the settings to a snapshot, so that the operator's plans can be made of it.
fn of_operator(spec: &ConfigSpec, mut snapshot: Snapshot) -> Snapshot {
    snapshot.observed.release = snapshot.release().reported;
    snapshot.config = Some(Entry {
        meta: Meta { name: SINGLETON.into(), ..Meta::default() },
        spec: Ok(ConfigSpec { scheduler: None, ..spec.clone() }),
        in_force: None,
    });
    snapshot
}

/// Returns the configuration that `YuniKorn` would have with these objects.
///
/// # Errors
/// When the operator would write nothing.
pub fn planned(snapshot: &Snapshot, console: Console) -> Result<Configuration, Failure> {
    let mut notes = Vec::new();
    let written = configuration::written(snapshot, located, &mut notes);
    Configuration::read(written.inspect_err(|_| console.notes(&notes))?, notes, false, console)
}

/// Returns whether the operator wrote the text under a key.
fn is_ours(snapshot: &Snapshot, flat: &Flattened, key: &str) -> bool {
    let Some(origin) = flat.queues(key).map(|queues| &queues.origin) else { return false };
    let map = config_map_of(origin.source);
    let mut output = snapshot.output.iter().filter(|output| output.name == map);
    output.any(|output| managed_keys(output).contains(origin.key.as_str()))
}

/// Returns the text of a ConfigMap with its location.
pub fn located(map: &str, key: &str, text: String) -> Text {
    Text::whole(format!("{map}/{key}"), text)
}

fn unusable(problems: &[Diagnostic]) -> Failure {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::Undecided(format!("{SETTINGS} is invalid: {}", problems.join("; ")))
}

/// Replaces the namespace with the one of the command line.
fn of_namespace(settings: ConfigSpec, namespace: Option<&str>) -> ConfigSpec {
    let namespace = namespace.map_or_else(|| settings.namespace.clone(), str::to_owned);
    ConfigSpec { namespace, ..settings }
}

#[cfg(test)]
mod tests;
