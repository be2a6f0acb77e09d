//! Authentication of callers: by a client certificate or by a bearer token, as Kubernetes authenticates its
//! users. The API server names the user of a token, through `TokenReview`. The handshake has proven that a
//! client has the key of its certificate; this module decides whether to accept the certificate.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, crypto};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, watch};
use x509_parser::prelude::{AttributeTypeAndValue, FromDer as _, X509Certificate, X509Name};

use super::ServerState;
use super::api_error::ApiError;
use super::listener::Peer;
use super::tls::{self, certificates};
use crate::controller::clock;
use go_compat::diag::quoted;
use queuewarden_client::call::call;
use yunikorn::identity::Identity;

/// The group of every authenticated user (`k8s.io/apiserver/pkg/authentication/user/user.go`).
const AUTHENTICATED: &str = "system:authenticated";
/// The group of users that the API server serves without authentication.
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// How long the user of a token is cached, the same as in the API server's delegated authenticators
/// (`k8s.io/apiserver/pkg/server/options/authentication.go`, `cacheTTL`).
const TTL: Duration = Duration::from_secs(10);
/// Tokens in the cache.
const REMEMBERED: u64 = 4096;
/// Reviews at once.
const MAX_REVIEWS: usize = 16;

/// A caller authenticated by a certificate or by the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The name, which is never empty, and the groups, including `system:authenticated`.
    pub identity: Identity,
    /// The UID; may be empty.
    pub uid: String,
    /// The extra fields that the authenticator added.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Hash for Caller {
    // The name distinguishes almost all callers, and every request computes a hash.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.user.hash(state);
    }
}

impl Caller {
    /// Returns the total bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        let extra = self.extra.iter().flat_map(|(key, values)| values.iter().chain([key]));
        let Identity { user, groups } = &self.identity;
        [user, &self.uid].into_iter().chain(groups).chain(extra).map(String::len).sum()
    }

    /// Adds the group as the API server does
    /// (`k8s.io/apiserver/pkg/authentication/group/authenticated_group_adder.go`), for everyone except users
    /// that it serves unauthenticated.
    pub(super) fn known(mut self) -> Self {
        let groups = &mut self.identity.groups;
        if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// Why the caller is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unauthenticated {
    /// The request has no certificate and no token.
    #[error("authenticate with a client certificate, or with a token in the header Authorization: Bearer …")]
    Missing,
    /// The certificate or token is not accepted.
    #[error("{0}")]
    Refused(String),
    /// The certificate or token could not be checked now.
    #[error("cannot authenticate you at the moment: {0}")]
    Unchecked(String),
}

impl From<Unauthenticated> for ApiError {
    fn from(error: Unauthenticated) -> Self {
        let message = error.to_string();
        match error {
            Unauthenticated::Missing | Unauthenticated::Refused(_) => Self::unauthorized(message),
            Unauthenticated::Unchecked(_) => Self::unavailable(message),
        }
    }
}

/// Lets a request to a webhook pass if its client has a certificate for one of the names that webhooks
/// accept, or if no name is configured. API servers send a certificate if one is given to them in a file
/// (`--admission-control-config-file`).
pub(super) async fn only_webhook_clients(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if !state.webhook_clients.is_empty() {
        let peer = request.extensions().get::<Peer>().ok_or(Unauthenticated::Missing)?;
        state.callers.webhook_client(peer, &state.webhook_clients)?;
    }
    Ok(next.run(request).await)
}

/// The user of a token, according to the API server.
type Authenticated = Result<Arc<Caller>, Unauthenticated>;

/// Authenticates callers.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Callers {
    authorities: watch::Receiver<Option<Arc<Authorities>>>,
    reviews: Api<TokenReview>,
    audiences: Vec<String>,
    /// The users of tokens by the SHA-256 of the token. The token itself is not stored.
    by_token: Cache<[u8; 32], Authenticated>,
    slots: Semaphore,
}

impl Callers {
    /// Accepts certificates signed by these authorities, and tokens for one of these audiences. Without
    /// audiences, tokens must be for the API server.
    pub fn new(
        client: Client,
        authorities: watch::Receiver<Option<Arc<Authorities>>>,
        audiences: Vec<String>,
    ) -> Self {
        Self {
            authorities,
            reviews: Api::all(client),
            audiences,
            by_token: Cache::builder().max_capacity(REMEMBERED).time_to_live(TTL).build(),
            slots: Semaphore::new(MAX_REVIEWS),
        }
    }

