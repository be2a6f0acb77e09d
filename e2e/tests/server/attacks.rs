//! Attacks by any pod that can reach the ports, on memory and on the latency of honest requests. Each is
//! short; `just attacks` gives each a minute.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::{BoxFuture, try_join_all};
use queuewarden_e2e::{Endpoints, Operator, TestCluster};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::hostile::connect_by;
use super::{client, prepared, shown_certificate};
use crate::operator::configure;

/// Maximum peak memory of the process, in KiB.
const MEMORY: u64 = 200 * 1024;
/// The memory limit of the shipped Deployment, in bytes; a process above it is killed.
const LIMIT: u64 = 256 * 1024 * 1024;
/// Maximum 99th percentile of honest requests, and maximum time for a new connection.
const PATIENCE: Duration = Duration::from_millis(500);
const NEWCOMER: Duration = Duration::from_secs(1);
/// Duration of an attack in full length.
const MINUTE: Duration = Duration::from_mins(1);
/// Maximum number of connections of an honest client that are closed during an attack.
const MAX_CLOSED: usize = 2;

/// The addresses that an attacker knows, and when the attack ends.
#[derive(Clone)]
struct Target {
    endpoints: Arc<Endpoints>,
    /// `host:port` of the health endpoints and metrics.
    plain: String,
    end: Instant,
}

impl Target {
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }
}

type Attack = fn(Target) -> BoxFuture<'static, Result<()>>;

/// Attacks on memory, and on other clients' turns, which must leave honest clients their time.
const ON_MEMORY: [(&str, Attack); 8] = [
    ("packed ConfigMaps", |target| Box::pin(posted(target, "/configmaps", packed_config_map, 8))),
    ("headers by reference that are refused", |target| {
        Box::pin(streams(target, 60, 99, referring_headers(1850)))
    }),
    ("lists of numbers", |target| Box::pin(posted(target, "/user-info", || Ok(list_of_numbers()), 4))),
    ("unfinished headers on the health port", |target| Box::pin(unfinished_headers(target, 700))),
    ("an ACL of 4.7 MB", |target| Box::pin(posted(target, "/validate", || Ok(long_acl()), 4))),
    ("objects of many parts", |target| Box::pin(posted(target, "/validate", || Ok(many_parts()), 8))),
    ("slow bodies at all endpoints, and packed ConfigMaps", |target| Box::pin(slow_and_packed(target))),
    ("200 of the largest reviews at once", |target| Box::pin(two_hundred(target))),
];
/// Headers that are accepted. A debug build on a busy machine has needed more than the limit once.
const ACCEPTED: (&str, Attack) =
    ("headers by reference", |target| Box::pin(streams(target, 60, 99, referring_headers(900))));
const ON_OTHERS: [(&str, Attack); 2] = [
    ("silent bodies", |target| Box::pin(streams(target, 8, 99, silent_headers()))),
    ("connections that are never idle", |target| Box::pin(streams(target, 512, 1, silent_headers()))),
];

/// Returns a review of a `ConfigMap` that unpacks to a million nodes.
fn packed_config_map() -> Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all("- a\n".repeat(249_990).as_bytes())?;
    let packed = k8s_openapi::ByteString(packed.finish()?);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "binaryData": {"queues.yaml.gz": packed}});
    Ok(review(("", "ConfigMap"), "yunikorn", &object))
}

fn list_of_numbers() -> Vec<u8> {
    review(("", "Pod"), "jobs", &Value::from(vec![0; 2_000_000]))
}

/// Returns a review of a `QueueAcl` with 600,000 users, as no API server stores it.
fn long_acl() -> Vec<u8> {
    let names: Vec<String> = (0..600_000).map(|number| format!("u{number}")).collect();
    of_an_administrator(&json!({"queue": "root.default", "submit": {"acl": names.join(",")}}))
}

/// Returns a review of a `QueueAcl` with the maximum number of mappings that are read.
fn many_parts() -> Vec<u8> {
    of_an_administrator(&json!({"queue": "root.default", "parts": vec![json!({"a": 0}); 24_000]}))
}

fn of_an_administrator(spec: &Value) -> Vec<u8> {
    let kind = json!({"group": "queuewarden.dev", "version": "v1alpha1", "kind": "QueueAcl"});
    let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAcl", "metadata": {"name": "a"}, "spec": spec});
    let old = json!({"spec": {"queue": "root.default", "submit": {"users": ["a"]}}});
    let request = json!({"uid": "u", "kind": kind, "operation": "UPDATE", "name": "a",
        "userInfo": {"username": "root", "groups": ["system:masters"]}, "object": object, "oldObject": old});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
        .into_bytes()
}

