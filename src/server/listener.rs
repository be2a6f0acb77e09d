//! Connections: how many, how long, and how they end.
//!
//! Everything a peer can do slowly has a time limit, everything it can do often a number: handshakes, headers, bodies, streams,
//! connections. An answer leaves at once (`TCP_NODELAY`): without it, each decision costs the API server a delayed
//! acknowledgement of 40 ms.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

/// What connections may do.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many there may be at once; further ones wait in the kernel's queue.
    pub connections: usize,
    /// Requests at once on one connection of HTTP/2.
    pub streams: u32,
    /// How long the TLS handshake may take.
    pub handshake: Duration,
    /// How long the headers of a request may take; of HTTP/2 also how long a ping may stay without answer.
    pub headers: Duration,
    /// Bytes of the headers of one request.
    pub header_bytes: usize,
    /// How long one connection may live, so that load finds its way to other replicas; what is under way is answered.
    pub lifetime: Duration,
    /// How long requests under way may take when their connection or the server ends.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            streams: 250,
            handshake: Duration::from_secs(5),
            headers: Duration::from_secs(10),
            header_bytes: 64 * 1024,
            lifetime: Duration::from_mins(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// Who is at the other end, for handlers: an extension of the request.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// What the client has shown, its own certificate first; empty when it has shown none. It has the key, and nothing more is known:
    /// whether the certificate counts is decided by [`super::caller::Authorities`].
    pub certificates: Arc<[CertificateDer<'static>]>,
}

/// Serves `router` until `stop` completes, then lets requests under way end.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let acceptor = TlsAcceptor::from(tls);
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stopping, _) = watch::channel(());
    let accepting = async {
        loop {
            // Only who has a place is accepted: memory is bounded by the limit, and who waits is not refused.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Some((stream, address)) = accept(&listener).await else { continue };
            let connection = Connection {
                stream,
                address,
                place,
                acceptor: acceptor.clone(),
                router: router.clone(),
                limits,
            };
            tokio::spawn(connection.run(stopping.subscribe()));
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    // Who serves a connection listens; each cuts its own when the time is over.
    let _ = stopping.send(());
    stopping.closed().await;
}

/// Out of file descriptors, or a peer that left: the next one may fare better, but not at once.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    const AGAIN: Duration = Duration::from_millis(100);
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            tracing::warn!(%error, "A connection was not accepted");
            sleep(AGAIN).await;
            None
        }
    }
}

struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    place: OwnedSemaphorePermit,
    acceptor: TlsAcceptor,
    router: Router,
    limits: Limits,
}

impl Connection {
    async fn run(self, stopping: watch::Receiver<()>) {
        let Self { stream, address, place, acceptor, router, limits } = self;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "TCP_NODELAY cannot be set");
        }
        let stream = match timeout(limits.handshake, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, %address, "TLS handshake failed"),
            Err(_) => return tracing::debug!(%address, "TLS handshake took too long"),
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default().into();
        let peer = Peer { address, certificates };
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            router.clone().oneshot(request)
        });
        let builder = builder(limits);
        let serving = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(serving);
        let ended = tokio::select! {
            ended = serving.as_mut() => Some(ended),
            () = retires(stopping, limits.lifetime) => {
                serving.as_mut().graceful_shutdown();
                timeout(limits.drain, serving).await.ok()
            }
        };
        match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::debug!(%error, %address, "A connection ended badly"),
            None => tracing::debug!(%address, "A connection was cut: its requests did not end"),
        }
        drop(place);
    }
}

/// When the server ends, or the connection is old.
async fn retires(mut stopping: watch::Receiver<()>, lifetime: Duration) {
    tokio::select! {
        _ = stopping.changed() => {}
        () = sleep(lifetime) => {}
    }
}

fn builder(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(limits.header_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.headers)
        .keep_alive_timeout(limits.headers)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    builder
}
