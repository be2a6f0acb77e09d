//! Connections: their number, their time limits, and their end.
//!
//! Everything a peer can do slowly has a time limit, and everything it can do often has a maximum number:
//! handshakes, headers, bodies, streams, connections. Responses are sent at once (`TCP_NODELAY`), because
//! each decision would otherwise cost the API server a delayed acknowledgement of 40 ms.
//!
//! We need our own listener because axum-server and tower limit requests and their time, but not connections
//! per peer. Idle connections, handshakes that never end and requests whose bodies do not arrive must not
//! keep an API server out. A new connection is accepted at once and replaces an idle one of the peer with the
//! most connections ([`Slot`]). A connection also ends when its first request is late, when it is idle, and
//! after half an hour, so that load moves to other replicas. The bytes of its headers are charged to its peer
//! before they become a request. axum-server has only one time limit, for the end of the process.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{Extensions, HeaderMap, HeaderValue, Version};
use axum::response::IntoResponse as _;
use futures::FutureExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use super::api_error::ApiError;
use super::room::{Guest, Joint, Requests, Shares};
use crate::controller::health::Health;
use crate::controller::lock;
use crate::memory::MIB;

/// The time for the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The maximum lifetime of a connection, so that load moves to other replicas; requests in progress are
/// answered.
const LIFETIME: Duration = Duration::from_mins(30);
/// The time for requests in progress when their connection or the server ends.
const DRAIN: Duration = Duration::from_secs(10);
/// The time that a connection without requests has to close.
const CLOSE_GRACE: Duration = Duration::from_millis(200);
/// The time that a new connection has for its first request when the server ends.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Maximum number of connections. If there are more, an idle one is closed ([`Slot`]).
    pub connections: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub streams: u32,
    /// Bytes of one HTTP/2 body that may be sent before it is read. This applies to each request of a
    /// connection, so no request waits for the body of another.
    pub window: u32,
    /// The time until the first request of a connection; for HTTP/2 also the time that a ping may stay
    /// unanswered.
    pub headers: Duration,
    /// Maximum bytes of the headers of one request.
    pub header_bytes: usize,
    /// Maximum bytes in memory of the headers of all requests, and of the beginnings of bodies that are not
    /// being read yet.
    pub arrivals: usize,
    /// The time that a connection may stay without requests.
    pub idle: Duration,
}

impl ConnectionLimits {
    /// A client library keeps an idle connection for 90 s (Go's `http.DefaultTransport`). Ours last longer,
    /// so that the client closes first.
    pub const DEFAULT: Self = Self {
        connections: 512,
        streams: 100,
        window: 8 * 1024,
        headers: Duration::from_secs(10),
        header_bytes: 32 * 1024,
        arrivals: 24 * MIB,
        idle: Duration::from_mins(2),
    };
}

/// The peer of a connection, for handlers, as an extension of the request.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The certificates that the client sent, its own first; empty if it sent none. The client has the key;
    /// [`super::caller::Authorities`] decides whether to accept the certificate.
    pub certificates: Arc<[CertificateDer<'static>]>,
    /// The client that the bytes of its requests are charged to.
    pub guest: Guest,
    /// The beginnings of bodies that the connection holds while they wait to be read.
    pub(super) unread: Option<Arc<Joint>>,
}

