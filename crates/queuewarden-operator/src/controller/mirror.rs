//! The RBAC mirror: watches its objects, and executes the steps of the plan.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, Preconditions};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::apply;
use super::cache::{Cached, Moment};
use super::watch::{Progress, Watch};
use queuewarden_api::mirror;
use queuewarden_client::call::call;
use queuewarden_client::objects::post_params;
use queuewarden_plan::rbac_mirror::{MirrorAction, MirrorChanges, MirrorStep};
use queuewarden_plan::snapshot::{
    MIRROR_LABEL, MIRROR_VALUE, Mirror, MirrorKind, MirrorObject, WriteFailure,
};

/// Number of concurrent writes.
const CONCURRENCY: usize = 8;

/// The watches of the mirror. They exist only if the mirror is or was enabled, because their permissions are
/// granted with it.
#[derive(Debug)]
pub struct MirrorWatches(BTreeMap<MirrorKind, Watch<MirrorObject>>);

/// The result of a step that did not fail.
#[derive(Debug)]
pub enum StepResult {
    /// The object was written; this is its current version.
    Written(MirrorKind, MirrorObject),
    /// Someone else changed the object first; this is its current version.
    Stale(MirrorKind, MirrorObject),
    /// The object no longer exists.
    Removed(MirrorKind, String),
}

impl MirrorWatches {
    /// Starts to watch.
    pub fn start(client: &Client, changed: &Arc<Notify>) -> Self {
        let config = || watcher::Config::default().labels(&format!("{MIRROR_LABEL}={MIRROR_VALUE}"));
        let roles = Watch::start(
            client,
            Api::<ClusterRole>::all,
            config(),
            |role| to_cached(mirror::current_role(role)),
            "clusterroles",
            changed,
        );
        let bindings = Watch::start(
            client,
            Api::<ClusterRoleBinding>::all,
            config(),
            |binding| to_cached(mirror::current_binding(binding)),
            "clusterrolebindings",
            changed,
        );
        Self([(MirrorKind::Role, roles), (MirrorKind::Binding, bindings)].into())
    }

    /// Returns the known objects of the mirror.
    pub fn observed(&self) -> Mirror {
        let problems = self.0.values().filter_map(|watch| watch.progress().problem());
        let problem =
            problems.filter(|problem| problem.code == Some(403)).map(|problem| problem.message).next();
        let [(roles, roles_synced), (bindings, bindings_synced)] = [MirrorKind::Role, MirrorKind::Binding]
            .map(|kind| self.0.get(&kind).map(all).unwrap_or_default());
        Mirror { roles, bindings, synced: roles_synced && bindings_synced, problem }
    }

    /// Returns whether the objects are still being read. A failing watch is ignored, because the queues are
    /// more important.
    pub fn reading(&self) -> bool {
        self.0.values().any(|watch| !watch.store().synced() && watch.progress().problem().is_none())
    }

    /// Returns the progress of the watches.
    pub fn progress(&self) -> impl Iterator<Item = &Arc<Progress>> {
        self.0.values().map(Watch::progress)
    }

    /// Returns the current moment for each kind. Call it before steps are taken.
    pub fn moments(&self) -> BTreeMap<MirrorKind, Moment> {
        self.0.iter().map(|(kind, watch)| (*kind, watch.store().moment())).collect()
    }

    /// Stores the result of a step that was taken after `moments`, because the watch may be slower.
    pub fn learn(&self, answer: StepResult, moments: &BTreeMap<MirrorKind, Moment>) {
        match answer {
            StepResult::Written(kind, object) | StepResult::Stale(kind, object) => {
                if let Some((watch, moment)) = self.0.get(&kind).zip(moments.get(&kind)) {
                    watch.store().learn(to_cached(object), *moment);
                }
            }
            StepResult::Removed(kind, name) => {
                if let Some(watch) = self.0.get(&kind) {
                    watch.store().forget(&name);
                }
            }
        }
    }
}

/// Returns all objects of a watch, and whether the list is complete, under a single lock.
fn all(watch: &Watch<MirrorObject>) -> (BTreeMap<String, Arc<MirrorObject>>, bool) {
    let cache = watch.store();
    let objects = cache.objects().map(|object| (object.name.clone(), Arc::clone(object)));
    (objects.collect(), cache.synced())
}

/// Converts an object for the cache. Every change matters, because no one else should write here.
fn to_cached(object: MirrorObject) -> Cached<MirrorObject> {
    Cached::by_version(object.name.clone(), object.resource_version.clone(), object)
}

/// Executes the steps in order, several at a time, while `may_write` holds; returns the result of each step
/// that was started.
pub async fn carry_out(
    client: &Client,
    changes: &MirrorChanges,
    may_write: impl Fn() -> bool,
) -> Vec<Result<StepResult, WriteFailure>> {
    let steps = changes.steps.iter().take_while(|_| may_write());
    let requests = steps.map(|step| take(client, step, &changes.owner));
    futures::stream::iter(requests).buffered(CONCURRENCY).collect().await
}

async fn take(client: &Client, step: &MirrorStep, owner: &str) -> Result<StepResult, WriteFailure> {
    let version = step.last.as_ref().map(|(_, version)| version.as_str());
    match (&step.action, step.kind) {
        (MirrorAction::Rules(rules), _) => {
            let role = mirror::role(&step.name, rules, owner, version);
            write(client, step, Some(role), mirror::current_role).await
        }
        (MirrorAction::Subjects(subjects), _) => {
            let binding = mirror::binding(&step.name, subjects, owner, version);
            write(client, step, Some(binding), mirror::current_binding).await
        }
        (MirrorAction::Delete, MirrorKind::Role) => write(client, step, None, mirror::current_role).await,
        (MirrorAction::Delete, MirrorKind::Binding) => {
            write(client, step, None, mirror::current_binding).await
        }
    }
}

/// Creates the object, or replaces the observed version; without an `object`, deletes that version. If
/// someone else has changed it, reads it for the next plan.
async fn write<K>(
    client: &Client,
    step: &MirrorStep,
    object: Option<K>,
    current: fn(K) -> MirrorObject,
) -> Result<StepResult, WriteFailure>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + fmt::Debug,
{
    let MirrorStep { kind, name, last, .. } = step;
    let api = Api::<K>::all(client.clone());
    let written = match (object, last.clone()) {
        (Some(object), None) => call(api.create(&post_params(), &object)).await.map(Some),
        (Some(object), Some(_)) => call(api.replace(name, &post_params(), &object)).await.map(Some),
        (None, last) => {
            let precondition =
                |(uid, version)| Preconditions { uid: Some(uid), resource_version: Some(version) };
            let params = DeleteParams { preconditions: last.map(precondition), ..DeleteParams::default() };
            call(api.delete(name, &params)).await.map(|_| None)
        }
    };
    let written = match written {
        Ok(Some(object)) => return Ok(StepResult::Written(*kind, current(object))),
        // Read it past every cache.
        Err(error) if error.is_conflict() => call(api.get_opt(name)).await,
        Err(error) if error.is_not_found() && last.is_some() => Ok(None),
        written => written,
    };
    match written.map_err(|error| apply::failure(&error))? {
        Some(object) if !mirror::is_labelled(object.meta()) => Err(WriteFailure::Transient(format!(
            "there is a {} `{name}` without the label {MIRROR_LABEL}={MIRROR_VALUE}, which is not \
             queuewarden's to change; remove it",
            kind.name()
        ))),
        Some(object) => Ok(StepResult::Stale(*kind, current(object))),
        None => Ok(StepResult::Removed(*kind, name.clone())),
    }
}
