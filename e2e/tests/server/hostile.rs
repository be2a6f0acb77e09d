//! Tests that the HTTPS endpoints withstand endless bodies, slow senders, countless connections and unknown
//! certificates.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Endpoints, Operator, TestCluster, eventually, operator};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{client, prepared, shown_certificate};

/// The memory limit of the shipped Deployment, in KiB.
const MEMORY: u64 = 256 * 1024;

/// Returns the current memory of the operator's process, in KiB.
fn memory(operator: &Operator<'_>) -> Result<u64> {
    let pid = operator.process()?.pid().context("the operator does not run")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

#[tokio::test]
async fn bodies_of_10_mib_are_not_kept_in_memory() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let (operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        let before = memory(&operator)?;
        let client = client(&endpoints.authority)?;
        let answer = client.post(endpoints.url("/authorize")).body(bytes(10 * 1024 * 1024)).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        let why = "the body has 10485760 bytes; the limit is 262144 bytes";
        ensure!(status == 413 && text.contains(why), "{status}: {text}");
        // A review of any size gets an answer; a body that is not a review does not.
        let review = |object: &str| {
            let head =
                r#"{"request":{"uid":"u1","kind":{"group":"","kind":"Pod"},"namespace":"jobs","object":"#;
            format!(r#"{head}"{object}"}}}}"#)
        };
        for path in ["/validate", "/user-info", "/user-info/check", "/submission", "/configmaps"] {
            let answer =
                client.post(endpoints.url(path)).body(review(&"x".repeat(10 * 1024 * 1024))).send().await?;
            let (status, text) = (answer.status(), answer.text().await?);
            let is_answered = status == 200 && text.contains("u1");
            // Until everything has been read, no names are known.
            ensure!(
                is_answered || (path.starts_with("/user-info") && status == 503),
                "{path} {status}: {text}"
            );
            let answer = client.post(endpoints.url(path)).body(bytes(10 * 1024 * 1024)).send().await?;
            ensure!(answer.status() == 400, "{path}: {answer:?}");
        }
        // Many at once, without a stated length.
        let sending = (0..64).map(|_| {
            let chunks = (0..160).map(|_| Ok::<_, std::io::Error>(bytes(64 * 1024)));
            let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
            client.post(endpoints.url("/authorize")).body(body).send()
        });
        let answers = futures::future::join_all(sending).await;
        let refused = answers.iter().flatten().filter(|answer| !answer.status().is_success()).count();
        let after = memory(&operator)?;
        eprintln!("{refused} of 64 refused in words; memory {before} KiB before, {after} KiB after");
        ensure!(answers.iter().flatten().all(|answer| answer.status().is_client_error()), "{answers:?}");
        ensure!(after < MEMORY, "{after} KiB");
        shown_certificate(&client, &endpoints).await?;
        Ok(())
    })
    .await
}

fn bytes(number: usize) -> Vec<u8> {
    vec![b'x'; number]
}

/// Opens a TLS connection.
async fn connect(endpoints: &Endpoints) -> Result<tokio_rustls::client::TlsStream<TcpStream>> {
    connect_by(endpoints, &[]).await
}

/// Opens a TLS connection for one of these protocols.
pub(crate) async fn connect_by(
    endpoints: &Endpoints,
    protocols: &[&[u8]],
) -> Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    let authorities = rustls::pki_types::pem::PemObject::pem_slice_iter(endpoints.authority.as_bytes());
    for authority in authorities {
        roots.add(authority?)?;
    }
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let stream = TcpStream::connect(&endpoints.address).await?;
    Ok(connector.connect("127.0.0.1".try_into()?, stream).await?)
}

/// Returns how long the endpoints tolerate a sender of a few bytes and then a byte every half second.
async fn outlast(endpoints: &Endpoints, begin: &str) -> Result<(Duration, String)> {
    let mut stream = connect(endpoints).await?;
    let since = Instant::now();
    stream.write_all(begin.as_bytes()).await?;
    let mut answer = Vec::new();
    loop {
        let mut buffer = vec![0; 4096];
        match tokio::time::timeout(Duration::from_millis(500), stream.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => break,
            Ok(Ok(read)) => answer.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            // A refused byte means that the other side has closed; the next read shows that too.
            Err(_) => drop(stream.write_all(b"x").await),
        }
        ensure!(since.elapsed() < Duration::from_secs(30), "nothing ends it");
    }
    Ok((since.elapsed(), String::from_utf8_lossy(&answer).into_owned()))
}

