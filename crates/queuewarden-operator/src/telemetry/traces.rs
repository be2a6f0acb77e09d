//! Traces (feature `otel`): requests, writes and reports of the controller, and requests to the webhooks, as
//! spans that go to an OpenTelemetry collector by OTLP over HTTP.
//!
//! They are off unless the environment names a collector with OpenTelemetry's own variables:
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`. `OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_TRACES_SAMPLER` are read too. The attributes of spans are fixed
//! words, never users, groups or queues.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanLimits};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Environment variables that enable traces if one of them is set.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
/// Longest wait for the collector, for one batch and at the end of the process.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of attributes and of events in one span.
const MOST: u32 = 32;

/// Creates a provider that sends spans to the collector in the environment; `None` if no collector is named.
///
/// # Errors
/// When the environment contains an invalid address.
pub(super) fn provider() -> Result<Option<SdkTracerProvider>, ExporterBuildError> {
    let named = ENDPOINTS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !named {
        return Ok(None);
    }
    sending_to(None).map(Some)
}

/// Creates a provider that sends to one address.
fn sending_to(address: Option<&str>) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_http().with_timeout(TIMEOUT);
    let exporter = match address {
        Some(address) => exporter.with_endpoint(address),
        None => exporter,
    };
    let limits = SpanLimits {
        max_events_per_span: MOST,
        max_attributes_per_span: MOST,
        max_links_per_span: 0,
        max_attributes_per_event: MOST,
        max_attributes_per_link: 0,
    };
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let mut resource = Resource::builder().with_attribute(version);
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("queuewarden");
    }
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter.build()?)
        .with_span_limits(limits)
        .with_resource(resource.build())
        .build())
}

/// Turns spans of this crate into traces, independently of the log level: a quiet log still has traces. No
/// log line is sent, because lines name users, groups and queues.
pub(super) fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("queuewarden"))
        .with_location(false)
        .with_threads(false)
        .with_filter(
            filter_fn(|what| what.is_span() && what.target().starts_with("queuewarden"))
                .with_max_level_hint(LevelFilter::INFO),
        )
}

/// Sends the remaining spans, but does not wait longer than [`TIMEOUT`] for the collector.
pub(super) fn end(provider: &SdkTracerProvider) {
    if let Err(error) = provider.shutdown_with_timeout(TIMEOUT) {
        tracing::warn!(%error, "The last traces were not sent");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::registry;

    use super::*;

    /// Starts a collector that accepts one request, and returns its address and the received bytes.
    fn collector() -> (String, thread::JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let taking = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let (mut got, mut part) = (Vec::new(), [0; 4096]);
            loop {
                let count = connection.read(&mut part).unwrap();
                got.extend_from_slice(&part[..count]);
                if count == 0 || is_whole(&got) {
                    break;
                }
            }
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            got
        });
        (address, taking)
    }

    /// Returns whether a request has its whole body.
    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        request.len() >= head.len() + 4 + length.parse::<usize>().unwrap()
    }

    #[test]
    fn spans_of_ours_reach_the_collector_and_those_of_others_do_not() {
        let (address, collector) = collector();
        let provider = sending_to(Some(&address)).unwrap();
        let subscriber = registry().with(layer(&provider));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info_span!(target: "queuewarden_operator::controller", "reconcile", result = "ok")
                .in_scope(|| {
                    tracing::info_span!(target: "queuewarden_operator::controller", "plan").in_scope(|| {});
                });
            tracing::info_span!(target: "hyper", "theirs").in_scope(|| {});
        });
        end(&provider);
        let sent = String::from_utf8_lossy(&collector.join().unwrap()).into_owned();
        assert!(sent.starts_with("POST /v1/traces "), "{sent}");
        for word in ["reconcile", "plan", "queuewarden", "service.version"] {
            assert!(sent.contains(word), "{word}: {sent}");
        }
        assert!(!sent.contains("theirs"), "{sent}");
    }

    #[test]
    fn what_is_logged_is_not_sent() {
        let (address, collector) = collector();
        let provider = sending_to(Some(&address)).unwrap();
        tracing::subscriber::with_default(registry().with(layer(&provider)), || {
            tracing::info_span!(target: "queuewarden::server", "request").in_scope(|| {
                tracing::warn!(target: "queuewarden::audit", user = "sue", "denied");
            });
        });
        end(&provider);
        let sent = String::from_utf8_lossy(&collector.join().unwrap()).into_owned();
        assert!(sent.contains("request") && !sent.contains("sue") && !sent.contains("denied"), "{sent}");
    }

    #[test]
    fn a_collector_that_is_not_there_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let provider = sending_to(Some(&format!("http://{}/", listener.local_addr().unwrap()))).unwrap();
        let subscriber = registry().with(layer(&provider));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info_span!(target: "queuewarden_operator::controller", "reconcile").in_scope(|| {});
        });
        let begin = std::time::Instant::now();
        end(&provider);
        assert!(begin.elapsed() < 4 * TIMEOUT, "{:?}", begin.elapsed());
    }
}
