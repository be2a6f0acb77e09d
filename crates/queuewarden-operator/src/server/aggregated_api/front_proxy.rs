//! The API server as a proxy: it has authenticated its client and passes the client's identity in headers
//! (`k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go`).
//!
//! For aggregated API servers, every API server publishes which certificates may do so, and in which headers,
//! in `ConfigMap kube-system/extension-apiserver-authentication`. Without a certificate signed by that
//! authority the headers are ignored, because every client of the Service could set them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::server::caller::{Authorities, Caller, Unauthenticated};
use crate::server::listener::Peer;
use queuewarden_client::call::call;
use yunikorn::identity::Identity;

/// The certificates that may name users in headers, and the headers.
#[derive(Debug)]
struct FrontProxy {
    authorities: Authorities,
    /// Trusted common names; an empty list trusts all certificates that the authorities sign.
    names: Vec<String>,
    user: Vec<String>,
    uid: Vec<String>,
    group: Vec<String>,
    /// Prefixes of header names.
    extra: Vec<String>,
}

impl FrontProxy {
    /// Reads the data of the `ConfigMap`.
    ///
    /// # Errors
    /// When no certificate may name users, or the data cannot be read.
    fn from_data(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let Some(authorities) = data.get("requestheader-client-ca-file") else {
            return Err("the API server runs without --requestheader-client-ca-file, so it proxies nothing"
                .to_owned());
        };
        let authorities = Authorities::from_pem(authorities.as_bytes()).map_err(|error| error.to_string())?;
        let list = |key: &str| match data.get(key) {
            None => Ok(Vec::new()),
            Some(text) => {
                serde_json::from_str::<Vec<String>>(text).map_err(|error| format!("{key}: {error}"))
            }
        };
        let proxy = Self {
            authorities,
            names: list("requestheader-allowed-names")?,
            user: list("requestheader-username-headers")?,
            uid: list("requestheader-uid-headers")?,
            group: list("requestheader-group-headers")?,
            extra: list("requestheader-extra-headers-prefix")?,
        };
        if proxy.user.is_empty() {
            return Err("requestheader-username-headers names no header".to_owned());
        }
        Ok(proxy)
    }

    /// Returns the user that a client with this certificate sends the request for, or `None` if the headers
    /// name no user.
    ///
    /// # Errors
    /// When the client may not name users.
    fn caller(&self, chain: &[CertificateDer<'_>], headers: &HeaderMap) -> Result<Option<Caller>, String> {
        let subject = self.authorities.verify(chain)?;
        if !(self.names.is_empty() || self.names.contains(&subject.user)) {
            return Err(format!("{} may not act for others", go_compat::diag::quoted(&subject.user)));
        }
        let Some(user) = first(headers, &self.user) else { return Ok(None) };
        let groups = all(headers, &self.group);
        let uid = first(headers, &self.uid).unwrap_or_default();
        Ok(Some(Caller { identity: Identity { user, groups }, uid, extra: self.extra(headers) }.known()))
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra {
            let prefix = prefix.to_ascii_lowercase();
            for (name, value) in headers {
                if let (Some(key), Some(value)) =
                    (name.as_str().strip_prefix(&prefix), text(value.as_bytes()))
                {
                    extra.entry(unescaped(key)).or_default().push(value);
                }
            }
        }
        extra
    }
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    all(headers, names).into_iter().next()
}

/// Returns the non-empty values of these headers.
fn all(headers: &HeaderMap, names: &[String]) -> Vec<String> {
    let values = names.iter().flat_map(|name| headers.get_all(name.as_str()));
    values.filter_map(|value| text(value.as_bytes())).filter(|value| !value.is_empty()).collect()
}

/// Decodes a header. Names may contain any characters; a value that is not UTF-8 is not a name.
fn text(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().map(str::to_owned)
}

/// Decodes `%2F` as a slash; a malformed text stays as it is (`unescapeExtraKey`).
fn unescaped(key: &str) -> String {
    let is_escape =
        |rest: &str| rest.get(..2).is_some_and(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
    match percent_decode_str(key).decode_utf8() {
        Ok(decoded) if key.split('%').skip(1).all(is_escape) => decoded.into_owned(),
        _ => key.to_owned(),
    }
}

/// The namespace where API servers publish it
/// (`k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust`).
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
/// How long it is used before it is read again.
const FRESH: Duration = Duration::from_mins(1);
/// The shortest time between two reads, no matter how many certificates are refused.
const AGAIN: Duration = Duration::from_secs(5);

/// The cached data, with the time of the last attempt to read it.
#[derive(Debug, Default)]
pub(super) struct ProxyTrust {
    cached: Mutex<Option<(Instant, Proxy)>>,
}

/// The published data, or why no proxy is trusted.
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
        let nobody = || "the API server does not name the user of the request".to_owned();
        let caller = answer.and_then(|caller| caller.ok_or_else(nobody));
        caller.map(Arc::new).map_err(Unauthenticated::Refused)
    }

