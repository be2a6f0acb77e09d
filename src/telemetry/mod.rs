//! Logs: to standard error, as text for people and as JSON for machines.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// Text on a terminal, JSON otherwise
    #[default]
    Auto,
    /// One JSON object a line
    Json,
    /// Text
    Text,
}

/// Begins to log what `filter` selects, in the syntax of `RUST_LOG`, e.g. `info` or `info,queuewarden=debug`.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(format: Format, filter: &str) -> Result<(), ParseError> {
    // The watches' problems are logged once each by ourselves.
    let filter = EnvFilter::try_new(format!("kube_runtime::watcher=off,{filter}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let json = match format {
        Format::Auto => !io::stderr().is_terminal(),
        Format::Json => true,
        Format::Text => false,
    };
    // It fails when logging was begun before; then it goes on as it is.
    let _ = if json {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    } else {
        builder.try_init()
    };
    Ok(())
}
