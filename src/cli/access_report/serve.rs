//! `queuewarden report --serve`: serves the report on this machine, and reads the cluster again while
//! somebody views it.
//!
//! The cluster is read with the rights of the kubeconfig's user. Every user of the machine can reach a
//! loopback address, and so can every site that its browsers show. Two things keep them out: a path that
//! nobody can guess, and a check that `Host` is a name of this machine, so that no site can point its own
//! name here (DNS rebinding). The server changes nothing, and no other site can read its answers (CORS).

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header, uri::Authority};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use super::{answer, others};
use crate::cli::query::SourceArgs;
use crate::cli::query::cluster::Cluster;
use crate::cli::{Console, Exit, Failure, clock};
use queuewarden_api::answer::report::{LiveAnswer, ReportAnswer};
use queuewarden_operator::controller::health::Health;
use queuewarden_operator::controller::terminated;
use queuewarden_operator::server::bounds::{self, bound};
use queuewarden_operator::server::listener::{self, Limits};
use queuewarden_operator::server::refusal::Refusal;
use queuewarden_report::page;

/// Address with a free port, for `--serve` without an address.
pub(super) const ANY_PORT: &str = "127.0.0.1:0";
/// Path of the page's data, relative to the page.
const DATA: &str = "report.json";
/// Seconds that a page waits before it requests the data again.
const INTERVAL: u32 = 5;
/// Time during which one report answers every request.
const FRESH: Duration = Duration::from_secs(2);
/// Longest wait for a new report. After that the previous one is served, marked as old.
const PATIENCE: Duration = Duration::from_secs(5);
/// Host names of this machine.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Parses a loopback address. No other is accepted, because nothing encrypts what is sent there.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "write it like 127.0.0.1:8001".to_owned())?;
    if !address.ip().is_loopback() {
        return Err("it must be an address of this machine alone, such as 127.0.0.1:8001".to_owned());
    }
    Ok(address)
}

/// Serves the report until the process receives a signal to end.
///
/// # Errors
/// When the cluster cannot be read at first, or the address is taken.
pub(super) fn run(source: &SourceArgs, address: SocketAddr, console: Console) -> Result<Exit, Failure> {
    let cannot = |what: &str, error: &dyn Display| Failure::Output(format!("cannot {what}: {error}"));
    let cluster = Cluster::connect(&source.cluster.server)?;
    cluster.run(async |_| {
        let first = read(&cluster, source, console).await?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| cannot(&format!("listen on {address}"), &error))?;
        let address = listener.local_addr().map_err(|error| cannot("listen", &error))?;
        let stop = terminated().map_err(|error| cannot("wait for signals", &error))?;
        let secret = secret().ok_or_else(|| cannot("make a random path", &"there are no random numbers"))?;
        console.out(&format!("Serving the report at http://{address}/{secret}/\n"))?;
        let (last, requested) = (watch::Sender::new(Arc::new(first)), Arc::new(Notify::new()));
        let site = Site { last: last.subscribe(), requested: Arc::clone(&requested) };
        let health = Arc::new(Health::default());
        let limits = Limits { connections: 32, streams: 16, header_bytes: 16 * 1024, ..Limits::DEFAULT };
        let router = bound(router(site, address, &secret), bounds::Limits::NO_BODIES, &health);
        tokio::select! {
            () = listener::serve(listener, None, router, limits, health, stop) => {}
            () = follow(&last, &requested, async || read(&cluster, source, Console::silent()).await) => {}
        }
        Ok(Exit::Clean)
    })
}