    /// Returns the sender of a request. A certificate is tried first. As in the API server, an invalid
    /// certificate does not invalidate a token.
    ///
    /// # Errors
    /// When the caller is unknown.
    pub async fn authenticate(&self, request: &Parts) -> Authenticated {
        let by_certificate = self.by_certificate(request.extensions.get());
        if let Some(Ok(caller)) = by_certificate {
            return Ok(Arc::new(caller.known()));
        }
        match (request.headers.get(header::AUTHORIZATION).and_then(token_of), by_certificate) {
            (Some(token), _) => self.by_token(token).await,
            (None, Some(Err(why))) => Err(Unauthenticated::Refused(why)),
            (None, _) => Err(Unauthenticated::Missing),
        }
    }

    /// Checks that a client has a certificate for one of these names.
    ///
    /// # Errors
    /// When it shows no certificate, or the certificate is not accepted.
    pub(super) fn webhook_client(&self, peer: &Peer, names: &[String]) -> Result<(), ApiError> {
        let by_certificate = self.by_certificate(Some(peer));
        let caller = by_certificate.ok_or(Unauthenticated::Missing)?.map_err(Unauthenticated::Refused)?;
        let user = &caller.identity.user;
        if names.contains(user) {
            return Ok(());
        }
        let message = format!("{} may not call webhooks: --webhook-client names others", quoted(user));
        Err(ApiError::forbidden(message))
    }

    /// Authenticates by certificate; `None` if there is no certificate or no authority to check it.
    fn by_certificate(&self, peer: Option<&Peer>) -> Option<Result<Caller, String>> {
        let chain = &peer?.certificates;
        if chain.is_empty() {
            return None;
        }
        let authorities = self.authorities.borrow().clone()?;
        Some(authorities.caller(chain))
    }

    /// Authenticates by token. Caches the API server's answers, but not failed reviews. Requests with the
    /// same token wait for one review.
    async fn by_token(&self, token: &str) -> Authenticated {
        let key = Sha256::digest(token.as_bytes()).into();
        if let Some(caller) = self.by_token.get(&key).await {
            return caller;
        }
        // Only answers are cached: for the cache, a failed review is an error. Boxed, because the future
        // would otherwise increase the size of each request.
        let caller = Box::pin(self.by_token.try_get_with(key, self.review(token))).await;
        caller.unwrap_or_else(|unchecked| Err(Unauthenticated::clone(&unchecked)))
    }

    /// Reviews a token. The outer error means that the review itself failed.
    async fn review(&self, token: &str) -> Result<Authenticated, Unauthenticated> {
        let unchecked = |why: String| Unauthenticated::Unchecked(why);
        let _slot = self.slots.acquire().await.map_err(|error| unchecked(error.to_string()))?;
        let audiences = (!self.audiences.is_empty()).then(|| self.audiences.clone());
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences };
        let review = TokenReview { spec, ..TokenReview::default() };
        let review = call(self.reviews.create(&PostParams::default(), &review)).await;
        let status = review.map_err(|error| unchecked(error.to_string()))?.status.unwrap_or_default();
        if status.authenticated != Some(true) {
            let why = status.error.filter(|error| !error.is_empty());
            let why = why.unwrap_or_else(|| "the API server does not know it".to_owned());
            return Ok(Err(Unauthenticated::Refused(format!("the token is not accepted here: {why}"))));
        }
        // An API server that does not support audiences omits them, so its answer is only about itself.
        let named = status.audiences.unwrap_or_default();
        if !self.audiences.is_empty() && !named.iter().any(|audience| self.audiences.contains(audience)) {
            let wanted = self.audiences.join(", ");
            return Ok(Err(Unauthenticated::Refused(format!("the token is not for {wanted}"))));
        }
        let user = status.user.unwrap_or_default();
        let Some(name) = user.username.filter(|name| !name.is_empty()) else {
            return Ok(Err(Unauthenticated::Refused("the token does not name a user".to_owned())));
        };
        let caller = Caller {
            identity: Identity { user: name, groups: user.groups.unwrap_or_default() },
            uid: user.uid.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        };
        Ok(Ok(Arc::new(caller.known())))
    }
}