impl Peer {
    /// Returns a client that is only known by its address.
    pub fn new(address: SocketAddr, certificates: Arc<[CertificateDer<'static>]>) -> Self {
        Self { address, certificates, guest: Guest::Stranger(address.ip()), unread: None }
    }
}

/// Returns the client of a request.
pub(super) fn guest(extensions: &Extensions) -> Guest {
    let unknown = Guest::Stranger(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    extensions.get::<Peer>().map_or(unknown, |peer| peer.guest)
}

/// Decides by the certificates of a client whether it is an API server.
pub type IsApiServer = Arc<dyn Fn(&Peer) -> bool + Send + Sync>;

/// An HTTP server, with or without TLS.
#[expect(missing_debug_implementations, reason = "closures do not implement Debug")]
pub struct Server {
    /// The settings of TLS; `None` without TLS.
    pub tls: Option<Arc<ServerConfig>>,
    /// The routes.
    pub router: Router,
    /// The limits of connections.
    pub limits: ConnectionLimits,
    /// The memory of all requests.
    pub requests: Requests,
    /// Decides which clients are API servers; `None` means that no client is.
    pub is_api_server: Option<IsApiServer>,
    /// Counts connections.
    pub health: Arc<Health>,
}

impl Server {
    /// Serves until `stop` completes, then finishes requests in progress.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let slots = Slots::new(self.limits.connections);
        let arrivals = self.requests.arrivals(self.limits.arrivals);
        let (stopping, _) = watch::channel(());
        let server = Arc::new(self);
        let serve = |stream: TcpStream, address: SocketAddr, slot: Slot| {
            let (server, arrivals, slot) = (Arc::clone(&server), Arc::clone(&arrivals), Arc::new(slot));
            let connection = Connection { server, arrivals, address, slot };
            tokio::spawn(connection.run(stream, stopping.subscribe()));
        };
        let accepting = async {
            loop {
                let Some((stream, address)) = accept(&listener).await else { continue };
                let Some(slot) = slots.take(address.ip()).await else { return };
                serve(stream, address, slot);
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stop => {}
        }
        // Accepts the connections that arrived before the end.
        while let Some(Ok((stream, address))) = listener.accept().now_or_never() {
            if let Some(Some(slot)) = slots.take(address.ip()).now_or_never() {
                serve(stream, address, slot);
            }
        }
        drop(listener);
        // Each connection receives the stop signal and ends itself when its time is over.
        let _ = stopping.send(());
        stopping.closed().await;
    }
}

/// Out of file descriptors, or the peer left. Another attempt may succeed, but not at once.
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
    server: Arc<Server>,
    /// The budget of the headers of all requests.
    arrivals: Arc<Shares>,
    address: SocketAddr,
    slot: Arc<Slot>,
}

impl Connection {
    async fn run(self, stream: TcpStream, stopping: watch::Receiver<()>) {
        let metrics = &self.server.health.metrics;
        metrics.connections.inc();
        let how = self.serve(stream, stopping).await;
        metrics.connections.dec();
        metrics.ended(how);
    }

    /// Serves a connection and returns how it ended.
    async fn serve(&self, stream: TcpStream, stopping: watch::Receiver<()>) -> &'static str {
        let address = self.address;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %address, "Cannot set TCP_NODELAY");
        }
        let Some(tls) = self.server.tls.clone() else {
            return self.converse(stream, Arc::default(), stopping).await;
        };
        let stream = tokio::select! {
            accepted = timeout(HANDSHAKE, TlsAcceptor::from(tls).accept(stream)) => match accepted {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    tracing::debug!(%error, %address, "TLS handshake failed");
                    return "handshake_failed";
                }
                Err(_) => return "handshake_timeout",
            },
            _ = self.slot.unused(HANDSHAKE) => return "evicted",
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default().into();
        self.converse(stream, certificates, stopping).await
    }

    /// Answers the requests of a connection and returns how it ended.
    async fn converse(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        certificates: Arc<[CertificateDer<'static>]>,
        mut stopping: watch::Receiver<()>,
    ) -> &'static str {
        let address = self.address;
        let peer = self.peer(certificates);
        let (slot, router, arrivals) =
            (Arc::clone(&self.slot), self.server.router.clone(), Arc::clone(&self.arrivals));
        let health = Arc::clone(&self.server.health);
        // One that nobody uses after this ends as idle before its lifetime is over.
        let leave = Instant::now() + LIFETIME.saturating_sub(self.server.limits.idle);
        let service = service_fn(move |mut request: Request<Incoming>| {
            slot.ask();
            let request_version = request.version();
            // The headers are charged before the response becomes a task, because there may be many tasks and
            // a single byte on the wire can encode a whole header.
            let answer = arrivals.take(peer.guest, bytes_of(request.headers()), 0).map(|share| {
                request.extensions_mut().insert(peer.clone());
                request.extensions_mut().insert(Arc::clone(&slot));
                (router.clone().oneshot(request), share)
            });
            let (health, keeps_alive) = (Arc::clone(&health), request_version < Version::HTTP_2);
            async move {
                let mut answered = match answer {
                    Ok((answer, _share)) => answer.await,
                    Err(crowded) => Ok(ApiError::from(crowded).into_response()),
                };
                // API servers call webhooks by HTTP/1.1, and do not send a request again that reaches a
                // connection just when it closes. So a client leaves connections before they close.
                if let Ok(response) = &mut answered
                    && keeps_alive
                    && (health.is_stopping() || leave <= Instant::now())
                {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                answered
            }
        });
        let builder = builder(&self.server.limits);
        let serving = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(serving);
        let why = tokio::select! {
            ended = serving.as_mut() => {
                let Err(error) = ended else { return "closed" };
                // The peer left, or does not speak HTTP.
                tracing::debug!(%error, %address, "A connection ended with an error");
                return "error";
            }
            // Keeps its receiver: the server waits until no receiver is left, and a request is still in
            // progress here.
            why = self.ends(&mut stopping) => why,
        };
        serving.as_mut().graceful_shutdown();
        let patience = match why {
            // Another connection waits for the slot, so HTTP/2's closing message is only sent if that is
            // possible at once.
            "evicted" => Duration::ZERO,
            "idle" => CLOSE_GRACE,
            _ => DRAIN,
        };
        timeout(patience, serving).await.map_or("cut", |_| why)
    }

    /// Returns the client of a connection, with the certificates that it sent.
    fn peer(&self, certificates: Arc<[CertificateDer<'static>]>) -> Peer {
        let mut peer = Peer::new(self.address, certificates);
        if self.server.is_api_server.as_ref().is_some_and(|is_api_server| is_api_server(&peer)) {
            peer.guest = Guest::ApiServer;
        }
        peer.unread = Some(Arc::new(Joint::new(&self.arrivals, peer.guest)));
        peer
    }

    /// Waits until the server has to end a connection and returns the reason.
    async fn ends(&self, stopping: &mut watch::Receiver<()>) -> &'static str {
        let last_words = async {
            let _ = stopping.changed().await;
            let _ = timeout(LAST_WORDS, self.slot.called()).await;
        };
        tokio::select! {
            () = last_words => "stopped",
            () = sleep(LIFETIME) => "retired",
            why = self.unused() => why,
        }
    }

    /// The first request has to come soon; further ones may take their time.
    async fn unused(&self) -> &'static str {
        tokio::select! {
            () = self.slot.called() => self.slot.unused(self.server.limits.idle).await,
            why = self.slot.unused(self.server.limits.headers) => why,
        }
    }
}

