//! Puts a proxy with TLS and a login in front of the real scheduler, as vendors do.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, serve::Listener};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::front_proxy::{Authority, Client};
use crate::test_cluster::TestCluster;
use crate::yunikorn::Rest;

/// The proxy. Each connection serves one request, so a change takes effect with the next request.
#[derive(Clone)]
pub struct TlsProxy {
    url: String,
    real: Rest,
    state: Arc<Mutex<Settings>>,
}

impl std::fmt::Debug for TlsProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsProxy").field("url", &self.url).finish_non_exhaustive()
    }
}

struct Settings {
    tls: Arc<ServerConfig>,
    /// The value of the `Authorization` header to let through; `None` accepts any.
    authorization: Option<String>,
    /// True if authenticated clients may not read.
    forbidden: bool,
}

impl TlsProxy {
    /// Starts the proxy with this certificate, open to all.
    ///
    /// # Errors
    /// When no port is free, or the certificate cannot be used.
    pub async fn start(cluster: &TestCluster, identity: &Client) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let settings = Settings { tls: server(identity, None)?, authorization: None, forbidden: false };
        let state = Arc::new(Mutex::new(settings));
        let proxy = Self { url, real: cluster.yunikorn()?, state };
        let router = Router::new().fallback(answer).with_state(proxy.clone());
        let incoming = Incoming { listener, proxy: proxy.clone() };
        tokio::spawn(async move { axum::serve(incoming, router).await });
        Ok(proxy)
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes its certificate, and the authority of the client certificates that it asks for.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn show(&self, identity: &Client, clients: Option<&Authority>) -> Result<()> {
        let tls = server(identity, clients)?;
        self.change(|settings| settings.tls = tls);
        Ok(())
    }

    /// Changes the accepted `Authorization` header.
    pub fn let_through(&self, authorization: Option<&str>) {
        self.change(|settings| settings.authorization = authorization.map(str::to_owned));
    }

    /// Allows or forbids all authenticated clients to read.
    pub fn forbid(&self, forbidden: bool) {
        self.change(|settings| settings.forbidden = forbidden);
    }

    fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<T>(&self, read: impl FnOnce(&Settings) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the error status for a request, if it is not let through.
    fn refusal(&self, headers: &HeaderMap) -> Option<StatusCode> {
        self.read(|settings| {
            let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            match settings.authorization.as_deref() {
                Some(wanted) if shown != Some(wanted) => Some(StatusCode::UNAUTHORIZED),
                _ => settings.forbidden.then_some(StatusCode::FORBIDDEN),
            }
        })
    }
}

async fn answer(State(proxy): State<TlsProxy>, uri: Uri, headers: HeaderMap) -> Response {
    let answer = match proxy.refusal(&headers) {
        Some(status) => status.into_response(),
        None => match proxy.real.get(uri.path()).await {
            Ok(answer) => Json(answer).into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        },
    };
    ([(header::CONNECTION, "close")], answer).into_response()
}

fn server(identity: &Client, clients: Option<&Authority>) -> Result<Arc<ServerConfig>> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let builder = match clients {
        None => ServerConfig::builder().with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes())?)?;
            let verifier =
                WebPkiClientVerifier::builder(Arc::new(roots)).build().context("client certificates")?;
            ServerConfig::builder().with_client_cert_verifier(verifier)
        }
    };
    Ok(Arc::new(builder.with_single_cert(vec![certificate], key)?))
}

/// Connections whose handshake succeeded.
struct Incoming {
    listener: TcpListener,
    proxy: TlsProxy,
}

impl Listener for Incoming {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, peer)) = self.listener.accept().await else { continue };
            let acceptor = TlsAcceptor::from(self.proxy.read(|settings| Arc::clone(&settings.tls)));
            if let Ok(stream) = acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