/// Creates the first segment of the path: 128 random bits.
fn secret() -> Option<String> {
    let mut bytes = [0; 16];
    CryptoProvider::get_default()?.secure_random.fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// A report and the time it was read.
#[derive(Debug)]
struct Reading {
    answer: ReportAnswer,
    /// Time of the report's contents.
    read: Timestamp,
    /// Time of the last attempt to read the cluster.
    requested: Instant,
}

impl Reading {
    fn new(answer: ReportAnswer) -> Self {
        Self { answer, read: clock(), requested: Instant::now() }
    }

    fn is_fresh(&self) -> bool {
        self.requested.elapsed() < FRESH
    }

    /// Returns a copy that is marked as old, because there is no newer report.
    fn stale(&self, why: impl Display) -> Self {
        let mut answer = self.answer.clone();
        if let Some(live) = &mut answer.live {
            live.stale = Some(format!("This is from {:.0}: {why}", self.read));
        }
        Self { answer, read: self.read, requested: Instant::now() }
    }
}

async fn read(cluster: &Cluster, source: &SourceArgs, console: Console) -> Result<Reading, Failure> {
    let configuration = cluster.current(&source.cluster, console).await?;
    configuration.note(None, console);
    let mut notes = configuration.notes.clone();
    let tree = configuration.tree(&source.partition)?;
    notes.extend(others(&configuration, tree));
    let live = LiveAnswer { url: DATA.to_owned(), seconds: INTERVAL, notes, stale: None };
    Ok(Reading::new(answer(&configuration, tree, None, Some(live))))
}

/// Reads the cluster again whenever a request needs a newer report.
async fn follow(
    last: &watch::Sender<Arc<Reading>>,
    requested: &Notify,
    read: impl AsyncFn() -> Result<Reading, Failure>,
) {
    loop {
        requested.notified().await;
        let before = Arc::clone(&last.borrow());
        // Another request may have been served by the read that just ended.
        if !before.is_fresh() {
            let now = read().await.unwrap_or_else(|failure| before.stale(failure));
            last.send_replace(Arc::new(now));
        }
    }
}

/// State of the routes.
#[derive(Debug, Clone)]
struct Site {
    last: watch::Receiver<Arc<Reading>>,
    requested: Arc<Notify>,
}

impl Site {
    /// Returns the report as JSON. It is not older than [`FRESH`], or it says that it is old.
    async fn data(mut self) -> Result<String, Refusal> {
        let mut reading = Arc::clone(&self.last.borrow_and_update());
        if !reading.is_fresh() {
            self.requested.notify_one();
            reading = match timeout(PATIENCE, self.last.changed()).await {
                Ok(_) => Arc::clone(&self.last.borrow()),
                Err(_) => Arc::new(reading.stale("the cluster is slow to answer")),
            };
        }
        serde_json::to_string(&reading.answer).map_err(|error| Refusal::unavailable(error.to_string()))
    }
}

fn router(site: Site, address: SocketAddr, secret: &str) -> Router {
    Router::new()
        .route(&format!("/{secret}/"), get(show))
        .route(&format!("/{secret}/{DATA}"), get(data))
        .layer(from_fn_with_state(address, local_only))
        .with_state(site)
}

/// Rejects requests for other host names, and sets the headers of every response.
async fn local_only(State(address): State<SocketAddr>, request: Request, next: Next) -> Response {
    let response = if is_own(&request, address) {
        next.run(request).await
    } else {
        Refusal::forbidden(format!("the report is served as http://{address}/ alone")).into_response()
    };
    (HEADERS, response).into_response()
}

/// Returns whether `Host` is a name of this machine with the port of the listener.
fn is_own(request: &Request, address: SocketAddr) -> bool {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    // HTTP/2 has it in the URI.
    let host: Option<Authority> = named.or_else(|| request.uri().authority().cloned());
    host.is_some_and(|host| {
        let own = OWN.iter().any(|own| host.host().eq_ignore_ascii_case(own));
        let port = host.port_u16().unwrap_or(80);
        port == address.port() && (own || host.host() == address.ip().to_string())
    })
}

async fn show(State(site): State<Site>) -> Result<Response, Refusal> {
    let text = page::page(&site.data().await?);
    // Frames cannot be refused in the page's own copy of the policy.
    let policy = format!("{}; frame-ancestors 'none'", page::policy());
    let kind = "text/html; charset=utf-8".to_owned();
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)], text).into_response())
}