/// Returns the bytes in memory of a request with these headers.
fn bytes_of(headers: &HeaderMap) -> usize {
    const REQUEST: usize = 4 * 1024;
    const HEADER: usize = 128;
    let of_each = headers.iter().map(|(name, value)| HEADER + name.as_str().len() + value.len());
    of_each.fold(REQUEST, usize::saturating_add)
}

fn builder(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // This also runs while nothing is sent, which has a separate limit. A client with slow headers
        // occupies a slot that others may need, and is then the first to be closed.
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.header_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.headers)
        .keep_alive_timeout(limits.headers)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(limits.window)
        .initial_connection_window_size(limits.window.saturating_mul(limits.streams))
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    builder
}

/// A fixed number of slots for connections. When all are taken, the connection that has been idle longest is
/// closed, of the peer with the most connections. A connection with an unanswered request is never closed.
#[derive(Debug)]
struct Slots {
    free: Arc<Semaphore>,
    taken: Mutex<Vec<Arc<SlotState>>>,
}

/// The state of one connection.
#[derive(Debug)]
struct SlotState {
    peer: IpAddr,
    usage: Mutex<Usage>,
    called: watch::Sender<bool>,
    evicted: Notify,
}

/// The use of a connection. It is only read when something is due, so a request wakes no task.
#[derive(Debug)]
struct Usage {
    /// Requests that are being answered.
    answered: usize,
    /// Since when no request has been in progress, if none is.
    idle: Instant,
}

impl SlotState {
    /// Returns since when the connection has no unanswered request, or `None` if it has one.
    fn idle_since(&self) -> Option<Instant> {
        let usage = lock(&self.usage);
        (usage.answered == 0).then_some(usage.idle)
    }
}

/// One slot; free again when dropped.
#[derive(Debug)]
pub struct Slot {
    all: Arc<Slots>,
    connection: Arc<SlotState>,
    _permit: OwnedSemaphorePermit,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct Busy(Arc<SlotState>);

impl Slots {
    /// Returns `number` free slots.
    fn new(number: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(number)), taken: Mutex::default() })
    }

    /// Takes a slot and frees one if necessary. Returns `None` only if the semaphore is closed.
    async fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        if self.free.available_permits() == 0 {
            self.make_room();
        }
        let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let called = watch::Sender::new(false);
        let usage = Mutex::new(Usage { answered: 0, idle: Instant::now() });
        let connection = Arc::new(SlotState { peer, usage, called, evicted: Notify::new() });
        lock(&self.taken).push(Arc::clone(&connection));
        Some(Slot { all: Arc::clone(self), connection, _permit: permit })
    }

    /// Closes the connection that has been idle longest, of the peer with the most slots. If no connection is
    /// idle, the new connection waits until one ends.
    fn make_room(&self) {
        let taken = lock(&self.taken);
        let mut slots_of: HashMap<IpAddr, usize> = HashMap::new();
        for connection in taken.iter() {
            *slots_of.entry(connection.peer).or_default() += 1;
        }
        let idle = taken.iter().filter_map(|connection| Some((connection.idle_since()?, connection)));
        let first = idle.max_by_key(|(since, one)| (slots_of.get(&one.peer).copied(), Reverse(*since)));
        if let Some((_, connection)) = first {
            connection.evicted.notify_one();
        }
    }
}

