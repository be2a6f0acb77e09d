//! Pods whose aliases are wrong.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PartialObjectMeta, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use super::cluster::{Cluster, listed};
use crate::output::Failure;
use queuewarden_api::restorers::COMMAND_LINE;
use queuewarden_client::call::call;
use queuewarden_plan::snapshot::Snapshot;
use queuewarden_plan::text_in_force;
use yunikorn::admission::request::{USER_INFO, YUNIKORN};
use yunikorn::config::verdict;
use yunikorn_access::alias;
use yunikorn_access::user_info::{WrongAliases, wrong_aliases};

/// Returns the aliases in the ACLs in force, or nothing if these cannot be read.
pub(crate) fn granted(snapshot: &Snapshot) -> BTreeSet<String> {
    let config = verdict(&text_in_force(snapshot), &[], snapshot.version()).config;
    config.as_ref().map(alias::granted).unwrap_or_default()
}

/// A pod with wrong aliases.
pub(crate) struct StalePod {
    /// The namespace and the name.
    pub(crate) name: String,
    metadata: PartialObjectMeta<Pod>,
    pub(crate) wrong: WrongAliases,
}

/// Returns the pods of a namespace, or of all, that `YuniKorn` schedules, that have not ended, and that lack
/// one of these aliases or have a foreign one.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn pods_with_wrong_aliases(
    cluster: &Cluster,
    client: &Client,
    granted: &BTreeSet<String>,
    namespace: Option<&str>,
) -> Result<Vec<StalePod>, Failure> {
    if granted.is_empty() {
        return Ok(Vec::new());
    }
    let api: Api<Pod> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let running = format!("spec.schedulerName={YUNIKORN},status.phase!=Succeeded,status.phase!=Failed");
    let pods = listed(&api, ListParams::default().fields(&running), |pod| StalePod::of(pod, granted)).await;
    pods.map_err(|error| cluster.failure("the pods", &error))
}

impl StalePod {
    fn of(metadata: PartialObjectMeta<Pod>, granted: &BTreeSet<String>) -> Option<Self> {
        let wrong = wrong_aliases(metadata.annotations().get(USER_INFO)?, granted)?;
        let name = format!("{}/{}", metadata.namespace().unwrap_or_default(), metadata.name_any());
        Some(Self { name, metadata, wrong })
    }

    /// Returns whether it has an alias that is not its own.
    pub(crate) fn has_foreign(&self) -> bool {
        !self.wrong.foreign.is_empty()
    }

    /// Writes the aliases, unless the pod has changed.
    pub(crate) async fn refresh(&self, client: &Client) -> Result<(), String> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &self.metadata.namespace().unwrap_or_default());
        let params = PatchParams { field_manager: Some(COMMAND_LINE.to_owned()), ..PatchParams::default() };
        let version = self.metadata.resource_version();
        let annotations = json!({USER_INFO: self.wrong.text});
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
        let written =
            call(pods.patch_metadata(&self.metadata.name_any(), &params, &Patch::Merge(patch))).await;
        written.map(drop).map_err(|error| error.to_string())
    }
}
