//! The result of a command: its exit code, or the cause of its failure.

use std::io;

use super::findings::Count;

/// Result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success, possibly with warnings.
    Clean,
    /// Errors were found, or the request was refused.
    Findings,
    /// Undecided.
    Undecided,
}

impl Exit {
    /// Converts the answer to a question.
    pub fn yes(yes: bool) -> Self {
        if yes { Self::Clean } else { Self::Findings }
    }

    /// Converts the number of findings; `strict` counts warnings.
    pub fn from_count(count: Count, strict: bool) -> Self {
        if count.errors > 0 || (strict && count.warnings > 0) { Self::Findings } else { Self::Clean }
    }
}

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments do not fit together, or an input cannot be read.
    #[error("{0}")]
    Usage(String),
    /// A question cannot be answered, because something it depends on is unknown.
    #[error("{0}")]
    Undecided(String),
    /// The same, because the API server forbids to read it.
    #[error("{0}")]
    Forbidden(String),
    /// The namespace does not contain `YuniKorn`'s ConfigMaps.
    #[error("{0}")]
    NoConfigMaps(String),
    /// `YuniKorn` would not accept the user of the question, so the answer is no.
    #[error("{0}")]
    Refused(String),
    /// A result cannot be written to its destination, or the operator cannot start.
    #[error("{0}")]
    Output(String),
    /// Standard output cannot be written to.
    #[error("cannot write to standard output: {0}")]
    Stream(#[from] io::Error),
}