impl Slot {
    /// Marks that a request has come.
    fn ask(&self) {
        self.connection.called.send_if_modified(|called| !std::mem::replace(called, true));
    }

    /// Marks a request as being answered until the returned value is dropped.
    pub fn begin(&self) -> Busy {
        let mut usage = lock(&self.connection.usage);
        usage.answered = usage.answered.saturating_add(1);
        Busy(Arc::clone(&self.connection))
    }

    /// Waits for the first request; returns at once if it has arrived.
    async fn called(&self) {
        let mut called = self.connection.called.subscribe();
        // The sender is in the same value, so it is not dropped.
        let _ = called.wait_for(|called| *called).await;
    }

    /// Waits until no request was answered for `patience` (`idle`), or another connection needs the slot
    /// (`evicted`).
    async fn unused(&self, patience: Duration) -> &'static str {
        loop {
            let since = self.connection.idle_since();
            let end = since.unwrap_or_else(Instant::now) + patience;
            if since.is_some() && end <= Instant::now() {
                return "idle";
            }
            tokio::select! {
                () = sleep_until(end) => {}
                () = self.connection.evicted.notified() => return "evicted",
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.all.taken).retain(|other| !Arc::ptr_eq(other, &self.connection));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.usage);
        usage.answered = usage.answered.saturating_sub(1);
        usage.idle = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::advance;

    use super::*;
    use crate::server::testing::requests;

    const LONG: Duration = Duration::from_mins(1);
    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn a_server_that_will_stop_closes_connections_after_an_answer() {
        let health = Arc::new(Health::default());
        let server = Server {
            tls: None,
            router: Router::new(),
            limits: ConnectionLimits::DEFAULT,
            requests: requests(),
            is_api_server: None,
            health: Arc::clone(&health),
        };
        let listener = TcpListener::bind((PEER, 0)).await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let serving = tokio::spawn(server.serve(listener, std::future::pending()));
        let mut answer = [0; 1024];
        client.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
        let length = client.read(&mut answer).await.unwrap();
        let text = String::from_utf8_lossy(&answer[..length]);
        assert!(text.starts_with("HTTP/1.1 404") && !text.contains("connection: close"), "{text}");
        health.stopping();
        client.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
        let mut text = String::new();
        timeout(LONG, client.read_to_string(&mut text)).await.expect("the connection stays").unwrap();
        assert!(text.starts_with("HTTP/1.1 404") && text.contains("connection: close"), "{text}");
        serving.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_has_been_idle_longest_makes_room() {
        let slots = Slots::new(3);
        let first = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let second = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let third = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let busy = first.begin();
        let newcomer = tokio::spawn({
            let slots = Arc::clone(&slots);
            async move { slots.take(PEER).await }
        });
        assert_eq!(second.unused(LONG).await, "evicted");
        assert!(!newcomer.is_finished());
        drop(second);
        let fourth = newcomer.await.unwrap().unwrap();
        // The connection that was idle longest before its request no longer is.
        advance(Duration::from_secs(1)).await;
        drop(busy);
        slots.make_room();
        assert_eq!(third.unused(LONG).await, "evicted");
        drop((first, fourth));
        assert_eq!(lock(&slots.taken).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_peer_with_most_places_makes_room() {
        let slots = Slots::new(3);
        let lone = slots.take(PEER).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let other = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let first = slots.take(other).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let second = slots.take(other).await.unwrap();
        slots.make_room();
        assert_eq!(first.unused(LONG).await, "evicted");
        drop((lone, second));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_ends_and_one_with_requests_does_not() {
        let slots = Slots::new(1);
        let slot = slots.take(PEER).await.unwrap();
        let (one, other) = (slot.begin(), slot.begin());
        drop(one);
        assert!(timeout(LONG * 2, slot.unused(LONG)).await.is_err());
        slots.make_room();
        assert!(timeout(LONG * 2, slot.unused(LONG)).await.is_err(), "it has a request under way");
        drop(other);
        let begin = Instant::now();
        assert_eq!(slot.unused(LONG).await, "idle");
        assert_eq!(begin.elapsed(), LONG);
    }
}
