//! Stores the last good base in a ConfigMap in the operator's own namespace.
//!
//! Grants that end must be withdrawn even while the base is missing or invalid. A newly started process knows
//! the base only from this ConfigMap. If reading or writing the ConfigMap is forbidden, this is logged once,
//! and only the process remembers the base.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch};
use kube::{Api, Client};
use serde_json::json;

use queuewarden_client::call::{CallError, WRITE, call, call_within};
use queuewarden_client::objects::{patch_params, post_params};
use queuewarden_plan::snapshot::LastBase;

/// The name of the ConfigMap.
pub const NAME: &str = "queuewarden-last-base";
/// The key with the text.
const KEY: &str = "queues.yaml";
/// The key with the text that the scheduler ran when it refused another one.
const LOADED: &str = "loaded.yaml";
/// The annotation with the name of the base.
const SOURCE: &str = "queuewarden.dev/source";

/// The store of the last good base.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct LastBaseStore {
    api: Api<ConfigMap>,
    /// True once it was logged that the operator may not use the ConfigMap.
    logged: AtomicBool,
}

impl LastBaseStore {
    /// Creates a store in `namespace`; `None` is the client's own.
    pub fn new(client: Client, namespace: Option<&str>) -> Self {
        let namespace = namespace.unwrap_or(client.default_namespace()).to_owned();
        Self { api: Api::namespaced(client, &namespace), logged: AtomicBool::new(false) }
    }

    /// Returns the stored base, or `None` if it does not exist or reading it is forbidden.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn read(&self) -> Result<Option<LastBase>, CallError> {
        match call(self.api.get_opt(NAME)).await {
            Ok(map) => Ok(map.and_then(base)),
            Err(error) => self.allowed(error).map(|()| None),
        }
    }

    /// Stores `base` if that is allowed.
    ///
    /// # Errors
    /// When it was not stored, but another attempt may succeed.
    pub async fn write(&self, base: &LastBase) -> Result<(), CallError> {
        let done = match self.patch(base).await {
            Err(error) if error.is_not_found() => match self.create(base).await {
                Err(error) if error.is_conflict() => self.patch(base).await,
                done => done,
            },
            done => done,
        };
        done.or_else(|error| self.allowed(error))
    }

    async fn patch(&self, base: &LastBase) -> Result<(), CallError> {
        let data = json!({KEY: base.text, LOADED: base.loaded});
        let body = json!({"metadata": {"annotations": {SOURCE: base.source}}, "data": data});
        call_within(WRITE, self.api.patch(NAME, &patch_params(), &Patch::Merge(body))).await.map(drop)
    }

    async fn create(&self, base: &LastBase) -> Result<(), CallError> {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                annotations: Some(BTreeMap::from([(SOURCE.to_owned(), base.source.clone())])),
                ..ObjectMeta::default()
            },
            data: Some(
                [(KEY, Some(&base.text)), (LOADED, base.loaded.as_ref())]
                    .into_iter()
                    .filter_map(|(key, text)| Some((key.to_owned(), text?.clone())))
                    .collect(),
            ),
            ..ConfigMap::default()
        };
        call_within(WRITE, self.api.create(&post_params(), &map)).await.map(drop)
    }

    /// Logs a missing permission once and continues without it; returns every other error.
    fn allowed(&self, error: CallError) -> Result<(), CallError> {
        if !error.is_forbidden() {
            return Err(error);
        }
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                name = NAME,
                %error,
                "The last good base cannot be kept: after a restart, grants cannot be withdrawn while the base is missing or invalid. \
                 Allow it in the Role of the operator's namespace"
            );
        }
        Ok(())
    }
}

fn base(map: ConfigMap) -> Option<LastBase> {
    let source = map.metadata.annotations.and_then(|mut annotations| annotations.remove(SOURCE));
    let mut data = map.data?;
    let (text, loaded) = (data.remove(KEY)?, data.remove(LOADED));
    Some(LastBase { source: source.unwrap_or_default(), text, loaded })
}
