//! Watches the registration of the user-info webhook, by which the plan knows whether pods get their
//! aliases.
//!
//! The rights to it come with manifests/user-info. So it is watched only while an `AdmissionPolicy` says that
//! names are enforced.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::Notify;

use super::cache::Cached;
use super::watch::{FORBIDDEN_FOR, Problem, Progress, Watch};
use queuewarden_api::identity_webhook::{MUTATING, VALIDATING, Webhook, YUNIKORN, check, webhooks};

/// The watches of the configurations, one by one, because the shipped `ClusterRole` allows no
/// more.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct IdentityWebhookWatches([(Watch<Vec<Webhook>>, &'static str); 3]);

impl IdentityWebhookWatches {
    /// Starts to watch.
    pub fn start(client: &Client, changed: &Arc<Notify>) -> Self {
        let mutating = ApiResource::erase::<MutatingWebhookConfiguration>(&());
        let validating = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
        let watch = |kind: &ApiResource, name: &'static str, label: &'static str| {
            let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let api = |client| Api::all_with(client, kind);
            (Watch::start(client, api, config, to_cached, label, changed), name)
        };
        Self([
            watch(&mutating, MUTATING, "mutatingwebhookconfigurations-user-info"),
            watch(&validating, VALIDATING, "validatingwebhookconfigurations-user-info"),
            watch(&mutating, YUNIKORN, "mutatingwebhookconfigurations-yunikorn"),
        ])
    }

    /// Returns whether the configurations are still being read. A watch that is denied, or fails for long,
    /// does not count, because withdrawals are more important.
    pub fn reading(&self, now: Timestamp) -> bool {
        let waits =
            |problem: Problem| problem.code != Some(403) && now.duration_since(problem.since) < FORBIDDEN_FOR;
        let is_read =
            |watch: &Watch<_>| watch.cache().synced() || !watch.progress().problem().is_none_or(waits);
        !self.0.iter().all(|(watch, _)| is_read(watch))
    }

    /// Checks that pods get their aliases. `left_alone` are `YuniKorn`'s namespace and queuewarden's. While a
    /// watch fails that has worked, the last state counts, unless it is denied for long.
    ///
    /// # Errors
    /// The reason why they do not, and what to do.
    pub fn observed(&self, now: Timestamp, left_alone: &[&str]) -> Result<(), String> {
        for (watch, name) in &self.0 {
            let synced = watch.cache().synced();
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
    pub fn progress(&self) -> [&Arc<Progress>; 3] {
        self.0.each_ref().map(|(watch, _)| watch.progress())
    }
}

/// Converts a configuration for the cache.
#[expect(clippy::needless_pass_by_value, reason = "what a watch hands over")]
fn to_cached(object: DynamicObject) -> Cached<Vec<Webhook>> {
    let version = object.resource_version().unwrap_or_default();
    Cached::by_version(object.name_any(), version, webhooks(&object.data))
}
