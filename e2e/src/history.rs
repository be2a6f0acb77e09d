//! Reads every version of the output `ConfigMap` that ever existed.
//!
//! A watch would miss versions while the API server is stopped, and tests do stop it. The versions are
//! therefore read afterwards, one by one, from etcd's history: `resourceVersionMatch=Exact` requests the
//! state at a revision. Revisions are the same for all kinds, so "granted at that moment" is a comparison of
//! numbers. The API server discards history older than five minutes.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ListParams, VersionMatch};

use crate::yunikorn;

/// A version of the output.
#[derive(Debug, Clone)]
pub struct Version {
    /// The revision at which it was written.
    pub revision: u64,
    /// Its values.
    pub data: BTreeMap<String, String>,
}

impl Version {
    /// Returns its queue trees by key: `queues.yaml`, and the keys of other policy groups.
    pub fn trees(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.data.iter().map(|(key, text)| (key.as_str(), text.as_str()));
        all.filter(|(key, _)| key.strip_suffix(".yaml").is_some())
    }
}

/// Returns the revision of the API server's store.
///
/// # Errors
/// When the API server does not answer.
pub async fn revision(client: &Client) -> Result<u64> {
    let list = maps(client).list(&ListParams::default().limit(1)).await?;
    Ok(list.metadata.resource_version.as_deref().unwrap_or_default().parse()?)
}

/// Returns all versions that were written after revision `after` and up to revision `until`, oldest first.
///
/// # Errors
/// When the API server does not answer, or has discarded the versions.
pub async fn versions(client: &Client, after: u64, until: u64) -> Result<Vec<Version>> {
    let mut found = Vec::new();
    let mut at = until;
    while at > after {
        let Some(map) = output_at(client, at).await? else {
            at -= 1;
            continue;
        };
        let revision = map.metadata.resource_version.as_deref().unwrap_or_default().parse()?;
        if revision <= after {
            break;
        }
        found.push(Version { revision, data: map.data.unwrap_or_default() });
        at = revision - 1;
    }
    found.reverse();
    Ok(found)
}

/// Returns the output at a revision.
async fn output_at(client: &Client, revision: u64) -> Result<Option<ConfigMap>> {
    let exactly = ListParams::default()
        .fields(&format!("metadata.name={}", yunikorn::CONFIGS))
        .at(&revision.to_string())
        .matching(VersionMatch::Exact);
    let list =
        maps(client).list(&exactly).await.with_context(|| format!("the output at revision {revision}"))?;
    Ok(list.items.into_iter().next())
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), yunikorn::NAMESPACE)
}