    /// Returns data that was read at most `patience` ago.
    async fn proxy(&self, client: &Client, patience: Duration) -> Proxy {
        let mut cached = self.cached.lock().await;
        if let Some((at, proxy)) = &*cached
            && at.elapsed() < if proxy.is_ok() { patience } else { AGAIN }
        {
            return proxy.clone();
        }
        let proxy = match (read(client).await, cached.take()) {
            (Ok(now), _) => now,
            // An API server that does not answer has probably kept its authority.
            (Err(why), Some((_, Ok(before)))) => {
                tracing::warn!(
                    why,
                    "Cannot read ConfigMap {NAMESPACE}/{NAME}; continuing with its last content"
                );
                Ok(before)
            }
            (Err(why), _) => Err(why),
        };
        *cached = Some((Instant::now(), proxy.clone()));
        proxy
    }
}

/// Reads the published data, which may not exist.
///
/// # Errors
/// When it cannot be read: it may or may not have changed.
async fn read(client: &Client) -> Result<Proxy, String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let refused = |why: String| {
        format!("ConfigMap {NAMESPACE}/{NAME}, which lists the certificates that may act for others: {why}")
    };
    match call(maps.get(NAME)).await {
        Ok(map) => Ok(FrontProxy::from_data(&map.data.unwrap_or_default()).map(Arc::new).map_err(refused)),
        Err(error) if error.is_not_found() => Ok(Err(refused(error.to_string()))),
        Err(error) if error.is_forbidden() => Err(refused(format!(
            "queuewarden is not allowed to read it: \
             {error}"
        ))),
        Err(error) => Err(refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::http::{HeaderName, HeaderValue};
    use serde_json::{Value, json};

    use super::super::testing::{certificate, data};
    use super::*;
    use crate::controller::testing::issuer;
    use crate::server::testing::{client, reply};

    #[test]
    fn a_key_with_a_malformed_escape_stays_as_it_is() {
        for (key, expected) in
            [("a%2Fb", "a/b"), ("a%2Fb%", "a%2Fb%"), ("%2F%zz", "%2F%zz"), ("%ff", "%ff"), ("%C3%A9", "é")]
        {
            assert_eq!(super::unescaped(key), expected);
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        });
        pairs.collect()
    }

    #[test]
    fn the_api_server_speaks_for_others() {
        let issuer = issuer("proxies");
        let proxy = FrontProxy::from_data(&data(&issuer, r#"["front"]"#)).unwrap();
        let sent = headers(&[
            ("X-Remote-User", ""),
            ("X-User", "j\u{fc}rgen"),
            ("x-remote-group", "devs"),
            ("X-Remote-Group", "system:authenticated"),
            ("X-Remote-Group", ""),
            ("X-Remote-Uid", "7"),
            ("X-Remote-Extra-Scopes.example.com%2FA", "view"),
            ("X-Remote-Extra-scopes.example.com%2fa", "edit"),
            ("X-Remote-Extra-50%", "x"),
            ("X-Other", "y"),
        ]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &sent).unwrap().unwrap();
        assert_eq!((caller.identity.user.as_str(), caller.uid.as_str()), ("j\u{fc}rgen", "7"));
        assert_eq!(caller.identity.groups, ["devs", "system:authenticated"]);
        let extra: Vec<_> = caller.extra.iter().map(|(key, values)| (key.as_str(), values.len())).collect();
        assert_eq!(extra, [("50%", 1), ("scopes.example.com/a", 2)]);
        let anonymous =
            headers(&[("X-Remote-User", "system:anonymous"), ("X-Remote-Group", "system:unauthenticated")]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &anonymous).unwrap().unwrap();
        assert_eq!(caller.identity.groups, ["system:unauthenticated"]);
        let bare = headers(&[("X-Remote-User", "system:aggregator")]);
        let caller = proxy.caller(&certificate(&issuer, "front"), &bare).unwrap().unwrap();
        assert_eq!(caller.identity.groups, ["system:authenticated"]);
        assert_eq!(proxy.caller(&certificate(&issuer, "front"), &headers(&[])), Ok(None));
    }

    #[test]
    fn nobody_else_does() {
        let (issuer, other) = (issuer("proxies"), issuer("others"));
        let proxy = FrontProxy::from_data(&data(&issuer, r#"["front"]"#)).unwrap();
        let admin = headers(&[("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")]);
        for chain in [
            Vec::new(),
            certificate(&other, "front"),
            certificate(&issuer, "Front"),
            certificate(&issuer, ""),
        ] {
            assert!(proxy.caller(&chain, &admin).is_err());
        }
        let any = FrontProxy::from_data(&data(&issuer, "[]")).unwrap();
        assert!(any.caller(&certificate(&issuer, "Front"), &admin).is_ok());
        assert!(any.caller(&certificate(&other, "Front"), &admin).is_err());
    }

    #[test]
    fn without_an_authority_nobody_speaks_for_others() {
        let issuer = issuer("proxies");
        let without = |key: &str| {
            let mut data = data(&issuer, "[]");
            data.remove(key);
            FrontProxy::from_data(&data).map(drop)
        };
        assert!(
            without("requestheader-client-ca-file").unwrap_err().contains("--requestheader-client-ca-file")
        );
        assert!(without("requestheader-username-headers").unwrap_err().contains("names no header"));
        assert!(without("requestheader-uid-headers").is_ok());
        let reported = FrontProxy::from_data(&data(&issuer, "front")).unwrap_err();
        assert!(reported.starts_with("requestheader-allowed-names: "), "{reported}");
    }

    /// Returns the trusted proxy some time after the API server published its authority and then gave this
    /// answer.
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
        assert!(reported.ends_with("queuewarden is not allowed to read it: no"), "{reported}");
    }
}
