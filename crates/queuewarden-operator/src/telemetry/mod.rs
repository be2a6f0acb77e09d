//! Logs on standard error, as text for people and as JSON for machines, and traces. The log level can change
//! while the process runs.
//!
//! * [`level`]: the filter, at the start and after a change.
//! * `traces` (feature `otel`): the spans that go to an OpenTelemetry collector.

pub mod level;
#[cfg(feature = "otel")]
mod traces;

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry, reload};

pub use level::Logging;

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise
    #[default]
    Auto,
    /// One JSON object a line
    Json,
    /// Text
    Text,
}

/// Reason why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter cannot be read.
    #[error("--log-level: {0}")]
    Filter(#[from] ParseError),
    /// The environment names no valid collector.
    #[cfg(feature = "otel")]
    #[error("traces: {0}")]
    Collector(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Starts to log the lines that `filter` selects, in the syntax of `RUST_LOG`, e.g. `info` or
/// `info,queuewarden=debug`. Also starts to send traces if the environment names a collector.
///
/// # Errors
/// When the filter cannot be read, or the collector has no address.
pub fn start(format: LogFormat, filter: &str) -> Result<Logging, LoggingError> {
    let (selection, handle) = reload::Layer::new(level::filter(filter, None)?);
    let json = match format {
        LogFormat::Auto => !io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    };
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = if json {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
    } else {
        lines.boxed()
    };
    let logging = Logging::new(filter, handle);
    let subscriber = registry().with(lines.with_filter(selection));
    #[cfg(feature = "otel")]
    let (logging, subscriber) = {
        let provider = traces::provider()?;
        let layer = provider.as_ref().map(traces::layer);
        (logging.tracing(provider), subscriber.with(layer))
    };
    // This fails if logging was started before; then the earlier setup stays in effect.
    Ok(subscriber.try_init().map(|()| logging).unwrap_or_default())
}