/// Returns the token in a header `Authorization: Bearer …`.
fn token_of(authorization: &HeaderValue) -> Option<&str> {
    // Tokens are long, and `HeaderValue::to_str` checks each byte separately.
    let value = str::from_utf8(authorization.as_bytes()).ok().filter(|value| value.is_ascii())?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Authorities whose client certificates count.
#[derive(Debug)]
pub struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    /// Parses the certificates of the authorities from PEM.
    ///
    /// # Errors
    /// When there is no certificate, or one cannot be used.
    pub fn from_pem(pem: &[u8]) -> Result<Self, tls::TlsError> {
        let unusable =
            |error: &dyn Display| tls::TlsError(format!("cannot check client certificates: {error}"));
        let mut roots = RootCertStore::empty();
        for authority in certificates(pem, "client authorities")? {
            roots.add(authority).map_err(|error| unusable(&error))?;
        }
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Self { verifier })
    }

    /// Returns the subject of a chain, whose first certificate is the client's own, if these authorities have
    /// signed it, it is a client certificate and it is valid now: its `CN`, which may be empty, and each `O`
    /// as a group.
    ///
    /// # Errors
    /// Explains why it is not accepted.
    pub fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<Identity, String> {
        let Some((own, others)) = chain.split_first() else {
            return Err("there is no client certificate".to_owned());
        };
        let seconds = u64::try_from(clock::now().as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.verifier
            .verify_client_cert(own, others, now)
            .map_err(|error| format!("the client certificate is not accepted here: {error}"))?;
        let (_, certificate) = X509Certificate::from_der(own)
            .map_err(|error| format!("the client certificate cannot be read: {error}"))?;
        Ok(subject(certificate.subject()))
    }

    /// Returns the user of a chain, as the API server names them
    /// (`k8s.io/apiserver/pkg/authentication/request/x509/x509.go`, `CommonNameUserConversion`).
    ///
    /// # Errors
    /// As [`Self::verify`], and when there is no name.
    pub fn caller(&self, chain: &[CertificateDer<'_>]) -> Result<Caller, String> {
        let identity = self.verify(chain)?;
        if identity.user.is_empty() {
            return Err("the client certificate does not name a user: its CN is empty".to_owned());
        }
        Ok(Caller { identity, ..Caller::default() })
    }
}

/// Of several `CN`s the last one is used, as in Go's `pkix.Name.FillFromRDNSequence`.
fn subject(name: &X509Name<'_>) -> Identity {
    let text = |part: &AttributeTypeAndValue<'_>| part.as_str().map(str::to_owned).unwrap_or_default();
    Identity {
        user: name.iter_common_name().last().map(text).unwrap_or_default(),
        groups: name.iter_organization().map(text).filter(|text| !text.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::{Request, Response};
    use kube::client::Body;
    use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
    use serde_json::{Value, json};
    use time::OffsetDateTime;
    use tokio::time::sleep;

    use super::*;
    use crate::controller::testing::{Issuer, issuer};

    /// An API server that gives each `TokenReview` the same answer, and counts them.
    fn callers(audiences: &[&str], code: u16, answer: Value) -> (Callers, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let service = tower::service_fn(move |request: Request<Body>| {
            assert_eq!(request.uri().path(), "/apis/authentication.k8s.io/v1/tokenreviews");
            counter.fetch_add(1, Ordering::Relaxed);
            let answer = answer.to_string();
            async move {
                sleep(Duration::from_millis(10)).await;
                let response = Response::builder().status(code).body(Body::from(answer.into_bytes()));
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        let audiences = audiences.iter().map(|&audience| audience.to_owned()).collect();
        (Callers::new(Client::new(service, "default"), watch::channel(None).1, audiences), calls)
    }

    fn review(status: &Value) -> Value {
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}, "status": status})
    }

    #[tokio::test]
    async fn one_question_answers_for_all_who_show_the_same() {
        let user = json!({"username": "sue", "groups": ["devs"], "uid": "7", "extra": {"k": ["v"]}});
        let (callers, calls) = callers(&[], 201, review(&json!({"authenticated": true, "user": user})));
        let knowing = (0..50).map(|_| callers.by_token("token"));
        let known = futures::future::join_all(knowing).await;
        for caller in known {
            let caller = caller.unwrap();
            assert_eq!((caller.identity.user.as_str(), caller.uid.as_str()), ("sue", "7"));
            assert_eq!(
                (&caller.identity.groups, &caller.extra["k"]),
                (&vec!["devs".to_owned(), AUTHENTICATED.to_owned()], &vec!["v".to_owned()])
            );
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        callers.by_token("another").await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_does_not_count_is_refused_with_the_reason() {
        let cases = [
            (json!({"authenticated": false, "error": "it has expired"}), "it has expired"),
            (json!({}), "the API server does not know it"),
            (
                json!({"authenticated": true, "user": {"username": ""}, "audiences": ["queuewarden"]}),
                "does not name a user",
            ),
            (
                json!({"authenticated": true, "user": {"username": "sue"}, "audiences": ["other"]}),
                "is not for queuewarden",
            ),
            (json!({"authenticated": true, "user": {"username": "sue"}}), "is not for queuewarden"),
        ];
        for (status, why) in cases {
            let (callers, calls) = callers(&["queuewarden"], 201, review(&status));
            for _ in 0..2 {
                let refused = callers.by_token("token").await.unwrap_err();
                assert!(
                    matches!(&refused, Unauthenticated::Refused(reported) if reported.contains(why)),
                    "{refused}"
                );
            }
            assert_eq!(calls.load(Ordering::Relaxed), 1, "{status}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_checked_is_asked_again() {
        let failure = json!({"kind": "Status", "status": "Failure", "message": "no right to", "code": 403});
        let (callers, calls) = callers(&[], 403, failure);
        for times in 1..3 {
            let unchecked = callers.by_token("token").await.unwrap_err();
            assert!(
                matches!(&unchecked, Unauthenticated::Unchecked(why) if why.contains("no right to")),
                "{unchecked}"
            );
            assert_eq!(calls.load(Ordering::Relaxed), times);
        }
    }

    #[test]
    fn only_bearer_tokens_are_tokens() {
        let cases = [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("", None),
        ];
        for (value, token) in cases {
            assert_eq!(token_of(&HeaderValue::from_static(value)), token, "{value}");
        }
        assert_eq!(token_of(&HeaderValue::from_bytes("Bearer ü".as_bytes()).unwrap()), None);
    }

    /// Returns a client certificate, modified by `change`.
    fn certificate(by: &Issuer, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "sue");
        params.distinguished_name.push(DnType::OrganizationName, "devs");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().into()
    }

    #[test]
    fn a_certificate_names_a_user_and_groups() {
        let ours = issuer("ours");
        let authorities = Authorities::from_pem(ours.pem().as_bytes()).unwrap();
        let caller = authorities.caller(&[certificate(&ours, |_| {})]).unwrap();
        assert_eq!((caller.identity.user.as_str(), caller.identity.groups), ("sue", vec!["devs".to_owned()]));
    }

    #[test]
    fn whose_word_does_not_count_names_nobody() {
        let (ours, theirs) = (issuer("ours"), issuer("theirs"));
        let authorities = Authorities::from_pem(ours.pem().as_bytes()).unwrap();
        let past = OffsetDateTime::from_unix_timestamp(1_000_000_000).unwrap();
        let nameless =
            |params: &mut CertificateParams| params.distinguished_name = rcgen::DistinguishedName::new();
        let cases = [
            (certificate(&theirs, |_| {}), "UnknownIssuer"),
            (certificate(&ours, |params| params.not_after = past), "Expired"),
            (
                certificate(&ours, |params| {
                    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
                }),
                "extended key usage",
            ),
            (certificate(&ours, nameless), "does not name a user"),
            (CertificateDer::from(vec![1, 2, 3]), "is not accepted here"),
        ];
        for (certificate, why) in cases {
            let refused = authorities.caller(&[certificate]).unwrap_err();
            assert!(refused.to_lowercase().contains(&why.to_lowercase()), "{refused} does not contain {why}");
        }
        assert!(authorities.verify(&[]).is_err());
        assert!(Authorities::from_pem(b"nothing").is_err());
    }
}
