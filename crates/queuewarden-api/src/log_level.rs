//! The annotation of a `YuniKornConfig` that sets the log level of the operator.

/// The annotation.
pub const ANNOTATION: &str = "queuewarden.dev/log-level";

/// The levels, from the fewest lines to the most.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Parses a level by its name, ignoring case.
pub fn parse(text: &str) -> Option<&'static str> {
    LEVELS.into_iter().find(|level| level.eq_ignore_ascii_case(text))
}
