//! Logs: to standard error, as text for people and as JSON for machines; how much of them can be changed while the process runs.
//!
//! * [`level`]: what is logged, from the start and after a change.

pub mod level;

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry, reload};

pub use level::Logging;

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
pub fn start(format: Format, filter: &str) -> Result<Logging, ParseError> {
    let (selection, handle) = reload::Layer::new(level::filter(filter, None)?);
    let json = match format {
        Format::Auto => !io::stderr().is_terminal(),
        Format::Json => true,
        Format::Text => false,
    };
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = if json {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
    } else {
        lines.boxed()
    };
    match registry().with(selection).with(lines).try_init() {
        Ok(()) => Ok(Logging::of(filter, handle)),
        // Logging was begun before; then it goes on as it is.
        Err(_) => Ok(Logging::default()),
    }
}
