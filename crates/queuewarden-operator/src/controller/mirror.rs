//! The RBAC mirror: watches its objects, and carries out the steps of the plan.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::apply;
use super::cache::{Cached, Moment};
use super::call::call;
use super::watch::{Progress, Watch};
use queuewarden_api::mirror;
use queuewarden_plan::mirror::{
    Action, Changes, Kind, MIRROR_LABEL, MIRROR_VALUE, Mirror, MirrorObject, Step,
};
use queuewarden_plan::snapshot::{FIELD_MANAGER, WriteFailure};

/// The number of writes that run at the same time.
const CONCURRENCY: usize = 8;

/// The watches of the mirror. They exist only where the mirror is or was enabled, because the rights to them
/// are granted with it.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Watches {
    roles: Watch<MirrorObject>,
    bindings: Watch<MirrorObject>,
}

/// The moment before steps are taken, for each kind.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    roles: Moment,
    bindings: Moment,
}

/// The result of a step.
#[derive(Debug)]
pub enum Answer {
    /// The object was written; this is its current version.
    Stands(Kind, MirrorObject),
    /// Someone else changed the object first; this is its current version.
    Stale(Kind, MirrorObject),
    /// The object does not exist any more.
    Gone(Kind, String),
    /// The step failed.
    Failed(WriteFailure),
}

impl Watches {
    /// Starts to watch.
    pub fn start(client: &Client, changed: &Arc<Notify>) -> Self {
        let config = || watcher::Config::default().labels(&format!("{MIRROR_LABEL}={MIRROR_VALUE}"));
        let roles = Watch::start(
            client,
            Api::<ClusterRole>::all,
            config(),
            |role| keep(mirror::current_role(role)),
            "clusterroles",
            changed,
        );
        let bindings = Watch::start(
            client,
            Api::<ClusterRoleBinding>::all,
            config(),
            |binding| keep(mirror::current_binding(binding)),
            "clusterrolebindings",
            changed,
        );
        Self { roles, bindings }
    }

    /// Returns the known objects of the mirror.
    pub fn observed(&self) -> Mirror {
        let forbidden = |watch: &Watch<MirrorObject>| {
            let problem = watch.progress().problem().filter(|problem| problem.code == Some(403))?;
            Some(problem.message)
        };
        let problem = forbidden(&self.roles).or_else(|| forbidden(&self.bindings));
        let ((roles, roles_synced), (bindings, bindings_synced)) = (all(&self.roles), all(&self.bindings));
        Mirror { roles, bindings, synced: roles_synced && bindings_synced, problem }
    }

    /// Returns whether the objects are still being read. A watch that fails does not count, because the
    /// queues are more important.
    pub fn reading(&self) -> bool {
        let reading =
            |watch: &Watch<MirrorObject>| !watch.cache().synced() && watch.progress().problem().is_none();
        reading(&self.roles) || reading(&self.bindings)
    }

    /// Returns the progress of the watches.
    pub fn progress(&self) -> [&Arc<Progress>; 2] {
        [self.roles.progress(), self.bindings.progress()]
    }

    /// Returns the current moments. Call it before steps are taken.
    pub fn moments(&self) -> Moments {
        Moments { roles: self.roles.cache().moment(), bindings: self.bindings.cache().moment() }
    }

    /// Stores the result of a step that was taken after `moments`, because the watch may lag behind.
    pub fn learn(&self, answer: Answer, moments: Moments) {
        match answer {
            Answer::Stands(kind, standing) | Answer::Stale(kind, standing) => {
                let moment = match kind {
                    Kind::Role => moments.roles,
                    Kind::Binding => moments.bindings,
                };
                self.watch(kind).cache().learn(keep(standing), moment);
            }
            Answer::Gone(kind, name) => self.watch(kind).cache().forget(&name),
            Answer::Failed(_) => {}
        }
    }

    fn watch(&self, kind: Kind) -> &Watch<MirrorObject> {
        match kind {
            Kind::Role => &self.roles,
            Kind::Binding => &self.bindings,
        }
    }
}

/// Returns all objects of a watch, and whether the list is complete. Locks once.
fn all(watch: &Watch<MirrorObject>) -> (BTreeMap<String, Arc<MirrorObject>>, bool) {
    let cache = watch.cache();
    let objects = cache.objects().map(|object| (object.name.clone(), Arc::clone(object)));
    (objects.collect(), cache.synced())
}