/// Sends slow bodies to all endpoints, and packed ConfigMaps.
async fn slow_and_packed(target: Target) -> Result<()> {
    const PATHS: [&str; 6] =
        ["/validate", "/configmaps", "/user-info", "/user-info/check", "/submission", "/authorize"];
    const OF_EACH: usize = 15;
    let slow = PATHS.into_iter().flat_map(|path| (0..OF_EACH).map(move |_| path)).map(|path| {
        let target = target.clone();
        tokio::spawn(async move {
            while !target.is_over() {
                if let Ok(stream) = connect_by(&target.endpoints, &[b"http/1.1"]).await {
                    // However it ends, another one is sent.
                    let _ = sent_slowly(stream, path).await;
                }
            }
        })
    });
    let slow = try_join_all(slow.collect::<Vec<_>>());
    let packed = posted(target.clone(), "/configmaps", packed_config_map, 1);
    let (slow, packed) = tokio::join!(slow, packed);
    slow?;
    packed
}

/// Sends a body of the maximum size, arriving within two seconds.
async fn sent_slowly(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> Result<()> {
    const PIECES: usize = 30;
    let length = if path == "/authorize" { 250_000 } else { 6_000_000 };
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..PIECES - 1 {
        timeout(Duration::from_secs(2), stream.write_all(&vec![b' '; length / PIECES])).await??;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    timeout(Duration::from_secs(5), stream.read(&mut [0; 1])).await??;
    Ok(())
}

/// Sends 200 reviews of the largest size at once, each on a separate connection, as API servers do. Each must
/// have a verdict before an API server gives up.
async fn two_hundred(target: Target) -> Result<()> {
    const AT_ONCE: usize = 200;
    // As Go writes it: the uid first, the object last, with each of its characters as six bytes.
    let head = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"jobs","operation":"CREATE","userInfo":{"username":"mallory"},"object":{"metadata":{"name":"p"},"spec":{"containers":[{"args":[""#;
    let body = [head, &r"\u003c".repeat(450_000), r#""]}]}}}}"#].concat();
    let body: &'static [u8] = body.leak().as_bytes();
    // A short test runs a debug build, on a machine with other load.
    let patience = if target.end.saturating_duration_since(Instant::now()) > Duration::from_secs(30) {
        Duration::from_secs(3)
    } else {
        Duration::from_secs(10)
    };
    let authority = reqwest::Certificate::from_pem_bundle(target.endpoints.authority.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only(authority).http1_only().no_proxy().build()?;
    let url = target.endpoints.url(&format!("/user-info?timeout={}s", patience.as_secs()));
    let (mut allowed, mut refused, mut slowest) = (0, 0, Duration::ZERO);
    while !target.is_over() {
        let all = (0..AT_ONCE).map(|_| async {
            let request = client.post(&url).header("content-type", "application/json").body(body);
            let begin = Instant::now();
            let answer = request.timeout(patience).send().await.context("no answer")?;
            let (status, text) = (answer.status(), answer.text().await?);
            let is_verdict = status == 200 && text.contains(r#""uid":"u""#);
            ensure!(is_verdict, "{status} {text}");
            Ok((text.contains(r#""allowed":true"#), begin.elapsed()))
        });
        for (is_allowed, time) in try_join_all(all).await? {
            (allowed, refused) = if is_allowed { (allowed + 1, refused) } else { (allowed, refused + 1) };
            slowest = slowest.max(time);
        }
    }
    println!(
        "of reviews of {} bytes {allowed} were decided, {refused} refused; the slowest {slowest:.1?}",
        body.len()
    );
    Ok(())
}

pub(super) fn review((group, kind): (&str, &str), namespace: &str, object: &Value) -> Vec<u8> {
    let request = json!({"uid": "u", "kind": {"group": group, "version": "v1", "kind": kind}, "operation": "CREATE",
        "name": "yunikorn-configs", "namespace": namespace, "userInfo": {"username": "mallory"}, "object": object});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
        .into_bytes()
}

/// Posts the same body this many times concurrently.
async fn posted(
    target: Target,
    path: &'static str,
    body: fn() -> Result<Vec<u8>>,
    at_once: usize,
) -> Result<()> {
    let body = body()?;
    let client = client(&target.endpoints.authority)?;
    try_join_all((0..at_once).map(|_| async {
        while !target.is_over() {
            // The attacker continues whether refused or not.
            let _ = client
                .post(target.endpoints.url(path))
                .header("content-type", "application/json")
                .body(body.clone())
                .send()
                .await;
        }
        anyhow::Ok(())
    }))
    .await?;
    Ok(())
}

/// Sends endless headers on this many connections.
async fn unfinished_headers(target: Target, connections: usize) -> Result<()> {
    try_join_all((0..connections).map(|_| async {
        while !target.is_over() {
            let Ok(mut stream) = TcpStream::connect(&target.plain).await else { continue };
            let mut sent = stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nx: ").await;
            let mut left = 400;
            while sent.is_ok() && left > 0 && !target.is_over() {
                sent = timeout(NEWCOMER, stream.write_all(&[b'x'; 1000])).await.unwrap_or(Ok(()));
                left -= 1;
            }
            let rest = target.end.saturating_duration_since(Instant::now()).min(Duration::from_secs(5));
            let _ = timeout(rest, stream.read(&mut [0; 1])).await;
        }
        anyhow::Ok(())
    }))
    .await?;
    Ok(())
}

/// Returns the beginning of a request in HPACK (RFC 7541): `POST /user-info`, with a body of 100 bytes to
/// come.
fn silent_headers() -> Vec<u8> {
    let mut block = vec![0x83, 0x87, 0x04, 10];
    block.extend_from_slice(b"/user-info");
    block.extend_from_slice(&[0x01, 1, b'x', 0x0f, 0x0d, 3]);
    block.extend_from_slice(b"100");
    block
}

/// Returns the same with `count` more headers, each named by one byte. A header takes 34 bytes of the limit,
/// so 900 are accepted.
fn referring_headers(count: usize) -> Vec<u8> {
    let mut block = silent_headers();
    block.extend_from_slice(&[0x40, 1, b'x', 1, b'y']);
    block.resize(block.len() + count, 0xbe);
    block
}

/// Returns a frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = vec![a, b, c, kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Sends requests without their bodies: this many concurrently on each of this many connections. An answered
/// one is sent again.
async fn streams(target: Target, connections: usize, at_once: u32, headers: Vec<u8>) -> Result<()> {
    let headers = Arc::new(headers);
    let tasks = (0..connections).map(|_| {
        let (target, headers) = (target.clone(), Arc::clone(&headers));
        tokio::spawn(async move {
            while !target.is_over() {
                if let Ok(stream) = connect_by(&target.endpoints, &[b"h2"]).await {
                    // However it ends, another one is opened.
                    let _ = ask_without_end(stream, &target, at_once, &headers).await;
                }
            }
        })
    });
    try_join_all(tasks).await?;
    Ok(())
}

async fn ask_without_end(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    target: &Target,
    at_once: u32,
    headers: &[u8],
) -> Result<()> {
    const END_HEADERS: u8 = 4;
    let mut next = 1;
    let mut asked = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    asked.extend(frame(4, 0, 0, &[]));
    let mut ask = |asked: &mut Vec<u8>| {
        asked.extend(frame(1, END_HEADERS, next, headers));
        next += 2;
    };
    (0..at_once).for_each(|_| ask(&mut asked));
    stream.write_all(&asked).await?;
    while !target.is_over() {
        let mut head = [0; 9];
        let left = target.end.saturating_duration_since(Instant::now());
        let Ok(read) = timeout(left, stream.read_exact(&mut head)).await else { break };
        read?;
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await?;
        let mut sent = Vec::new();
        match kind {
            // The end of a response, or of a stream.
            0 | 1 if flags & 1 == 1 => ask(&mut sent),
            4 if flags & 1 == 0 => sent = frame(4, 1, 0, &[]),
            6 if flags & 1 == 0 => sent = frame(6, 1, 0, &payload),
            7 => break,
            _ => {}
        }
        stream.write_all(&sent).await?;
    }
    Ok(())
}

/// Measurements of honest clients.
#[derive(Debug, Default)]
struct Seen {
    requests: Vec<Duration>,
    newcomers: Vec<Duration>,
    /// Connections that were closed while the client did not use them.
    closed: usize,
}

impl Seen {
    fn percentile(&mut self, percent: usize) -> Duration {
        self.requests.sort_unstable();
        self.requests.get(self.requests.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
    }
}

/// Sends reviews in sequence on one connection, and opens a new connection from time to time, until the
/// attack ends.
async fn honest(target: &Target) -> Result<Seen> {
    let body = review(("", "Pod"), "jobs", &json!({"metadata": {"name": "p"}, "spec": {}}));
    let steady = client(&target.endpoints.authority)?;
    let mut seen = Seen::default();
    while !target.is_over() {
        let since = Instant::now();
        let send = || {
            let request = steady.post(target.endpoints.url("/user-info"));
            request.header("content-type", "application/json").body(body.clone()).send()
        };
        let answer = match send().await {
            // Like an API server, sends it again if the connection was closed while it was idle.
            Err(error) if error.is_request() && seen.closed < MAX_CLOSED => {
                seen.closed += 1;
                send().await?
            }
            answer => answer?,
        };
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(status == 200 && text.contains("\"allowed\":true"), "{status} {text}");
        seen.requests.push(since.elapsed());
        if seen.requests.len() % 20 == 1 {
            let since = Instant::now();
            shown_certificate(&client(&target.endpoints.authority)?, &target.endpoints)
                .await
                .context("a newcomer is kept out")?;
            seen.newcomers.push(since.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(seen)
}

/// Returns the peak memory of the operator, in KiB.
pub(super) fn peak(operator: &Operator<'_>) -> Result<u64> {
    let pid = operator.process()?.pid().context("the operator does not run any more")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// A control group that kills a process which uses more than [`LIMIT`].
pub(super) struct Confined(PathBuf);

impl Confined {
    /// Returns `None` on a machine where it cannot be created; then only [`MEMORY`] is checked.
    pub(super) fn new(operator: &Operator<'_>) -> Result<Option<Self>> {
        let pid = operator.process()?.pid().context("the operator does not run any more")?;
        // Version 2 has one tree, version 1 one for memory alone.
        let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        for (tree, limit) in kinds {
            let group = Path::new(tree).join(format!("queuewarden-e2e-{pid}"));
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            let group = Self(group);
            let is_limited = std::fs::write(group.0.join(limit), LIMIT.to_string()).is_ok()
                && std::fs::write(group.0.join("cgroup.procs"), pid.to_string()).is_ok();
            if is_limited {
                return Ok(Some(group));
            }
        }
        eprintln!("the operator runs without a limit: no control group of memory can be made here");
        Ok(None)
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // Only an empty group can be removed.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Attacks, and returns an error if something is wrong afterwards.
async fn attacked(name: &str, attack: Attack, on_others: bool, duration: Duration) -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        cluster.install().await?;
        // Reviews by a made-up administrator are decided, too.
        cluster.apply_file("manifests/validating/rbac.yaml").await?;
        configure(cluster, "").await?;
        let policy = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "default"},
            "spec": {"userInfo": {"mode": "Enforce", "profile": "strict"}}});
        cluster.apply_text(&policy.to_string(), "e2e").await?;
        let (operator, endpoints) = Operator::start_self_certified(cluster, &["--log-level=error"]).await?;
        let confined = Confined::new(&operator)?;
        let target =
            Target { endpoints: Arc::new(endpoints), plain: operator.address()?, end: Instant::now() + duration };
        let before = peak(&operator)?;
        let attack = tokio::spawn(attack(target.clone()));
        let seen = honest(&target).await;
        attack.await??;
        let after = peak(&operator)?;
        let mut seen = seen.with_context(|| format!("memory {} MiB", after / 1024))?;
        let [half, most] = [50, 99].map(|percent| seen.percentile(percent));
        let newcomer = seen.newcomers.iter().max().copied().unwrap_or_default();
        println!(
            "{name}: {} honest requests, p50 {half:.1?}, p99 {most:.1?}; new connections {newcomer:.1?} at most; memory {} MiB of {}, {} MiB before",
            seen.requests.len(),
            after / 1024,
            if confined.is_some() { "256" } else { "any" },
            before / 1024
        );
        ensure!(after < MEMORY, "{after} KiB");
        ensure!(!on_others || most < PATIENCE, "p99 {most:?}");
        // A short test runs a debug build, on a machine with other load.
        let longest = if duration > Duration::from_secs(30) { NEWCOMER } else { 3 * NEWCOMER };
        ensure!(!on_others || newcomer < longest, "a new connection took {newcomer:?}");
        shown_certificate(&client(&target.endpoints.authority)?, &target.endpoints).await?;
        operator.kill().await
    })
    .await
}

async fn all(duration: Duration) -> Result<()> {
    let accepted = (duration == MINUTE).then_some(ACCEPTED);
    let on_memory = ON_MEMORY.into_iter().chain(accepted).map(|attack| (attack, false));
    let all = on_memory.chain(ON_OTHERS.map(|attack| (attack, true)));
    let mut wrong = Vec::new();
    for ((name, attack), on_others) in all {
        if let Err(error) = attacked(name, attack, on_others, duration).await {
            wrong.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_short() -> Result<()> {
    all(Duration::from_secs(4)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a minute for each attack; `just attacks`"]
async fn for_a_minute_each() -> Result<()> {
    all(MINUTE).await
}
