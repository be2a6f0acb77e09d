//! Caches which certificates the API server lets name users in headers. The `ConfigMap` is read when it is
//! first needed, again after a while, and at once when a certificate does not count, because the authority
//! may have been replaced.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::front_proxy::FrontProxy;
use crate::server::caller::{Caller, Unauthenticated};
use crate::server::listener::Peer;
use queuewarden_client::call::call;

/// The namespace in which API servers publish it
/// (`k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust`).
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
/// The time for which it is used without a new read.
const FRESH: Duration = Duration::from_mins(1);
/// The shortest time between two reads, however many certificates do not count.
const AGAIN: Duration = Duration::from_secs(5);

/// The cached data, with the time of the last attempt to read it.
#[derive(Debug, Default)]
pub(super) struct ProxyTrust {
    cached: Mutex<Option<(Instant, Proxy)>>,
}

/// The published data, or the reason why no proxy is trusted.
type Proxy = Result<Arc<FrontProxy>, String>;

impl ProxyTrust {
    /// Returns the user that the API server names for a request.
    ///
    /// # Errors
    /// When the request does not come from the API server, or that cannot be determined.
    pub(super) async fn caller(
        &self,
        client: &Client,
        parts: &Parts,
    ) -> Result<Arc<Caller>, Unauthenticated> {
        let chain = parts.extensions.get::<Peer>().map(|peer| &*peer.certificates).unwrap_or_default();
        let by = |proxy: &FrontProxy| proxy.caller(chain, &parts.headers);
        let unchecked = Unauthenticated::Unchecked;
        let answer = match by(&*self.proxy(client, FRESH).await.map_err(unchecked)?) {
            Err(_) => by(&*self.proxy(client, AGAIN).await.map_err(unchecked)?),
            answer => answer,
        };
        let nobody = || "the API server does not say for whom it asks".to_owned();
        let caller = answer.and_then(|caller| caller.ok_or_else(nobody));
        caller.map(Arc::new).map_err(Unauthenticated::Refused)
    }

    /// Returns data that was read no longer ago than `patience`.
    async fn proxy(&self, client: &Client, patience: Duration) -> Proxy {
        let mut cached = self.cached.lock().await;
        if let Some((at, proxy)) = &*cached
            && at.elapsed() < if proxy.is_ok() { patience } else { AGAIN }
        {
            return proxy.clone();
        }
        let proxy = match (read(client).await, cached.take()) {
            (Ok(now), _) => now,
            // An API server that does not answer may well have kept its authority.
            (Err(why), Some((_, Ok(before)))) => {
                tracing::warn!(
                    why,
                    "Cannot read ConfigMap {NAMESPACE}/{NAME}; what was read before counts on"
                );
                Ok(before)
            }
            (Err(why), _) => Err(why),
        };
        *cached = Some((Instant::now(), proxy.clone()));
        proxy
    }
}

/// Reads the published data, also that there is none.
///
/// # Errors
/// When it cannot be read: it may or may not have changed.
async fn read(client: &Client) -> Result<Proxy, String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let refused = |why: String| {
        format!("ConfigMap {NAMESPACE}/{NAME}, which says whom the API server lets speak for others: {why}")
    };
    match call(maps.get(NAME)).await {
        Ok(map) => Ok(FrontProxy::from_data(&map.data.unwrap_or_default()).map(Arc::new).map_err(refused)),
        Err(error) if error.is_not_found() => Ok(Err(refused(error.to_string()))),
        Err(error) if error.is_forbidden() => Err(refused(format!("queuewarden may not read it: {error}"))),
        Err(error) => Err(refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::super::testing::data;
    use super::*;
    use crate::controller::testing::issuer;
    use crate::server::testing::{client, reply};

    /// Returns the trusted proxy some time after the API server published its authority and then answered
    /// like this.
    async fn then(code: u16, answer: &Value) -> Proxy {
        let published = json!({"metadata": {"name": NAME}, "data": data(&issuer("proxies"), "[]")});
        let answers = Arc::new(Mutex::new((200_u16, published)));
        let behind = Arc::clone(&answers);
        let client = client(move |_| {
            let (code, body) = behind.lock().unwrap().clone();
            async move { reply(code, &body) }
        });
        let trust = ProxyTrust::default();
        trust.proxy(&client, FRESH).await.unwrap();
        *answers.lock().unwrap() = (code, answer.clone());
        tokio::time::advance(FRESH).await;
        trust.proxy(&client, FRESH).await
    }

    fn refusal(code: u16) -> Value {
        json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": "x", "message": "no"})
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_withdrawn_is_not_believed() {
        let mut without = data(&issuer("proxies"), "[]");
        without.remove("requestheader-client-ca-file");
        let cases = [
            (404, refusal(404), "for others: no"),
            (200, json!({"metadata": {"name": NAME}, "data": without}), "--requestheader-client-ca-file"),
            (200, json!({"metadata": {"name": NAME}}), "--requestheader-client-ca-file"),
        ];
        for (code, answer, why) in cases {
            let reported = then(code, &answer).await.unwrap_err();
            assert!(reported.contains(why), "{code}: {reported}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_again_counts_on() {
        for code in [401, 403, 429, 500, 503] {
            assert!(then(code, &refusal(code)).await.is_ok(), "{code}");
        }
    }

    #[tokio::test]
    async fn it_is_said_when_it_may_not_be_read() {
        let client = client(|_| async { reply(403, &refusal(403)) });
        let reported = ProxyTrust::default().proxy(&client, FRESH).await.unwrap_err();
        assert!(reported.ends_with("queuewarden may not read it: no"), "{reported}");
    }
}