/// Converts an object for the cache. Every change matters, because nobody else should write here.
fn keep(standing: MirrorObject) -> Cached<MirrorObject> {
    Cached {
        name: standing.name.clone(),
        resource_version: standing.resource_version.clone(),
        stamp: standing.resource_version.clone(),
        value: Arc::new(standing),
    }
}

/// Carries the steps out in order, several at a time, while `may_write` holds; returns the result of each
/// step that was begun.
pub async fn carry_out(client: &Client, changes: Changes, may_write: impl Fn() -> bool) -> Vec<Answer> {
    let Changes { owner, steps } = changes;
    let owner: Arc<str> = owner.into();
    let requests = steps.into_iter().take_while(|_| may_write()).map(|step| {
        let (client, owner) = (client.clone(), Arc::clone(&owner));
        async move { one(&client, &step, &owner).await }
    });
    futures::stream::iter(requests).buffered(CONCURRENCY).collect().await
}

async fn one(client: &Client, step: &Step, owner: &str) -> Answer {
    let version = step.last.as_ref().map(|(_, version)| version.as_str());
    let done = match (&step.action, step.kind) {
        (Action::Rules(rules), _) => {
            let role = mirror::role(&step.name, rules, owner, version);
            put(Api::all(client.clone()), step, role, mirror::current_role).await
        }
        (Action::Subjects(subjects), _) => {
            let binding = mirror::binding(&step.name, subjects, owner, version);
            put(Api::all(client.clone()), step, binding, mirror::current_binding).await
        }
        (Action::Delete, Kind::Role) => delete(Api::all(client.clone()), step, mirror::current_role).await,
        (Action::Delete, Kind::Binding) => {
            delete(Api::all(client.clone()), step, mirror::current_binding).await
        }
    };
    done.unwrap_or_else(Answer::Failed)
}

/// Creates the object, or replaces the version that was observed. If someone else has changed it since, reads
/// it for the next plan.
async fn put<K>(
    api: Api<K>,
    step: &Step,
    object: K,
    current: fn(K) -> MirrorObject,
) -> Result<Answer, WriteFailure>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + fmt::Debug,
{
    let params = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
    let done = match &step.last {
        None => call(api.create(&params, &object)).await,
        Some(_) => call(api.replace(&step.name, &params, &object)).await,
    };
    match done {
        Ok(object) => Ok(Answer::Stands(step.kind, current(object))),
        Err(error) if error.is_not_found() && step.last.is_some() => Ok(gone(step)),
        Err(error) if error.is_conflict() => read(&api, step, current).await,
        Err(error) => Err(apply::failure(&error)),
    }
}

/// Deletes the version of the object that was observed.
async fn delete<K>(api: Api<K>, step: &Step, current: fn(K) -> MirrorObject) -> Result<Answer, WriteFailure>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    let preconditions = step
        .last
        .clone()
        .map(|(uid, version)| Preconditions { uid: Some(uid), resource_version: Some(version) });
    let params = DeleteParams { preconditions, ..DeleteParams::default() };
    match call(api.delete(&step.name, &params)).await {
        Ok(_) => Ok(gone(step)),
        Err(error) if error.is_not_found() => Ok(gone(step)),
        Err(error) if error.is_conflict() => read(&api, step, current).await,
        Err(error) => Err(apply::failure(&error)),
    }
}

/// Reads the object from the API server, not from a cache.
async fn read<K>(api: &Api<K>, step: &Step, current: fn(K) -> MirrorObject) -> Result<Answer, WriteFailure>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    let found = call(api.get_opt(&step.name)).await.map_err(|error| apply::failure(&error))?;
    match found {
        Some(object) if !mirror::is_labelled(object.meta()) => Err(WriteFailure::Transient(format!(
            "there is a {} `{}` without the label {MIRROR_LABEL}={MIRROR_VALUE}, which is not queuewarden's to change; remove it",
            step.kind.name(),
            step.name
        ))),
        Some(object) => Ok(Answer::Stale(step.kind, current(object))),
        None => Ok(gone(step)),
    }
}

fn gone(step: &Step) -> Answer {
    Answer::Gone(step.kind, step.name.clone())
}
