//! Logs on standard error, as text for people and as JSON for machines, and traces (feature `otel`), which go
//! to an OpenTelemetry collector.
//!
//! In addition to the filter that the process was started with, queuewarden's own lines have a level that can
//! change while the process runs. It comes from an annotation of the `YuniKornConfig`. Anyone who may write
//! that object already controls far more than logs, every replica sees the change at once, and nothing has to
//! be mounted or exposed. It only affects lines of this crate. Lines of libraries can contain request data,
//! so only the person who starts the process can enable them.

#[cfg(feature = "otel")]
mod traces;

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, registry, reload};

use queuewarden_api::log_level::{ANNOTATION, parse};

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
/// When the filter cannot be parsed, or the collector has no address.
pub fn start(format: LogFormat, filter: &str) -> Result<Logging, LoggingError> {
    let (selection, handle) = reload::Layer::new(EnvFilter::try_new(directives(filter, None))?);
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
    let subscriber = registry().with(lines.with_filter(selection));
    #[cfg(feature = "otel")]
    let traces = traces::provider()?;
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(traces.as_ref().map(traces::layer));
    let running = Running {
        at_start: filter.to_owned(),
        handle,
        value: Mutex::default(),
        #[cfg(feature = "otel")]
        traces,
    };
    // This fails if logging was started before; then the earlier setup stays in effect.
    Ok(subscriber.try_init().map(|()| Logging(Some(Arc::new(running)))).unwrap_or_default())
}

/// Target of the webhooks' decisions. They stay in the log at every level, unless the process was started
/// without them.
const AUDIT: &str = "queuewarden::audit";

/// A handle for changing the log level, shared by all clones. The default one does nothing.
#[derive(Debug, Clone, Default)]
pub struct Logging(Option<Arc<Running>>);

#[derive(Debug)]
struct Running {
    at_start: String,
    handle: reload::Handle<EnvFilter, Registry>,
    /// Last processed value of the annotation.
    value: Mutex<Option<String>>,
    /// Exporter of traces, if there is one.
    #[cfg(feature = "otel")]
    traces: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl Logging {
    /// Sends the remaining traces before the process ends.
    pub fn end(&self) {
        #[cfg(feature = "otel")]
        if let Some(traces) = self.0.as_ref().and_then(|running| running.traces.as_ref()) {
            self::traces::end(traces);
        }
    }

    /// Applies the annotation's value; `None` if there is no annotation. An invalid level changes nothing and
    /// is logged once.
    pub fn follow(&self, value: Option<&str>) {
        let Some(running) = &self.0 else { return };
        let mut last = running.value.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_deref() == value {
            return;
        }
        *last = value.map(str::to_owned);
        drop(last);
        running.change(value);
    }
}

impl Running {
    fn change(&self, value: Option<&str>) {
        let level = value.and_then(parse);
        if let (Some(value), None) = (value, level) {
            let value: String = value.chars().take(64).collect();
            tracing::warn!(
                annotation = ANNOTATION,
                value = value,
                "Not a log level: use error, warn, info, debug or trace. The log level stays as it was"
            );
            return;
        }
        let changed =
            EnvFilter::try_new(directives(&self.at_start, level)).map(|filter| self.handle.reload(filter));
        let level = level.unwrap_or("as started");
        match changed {
            Ok(Ok(())) => tracing::info!(level, "Changed the log level"),
            Ok(Err(error)) => tracing::warn!(%error, "The log level could not be changed"),
            Err(error) => tracing::warn!(%error, "The log level could not be changed"),
        }
    }
}

/// Returns the filter `at_start` with another level for lines of this crate. If there are several directives
/// for one target, the last one applies.
fn directives(at_start: &str, level: Option<&str>) -> String {
    // We log problems of the watches ourselves, once each.
    let text = format!("kube_client=off,kube_runtime::watcher=off,{at_start}");
    let Some(level) = level else { return text };
    let quiet = matches!(level, "error" | "warn") && !at_start.contains(AUDIT);
    let audit = if quiet { format!(",{AUDIT}=info") } else { String::new() };
    format!("{text},queuewarden={level}{audit}")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::{Registry, fmt, reload};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        /// Returns the lines that were logged since the last call.
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    /// Runs `test` with its own log, which starts at level `at_start`.
    fn logging(at_start: &str, test: impl FnOnce(&Logging, &Lines)) {
        let lines = Lines::default();
        let (selection, handle) = reload::Layer::new(EnvFilter::new(directives(at_start, None)));
        let written = lines.clone();
        let layer = fmt::layer().with_ansi(false).with_writer(move || written.clone());
        let subscriber = Registry::default().with(selection).with(layer);
        let running = Running {
            at_start: at_start.to_owned(),
            handle,
            value: Mutex::default(),
            #[cfg(feature = "otel")]
            traces: None,
        };
        let logging = Logging(Some(Arc::new(running)));
        tracing::subscriber::with_default(subscriber, || test(&logging, &lines));
    }

    /// Returns the words of the lines that are logged now.
    fn shown(lines: &Lines) -> Vec<&'static str> {
        lines.take();
        tracing::debug!(target: "queuewarden_plan", "ours");
        tracing::info!(target: "queuewarden_plan", "done");
        tracing::debug!(target: "hyper", "theirs");
        tracing::info!(target: "queuewarden::audit", "audited");
        let text = lines.take();
        ["ours", "done", "theirs", "audited"].into_iter().filter(|word| text.contains(word)).collect()
    }

    #[test]
    fn the_annotation_changes_lines_of_ours_and_its_end_changes_them_back() {
        logging("info", |logging, lines| {
            assert_eq!(shown(lines), ["done", "audited"]);
            logging.follow(Some("Debug"));
            assert!(lines.take().contains("Changed the log level"));
            assert_eq!(shown(lines), ["ours", "done", "audited"]);
            logging.follow(Some("debug"));
            logging.follow(Some("error"));
            assert_eq!(shown(lines), ["audited"], "decisions stay in the log");
            logging.follow(None);
            assert_eq!(shown(lines), ["done", "audited"]);
        });
    }

    #[test]
    fn what_is_no_level_is_reported_once_and_changes_nothing() {
        logging("info", |logging, lines| {
            for wrong in ["hyper=trace", "debug,hyper=trace", "", "off", "5"] {
                logging.follow(Some(wrong));
                assert!(lines.take().contains("Not a log level"), "{wrong}");
                logging.follow(Some(wrong));
                assert_eq!(lines.take(), "", "{wrong}");
                assert_eq!(shown(lines), ["done", "audited"], "{wrong}");
            }
        });
    }

    #[test]
    fn who_started_it_without_the_audit_lines_gets_none() {
        logging("warn,queuewarden::audit=off", |logging, lines| {
            assert_eq!(shown(lines), [""; 0]);
            for level in ["error", "debug"] {
                logging.follow(Some(level));
                assert!(!shown(lines).contains(&"audited"), "{level}");
            }
        });
    }
}
