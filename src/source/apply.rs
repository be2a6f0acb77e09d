//! Changes objects in a cluster, with the rights of the caller and one field manager.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::Value;

use crate::output::{Console, Failure};
use crate::source::cluster::Cluster;
use go_compat::diag::listed;
use queuewarden_api::restorers::{COMMAND_LINE, restorers};
use queuewarden_client::call::{CallError, call};
use queuewarden_client::objects::api;
use queuewarden_plan::ObjectRef;

/// Maximum number of programs that are named.
const MAX_NAMED: usize = 4;

/// Applies a manifest and prints a message.
///
/// # Errors
/// When the API server refuses it.
pub fn apply(
    cluster: &Cluster,
    object: &ObjectRef,
    manifest: &Value,
    console: Console,
) -> Result<(), Failure> {
    applied(object, apply_as(COMMAND_LINE, cluster, object, manifest), console)
}

/// Applies a manifest as a field manager.
///
/// # Errors
/// When the API server refuses it.
pub fn apply_as(
    manager: &str,
    cluster: &Cluster,
    object: &ObjectRef,
    manifest: &Value,
) -> Result<DynamicObject, CallError> {
    let params = PatchParams::apply(manager);
    cluster.run(async |client| {
        let api = api(object.kind, client.clone());
        call(api.patch(&object.name, &params, &Patch::Apply(manifest))).await
    })
}

/// Replaces an object, unless it has changed since it was read, and prints a message.
///
/// # Errors
/// When the API server refuses it.
pub fn replace(cluster: &Cluster, object: &ObjectRef, new: &Value, console: Console) -> Result<(), Failure> {
    let new: DynamicObject = read(object, new)?;
    let params = PostParams { field_manager: Some(COMMAND_LINE.to_owned()), ..PostParams::default() };
    let done = cluster.run(async |client| {
        let api = api(object.kind, client.clone());
        call(api.replace(&object.name, &params, &new)).await
    });
    applied(object, done, console)
}

/// Deletes an object, unless it has changed since it was read, and prints a message.
///
/// # Errors
/// When the API server refuses it.
pub fn delete(cluster: &Cluster, object: &ObjectRef, old: &Value, console: Console) -> Result<(), Failure> {
    let DynamicObject { metadata, .. } = read(object, old)?;
    let preconditions = Preconditions { uid: metadata.uid, resource_version: metadata.resource_version };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let done = cluster
        .run(async |client| call(api(object.kind, client.clone()).delete(&object.name, &params)).await);
    done.map_err(|error| Failure::Output(format!("cannot delete {object}: {error}")))?;
    console.note(&format!("{object} is deleted"));
    Ok(())
}

/// Says that an object is applied.
///
/// # Errors
/// When it is not.
pub fn applied(
    object: &ObjectRef,
    done: Result<DynamicObject, CallError>,
    console: Console,
) -> Result<(), Failure> {
    done.map_err(|error| Failure::Output(format!("cannot apply {object}: {error}")))?;
    let path = format!("{}/{}", object.kind.name().to_ascii_lowercase(), object.name);
    console.note(&format!("{object} is applied: `kubectl wait {path} --for=condition=Ready`"));
    Ok(())
}

/// Lists the programs that would restore the previous state of an object.
pub fn note_restorers(object: &ObjectRef, old: &Value, console: Console) {
    let Ok(DynamicObject { metadata, .. }) = read(object, old) else { return };
    let programs = restorers(&metadata);
    if !programs.is_empty() {
        let programs = listed(&programs, MAX_NAMED, programs.len());
        console.note(&format!(
            "{object} is managed by {programs}: change it there, too, or its previous state is restored"
        ));
    }
}

fn read(object: &ObjectRef, value: &Value) -> Result<DynamicObject, Failure> {
    serde_json::from_value(value.clone())
        .map_err(|error| Failure::Undecided(format!("cannot read {object}: {error}")))
}
