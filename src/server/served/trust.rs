//! Keeps in mind whom the API server lets speak for others. The `ConfigMap` is read when it is first needed, again after a while, and at once when
//! a certificate does not count: the authority may have been replaced.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::front_proxy::FrontProxy;
use crate::operator::call::call;
use crate::server::caller::{Caller, Unauthenticated};
use crate::server::listener::Peer;

/// Where API servers publish it (`k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust`).
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
/// How long it is believed without a look.
const FRESH: Duration = Duration::from_mins(1);
/// The shortest time between two looks, however many certificates do not count.
const AGAIN: Duration = Duration::from_secs(5);

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Trust {
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    proxy: Result<Arc<FrontProxy>, String>,
}

impl Trust {
    /// For whom a request asks by the word of the API server.
    ///
    /// # Errors
    /// When it does not come from there, or nobody knows whether it does.
    pub(super) async fn caller(&self, client: &Client, parts: &Parts) -> Result<Caller, Unauthenticated> {
        let chain = parts.extensions.get::<Peer>().map(|peer| &*peer.certificates).unwrap_or_default();
        let by = |proxy: &FrontProxy| proxy.caller(chain, &parts.headers);
        let unchecked = Unauthenticated::Unchecked;
        let answer = match by(&*self.proxy(client, FRESH).await.map_err(unchecked)?) {
            Err(_) => by(&*self.proxy(client, AGAIN).await.map_err(unchecked)?),
            answer => answer,
        };
        match answer {
            Ok(Some(caller)) => Ok(caller),
            Ok(None) => {
                Err(Unauthenticated::Refused("the API server does not say for whom it asks".to_owned()))
            }
            Err(why) => Err(Unauthenticated::Refused(why)),
        }
    }

    /// What was read no longer ago than this.
    async fn proxy(&self, client: &Client, patience: Duration) -> Result<Arc<FrontProxy>, String> {
        let mut seen = self.seen.lock().await;
        let known = seen.as_ref().filter(|seen| seen.at.elapsed() < patience.min(seen.patience()));
        if let Some(known) = known {
            return known.proxy.clone();
        }
        let read = read(client).await;
        // An API server that does not answer has not replaced its authority, as far as anybody knows.
        let proxy = match (read, seen.take().map(|seen| seen.proxy)) {
            (Err(why), Some(Ok(before))) => {
                tracing::warn!(
                    why,
                    "Cannot read ConfigMap {NAMESPACE}/{NAME}; what was read before counts on"
                );
                Ok(before)
            }
            (read, _) => read,
        };
        *seen = Some(Seen { at: Instant::now(), proxy: proxy.clone() });
        proxy
    }
}

impl Seen {
    fn patience(&self) -> Duration {
        if self.proxy.is_ok() { FRESH } else { AGAIN }
    }
}

async fn read(client: &Client) -> Result<Arc<FrontProxy>, String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let refused = |why: String| {
        format!("ConfigMap {NAMESPACE}/{NAME}, which says whom the API server lets speak for others: {why}")
    };
    let map = call(maps.get(NAME)).await.map_err(|error| refused(error.to_string()))?;
    FrontProxy::of(&map.data.unwrap_or_default()).map(Arc::new).map_err(refused)
}