#[tokio::test]
async fn slow_senders_are_disconnected() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let (_operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        let header = "POST /authorize HTTP/1.1\r\nhost: endpoints\r\nx-slow: ";
        let token = ["create", "token", operator::NAME, "-n", operator::NAMESPACE];
        let token = cluster.kubectl(&token).await?;
        let body = format!(
            "POST /apis/access.queuewarden.dev/v1alpha1/selfqueueaccessreviews HTTP/1.1\r\nhost: endpoints\r\n\
             content-type: application/json\r\ncontent-length: 9999\r\nauthorization: Bearer {}\r\n\r\n",
            token.trim()
        );
        let preface = "PRI * HTTP/2.0";
        let (header, body, preface) =
            tokio::join!(outlast(&endpoints, header), outlast(&endpoints, &body), outlast(&endpoints, preface));
        let ((header, _), (body, answer), (preface, _)) = (header?, body?, preface?);
        eprintln!("headers {header:?}, body {body:?}, preface {preface:?}: {answer:?}");
        ensure!(
            answer.starts_with("HTTP/1.1 408 ") && answer.contains("the body was not sent within 2 s"),
            "{answer}"
        );
        for took in [header, body, preface] {
            ensure!(took < Duration::from_secs(15), "{took:?}");
        }
        // Handshakes that never end.
        let mut silent = TcpStream::connect(&endpoints.address).await?;
        let ended = tokio::time::timeout(Duration::from_secs(15), silent.read(&mut [0; 1])).await;
        ensure!(matches!(ended, Ok(Ok(0) | Err(_))), "{ended:?}");
        Ok(())
    })
    .await
}

/// Clients that only hold connections do not block others, and memory stays within the shipped limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_block_no_client() -> Result<()> {
    const CONNECTIONS: usize = 10_000;
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let (operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        let before = memory(&operator)?;
        let steady = client(&endpoints.authority)?;
        shown_certificate(&steady, &endpoints).await?;
        let mut held = Vec::with_capacity(CONNECTIONS);
        let (mut worst, mut most) = (Duration::ZERO, before);
        for number in 0..CONNECTIONS {
            // Every tenth also completes the handshake.
            if number % 10 == 0 {
                if let Ok(stream) = connect(&endpoints).await {
                    held.push(Held::Secret(Box::new(stream)));
                }
            } else {
                held.push(Held::Plain(TcpStream::connect(&endpoints.address).await?));
            }
            if number % 500 == 499 {
                let since = Instant::now();
                shown_certificate(&client(&endpoints.authority)?, &endpoints).await.context("a newcomer is kept out")?;
                shown_certificate(&steady, &endpoints).await.context("who was there is kept out")?;
                worst = worst.max(since.elapsed());
                most = most.max(memory(&operator)?);
            }
        }
        let open = operator.metric("queuewarden_https_connections", "").await?;
        eprintln!(
            "{} connections made, {open} kept; two calls took {worst:?} at most; memory {before} KiB before, {most} KiB at most",
            held.len()
        );
        ensure!(held.len() > CONNECTIONS * 9 / 10, "{}", held.len());
        ensure!(most < MEMORY, "{most} KiB");
        ensure!(worst < Duration::from_secs(5), "{worst:?}");
        drop(held);
        eventually("their end to be noticed", PATIENCE, || async {
            let open = operator.metric("queuewarden_https_connections", "").await?;
            Ok((open < 8.0).then_some(()))
        })
        .await
    })
    .await
}

/// A connection that a client holds open.
enum Held {
    Plain(#[expect(dead_code, reason = "it is held")] TcpStream),
    Secret(#[expect(dead_code, reason = "it is held")] Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

/// After the signal to end, running requests are answered and, for a while, new ones too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_drops_no_call() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !prepared(cluster).await? {
            return Ok(());
        }
        let (operator, endpoints) = Operator::start_self_certified(cluster, &[]).await?;
        let load = tokio::spawn(async move {
            let mut calls = 0_u32;
            loop {
                let client = client(&endpoints.authority)?;
                match shown_certificate(&client, &endpoints).await {
                    Ok(_) => calls += 1,
                    Err(error) => return Ok::<_, anyhow::Error>((calls, error)),
                }
            }
        });
        eventually("some calls", PATIENCE, || async {
            let calls =
                operator.metric("queuewarden_https_request_duration_seconds_count", "/readyz").await?;
            Ok((calls > 50.0).then_some(()))
        })
        .await?;
        let since = Instant::now();
        operator.process()?.terminate()?;
        let (calls, end) = load.await??;
        let lingered = since.elapsed();
        let status = operator.process()?.exited(PATIENCE).await?;
        eprintln!("{calls} calls, the last {lingered:?} after the signal, then: {end:?}");
        ensure!(status.success(), "{status}");
        ensure!(lingered > Duration::from_secs(2), "{lingered:?}");
        let end = end.downcast::<reqwest::Error>()?;
        ensure!(end.is_connect(), "a call was dropped: {end:?}");
        Ok(())
    })
    .await
}