/// Returns the data, or `304 Not Modified` if the page has it already.
async fn data(State(site): State<Site>, headers: HeaderMap) -> Result<Response, Refusal> {
    let data = site.data().await?;
    let tag = format!("\"{}\"", page::hash(&data));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let tag = [(header::ETAG, tag)];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, tag).into_response());
    }
    Ok((tag, [(header::CONTENT_TYPE, "application/json")], data).into_response())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use axum::body::Body;
    use http_body_util::BodyExt as _;
    use serde_json::Value;
    use tokio::time::advance;
    use tower::ServiceExt as _;

    use super::*;
    use crate::cli::query::configuration::{Configuration, Written};
    use crate::cli::query::texts::Text;

    const ADDRESS: &str = "127.0.0.1:8001";

    /// Creates a report on a queue with this submitacl.
    fn reading(acl: &str) -> Reading {
        let text = format!("partitions: [{{name: default, queues: [{{name: root, submitacl: '{acl}'}}]}}]\n");
        let written = Written::text_alone(Text::whole("queues.yaml", text), yunikorn::version::Version::V1_8);
        let configuration = Configuration::from_written(written).unwrap();
        let tree = configuration.tree("default").unwrap();
        let live = LiveAnswer { url: DATA.to_owned(), seconds: INTERVAL, notes: Vec::new(), stale: None };
        Reading::new(answer(&configuration, tree, None, Some(live)))
    }

    fn site() -> (watch::Sender<Arc<Reading>>, Site) {
        let last = watch::Sender::new(Arc::new(reading("sue")));
        let site = Site { last: last.subscribe(), requested: Arc::default() };
        (last, site)
    }

    fn requested(path: &str, host: &str, tag: &str) -> Request {
        let request = Request::get(path).header(header::HOST, host).header(header::IF_NONE_MATCH, tag);
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn address_of_a_network_is_refused() {
        for text in [ANY_PORT, ADDRESS, "[::1]:8001", "127.9.9.9:80"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in ["0.0.0.0:8001", "10.0.0.1:8001", "[::]:8001", "8001", "localhost", ""] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secret_is_another_each_time() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (first, second) = (secret().unwrap(), secret().unwrap());
        assert!(first.len() == 32 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
        assert_ne!(first, second);
    }

    #[test]
    fn host_that_is_not_this_machine_is_refused() {
        let own = |host: &str, address: &str| is_own(&requested("/", host, ""), address.parse().unwrap());
        for host in ["localhost:8001", "LOCALHOST:8001", ADDRESS, "[::1]:8001"] {
            assert!(own(host, ADDRESS), "{host}");
        }
        assert!(own("127.9.9.9:8001", "127.9.9.9:8001") && !own("127.9.9.9:8001", ADDRESS));
        assert!(own("localhost", "127.0.0.1:80"));
        for host in [
            "localhost",
            "localhost:8002",
            "rebound.example:8001",
            "localhost.example:8001",
            "10.0.0.1:8001",
            "",
        ] {
            assert!(!own(host, ADDRESS), "{host}");
        }
        let of_http2 = Request::get("http://localhost:8001/").body(Body::empty()).unwrap();
        assert!(is_own(&of_http2, ADDRESS.parse().unwrap()));
        let of_nothing = Request::get("/").body(Body::empty()).unwrap();
        assert!(!is_own(&of_nothing, ADDRESS.parse().unwrap()));
    }

    #[tokio::test]
    async fn answers_are_for_those_who_know_the_path() {
        let (_last, site) = site();
        let router = router(site, ADDRESS.parse().unwrap(), "secret");
        let ask = async |path: &str, host: &str, tag: &str| {
            let response = router.clone().oneshot(requested(path, host, tag)).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
            let header =
                |name: &str| parts.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
            assert_eq!(header("cache-control"), "no-store", "{path}");
            assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
            assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(header("access-control-allow-origin"), "", "{path}");
            (parts.status.as_u16(), header("etag") + &header("content-security-policy"), body)
        };
        for path in ["/", "/secret", "/report.json", "/guess/", "/guess/report.json", "/secret/other"] {
            let (code, _, body) = ask(path, ADDRESS, "").await;
            assert_eq!((code, body.as_str()), (404, ""), "{path}");
        }
        for path in ["/", "/secret/", "/secret/report.json"] {
            let (code, _, body) = ask(path, "rebound.example:8001", "").await;
            assert!(code == 403 && !body.contains("sue"), "{path}: {code} {body}");
        }
        let (code, policy, body) = ask("/secret/", ADDRESS, "").await;
        assert!(code == 200 && body.contains(&page::policy()) && body.contains(r#""stale":null"#), "{code}");
        assert_eq!(policy, format!("{}; frame-ancestors 'none'", page::policy()));
        let (code, tag, body) = ask("/secret/report.json", ADDRESS, "").await;
        assert!(code == 200 && body.contains(r#""name":"sue""#), "{code} {body}");
        assert_eq!(ask("/secret/report.json", ADDRESS, &tag).await, (304, tag, String::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn reading_that_is_old_is_made_again_or_says_so() {
        let (last, site) = site();
        let (requested, turn) = (Arc::clone(&site.requested), Cell::new(0));
        let read = async || {
            turn.set(turn.get() + 1);
            match turn.get() {
                1 => Ok(reading("zoe")),
                2 => Err(Failure::Undecided("no answer".to_owned())),
                3 => std::future::pending().await,
                _ => panic!("read for nobody"),
            }
        };
        let shown = async || -> (Value, Value) {
            let data: Value = serde_json::from_str(&site.clone().data().await.unwrap()).unwrap();
            (data["subjects"][0]["name"].clone(), data["live"]["stale"].clone())
        };
        let asking = async {
            assert_eq!(shown().await, ("sue".into(), Value::Null));
            advance(FRESH).await;
            let both = tokio::join!(shown(), shown());
            assert_eq!(both, ((Value::from("zoe"), Value::Null), ("zoe".into(), Value::Null)));
            advance(FRESH).await;
            let (name, stale) = shown().await;
            let stale = stale.as_str().unwrap();
            assert!(name == "zoe" && stale.starts_with("This is from 20") && stale.ends_with("Z: no answer"));
            advance(FRESH).await;
            let (name, stale) = shown().await;
            assert!(name == "zoe" && stale.as_str().unwrap().ends_with("the cluster is slow to answer"));
        };
        tokio::select! {
            () = asking => {}
            () = follow(&last, &requested, read) => {}
        }
        assert_eq!(turn.get(), 3);
    }
}
