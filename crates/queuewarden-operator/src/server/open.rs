//! Starts the HTTPS endpoints: the certificate, the callers, the address, and the tasks that keep them up
//! to date.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::caller::Callers;
use super::certificates::files::{Files, Pair};
use super::certificates::follower::Follower;
use super::listener::{self, Limits};
use super::lookups::Lookups;
use super::tls::{self, Identity};
use super::{Endpoint, ServerState, router};
use crate::controller::applications::{Applications, Mode};
use crate::controller::health::Health;
use crate::controller::published::Knows;

/// The time for which the endpoints stay open after the signal to stop. Until every node and API server has
/// learnt that this replica is not ready, some still connect here.
const LINGER: Duration = Duration::from_secs(3);

/// The configuration of the HTTPS endpoints.
#[derive(Debug, Clone)]
pub struct Https {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The server certificate.
    pub certificate: Source,
    /// File of the authorities whose client certificates count, in PEM.
    pub client_authorities: Option<PathBuf>,
    /// Names in the certificates of clients that webhooks answer; empty: of any client.
    pub webhook_clients: Vec<String>,
    /// The groups of endpoints that are served.
    pub endpoints: Vec<Endpoint>,
    /// The requests about applications that are answered.
    pub applications: Mode,
    /// The audiences that a token must have; empty: the API server.
    pub audiences: Vec<String>,
}

/// The source of the certificate.
#[derive(Debug, Clone)]
pub enum Source {
    /// Files that another program renews.
    Mounted(Pair),
    /// From queuewarden itself: this Secret, which `queuewarden certificates` keeps.
    Own {
        /// Its namespace; `None`: the client's own.
        namespace: Option<String>,
        /// Its name.
        secret: String,
    },
}

/// The reason why the endpoints cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// A certificate cannot be used, or TLS not set up.
    #[error(transparent)]
    Tls(#[from] tls::Error),
}

/// Endpoints that are open.
#[derive(Debug)]
pub struct Open {
    end: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    /// Tasks that keep certificates up to date; they end when this is dropped.
    keeping: JoinSet<()>,
}

impl Open {
    /// Opens the endpoints, which show `identity`. Without a certificate yet, handshakes fail until there is
    /// one. Lookups that callers cause use the client `lookups`.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub async fn start(
        https: &Https,
        client: &Client,
        lookups: Client,
        knows: Knows,
        health: &Arc<Health>,
        identity: Identity,
    ) -> Result<Self, Error> {
        let mut keeping = JoinSet::new();
        let pair = match &https.certificate {
            Source::Mounted(pair) => Some(pair.clone()),
            Source::Own { namespace, secret } => {
                let secret = (namespace.as_deref().unwrap_or(client.default_namespace()), secret.as_str());
                keeping.spawn(Follower::new(client, secret, identity.clone(), Arc::clone(health)).run());
                None
            }
        };
        let clients = https.client_authorities.clone();
        let files = Files::begin(pair, clients, identity.clone(), Arc::clone(health))?;
        let callers = Callers::new(lookups.clone(), files.authorities(), https.audiences.clone());
        let applications = Applications::start(client, https.applications);
        applications.progress().into_iter().for_each(|watch| health.watches(watch));
        let state = ServerState {
            knows,
            lookups: Lookups::new(lookups),
            health: Arc::clone(health),
            callers,
            webhook_clients: https.webhook_clients.clone(),
            applications,
        };
        let tls = tls::server_config(identity)?;
        let listener =
            TcpListener::bind(https.listen).await.map_err(|error| Error::Listen(https.listen, error))?;
        tracing::info!(listen = %https.listen, "Serving HTTPS");
        let (end, ended) = oneshot::channel::<()>();
        let serving = listener::serve(
            listener,
            Some(tls),
            router(state, &https.endpoints),
            Limits::DEFAULT,
            Arc::clone(health),
            ended.map(drop),
        );
        keeping.spawn(files.run());
        Ok(Self { end, serving: tokio::spawn(serving), keeping })
    }

    /// Closes the endpoints once no new connections come, and waits for requests in progress.
    pub async fn close(self) {
        sleep(LINGER).await;
        drop(self.keeping);
        drop(self.end);
        // A task that panicked serves no requests any more.
        let _ = self.serving.await;
    }
}
