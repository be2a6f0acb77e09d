//! Authentication of callers: by a client certificate or by a bearer token, as Kubernetes authenticates its
//! users.

mod certificate;
mod token;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use kube::Client;
use tokio::sync::watch;

pub use certificate::Authorities;
use token::Reviews;

use super::ServerState;
use super::listener::Peer;
use super::refusal::Refusal;
use go_compat::diag::quoted;
use yunikorn::identity::Identity;

/// The group of every authenticated user (`k8s.io/apiserver/pkg/authentication/user/user.go`).
const AUTHENTICATED: &str = "system:authenticated";
/// The group of those whom the API server serves without authentication.
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A caller whom a certificate or the API server authenticated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The name, which is never empty, and the groups, `system:authenticated` among them.
    pub identity: Identity,
    /// The UID; empty when there is none.
    pub uid: String,
    /// The extra fields that the authenticator added.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Hash for Caller {
    // The name tells almost all callers apart, and each request hashes one.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.user.hash(state);
    }
}

impl Caller {
    /// Returns the bytes of all its texts.
    pub(super) fn bytes(&self) -> usize {
        let extra = self.extra.iter().flat_map(|(key, values)| values.iter().chain([key]));
        let Identity { user, groups } = &self.identity;
        [user, &self.uid].into_iter().chain(groups).chain(extra).map(String::len).sum()
    }

    /// Adds the group, as the API server does
    /// (`k8s.io/apiserver/pkg/authentication/group/authenticated_group_adder.go`), for all except those
    /// whom it serves unauthenticated.
    pub(super) fn known(mut self) -> Self {
        let groups = &mut self.identity.groups;
        if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// The reason why the caller is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unauthenticated {
    /// There is neither a certificate nor a token.
    #[error("show who you are: by a client certificate, or by a token in the header Authorization: Bearer …")]
    Missing,
    /// The certificate or token does not count.
    #[error("{0}")]
    Refused(String),
    /// The certificate or token could not be checked now.
    #[error("cannot check now who you are: {0}")]
    Unchecked(String),
}

impl From<Unauthenticated> for Refusal {
    fn from(error: Unauthenticated) -> Self {
        let message = error.to_string();
        match error {
            Unauthenticated::Missing | Unauthenticated::Refused(_) => Self::unauthorized(message),
            Unauthenticated::Unchecked(_) => Self::unavailable(message),
        }
    }
}

/// The part of a request that authenticates its sender.
#[derive(Debug, Clone)]
pub struct Credentials {
    authorization: Option<HeaderValue>,
    peer: Option<Peer>,
}

impl From<&Parts> for Credentials {
    fn from(parts: &Parts) -> Self {
        let authorization = parts.headers.get(header::AUTHORIZATION).cloned();
        Self { authorization, peer: parts.extensions.get().cloned() }
    }
}

impl<S: Sync> FromRequestParts<S> for Credentials {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::from(&*parts))
    }
}

/// Lets a request to a webhook pass if its client has a certificate in one of the names that webhooks
/// accept; where no name is set, any client.
/// API servers show one that is given to them in a file (`--admission-control-config-file`).
pub(super) async fn only_webhook_clients(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    if !state.webhook_clients.is_empty() {
        let peer = request.extensions().get::<Peer>().ok_or(Unauthenticated::Missing)?;
        state.callers.webhook_client(peer, &state.webhook_clients)?;
    }
    Ok(next.run(request).await)
}

/// Authenticates callers.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Callers {
    authorities: watch::Receiver<Option<Arc<Authorities>>>,
    reviews: Reviews,
}

impl Callers {
    /// Accepts certificates of these authorities, and tokens for one of these audiences; without audiences,
    /// for the API server.
    pub fn new(
        client: Client,
        authorities: watch::Receiver<Option<Arc<Authorities>>>,
        audiences: Vec<String>,
    ) -> Self {
        Self { authorities, reviews: Reviews::new(client, audiences) }
    }

    /// Returns the sender of a request. A certificate counts first; one that does not count is no reason
    /// against a token that does, as with
    /// the API server.
    ///
    /// # Errors
    /// When the caller is unknown.
    pub async fn know(&self, shown: &Credentials) -> Result<Arc<Caller>, Unauthenticated> {
        let by_certificate = self.by_certificate(shown.peer.as_ref());
        if let Some(Ok(caller)) = by_certificate {
            return Ok(Arc::new(caller.known()));
        }
        match (shown.authorization.as_ref().and_then(token::shown), by_certificate) {
            (Some(token), _) => self.reviews.know(token).await,
            (None, Some(Err(why))) => Err(Unauthenticated::Refused(why)),
            (None, _) => Err(Unauthenticated::Missing),
        }
    }

    /// Checks that a client has a certificate in one of these names.
    ///
    /// # Errors
    /// When it shows no certificate, or the certificate does not count.
    pub(super) fn webhook_client(&self, peer: &Peer, names: &[String]) -> Result<(), Refusal> {
        let by_certificate = self.by_certificate(Some(peer));
        let caller = by_certificate.ok_or(Unauthenticated::Missing)?.map_err(Unauthenticated::Refused)?;
        let user = &caller.identity.user;
        if names.contains(user) {
            return Ok(());
        }
        let message = format!("webhooks do not answer {}: --webhook-client names others", quoted(user));
        Err(Refusal::forbidden(message))
    }

    /// Authenticates by certificate; `None` where there is none, or none can count.
    fn by_certificate(&self, peer: Option<&Peer>) -> Option<Result<Caller, String>> {
        let chain = &peer?.certificates;
        if chain.is_empty() {
            return None;
        }
        let authorities = self.authorities.borrow().clone()?;
        Some(authorities.caller(chain))
    }
}
